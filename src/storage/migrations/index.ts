import type { Tx } from '../database.ts'
import * as accounts from './0001-accounts.ts'

/** One step of the schema. `down` takes back what `up` did; both run inside a transaction. */
export interface Migration {
  readonly name: string
  up(tx: Tx): Promise<void>
  down(tx: Tx): Promise<void>
}

/**
 * Every migration, in order. The position is the version, so entries are only ever added at the end.
 *
 * Listed by hand: a bundle has no folder to read, and an order that a file name decides is an order that a merge can
 * change unseen.
 */
export const migrations: readonly Migration[] = [{ name: '0001-accounts', ...accounts }]
