import type { Tx } from '../../platform/database/schema.ts'
import type { DependencyReference } from '../conversations/dependencies.ts'
import type { Conversation } from '../conversations/schema.ts'
import { recordTimeline } from '../conversations/timeline.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName } from '../core/names.ts'
import { touchPull } from '../pulls/heads/pull-requests.rows.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { recordIssueChange } from './issue-changes.ts'
import { type ConversationView, viewConversationsById } from './issue-views.ts'
import { findNamed, type OpenIssue, openIssue, rereadIssue } from './open-issues.ts'
import { childrenOf, heightOf, lineOf, parentOf, storeChildren } from './sub-issues.rows.ts'

/** Issues that are parts of others. An open part refuses nothing. */

/** Maximum number of sub-issues of an issue. */
const MAX_CHILDREN = 100

/** Maximum number of levels below an issue that has no parent. */
const MAX_DEPTH = 8

/** Lists the sub-issues of an issue that the caller may read, by position. */
export async function listSubIssues(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<ConversationView[]> {
  const { issue } = await openIssue(app, caller, name, 'read')
  const views = await viewConversationsById(app, caller, await childrenOf(app.db, issue.id))
  return views.flatMap((view) => view ?? [])
}

/**
 * Returns the parent of an issue.
 *
 * @throws as `openIssue`; ISSUE_NOT_FOUND for none, and if the caller may not read the parent.
 */
export async function getParent(
  app: ReposApp,
  caller: Caller,
  name: ConversationName,
): Promise<ConversationView> {
  const { issue } = await openIssue(app, caller, name, 'read')
  const id = await parentOf(app.db, issue.id)
  const [view] = id === undefined ? [] : await viewConversationsById(app, caller, [id])
  if (!view) throw new DomainError('ISSUE_NOT_FOUND')
  return view
}

/**
 * Makes an issue the last part of another one. Has no effect if it is a part already.
 *
 * @throws as `openIssue` of both; INVALID_PARENT
 */
export async function addSubIssue(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  reference: DependencyReference,
): Promise<void> {
  const open = await openIssue(app, caller, name, 'write')
  const part = await openPart(app, caller, open, reference, 'write')
  if (part.repository.owner_id !== open.repository.owner_id)
    throw new DomainError('INVALID_PARENT', { rule: 'both have the same owner' })
  await change(app, caller, open, part, async (tx, children) => {
    if (children.includes(part.issue.id)) return children
    await checkFits(tx, open.issue.id, part.issue.id, children)
    return [...children, part.issue.id]
  })
}

/**
 * Removes a part of an issue.
 *
 * @throws as `openIssue` of both; ISSUE_NOT_FOUND if it is no part of the issue.
 */
export async function removeSubIssue(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  reference: DependencyReference,
): Promise<void> {
  const open = await openIssue(app, caller, name, 'write')
  const part = await openPart(app, caller, open, reference, 'write')
  await change(app, caller, open, part, async (_, children) => without(children, part.issue.id))
}

/**
 * Moves a part of an issue among the others.
 *
 * @param position from 1. One beyond the last means the last.
 * @throws as `openIssue`; INVALID_FIELD; ISSUE_NOT_FOUND if it is no part of the issue.
 */
export async function moveSubIssue(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  reference: DependencyReference,
  position: number,
): Promise<void> {
  const open = await openIssue(app, caller, name, 'write')
  const part = await openPart(app, caller, open, reference, 'read')
  if (position < 1)
    throw new DomainError('INVALID_FIELD', { field: 'position', rule: 'is a number from 1' })
  await change(app, caller, open, part, async (_, children) =>
    without(children, part.issue.id).toSpliced(position - 1, 0, part.issue.id),
  )
}

function without(children: readonly number[], id: number): number[] {
  if (!children.includes(id)) throw new DomainError('ISSUE_NOT_FOUND')
  return children.filter((other) => other !== id)
}

/** Opens the issue that a request names as a part. */
async function openPart(
  app: ReposApp,
  caller: SignedIn,
  { repository, owner }: OpenIssue,
  reference: DependencyReference,
  needed: 'read' | 'write',
): Promise<OpenIssue> {
  const name = {
    owner: reference.owner || owner.name,
    repo: reference.repo || repository.name,
    number: reference.number,
  }
  try {
    const { conversation } = await findNamed(app, caller, name)
    if (conversation.is_pull === 1)
      throw new DomainError('INVALID_PARENT', { rule: 'pull requests are no sub-issues' })
    return await openIssue(app, caller, name, needed)
  } catch (error) {
    const isHidden =
      error instanceof DomainError &&
      /^(REPOSITORY_(NOT_FOUND|MOVED|OWNER_RENAMED)|ISSUE_TRANSFERRED)$/.test(error.reason)
    throw isHidden ? new DomainError('ISSUE_NOT_FOUND') : error
  }
}

/** Checks that an issue can become a part of another one. */
export async function checkFits(
  tx: Tx,
  parentId: number,
  partId: number,
  children: readonly number[],
): Promise<void> {
  const refuse = (rule: string) => new DomainError('INVALID_PARENT', { rule })
  if ((await parentOf(tx, partId)) !== undefined) throw refuse('an issue has one parent')
  if (children.length >= MAX_CHILDREN) throw refuse(`at most ${MAX_CHILDREN} sub-issues`)
  const line = await lineOf(tx, parentId)
  if (line.includes(partId)) throw refuse('no issue is a part of itself')
  if (line.length + (await heightOf(tx, partId)) > MAX_DEPTH)
    throw refuse(`at most ${MAX_DEPTH} levels`)
}

/** @param orderFrom computes the new order of the parts from the present one. */
async function change(
  app: ReposApp,
  { user }: SignedIn,
  open: OpenIssue,
  part: OpenIssue,
  orderFrom: (tx: Tx, children: readonly number[]) => Promise<readonly number[]>,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const issue = await rereadIssue(tx, open)
    const child = await rereadIssue(tx, part)
    const before = await childrenOf(tx, issue.id)
    const after = await orderFrom(tx, before)
    if (after.length === before.length && after.every((id, i) => id === before[i])) return
    await storeChildren(tx, issue.id, after)
    const record = async (one: Conversation, other: Conversation, type: EntryType) => {
      await touchPull(tx, one.id, nowSeconds(app.clock), user.id)
      await recordTimeline(app, tx, user.id, one.id, { type, sourceId: other.id })
      await recordIssueChange(app, tx, user.id, one, { type: 'ISSUE_EDITED', told: [] })
    }
    const word = after.length > before.length ? 'added' : 'removed'
    if (after.length === before.length)
      return recordIssueChange(app, tx, user.id, issue, { type: 'ISSUE_EDITED', told: [] })
    await record(issue, child, `sub_issue_${word}`)
    await record(child, issue, `parent_${word}`)
  })
}

type EntryType = `${'sub_issue' | 'parent'}_${'added' | 'removed'}`
