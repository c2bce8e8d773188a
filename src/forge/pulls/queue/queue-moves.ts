import { transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import { withMergeLock } from '../heads/merge-locks.ts'
import { recordMergeAttempt } from '../merging/merge-attempts.ts'
import { type CheckedMerge, mergeResult } from '../merging/merge-checks.ts'
import * as rows from './merge-queue.rows.ts'
import { checkQueued, leaveReasonOf } from './queue-candidates.ts'
import { type LeaveReason, leaveFor } from './queue-exits.ts'
import { endOf, type Group } from './queue-rules.ts'
import type { LoadedQueue } from './queue-state.ts'

/** The move of a branch to the last candidate of the first group of its queue. */

/** The merge of one entry. */
interface EntryMerge {
  readonly entryId: number
  readonly merge: CheckedMerge
  /** The commit that the base would have after the entry. */
  readonly commit: string
}

/**
 * Moves the branch, unless the state has changed: then the next step sees the new state. Rights and
 * rules are asked again under the lock of the branch.
 *
 * @throws temporary refusals.
 */
export function mergeGroup(app: ReposApp, loaded: LoadedQueue): Promise<void> {
  const { repository_id, branch } = loaded.queue
  return withMergeLock(app, repository_id, branch, async () => {
    const [first] = loaded.state.groups
    const tip = await readRef(app.git, repository_id, `refs/heads/${branch}`)
    if (!first || tip !== first.base) return
    const merges = await checkAll(app, loaded, first)
    if (merges) await move(app, loaded, first, merges)
  })
}

/** Checks each entry on the commit before. The first that may not be merged leaves. */
async function checkAll(
  app: ReposApp,
  { entries }: LoadedQueue,
  { base, candidates }: Group,
): Promise<EntryMerge[] | undefined> {
  const merges: EntryMerge[] = []
  for (const { entry, commit } of candidates) {
    const row = entries.get(entry.id)
    if (!row) return undefined
    try {
      const merge = await checkQueued(app, row, merges.at(-1)?.commit ?? base)
      merges.push({ entryId: row.id, merge, commit })
    } catch (error) {
      const reason = error instanceof DomainError ? leaveReasonOf(error) : undefined
      if (!reason) throw error
      await changeWatched(app, (tx) => leaveFor(app, tx, [row], reason))
      return undefined
    }
  }
  return merges
}

async function move(
  app: ReposApp,
  { queue, groups }: LoadedQueue,
  group: Group,
  merges: readonly EntryMerge[],
): Promise<void> {
  const last = merges.at(-1)
  if (!last) return
  const update = { name: `refs/heads/${queue.branch}`, from: group.base, to: endOf(group) }
  const { caller, pull } = last.merge
  try {
    await pushUpdates(app, caller, queue.repository_id, [update], {
      pull: {
        trigger: 'merge-queue',
        pull,
        pulls: merges.map(({ merge }) => merge.pull),
        problemOf: async () => undefined,
        record: (tx, updateId) => recordAttempts(app, tx, updateId, group, merges),
      },
    })
  } catch (error) {
    const failure = failureOf(error)
    if (failure === 'changed') return
    const row = groups.get(group.number ?? 0)
    if (!failure || !row) throw error
    const changes = { failure: JSON.stringify(failure) }
    await transaction(app.db, (tx) => rows.updateGroup(tx, row.number, changes))
  }
}

/** Stores what the move merges, unless an entry has left meanwhile. */
async function recordAttempts(
  app: ReposApp,
  tx: Tx,
  updateId: number,
  { base }: Group,
  merges: readonly EntryMerge[],
): Promise<void> {
  const pullIds = merges.map(({ merge }) => merge.pull.id)
  const inQueue = new Set(
    (await rows.entriesOfPulls(tx, pullIds)).flatMap(({ id, leave_time }) =>
      leave_time === null ? id : [],
    ),
  )
  let below = base
  for (const [position, { entryId, merge, commit }] of merges.entries()) {
    if (!inQueue.has(entryId)) throw new DomainError('MERGE_OUT_OF_DATE')
    const { head, mergeBase, pull } = merge
    const commits = {
      base_commit: below,
      merge_base: mergeBase,
      head_commit: head,
      merge_commit: commit,
    }
    await recordMergeAttempt(tx, updateId, pull, mergeResult(app, merge, commits), position)
    below = commit
  }
}

/**
 * Returns why a group failed by a refusal of the move; `changed` if the state has changed; undefined
 * if another attempt may succeed.
 */
function failureOf(error: unknown): LeaveReason | 'changed' | undefined {
  if (!(error instanceof DomainError)) return undefined
  const { reason, metadata } = error
  switch (reason) {
    case 'REF_CHANGED':
    case 'MERGE_OUT_OF_DATE':
    case 'HEAD_COMMIT_DIFFERS':
    case 'PULL_REQUEST_MERGED':
    case 'PULL_REQUEST_CLOSED':
    case 'PULL_REQUEST_NOT_FOUND':
      return 'changed'
    case 'GIT_HOOK_REFUSED':
      return { code: 'HOOK_REFUSED', text: metadata.text || 'a Git hook refused the merge' }
    case 'BRANCH_PROTECTED':
    case 'REF_REFUSED':
      return { code: 'NOT_READY', text: metadata.text ?? '' }
    case 'REPOSITORY_ACCESS_DENIED':
      return { code: 'NOT_READY', text: 'the rule of the branch refused the merge' }
    default:
      return undefined
  }
}
