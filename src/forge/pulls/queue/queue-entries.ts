import type { Db, Tx } from '../../../platform/database/schema.ts'
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
import { type OpenPull, openPull, reopenPull, rereadForChange } from '../heads/open-pulls.ts'
import {
  type CheckedMerge,
  checkMerge,
  checkOpen,
  MANUALLY_MERGED,
  type MergeOptions,
  type OpenMerge,
  openMerge,
  targetOf,
} from '../merging/merge-checks.ts'
import { isTemporary } from '../merging/merge-follow-ups.ts'
import { deleteScheduledMerge } from '../merging/scheduled-merges.rows.ts'
import type { MergeQueueEntry, PullRequest } from '../schema.ts'
import * as rows from './merge-queue.rows.ts'
import { leaveQueue, recordQueueEvent } from './queue-exits.ts'
import { type EnteringPull, type EnteringStack, enteringStack } from './queue-stacks.ts'

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

/**
 * Adds a pull request to the queue of its base. If its base is the head of another open pull request, the
 * stack below enters before, in its order, with the settings of the repository for deleting branches
 * unless the caller says otherwise.
 */
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
    const present = await reopenPull(app, open)
    checkOpen(present.pull)
    const stack = await enteringStack(app, caller, present)
    const checked: EnteringMerge[] = []
    for (const pull of stack.entering) {
      const isAsked = pull === stack.entering.at(-1)
      const own = isAsked ? options : { ...options, title: '', message: '', headCommitId: '' }
      checked.push(await (isAsked ? checkOne : checkLower)(app, caller, present, pull, own))
    }
    if (jump && !suffices(open.units.code, 'admin')) throw new DomainError('QUEUE_JUMP_DENIED')
    const entry = await enterStack(app, stack, checked, jump)
    return { open: { ...open, pull: entry.pull }, entry: entry.entry }
  })
}

/** A merge that may enter a queue, with the pull request below. */
interface EnteringMerge {
  readonly merge: CheckedMerge
  readonly below: PullRequest | undefined
}

/** Checks that one pull request may enter a queue. */
async function checkOne(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  { pull, place, below }: EnteringPull,
  options: MergeOptions,
): Promise<EnteringMerge> {
  const merge = await openMerge(app, caller, { ...open, pull }, options, place)
  const rule = queueIn(merge.rights.inForce)
  if (!rule) throw new DomainError('MERGE_QUEUE_NOT_FOUND', { base: targetOf(merge) })
  await checkNotQueued(app.db, merge.pull)
  const style = queueStyle(merge.repository, rule)
  return { merge: await checkEntering(app, { ...merge, options: { ...options, style } }), below }
}

/** Checks a pull request below the one that was asked for. The error names it. */
async function checkLower(...args: Parameters<typeof checkOne>): Promise<EnteringMerge> {
  try {
    return await checkOne(...args)
  } catch (error) {
    if (!(error instanceof DomainError) || isTemporary(error)) throw error
    const [, , , { pull }] = args
    throw new DomainError('STACK_NOT_READY', { number: String(pull.number), cause: error.reason })
  }
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
  return changeWatched(app, async (tx) => {
    const present = await rereadForChange(tx, merge)
    const branch = merge.place?.branch ?? present.base_branch
    return addEntry(app, tx, { merge, present, branch, below: undefined, isJump })
  })
}

/** Adds a stack to a queue in its order, or nothing. */
async function enterStack(
  app: ReposApp,
  { branch, queuedIds }: EnteringStack,
  entering: readonly EnteringMerge[],
  isJump: boolean,
): Promise<{ pull: PullRequest; entry: MergeQueueEntry }> {
  return changeWatched(app, async (tx) => {
    let last: { pull: PullRequest; entry: MergeQueueEntry } | undefined
    for (const { merge, below } of entering) {
      const present = await rereadForChange(tx, merge)
      await checkStillBelow(tx, merge, present, below)
      const entry = await addEntry(app, tx, { merge, present, branch, below, isJump })
      last = { pull: present, entry }
    }
    if (!last) throw new Error('nothing enters the queue')
    // Those below merge before.
    if (isJump) await rows.jumpEntries(tx, queuedIds)
    return last
  })
}

/** Checks that a pull request still stands on another, which is in the queue. */
async function checkStillBelow(
  tx: Tx,
  { pull }: CheckedMerge,
  present: PullRequest,
  below: PullRequest | undefined,
): Promise<void> {
  if (present.base_branch !== pull.base_branch) throw new DomainError('MERGE_OUT_OF_DATE')
  if (!below) return
  const entry = await rows.findEntry(tx, below.id)
  if (entry?.leave_time !== null || entry.head_commit !== below.head_commit)
    throw new DomainError('MERGE_OUT_OF_DATE')
}

interface NewEntry {
  readonly merge: CheckedMerge
  /** The row of the pull request in the transaction. */
  readonly present: PullRequest
  readonly branch: string
  readonly below: PullRequest | undefined
  readonly isJump: boolean
}

async function addEntry(
  app: ReposApp,
  tx: Tx,
  { merge, present, branch, below, isJump }: NewEntry,
): Promise<MergeQueueEntry> {
  const { caller, options, pull, style, head } = merge
  const { title, message, deleteBranch } = options
  const now = app.clock.now()
  checkOpen(present)
  if (present.head_commit !== head) throw new DomainError('HEAD_COMMIT_DIFFERS')
  await checkNotQueued(tx, pull)
  const queueId = await rows.putQueue(tx, pull.repository_id, branch)
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
    below_id: below?.id ?? null,
    add_time: now,
    leave_time: null,
    reason: null,
  })
  await rows.wakeQueue(tx, now, queueId)
  const news = { state: 'QUEUED', reason: '' } as const
  await recordQueueEvent(app, tx, caller.user.id, { ...present, base_branch: branch }, news)
  return entry
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
  const queue = await rows.findQueueById(app.db, entry.queue_id)
  const branch = queue?.branch ?? pull.base_branch
  if (!isOwn && !(await readMergeRights(app, caller, open, branch)).mayMerge)
    throw new DomainError('DEQUEUE_DENIED')
  const reason = { code: 'DEQUEUED', text: `${caller.user.username} took it out` } as const
  await changeWatched(app, (tx) => leaveQueue(app, tx, caller.user.id, { entry, pull }, reason))
  return true
}
