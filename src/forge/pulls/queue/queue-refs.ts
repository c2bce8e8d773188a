import { transaction } from '../../../platform/database/database.ts'
import { QUEUE_REFS } from '../../../platform/git/core/ref-names.ts'
import { listRefs, readRef, updateRefs } from '../../../platform/git/refs/refs.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { moveRefs } from '../../repositories/refs/ref-updates.ts'
import type { MergeQueue } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import { recordRequested } from './queue-news.ts'
import { queueRef } from './queue-state.ts'

/**
 * The refs of the groups of a merge queue, which CI fetches. The row of a group has the name of its
 * ref from the beginning until Git has deleted it, so a crash leaves no ref. These updates do not pass
 * the ref-update pipeline: no caller asks for them, and no rule or hook applies.
 */

/** Brings the refs in line with the groups, and requests the checks of new groups. */
export async function settleRefs(
  app: ReposApp,
  queue: MergeQueue,
  timeoutMs: number,
): Promise<void> {
  for (const row of await rows.liveGroups(app.db, queue.id)) {
    const ref = queueRef(row.number, queue.branch)
    if (row.request_time !== null && row.ref === ref) continue
    await putRef(app, queue, ref, row.head_commit)
    if (row.ref !== null && row.ref !== ref) await dropRef(app, queue, row.ref)
    const now = app.clock.now()
    await changeWatched(app, async (tx) => {
      const times = { request_time: now, deadline: now + timeoutMs }
      await rows.updateGroup(tx, row.number, { ref, ...(row.request_time === null && times) })
      if (row.request_time === null)
        await recordRequested(app, tx, { row, branch: queue.branch, ref })
    })
  }
  const ended = await rows.endedGroups(app.db, queue.id)
  for (const { number, ref } of ended) {
    if (ref !== null) await dropRef(app, queue, ref)
    await transaction(app.db, (tx) => rows.updateGroup(tx, number, { ref: null }))
  }
  if (ended.length > 0) await transaction(app.db, (tx) => rows.deleteEndedGroups(tx, queue.id))
}

async function putRef(
  app: ReposApp,
  { repository_id }: MergeQueue,
  name: string,
  to: string | undefined,
): Promise<void> {
  const lease = await app.coordination.lease()
  const from = await readRef(app.git, repository_id, name)
  if (from !== to) await moveRefs(app, lease, repository_id, [{ name, from, to }])
}

function dropRef(app: ReposApp, queue: MergeQueue, name: string): Promise<void> {
  return putRef(app, queue, name, undefined)
}

/** A ref below `refs/queue/` that is none of the server's. */
interface ForeignRef {
  /** A sentence for operators. */
  readonly text: string
  /** Deletes the ref. No other process may use the data folder meanwhile. */
  repair(): Promise<void>
}

/** Returns the refs below `refs/queue/` that belong to no group of the repository. */
export async function examineQueueRefs(app: ReposApp, repositoryId: number): Promise<ForeignRef[]> {
  const known = new Set(await rows.refsOfGroups(app.db, repositoryId))
  const foreign: ForeignRef[] = []
  for await (const { name, id } of listRefs(app.git, repositoryId, [QUEUE_REFS])) {
    if (known.has(name)) continue
    const repair = () => updateRefs(app.git, repositoryId, [{ name, from: id, to: undefined }])
    foreign.push({ text: `${name} belongs to no group of a merge queue`, repair })
  }
  return foreign
}
