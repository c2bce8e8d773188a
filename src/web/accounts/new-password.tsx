import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'
import { Field, fieldOf } from '../components/field.tsx'

/** The part of a form that asks for a new password, twice. */
export function NewPasswordFields(): VNode {
  return (
    <>
      <Field
        label="New password"
        name="password"
        type="password"
        autocomplete="new-password"
        required
      />
      <Field
        label="New password again"
        name="again"
        type="password"
        autocomplete="new-password"
        required
      />
    </>
  )
}

/**
 * Returns the new password of a form that is sent.
 *
 * @throws ConnectError if the two texts differ.
 */
export function newPasswordOf(form: HTMLFormElement): string {
  const password = fieldOf(form, 'password')
  if (password !== fieldOf(form, 'again'))
    throw new ConnectError('the two passwords differ', Code.InvalidArgument)
  return password
}
