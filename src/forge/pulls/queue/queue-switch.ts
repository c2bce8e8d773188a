import { nowSeconds } from '../../core/core.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { findPullRequestById, touchPull } from '../heads/pull-requests.rows.ts'
import { findScheduledMerge, insertScheduledMerge } from '../merging/scheduled-merges.rows.ts'
import type { MergeQueue, MergeQueueEntry } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import { leaveQueue } from './queue-exits.ts'
import { endGroup } from './queue-state.ts'

/** Turns the entries of a queue that was switched off into scheduled merges, in their order. */
export async function switchQueueOff(app: ReposApp, queue: MergeQueue): Promise<void> {
  const groups = await rows.liveGroups(app.db, queue.id)
  const entries = await rows.listEntries(app.db, queue.id)
  if (groups.length === 0 && entries.length === 0) return
  const text = 'the merge queue was switched off: the merge is scheduled'
  await changeWatched(app, async (tx) => {
    for (const entry of stacksFirst(entries)) {
      const pull = await findPullRequestById(tx, entry.pull_request_id)
      if (!pull) continue
      const off = entry.below_id === null ? text : 'the merge queue was switched off'
      await leaveQueue(app, tx, undefined, { entry, pull }, { code: 'QUEUE_OFF', text: off })
      // The scheduled merge of one above the lowest of a stack would go into another branch.
      if (entry.below_id !== null) continue
      if (pull.state !== 'OPEN' || (await findScheduledMerge(tx, pull.id))) continue
      await insertScheduledMerge(tx, {
        pull_request_id: pull.id,
        repository_id: pull.repository_id,
        scheduler_id: entry.adder_id,
        scopes: entry.scopes,
        token_uuid: entry.token_uuid,
        style: entry.style,
        title: entry.title,
        message: entry.message,
        delete_branch: entry.delete_branch,
        create_time: nowSeconds(app.clock),
        create_time_ms: entry.add_time,
        due_time: app.clock.now(),
      })
      await touchPull(tx, pull.id, nowSeconds(app.clock))
      const type = 'PULL_REQUEST_AUTO_MERGE_SCHEDULED'
      await recordPullChange(app, tx, entry.adder_id, pull, type)
    }
    for (const group of groups) await endGroup(app, tx, group, 'invalidated')
  })
}

/** Those of stacks leave from the highest, for the reason of all and not because one below left. */
function stacksFirst(entries: readonly MergeQueueEntry[]): MergeQueueEntry[] {
  const above = entries.filter(({ below_id }) => below_id !== null)
  return [...above.reverse(), ...entries.filter(({ below_id }) => below_id === null)]
}
