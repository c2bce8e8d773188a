import type { ComponentChildren, VNode } from 'preact'
import { Command } from './command.tsx'

/** A secret that the server cannot show again. */
export function ShownOnce(props: {
  /** Kind of the secret, such as “Token”. */
  name: string
  secret: string
  children?: ComponentChildren
}): VNode {
  const { name, secret, children } = props
  return (
    <div class="note" role="status">
      <p>
        <strong>Store this now: the server does not show it again.</strong>
      </p>
      <Command label={name} text={secret} />
      {children}
    </div>
  )
}
