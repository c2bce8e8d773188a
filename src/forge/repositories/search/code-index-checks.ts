import { transaction } from '../../../platform/database/database.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './code-index.rows.ts'

/** A fault of the index of the code, and its repair. */
interface CodeIndexFault {
  readonly repositoryId: number
  readonly text: string
  /** Makes the server index the repository anew. */
  repair(): Promise<void>
}

/**
 * Compares the rows of the index of the code with each other and with the rows of branches. What waits
 * for a look is left out, since the look finds each difference.
 */
export async function* examineCodeIndex({ db }: ReposApp): AsyncGenerator<CodeIndexFault> {
  const fault = (repositoryId: number, text: string): CodeIndexFault => ({
    repositoryId,
    text,
    repair: () => transaction(db, (tx) => rows.renewCodeIndex(tx, repositoryId)),
  })
  for (const id of await rows.listIndexesWithoutEntry(db))
    yield fault(id, 'nothing leads to its files in the index of the code')
  for (const { repositoryId, stored, actual } of await rows.listWrongSizes(db))
    yield fault(repositoryId, `the index of its code says ${stored} bytes, and has ${actual}`)
  for (const { repositoryId, commitId } of await rows.listOldIndexes(db))
    yield fault(
      repositoryId,
      `the index of its code has ${commitId}, which is not the default branch`,
    )
}

/** What waits for the index of the code. */
export interface WaitingIndexes {
  /** Repositories that have changed, and whose turn has come. */
  readonly count: number
  /** How long the first of them has waited beyond its turn. */
  readonly ageSeconds: number
}

/** Returns what waits for the index of the code, for metrics. */
export async function waitingIndexes({ db, clock }: ReposApp): Promise<WaitingIndexes> {
  const now = clock.now()
  const { count, since } = await rows.countDueIndexes(db, now)
  return { count, ageSeconds: since === undefined ? 0 : (now - since) / 1000 }
}
