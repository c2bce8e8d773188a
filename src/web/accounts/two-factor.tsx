import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type TwoFactor, TwoFactor_State } from '#gen/branchline/v1/two_factor_pb.ts'
import {
  type EnrollTwoFactorResponse,
  TwoFactorService,
} from '#gen/branchline/v1/two_factor_service_pb.ts'
import { SENT_ONCE, useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Command } from '../components/command.tsx'
import { counted } from '../components/counts.ts'
import { Field, fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { QrCode } from '../components/qr-code.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { Time } from '../components/time.tsx'
import { factorOf } from './second-factor.ts'

interface FactorProps {
  /** Resource name of the second factor. */
  readonly name: string
  /** Called with new recovery codes, or none, when the second factor has changed. */
  readonly onChange: (codes: readonly string[]) => void
}

/** The second factor of the user. */
export function TwoFactorSection({ user }: { user: string }): VNode {
  const { of } = useApi()
  const [codes, setCodes] = useState<readonly string[]>([])
  const name = `${user}/twoFactor`
  const factor = useLoad(
    (signal) => of(TwoFactorService).getTwoFactor({ name }, { signal }),
    [name],
  )
  const onChange = (created: readonly string[]) => {
    setCodes(created)
    factor.reload()
  }
  return (
    <section aria-labelledby="two-factor">
      <h2 id="two-factor">Second factor</h2>
      <p>
        With a second factor, the sign-in asks for a passcode of an app on your phone besides the
        password. Access tokens need no passcode.
      </p>
      {codes.length > 0 && (
        <ShownOnce name="Recovery codes" secret={codes.join('\n')}>
          <p>Each recovery code replaces the passcode once, for example without the phone.</p>
        </ShownOnce>
      )}
      <Show of={factor}>
        {(value) =>
          value.state === TwoFactor_State.ENABLED ? (
            <Enabled factor={value} name={name} onChange={onChange} />
          ) : (
            <Enrolment name={name} onChange={onChange} />
          )
        }
      </Show>
    </section>
  )
}

function Enrolment({ name, onChange }: FactorProps): VNode {
  const { of } = useApi()
  const [offer, setOffer] = useState<EnrollTwoFactorResponse>()
  const enrol = async (form: HTMLFormElement) => {
    const password = fieldOf(form, 'password')
    setOffer(await of(TwoFactorService).enrollTwoFactor({ name, password }, SENT_ONCE))
  }
  const confirm = async (form: HTMLFormElement) => {
    const passcode = fieldOf(form, 'passcode')
    const made = await of(TwoFactorService).confirmTwoFactor({ name, passcode }, SENT_ONCE)
    onChange(made.recoveryCodes)
  }
  if (!offer)
    return (
      <>
        <p>The second factor is off.</p>
        <ActionForm act={enrol} submit="Set up the second factor">
          <PasswordField />
        </ActionForm>
      </>
    )
  return (
    <>
      <p>Scan the code with an authenticator app:</p>
      <QrCode text={offer.otpauthUri} label="QR code for the authenticator app" />
      <p>Or type the secret into the app:</p>
      <Command text={offer.secret} label="Secret for the authenticator app" />
      <ActionForm act={confirm} submit="Turn the second factor on">
        <PasscodeField hint="The six digits that the app shows. They prove that the app has the secret." />
      </ActionForm>
    </>
  )
}

function Enabled({ factor, name, onChange }: FactorProps & { factor: TwoFactor }): VNode {
  const { of } = useApi()
  const regenerate = async (form: HTMLFormElement) => {
    const passcode = fieldOf(form, 'passcode')
    const made = await of(TwoFactorService).regenerateRecoveryCodes({ name, passcode }, SENT_ONCE)
    onChange(made.recoveryCodes)
  }
  const disable = async (form: HTMLFormElement) => {
    const proof = { password: fieldOf(form, 'password'), ...factorOf(fieldOf(form, 'code')) }
    await of(TwoFactorService).disableTwoFactor({ name, ...proof }, SENT_ONCE)
    onChange([])
  }
  return (
    <>
      <p>
        The second factor is on, since <Time at={factor.confirmTime} />.{' '}
        {counted(factor.recoveryCodesRemaining, 'recovery code')}{' '}
        {factor.recoveryCodesRemaining === 1 ? 'is' : 'are'} left.
      </p>
      <h3>New recovery codes</h3>
      <p>The present recovery codes stop working.</p>
      <ActionForm act={regenerate} submit="Create recovery codes" isEmptied>
        <PasscodeField />
      </ActionForm>
      <h3>Turn the second factor off</h3>
      <ActionForm act={disable} submit="Turn the second factor off">
        <PasswordField />
        <Field
          label="Passcode or recovery code"
          name="code"
          autocomplete="one-time-code"
          required
        />
      </ActionForm>
    </>
  )
}

function PasswordField(): VNode {
  return (
    <Field
      label="Your password"
      name="password"
      type="password"
      autocomplete="current-password"
      hint="Empty if you sign in by another provider and have no password."
    />
  )
}

function PasscodeField({ hint = 'The six digits that the app shows.' }: { hint?: string }): VNode {
  return (
    <Field
      label="Passcode"
      name="passcode"
      autocomplete="one-time-code"
      inputMode="numeric"
      required
      hint={hint}
    />
  )
}
