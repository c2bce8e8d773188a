import type { Db } from '../../platform/database/schema.ts'
import type { Owner } from '../accounts/schema.ts'
import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import {
  attachmentsOfComments,
  attachmentsOfConversations,
} from '../conversations/attachments.rows.ts'
import { grouped } from '../conversations/conversations.rows.ts'
import { labelsOfConversations } from '../conversations/labels.rows.ts'
import { findMilestonesByIds } from '../conversations/milestones.rows.ts'
import { assigneesOfConversations } from '../conversations/participants.rows.ts'
import type { IssueAttachment, IssueComment, Label, Milestone } from '../conversations/schema.ts'
import type { PullRequest, Review, ReviewComment } from '../pulls/schema.ts'
import type { Release, ReleaseAsset } from '../repositories/releases/schema.ts'
import { type JsonRecord, timeOrNull, timeText } from './archive-format.ts'
import * as rows from './exported-projects.rows.ts'

/** The records of a page of issues or pull requests. */
export interface ConversationLines {
  readonly conversations: readonly JsonRecord[]
  readonly comments: readonly JsonRecord[]
  /** None for issues. */
  readonly reviews: readonly JsonRecord[]
  /** The commits that the records name. */
  readonly commits: readonly string[]
}

export function labelLine({ name, color, description, exclusive, archived }: Label): JsonRecord {
  return { name, color, description, exclusive: exclusive === 1, is_archived: archived === 1 }
}

export function milestoneLine(milestone: Milestone): JsonRecord {
  return {
    title: milestone.title,
    description: milestone.description,
    state: milestone.state,
    due_on: timeOrNull(milestone.due_time),
    closed_at: timeOrNull(milestone.close_time),
    created_at: timeText(milestone.create_time),
    updated_at: timeText(milestone.update_time),
  }
}

/** An account, or the author of something that was imported. */
interface Author {
  readonly original_author: string
  readonly original_name: string
  readonly original_author_id: number
}

type People = (id: number | null, author?: Author) => JsonRecord

/** Who a deleted account was is not known. */
const GHOST = { id: 0, login: 'Ghost', name: '' }

function peopleOf(owners: ReadonlyMap<number, Owner>): People {
  return (id, author) => {
    // Who imports a project stands for its authors.
    if (author && author.original_author !== '')
      return {
        id: author.original_author_id,
        login: author.original_author,
        name: author.original_name,
      }
    const owner = owners.get(id ?? 0)
    return owner ? { id: owner.id, login: owner.name, name: owner.full_name } : GHOST
  }
}

/** A file of an archive. */
export interface ExportedFile<T> {
  readonly file: T
  /** Where the archive has the content. */
  readonly entry: string
}

/** Gives the files of texts their places in an archive. */
export interface Attachments {
  /** Address of a file at this server. */
  urlOf(uuid: string): string
  entryOf(file: IssueAttachment): string
}

/** Returns the records of issues or pull requests, with what belongs to them. */
export async function conversationLines(
  db: Db,
  found: readonly PullRequest[],
  attachments: Attachments,
): Promise<ConversationLines> {
  const parts = await partsOf(db, found, attachments)
  const { comments, reviews, lineComments, people } = parts
  const numbers = new Map(found.map(({ id, number }) => [id, number]))
  const linesById = grouped(lineComments.map((row) => [row.review_id, row] as const))
  const commits = [
    ...found.flatMap(({ merge_commit }) => merge_commit ?? []),
    ...reviews.map(({ commit_id }) => commit_id),
    ...lineComments.map(({ original_commit_id }) => original_commit_id),
  ]
  return {
    conversations: found.map((row) => conversationLine(row, parts)),
    comments: comments.map((comment) => ({
      number: numbers.get(comment.issue_id) ?? 0,
      user: people(comment.poster_id, comment),
      body: comment.body,
      created_at: timeText(comment.create_time),
      updated_at: timeText(comment.update_time),
      reactions: parts.reactionsOf(comment.issue_id, comment.id),
      attachments: parts.filesOf(parts.commentFiles.get(comment.id)),
    })),
    reviews: reviews.map((review) => ({
      number: numbers.get(review.pull_request_id) ?? 0,
      ...reviewLine(review, people),
      comments: (linesById.get(review.id) ?? []).map((row) => lineCommentLine(row, people)),
    })),
    commits,
  }
}

/** What belongs to the conversations of a page. */
interface Parts {
  readonly comments: readonly IssueComment[]
  readonly reviews: readonly Review[]
  readonly lineComments: readonly ReviewComment[]
  readonly labels: ReadonlyMap<number, readonly Label[]>
  readonly assignees: ReadonlyMap<number, readonly number[]>
  readonly milestones: ReadonlyMap<number, Milestone>
  readonly dependencies: ReadonlyMap<number, readonly number[]>
  readonly people: People
  readonly reactionsOf: (conversationId: number, commentId: number | null) => JsonRecord[]
  readonly files: ReadonlyMap<number, readonly IssueAttachment[]>
  readonly commentFiles: ReadonlyMap<number, readonly IssueAttachment[]>
  readonly filesOf: (files: readonly IssueAttachment[] | undefined) => JsonRecord[]
}

async function partsOf(
  db: Db,
  found: readonly PullRequest[],
  attachments: Attachments,
): Promise<Parts> {
  const ids = found.map(({ id }) => id)
  const comments = inOrder(found, await rows.exportedComments(db, ids), (row) => row.issue_id)
  const reviews = inOrder(found, await rows.reviewsOf(db, ids), (row) => row.pull_request_id)
  const reviewIds = reviews.map(({ id }) => id)
  const lineComments = reviewIds.length === 0 ? [] : await rows.lineCommentsOf(db, reviewIds)
  const reactions = await rows.exportedReactions(db, ids)
  const assignees = await assigneesOfConversations(db, ids)
  const dependencies = await rows.dependenciesOf(db, ids)
  const milestoneIds = new Set(found.flatMap(({ milestone_id }) => milestone_id ?? []))
  const authors = [
    ...[...found, ...comments, ...lineComments].map(({ poster_id }) => poster_id),
    ...found.map(({ merger_id }) => merger_id),
    ...reviews.map(({ reviewer_id }) => reviewer_id),
    ...reactions.map(({ user_id }) => user_id),
    ...[...assignees.values()].flat(),
  ]
  const accounts = new Set(authors.flatMap((id) => id ?? []))
  const people = peopleOf(await findOwnersByIds(db, [...accounts]))
  const reactionsById = grouped(reactions.map((row) => [row.issue_id, row] as const))
  return {
    comments,
    reviews,
    lineComments,
    labels: await labelsOfConversations(db, ids),
    assignees,
    milestones: await findMilestonesByIds(db, [...milestoneIds]),
    dependencies: grouped(dependencies.map((row) => [row.issue_id, row.number])),
    people,
    reactionsOf: (conversationId, commentId) =>
      sortedByLogin(
        (reactionsById.get(conversationId) ?? [])
          .filter(({ comment_id }) => comment_id === commentId)
          .map(({ user_id, content }) => ({ user: people(user_id), content })),
        ({ user, content }) => `${content} ${user.login}`,
      ),
    files: await attachmentsOfConversations(db, ids),
    commentFiles: await attachmentsOfComments(
      db,
      comments.map(({ id }) => id),
    ),
    filesOf: (files) =>
      (files ?? []).map((file) => ({
        ...fileLine({ file, entry: attachments.entryOf(file) }),
        uuid: file.uuid,
        url: attachments.urlOf(file.uuid),
      })),
  }
}

/** Sorts rows by the order of their conversations. */
function inOrder<T>(
  found: readonly PullRequest[],
  parts: readonly T[],
  idOf: (part: T) => number,
): T[] {
  const byId = grouped(parts.map((part) => [idOf(part), part] as const))
  return found.flatMap(({ id }) => byId.get(id) ?? [])
}

/** Ids of accounts differ among servers, and names do not. */
function sortedByLogin<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  return items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function conversationLine(row: PullRequest, parts: Parts): JsonRecord {
  const { people } = parts
  const assignees = (parts.assignees.get(row.id) ?? []).map((id) => people(id))
  return {
    number: row.number,
    title: row.title,
    body: row.body,
    state: row.state === 'OPEN' ? 'open' : 'closed',
    user: people(row.poster_id, row),
    created_at: timeText(row.create_time),
    updated_at: timeText(row.update_time),
    closed_at: timeOrNull(row.close_time),
    due_date: timeOrNull(row.due_time),
    is_locked: row.lock_reason !== null,
    lock_reason: row.lock_reason ?? '',
    pin_order: row.pin_order ?? 0,
    labels: (parts.labels.get(row.id) ?? []).map(({ name }) => name),
    milestone: parts.milestones.get(row.milestone_id ?? 0)?.title ?? '',
    assignees: sortedByLogin(assignees, ({ login }) => String(login)),
    reactions: parts.reactionsOf(row.id, null),
    attachments: parts.filesOf(parts.files.get(row.id)),
    dependencies: parts.dependencies.get(row.id) ?? [],
    ...(row.is_pull === 1
      ? pullFields(row, people)
      : { ref: row.ref, state_reason: row.state_reason }),
  }
}

function pullFields(pull: PullRequest, people: People): JsonRecord {
  const isMerged = pull.state === 'MERGED'
  return {
    base: pull.base_branch,
    head: {
      branch: pull.head_branch,
      is_here: pull.head_repository_id === pull.repository_id,
      sha: pull.head_commit,
    },
    merge_base: pull.merge_base,
    merged: isMerged,
    merge_commit_sha: pull.merge_commit ?? '',
    merged_at: timeOrNull(pull.merge_time),
    merged_by: isMerged && pull.merger_id !== null ? people(pull.merger_id) : null,
  }
}

function reviewLine(review: Review, people: People): JsonRecord {
  return {
    user: people(review.reviewer_id, review),
    state: review.state,
    body: review.body,
    commit_id: review.commit_id,
    dismissed: review.dismissed === 1,
    submitted_at: timeText(review.create_time),
    updated_at: timeText(review.update_time),
  }
}

function lineCommentLine(comment: ReviewComment, people: People): JsonRecord {
  return {
    user: people(comment.poster_id, comment),
    body: comment.body,
    path: comment.path,
    side: comment.side,
    line: comment.line,
    commit_id: comment.original_commit_id,
    diff_hunk: comment.diff_hunk,
    resolved: comment.resolver_id !== null,
    created_at: timeText(comment.create_time),
    updated_at: timeText(comment.update_time),
  }
}

/** A release with its files, as far as these have entries of the archive. */
export interface ExportedRelease {
  readonly release: Release
  readonly assets: readonly ExportedFile<ReleaseAsset>[]
}

export async function releaseLines(
  db: Db,
  releases: readonly ExportedRelease[],
): Promise<JsonRecord[]> {
  const publishers = new Set(releases.map(({ release }) => release.publisher_id))
  const people = peopleOf(await findOwnersByIds(db, [...publishers]))
  return releases.map(({ release, assets }) => ({
    tag_name: release.tag_name,
    target_commitish: release.target,
    name: release.title,
    body: release.note,
    draft: release.draft === 1,
    prerelease: release.prerelease === 1,
    author: people(release.publisher_id, release),
    published_at: timeText(release.create_time),
    assets: assets.map(fileLine),
  }))
}

function fileLine({ file, entry }: ExportedFile<ReleaseAsset | IssueAttachment>): JsonRecord {
  return {
    name: file.name,
    size: file.bytes,
    created_at: timeText(file.create_time),
    file: entry,
  }
}
