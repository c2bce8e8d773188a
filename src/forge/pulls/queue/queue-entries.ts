import type { Db } from '../../../platform/database/schema.ts'
import { type SignedIn, scopesOf, tokenUuidOf } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { ConversationName } from '../../core/names.ts'
import { checkWritable } from '../../repositories/access/permissions.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import {
  mayPassQueue,
  queueIn,
  queueStyle,
} from '../../repositories/protection/merge-queue-settings.ts'
import type { BranchRule } from '../../repositories/protection/protection-rules.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { readMergeRights } from '../heads/merge-rights.ts'
import { type OpenPull, openPull, rereadForChange } from '../heads/open-pulls.ts'
import {
  type CheckedMerge,
  checkMerge,
  checkOpen,
  MANUALLY_MERGED,
  type MergeOptions,
  type OpenMerge,
  openMerge,
} from '../merging/merge-checks.ts'
import { deleteScheduledMerge } from '../merging/scheduled-merges.rows.ts'
import type { MergeQueueEntry, PullRequest } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import { leaveQueue, recordQueueEvent } from './queue-exits.ts'

/** Entering and leaving a merge queue at the request of a user. */

/** Entries of one queue. */
const MAX_ENTRIES = 1_000

/** What a caller says about an entry. */
export interface EntryOptions
  extends Pick<MergeOptions, 'title' | 'message' | 'headCommitId' | 'deleteBranch'> {
  /** Whether the entry goes to the front. */
  readonly jump: boolean
}

/** Returns whether a merge must go through the queue of its base. */
export function mustQueue({ rights, options }: OpenMerge): boolean {
  const { inForce, mayForce } = rights
  const rule = queueIn(inForce)
  if (!rule || !inForce) return false
  const isPassing = options.force || options.style === MANUALLY_MERGED
  return !(isPassing && mayPassQueue(rule, inForce.pusher, mayForce))
}

/**
 * Checks that a pull request may enter the queue of its base. Contexts that only the commits of the
 * queue need are not asked, nor whether the head is behind the base. The result has the style of the
 * queue.
 *
 * @throws as `checkMerge`
 */
export async function checkEntering(app: ReposApp, merge: OpenMerge): Promise<CheckedMerge> {
  const rule = queueIn(merge.rights.inForce)
  if (!rule) throw new DomainError('MERGE_QUEUE_NOT_FOUND', { base: merge.pull.base_branch })
  const wanted = { ...merge, options: { ...merge.options, force: false } }
  const checked = await checkMerge(app, withRule(wanted, ruleAtEntering(rule)))
  const style = queueStyle(checked.repository, rule)
  return { ...checked, style: style as CheckedMerge['style'] }
}

/** Returns a merge under another rule. */
export function withRule<Merge extends OpenMerge>(merge: Merge, rule: BranchRule): Merge {
  const { rights } = merge
  if (!rights.inForce) return merge
  return { ...merge, rights: { ...rights, inForce: { ...rights.inForce, rule } } }
}

function ruleAtEntering(rule: BranchRule): BranchRule {
  const asked = rule.status_check_contexts.filter(
    (context) => !rule.merge_queue_only_contexts.includes(context),
  )
  return {
    ...rule,
    block_on_outdated_branch: false,
    enable_status_check: rule.enable_status_check && asked.length > 0,
    status_check_contexts: asked,
  }
}

/** Adds a pull request to the queue of its base. */
export async function enqueuePull(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  { jump, ...said }: EntryOptions,
): Promise<{ open: OpenPull; entry: MergeQueueEntry }> {
  const open = await openPull(app, caller, name, 'take part')
  checkWritable(open.repository)
  return withPullLock(app, open.pull.id, async () => {
    const options = {
      ...said,
      style: '',
      mergeCommitId: '',
      force: false,
      whenChecksSucceed: false,
    }
    const merge = await openMerge(app, caller, open, options)
    const rule = queueIn(merge.rights.inForce)
    if (!rule) throw new DomainError('MERGE_QUEUE_NOT_FOUND', { base: merge.pull.base_branch })
    if (jump && !suffices(open.units.code, 'admin')) throw new DomainError('QUEUE_JUMP_DENIED')
    await checkNotQueued(app.db, merge.pull)
    const style = queueStyle(merge.repository, rule)
    const checked = await checkEntering(app, { ...merge, options: { ...options, style } })
    const entry = await enterQueue(app, checked, jump)
    return { open: { ...open, pull: checked.pull }, entry }
  })
}

/** Checks that a pull request is not in a queue. */
export async function checkNotQueued(db: Db, { id }: Pick<PullRequest, 'id'>): Promise<void> {
  const entry = await rows.findEntry(db, id)
  if (entry && entry.leave_time === null) throw new DomainError('ALREADY_QUEUED')
}

/** Adds a pull request to a queue after `checkEntering`. A scheduled merge ends. */
export async function enterQueue(
  app: ReposApp,
  merge: CheckedMerge,
  isJump: boolean,
): Promise<MergeQueueEntry> {
  const { caller, options, pull, style, head } = merge
  const { title, message, deleteBranch } = options
  const now = app.clock.now()
  return changeWatched(app, async (tx) => {
    const present = await rereadForChange(tx, merge)
    checkOpen(present)
    if (present.head_commit !== head) throw new DomainError('HEAD_COMMIT_DIFFERS')
    await checkNotQueued(tx, pull)
    const queueId = await rows.putQueue(tx, pull.repository_id, present.base_branch)
    if ((await rows.countEntries(tx, queueId)) >= MAX_ENTRIES)
      throw new DomainError('MERGE_QUEUE_FULL', { limit: String(MAX_ENTRIES) })
    await deleteScheduledMerge(tx, pull.id)
    const entry = await rows.replaceEntry(tx, {
      queue_id: queueId,
      pull_request_id: pull.id,
      adder_id: caller.user.id,
      scopes: scopesOf(caller)?.text ?? null,
      token_uuid: tokenUuidOf(caller) ?? null,
      style,
      title,
      message,
      delete_branch: deleteBranch === undefined ? null : Number(deleteBranch),
      head_commit: head,
      is_jump: Number(isJump),
      state: 'QUEUED',
      group_number: null,
      candidate_commit: null,
      merge_base: null,
      blocked_on: null,
      add_time: now,
      leave_time: null,
      reason: null,
    })
    await rows.wakeQueue(tx, now, queueId)
    await recordQueueEvent(app, tx, caller.user.id, present, { state: 'QUEUED', reason: '' })
    return entry
  })
}

/** Takes a pull request out of its queue. */
export async function dequeuePull(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
): Promise<void> {
  const open = await openPull(app, caller, name, 'take part')
  if (!(await leaveByRequest(app, caller, open)))
    throw new DomainError('MERGE_QUEUE_ENTRY_NOT_FOUND')
}

/**
 * Takes a pull request out of its queue.
 *
 * @returns whether it was in one.
 * @throws DEQUEUE_DENIED
 */
export async function leaveByRequest(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
): Promise<boolean> {
  const { pull } = open
  const entry = await rows.findEntry(app.db, pull.id)
  if (!entry || entry.leave_time !== null) return false
  const isOwn = entry.adder_id === caller.user.id
  if (!isOwn && !(await readMergeRights(app, caller, open, pull.base_branch)).mayMerge)
    throw new DomainError('DEQUEUE_DENIED')
  const reason = { code: 'DEQUEUED', text: `${caller.user.username} took it out` } as const
  await changeWatched(app, (tx) => leaveQueue(app, tx, caller.user.id, { entry, pull }, reason))
  return true
}
