import type { Tx } from '../../../platform/database/schema.ts'
import type { Worker } from '../../core/coordination.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { lfsContentExists } from '../lfs/lfs-objects.rows.ts'
import type { ReposApp } from '../ports.ts'
import { filePlaceOf, lfsOidOf } from './attachment-files.ts'
import type { StorageDeletion } from './schema.ts'
import {
  cancelStorageDeletions,
  claimStorageDeletion,
  dueStorageDeletions,
  endStorageDeletion,
  isFileNeeded,
  postponeStorageDeletion,
  postponeStorageDeletions,
} from './storage-deletions.rows.ts'

/** Deletions that are read at a time. */
const ROWS_PER_QUERY = 100

/** The pause after the first failed try. It doubles with each further one. */
const FIRST_PAUSE_SECONDS = 10
const MAX_PAUSE_SECONDS = 60 * 60

const SWEEP_INTERVAL_MS = 60_000

/** Longer than all tries of a deletion together. A claim that is older is of a server that has ended. */
const CLAIM_SECONDS = 10 * 60

/** Deletes the contents of the rows that a transaction has deleted, in the background. */
export function deleteDiscardedFiles(app: ReposApp): void {
  app.background.run('delete stored files', () => finishStorageDeletions(app))
}

/** Deletes contents that no row needs, until none is due. Those that fail are tried again later. */
export async function finishStorageDeletions(app: ReposApp): Promise<void> {
  const times = timesAt(nowSeconds(app.clock))
  for (;;) {
    const due = await dueStorageDeletions(app.db, times, ROWS_PER_QUERY)
    for (const deletion of due) await deleteContent(app, deletion, times)
    if (due.length < ROWS_PER_QUERY) return
  }
}

/**
 * Cancels the deletion of a content that a row of this transaction needs again. Its caller then writes
 * the content anew, in case the content is gone.
 *
 * @throws SERVER_BUSY if a server deletes the content at this moment.
 */
export async function cancelDeletion(
  { clock }: ReposApp,
  tx: Tx,
  content: Pick<StorageDeletion, 'store' | 'object_key'>,
): Promise<void> {
  const { staleBefore } = timesAt(nowSeconds(clock))
  if (!(await cancelStorageDeletions(tx, content, staleBefore)))
    throw new DomainError('SERVER_BUSY')
}

/**
 * Lets no deletion of a content begin before a time, since an upload writes the content anew.
 *
 * @param dueTime in Unix seconds.
 * @throws SERVER_BUSY if a server deletes the content at this moment.
 */
export async function postponeDeletion(
  { clock }: ReposApp,
  tx: Tx,
  content: Pick<StorageDeletion, 'store' | 'object_key'>,
  dueTime: number,
): Promise<void> {
  const { staleBefore } = timesAt(nowSeconds(clock))
  if (!(await postponeStorageDeletions(tx, content, { staleBefore, dueTime })))
    throw new DomainError('SERVER_BUSY')
}

function timesAt(now: number) {
  return { now, staleBefore: now - CLAIM_SECONDS }
}

async function deleteContent(
  app: ReposApp,
  { id, store, object_key, tries }: StorageDeletion,
  times: ReturnType<typeof timesAt>,
): Promise<void> {
  try {
    // Another server may have deleted the content, or a row may need the content again.
    if (!(await claimStorageDeletion(app.db, id, times))) return
    if (!(await isNeeded(app, store, object_key))) await app.objects.of(store).delete(object_key)
    await endStorageDeletion(app.db, id)
  } catch (err) {
    app.log.warn({ err, store, key: object_key }, 'a stored file could not be deleted yet')
    const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** tries, MAX_PAUSE_SECONDS)
    await postponeStorageDeletion(app.db, id, times.now + pause)
  }
}

/** Returns whether a row needs a content. */
async function isNeeded(
  { db }: ReposApp,
  store: StorageDeletion['store'],
  key: string,
): Promise<boolean> {
  const oid = lfsOidOf(key)
  if (oid !== undefined) return lfsContentExists(db, { oid, store })
  const place = filePlaceOf(key)
  return place !== undefined && isFileNeeded(db, store, place)
}

/** Deletes contents when they are due, also those that a crash or a store that was away has left. */
export function startStorageDeletions(app: ReposApp): Worker {
  const sweep = () => deleteDiscardedFiles(app)
  sweep()
  const timer = setInterval(sweep, SWEEP_INTERVAL_MS)
  return { stop: () => clearInterval(timer) }
}
