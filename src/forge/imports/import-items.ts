import { transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import type { ReposApp } from '../repositories/ports.ts'
import {
  type Counted,
  countsOf,
  countsWith,
  type ImportProblem,
  withProblems,
} from './import-progress.ts'
import * as rows from './project-imports.rows.ts'
import type { ProjectSource } from './project-records.ts'
import type { ProjectImport } from './schema.ts'
import type { AccountFinder } from './source-accounts.ts'

/** An import that runs. */
export interface RunningImport {
  readonly job: ProjectImport
  readonly source: ProjectSource
  readonly findAccounts: AccountFinder
  /** Who imports. */
  readonly importerId: number
}

/** The import has ended meanwhile, because somebody cancelled it or deleted the repository. */
export class ImportEndedError extends Error {}

/** A record of the other server, as far as problems name it. */
export interface Item {
  readonly kind: string
  readonly ref: string
  readonly sourceId: string
}

/** Stores a record once, with its counts and problems. @returns false if the record was stored before. */
export async function storeItem(
  app: ReposApp,
  { job: { id } }: Pick<RunningImport, 'job'>,
  { kind, ref, sourceId }: Item,
  {
    added,
    work,
  }: {
    readonly added: Partial<Record<Counted, number>>
    readonly work: (tx: Tx, leftOut: (message: string) => void) => Promise<void>
  },
): Promise<boolean> {
  return transaction(app.db, async (tx) => {
    if (!(await rows.noteItem(tx, id, kind, sourceId))) return false
    const problems: ImportProblem[] = []
    await work(tx, (message) => problems.push({ kind, ref, message }))
    await count(tx, id, added, problems)
    return true
  })
}

/** Notes that a record could not be imported, once. */
export function noteProblem(
  app: ReposApp,
  run: Pick<RunningImport, 'job'>,
  item: Item,
  message: string,
): Promise<void> {
  const work = async (_: Tx, leftOut: (text: string) => void) => leftOut(message)
  return storeItem(app, run, item, { added: {}, work }).then(() => {})
}

/** Counts what was stored. @throws ImportEndedError */
export async function count(
  tx: Tx,
  id: number,
  added: Partial<Record<Counted, number>>,
  problems: readonly ImportProblem[],
): Promise<void> {
  const job = await rows.findProjectImport(tx, id)
  if (!job) throw new ImportEndedError()
  const progress = JSON.stringify(countsWith(countsOf(job), added))
  const errors = withProblems(job, problems)
  const changed = await rows.updateProjectImport(tx, id, { progress, errors, tries: 0 })
  if (!changed) throw new ImportEndedError()
}
