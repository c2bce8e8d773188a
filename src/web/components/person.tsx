import type { VNode } from 'preact'
import { Avatar, type Face } from './avatar.tsx'

/** The name of an account beside its avatar, as a link to the page of the account. */
export function Person(props: { login: string; account?: Face | undefined }): VNode {
  const { login, account } = props
  return (
    <a class="person" href={`/${login}`}>
      <Avatar name={login} account={account} />
      {login}
    </a>
  )
}
