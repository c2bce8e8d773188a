import type { VNode } from 'preact'
import { Avatar } from './avatar.tsx'

/** The name of an account beside its avatar, as a link to the page of the account. */
export function Person({ login }: { login: string }): VNode {
  return (
    <a class="person" href={`/${login}`}>
      <Avatar name={login} />
      {login}
    </a>
  )
}
