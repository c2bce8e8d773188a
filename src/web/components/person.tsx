import type { VNode } from 'preact'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
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

/** Something that an account has written, or has imported from another server. */
export interface Written {
  readonly user?: Account | undefined
  /** Login of the author at the other server; empty for what the account has written. */
  readonly originalAuthor: string
}

/** Returns the login of who has written a text, here or at another server. */
export function writerOf({ user, originalAuthor }: Written): string {
  return originalAuthor || (user?.login ?? '')
}

/** Returns the account that has written a text; undefined for a text that was imported for another one. */
export function writerAccount({ user, originalAuthor }: Written): Account | undefined {
  return originalAuthor === '' ? user : undefined
}

/** The name of who has written a text, beside the avatar. */
export function Writer({ of }: { of: Written }): VNode {
  const name = writerOf(of)
  return (
    <>
      <Avatar name={name} account={writerAccount(of)} /> {name}
    </>
  )
}
