/**
 * Whom work counts for: an account, the network of a peer without an account, or the server itself.
 */
export type Holder = `account ${number}` | `peer ${string}` | 'server'

/** Accounts and the server share places apart from strangers, who can have any number of networks. */
export type HolderKind = 'known' | 'stranger'

/** Returns the holder for the work of an account. */
export function accountHolder(id: number): Holder {
  return `account ${id}`
}

/**
 * Returns the holder for the work of a peer without an account.
 *
 * @param network undefined for peers that no limit per connection applies to. They share one count.
 */
export function peerHolder(network: string | undefined): Holder {
  return `peer ${network ?? 'without limit'}`
}

export function kindOf(holder: Holder): HolderKind {
  return holder.startsWith('peer ') ? 'stranger' : 'known'
}
