import { transaction } from '../../platform/database/database.ts'
import { type DueWork, type DueWorker, startDueWork } from '../core/scheduled-work.ts'
import type { ReposApp } from '../repositories/ports.ts'
import * as rows from './author-adoptions.rows.ts'
import { ID_CLAIMS, LOGIN_CLAIMS } from './source-accounts.ts'

/**
 * Accounts become the authors of what they wrote at another server, when they link their identity there
 * after the import. The work is a row of the identity until it is done, and can be repeated at any time.
 */

/** Identities at a time. */
const MAX_UNDER_WAY = 2

/** Rows in one transaction. */
const BATCH = 200

/** Pause before the next look at an origin from which an import still runs. */
const IMPORT_PAUSE_MS = 60_000

/** Starts a worker that finds texts of people who have linked an identity. */
export function startAdoptions(app: ReposApp): DueWorker {
  return startDueWork(app, adoptionWork(app))
}

/** The work of the worker. */
export function adoptionWork(app: ReposApp): DueWork {
  return {
    failure: 'texts of a linked identity were not found',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: 1,
    signal: app.signals.adoptions,
    ...rows.adoptionQueue(app.db),
    run: (id, until) => adopt(app, id, until),
  }
}

async function adopt(app: ReposApp, id: number, until: AbortSignal): Promise<void> {
  const identity = await rows.findAdoptingIdentity(app.db, id)
  if (!identity) return
  const origin = originOf(identity.user_info_url)
  // An import may have read the accounts before the link, and store texts after this search.
  const isEarly = await rows.importRuns(app.db, origin)
  const author = authorOf(identity)
  const tables = Object.keys(rows.AUTHORED) as rows.Authored[]
  if (author)
    for (const table of tables) {
      let after = 0
      while (!until.aborted && after >= 0)
        after = await adoptBatch(app, { table, author, origin, userId: identity.user_id }, after)
    }
  if (until.aborted) return
  await rows.setAdoptTime(app.db, id, isEarly ? app.clock.now() + IMPORT_PAUSE_MS : null)
}

/** What an account adopts. */
interface Adoption {
  readonly table: rows.Authored
  readonly author: rows.OriginalAuthor
  readonly origin: string
  readonly userId: number
}

/** Adopts some rows. @returns the last row that was looked at; -1 at the end. */
function adoptBatch(
  app: ReposApp,
  { table, author, origin, userId }: Adoption,
  after: number,
): Promise<number> {
  return transaction(app.db, async (tx) => {
    const found = await rows.originalRows(tx, table, author, { after, limit: BATCH })
    const repositories = [...new Set(found.map(({ repositoryId }) => repositoryId))]
    const imported = await rows.importedFrom(tx, origin, repositories)
    const ids = found.flatMap(({ id, repositoryId }) => (imported.has(repositoryId) ? id : []))
    await rows.adoptRows(tx, table, ids, userId)
    return found.length < BATCH ? -1 : (found.at(-1)?.id ?? -1)
  })
}

/** Returns who an identity is at the provider's server; undefined if the provider names neither id nor login. */
function authorOf({
  identifier_claim: claim,
  extern_uid,
}: rows.AdoptingIdentity): rows.OriginalAuthor | undefined {
  if (LOGIN_CLAIMS.includes(claim)) return { login: extern_uid }
  const isId = ID_CLAIMS.includes(claim) && /^[1-9]\d{0,14}$/.test(extern_uid)
  return isId ? { id: Number(extern_uid) } : undefined
}

/** Returns the origin of an address as it is written, with which imports compare it. */
function originOf(url: string): string {
  return /^[^/]+\/\/[^/]+/.exec(url)?.[0] ?? ''
}
