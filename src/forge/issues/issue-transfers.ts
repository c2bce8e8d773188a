import type { Tx } from '../../platform/database/schema.ts'
import { findUsersByIds } from '../accounts/users/users.rows.ts'
import { filesOfConversation } from '../conversations/attachments.rows.ts'
import { conversationReaders } from '../conversations/conversation-readers.ts'
import { takeNumber } from '../conversations/conversations.rows.ts'
import { commentTexts } from '../conversations/issue-comments.rows.ts'
import {
  findLabelsNamed,
  labelsOfConversations,
  replaceConversationLabels,
} from '../conversations/labels.rows.ts'
import { findMilestone, findMilestoneByTitle } from '../conversations/milestones.rows.ts'
import { assigneesOf, replaceAssignees } from '../conversations/participants.rows.ts'
import type { Conversation } from '../conversations/schema.ts'
import { writeSearchText } from '../conversations/search-texts.rows.ts'
import { recordTimeline } from '../conversations/timeline.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ConversationName, RepositoryName } from '../core/names.ts'
import { touchPull } from '../pulls/heads/pull-requests.rows.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openRepository,
} from '../repositories/access/permissions.ts'
import {
  changeWatched,
  issueSubject,
  recordEvent,
} from '../repositories/activity/repository-events.ts'
import { deleteDiscardedFiles } from '../repositories/attachments/storage-deletions.ts'
import { shareFiles } from '../repositories/attachments/stored-files.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { queueHookEvents } from '../webhooks/outbox/webhook-queue.ts'
import { type DeletedIssue, type IssueFacts, remainsOf } from './issue-changes.ts'
import { removePin } from './issue-pins.ts'
import { moveIssue } from './issue-transfers.rows.ts'
import { type IssueView, viewIssue } from './issue-views.ts'
import { openIssue, rereadIssue } from './open-issues.ts'

/** The repository to which an issue goes. */
export interface TransferTarget extends RepositoryName {
  /** Whether the issue of a private repository may become public. */
  readonly confirmPublic: boolean
}

/**
 * Transfers an issue to another repository, where the caller may write to issues, too. The issue and
 * its comments keep their ids. Labels and the milestone are those of the same names there.
 *
 * @throws as `openIssue` and `openRepository`; TRANSFER_TARGET_DENIED, CONFIRM_PUBLIC_REQUIRED,
 *   REPOSITORY_ARCHIVED; INVALID_FIELD for the repository that has the issue.
 */
export async function transferIssue(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  target: TransferTarget,
): Promise<IssueView> {
  const open = await openIssue(app, caller, name, 'write')
  for (const field of ['owner', 'repo'] as const)
    if (target[field] === '') throw new DomainError('INVALID_FIELD', { field, rule: 'Required' })
  const place = await openTarget(app, caller, target)
  if (place.repository.id === open.repository.id)
    throw new DomainError('INVALID_FIELD', { field: 'repo', rule: 'is another repository' })
  if (isPublic(place) && !isPublic(open) && !target.confirmPublic)
    throw new DomainError('CONFIRM_PUBLIC_REQUIRED')
  const files = await filesOfConversation(app.db, open.issue.id)
  const repositories = [open.repository.id, place.repository.id] as const
  // The files come first, so that no row is without its file.
  const moved = await shareFiles(app, repositories, files, () =>
    changeWatched(app, async (tx) => {
      const issue = await rereadIssue(tx, open)
      const present = await filesOfConversation(tx, issue.id)
      // A file was attached, detached or moved to another store meanwhile.
      if (JSON.stringify(present) !== JSON.stringify(files)) throw new DomainError('SERVER_BUSY')
      return move(app, tx, caller.user.id, issue, place)
    }),
  )
  deleteDiscardedFiles(app)
  return viewIssue(app, caller, place, moved)
}

/** Opens the repository to which an issue goes. */
async function openTarget(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<OpenRepository> {
  try {
    const open = await openRepository(app, caller, name, 'none', 'issues')
    if (!suffices(open.access, 'write')) throw new DomainError('TRANSFER_TARGET_DENIED')
    checkNotArchived(open.repository)
    return open
  } catch (error) {
    // The path of the request does not name that repository, so there is no place to redirect to.
    const isMoved =
      error instanceof DomainError &&
      (error.reason === 'REPOSITORY_MOVED' || error.reason === 'REPOSITORY_OWNER_RENAMED')
    throw isMoved ? new DomainError('REPOSITORY_NOT_FOUND') : error
  }
}

function isPublic({ repository, owner }: OpenRepository): boolean {
  return repository.private === 0 && owner.visibility === 'public'
}

async function move(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  issue: Conversation,
  place: OpenRepository,
): Promise<Conversation> {
  const repository = await findRepositoryById(tx, place.repository.id)
  if (!repository) throw new DomainError('REPOSITORY_NOT_FOUND')
  checkNotArchived(repository)
  if (repository.private !== place.repository.private)
    throw new DomainError('CONFIRM_PUBLIC_REQUIRED')
  const remains = await remainsOf(tx, issue)
  await removePin(tx, issue)
  await moveLabels(tx, issue, place)
  await removeOthers(tx, issue, repository.id)
  const moved = await moveIssue(tx, issue, {
    repository_id: repository.id,
    number: await takeNumber(tx, repository.id),
    milestone_id: await milestoneThere(tx, issue, repository.id),
  })
  await moveSearchTexts(tx, moved)
  await touchPull(tx, issue.id, nowSeconds(app.clock), actorId)
  await recordTimeline(app, tx, actorId, issue.id, { type: 'transferred', sourceId: issue.id })
  await tell(app, tx, actorId, { issue, moved, remains })
  return { ...moved, update_time: nowSeconds(app.clock) }
}

/** Lets a search within the repository find the texts of an issue. */
async function moveSearchTexts(tx: Tx, issue: Conversation): Promise<void> {
  await writeSearchText(tx, { conversation: issue, title: issue.title, body: issue.body })
  for (const { id, body } of await commentTexts(tx, issue.id))
    await writeSearchText(tx, { conversation: issue, commentId: id, body })
}

/** Gives an issue the labels of the same names in the repository to which the issue goes. */
async function moveLabels(
  tx: Tx,
  { id }: Conversation,
  { repository, owner }: OpenRepository,
): Promise<void> {
  const labels = (await labelsOfConversations(tx, [id])).get(id) ?? []
  const owners = {
    repository_id: repository.id,
    organization_id: owner.kind === 'ORGANIZATION' ? owner.id : null,
  }
  const names = labels.map(({ name }) => name)
  const there = await findLabelsNamed(tx, owners, names)
  await replaceConversationLabels(tx, id, [...there.values()])
}

/** Removes the assignees who may not read the issues of a repository. */
async function removeOthers(tx: Tx, { id }: Conversation, repositoryId: number): Promise<void> {
  const users = [...(await findUsersByIds(tx, await assigneesOf(tx, id))).values()]
  const readers = await conversationReaders(tx, { repository_id: repositoryId, is_pull: 0 }, users)
  if (readers.length < users.length)
    await replaceAssignees(
      tx,
      id,
      readers.map((user) => user.id),
    )
}

/** Returns the milestone of the same title in the repository to which an issue goes. */
async function milestoneThere(
  tx: Tx,
  { repository_id, milestone_id }: Conversation,
  repositoryId: number,
): Promise<number | null> {
  const milestone = milestone_id && (await findMilestone(tx, repository_id, milestone_id))
  if (!milestone) return null
  return (await findMilestoneByTitle(tx, repositoryId, milestone.title))?.id ?? null
}

/** An issue before and after its transfer, and what the former repository is told. */
interface Moved {
  readonly issue: Conversation
  readonly moved: Conversation
  readonly remains: DeletedIssue
}

/** Tells the watchers and the webhooks of both repositories. Users are not told of transfers. */
async function tell(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  { issue, moved, remains }: Moved,
): Promise<void> {
  const event = (
    { repository_id, number }: Conversation,
    type: 'ISSUE_TRANSFERRED' | 'ISSUE_OPENED',
  ) => ({
    repository_id,
    type,
    audience: 'issues' as const,
    actor_id: actorId,
    subject_id: issue.id,
    subject: issueSubject(number, undefined),
  })
  await recordEvent(app, tx, event(issue, 'ISSUE_TRANSFERRED'))
  await recordEvent(app, tx, event(moved, 'ISSUE_OPENED'))
  const queue = (repository: number, facts: Pick<IssueFacts, 'action'> & Partial<IssueFacts>) => {
    const whole: IssueFacts = { repository, actor: actorId, issue: issue.id, ...facts }
    return queueHookEvents(
      tx,
      repository,
      () => [{ type: 'issues', facts: whole }],
      app.clock.now(),
    )
  }
  await queue(issue.repository_id, { action: 'transferred', deleted_issue: remains })
  const former = { repository: issue.repository_id, number: issue.number }
  await queue(moved.repository_id, { action: 'opened', old_issue: former })
}
