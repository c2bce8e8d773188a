import type { Tx } from '../../platform/database/schema.ts'
import { readTitle } from '../conversations/conversation-fields.ts'
import { RecordError } from '../conversations/imported-attachments.ts'
import * as rows from '../conversations/imported-texts.rows.ts'
import {
  findLabelsNamed,
  insertLabel,
  replaceConversationLabels,
} from '../conversations/labels.rows.ts'
import { findMilestoneByTitle, insertMilestone } from '../conversations/milestones.rows.ts'
import { replaceAssignees } from '../conversations/participants.rows.ts'
import { REACTIONS } from '../conversations/reactions.ts'
import { writeSearchText } from '../conversations/search-texts.rows.ts'
import { STATE_REASONS } from '../issues/duplicates.ts'
import { passNumber, usedNumbers } from '../issues/issue-exchange.rows.ts'
import { insertIssue } from '../issues/issues.rows.ts'
import type {
  CommentRecord,
  ConversationRecord,
  IssueRecord,
  LabelRecord,
  MilestoneRecord,
  ReactionRecord,
  SourcePerson,
} from './project-records.ts'

/** Where records are stored, and for whom. */
export interface Target {
  readonly repositoryId: number
  /** Who imports, and stands for authors without an account here. */
  readonly importerId: number
  /** Returns the account of a person here; undefined for none. */
  accountOf(person: SourcePerson): number | undefined
  /** Collects what is left out. */
  leftOut(message: string): void
}

/** The limits of texts that people write here. */
const MAX_BODY_CHARACTERS = 65_536
const MAX_NAME_CHARACTERS = 255
const MAX_LABEL_CHARACTERS = 50

/** As for issues that people open. */
const MAX_LABELS = 100
const MAX_ASSIGNEES = 100

/** Stores a label, unless the repository has one of that name. */
export async function storeLabel(tx: Tx, target: Target, record: LabelRecord): Promise<void> {
  const name = readTitle(record.name)
  if (name === '' || name.length > MAX_LABEL_CHARACTERS)
    throw new RecordError(`the name must have 1 to ${MAX_LABEL_CHARACTERS} characters`)
  const owner = { repository_id: target.repositoryId, organization_id: null }
  if ((await findLabelsNamed(tx, owner, [name])).size > 0) return
  await insertLabel(tx, owner, {
    name,
    color: /^[0-9a-f]{6}$/.test(record.color) ? record.color : 'ededed',
    description: bodyOf(target, record.description),
    exclusive: Number(record.isExclusive),
    archived: Number(record.isArchived),
  })
}

/** Stores a milestone, unless the repository has one of that title. */
export async function storeMilestone(
  tx: Tx,
  target: Target,
  record: MilestoneRecord,
): Promise<void> {
  const { repositoryId: repository_id } = target
  const title = readTitle(record.title)
  if (title === '') throw new RecordError('the title is empty')
  if (await findMilestoneByTitle(tx, repository_id, title)) return
  const { isClosed, createTime: create_time, updateTime: update_time } = record
  await insertMilestone(tx, {
    repository_id,
    title,
    description: bodyOf(target, record.description),
    state: isClosed ? 'closed' : 'open',
    due_time: record.dueTime,
    close_time: isClosed ? (record.closeTime ?? update_time) : null,
    create_time,
    update_time,
  })
}

/** Stores an issue with everything that belongs to it. */
export async function storeIssue(tx: Tx, target: Target, record: IssueRecord): Promise<void> {
  const columns = await conversationColumns(tx, target, record)
  const reason = STATE_REASONS.find((word) => word === record.stateReason)
  const issue = await insertIssue(
    tx,
    {
      ...columns,
      ref: record.ref.slice(0, MAX_NAME_CHARACTERS),
      state: record.isClosed ? 'CLOSED' : 'OPEN',
      state_reason: record.isClosed ? (reason ?? '') : '',
    },
    record.number,
  )
  await storeParts(tx, target, issue, record)
}

/**
 * Checks the number of a conversation, and returns the columns that issues and pull requests share.
 *
 * @throws RecordError
 */
export async function conversationColumns(tx: Tx, target: Target, record: ConversationRecord) {
  const { repositoryId: repository_id } = target
  const { number, createTime: create_time, updateTime: update_time } = record
  if (number <= 0 || number >= 2 ** 31) throw new RecordError('the number is not allowed')
  await passNumber(tx, repository_id, number)
  if ((await usedNumbers(tx, repository_id, [number])).has(number))
    throw new RecordError('the repository has the number already')
  const milestone = record.milestone && readTitle(record.milestone)
  const found = milestone && (await findMilestoneByTitle(tx, repository_id, milestone))
  const { id: poster_id, ...original } = authorOf(target, record.author)
  return {
    repository_id,
    poster_id,
    ...original,
    title: readTitle(record.title) || `#${number}`,
    body: bodyOf(target, record.body),
    milestone_id: found ? found.id : null,
    due_time: record.dueTime,
    lock_reason: record.lockReason?.slice(0, MAX_NAME_CHARACTERS) ?? null,
    pin_order: record.pinOrder === 0 ? null : record.pinOrder,
    change_count: 1,
    create_time,
    update_time,
    close_time: record.isClosed ? (record.closeTime ?? update_time) : null,
  }
}

/** A conversation that was stored. */
interface Stored {
  readonly id: number
  readonly repository_id: number
  readonly title: string
  readonly body: string
}

/** Stores what issues and pull requests have beside their row. */
export async function storeParts(
  tx: Tx,
  target: Target,
  conversation: Stored,
  record: ConversationRecord,
): Promise<void> {
  const { id, title, body } = conversation
  await writeSearchText(tx, { conversation, title, body })
  const owner = { repository_id: target.repositoryId, organization_id: null }
  const names = record.labels.slice(0, MAX_LABELS).map(readTitle)
  const labels = await findLabelsNamed(tx, owner, names)
  await replaceConversationLabels(tx, id, [...new Set(labels.values())])
  const assignees = record.assignees.flatMap((person) => {
    const account = target.accountOf(person)
    if (account === undefined) target.leftOut(`assignee ${person.login} has no account here`)
    return account ?? []
  })
  await replaceAssignees(tx, id, [...new Set(assignees)].slice(0, MAX_ASSIGNEES))
  await storeReactions(tx, target, { issue_id: id, comment_id: null }, record.reactions)
  for (const comment of record.comments) await storeComment(tx, target, conversation, comment)
}

async function storeComment(
  tx: Tx,
  target: Target,
  conversation: Stored,
  record: CommentRecord,
): Promise<void> {
  const { id: issue_id, repository_id } = conversation
  const { id: poster_id, ...original } = authorOf(target, record.author)
  const { createTime: create_time, updateTime: update_time } = record
  const body = bodyOf(target, record.body)
  const comment = {
    issue_id,
    repository_id,
    poster_id,
    ...original,
    create_time,
    update_time,
    body,
  }
  const commentId = await rows.insertImportedComment(tx, comment)
  await writeSearchText(tx, { conversation, commentId, body })
  await storeReactions(tx, target, { issue_id, comment_id: commentId }, record.reactions)
}

/** Stores the reactions of people who have an account here. The others are counted. */
async function storeReactions(
  tx: Tx,
  target: Target,
  place: { readonly issue_id: number; readonly comment_id: number | null },
  reactions: readonly ReactionRecord[],
): Promise<void> {
  const lost = new Map<string, number>()
  const stored = new Map<string, { readonly user_id: number; readonly content: string }>()
  for (const { person, content } of reactions) {
    const user_id = target.accountOf(person)
    if (user_id === undefined || !REACTIONS.includes(content))
      lost.set(content, (lost.get(content) ?? 0) + 1)
    else stored.set(`${user_id} ${content}`, { user_id, content })
  }
  for (const [content, count] of lost)
    target.leftOut(`${count} × reaction ${content.slice(0, MAX_NAME_CHARACTERS)}`)
  await rows.insertImportedReactions(tx, place, [...stored.values()])
}

/** Returns the account that is shown as the author, and who the author was. */
export function authorOf(target: Target, person: SourcePerson) {
  const id = target.accountOf(person)
  if (id !== undefined) return { id, original_author: '', original_name: '', original_author_id: 0 }
  return {
    id: target.importerId,
    original_author: person.login.slice(0, MAX_NAME_CHARACTERS) || 'Ghost',
    original_name: person.name.slice(0, MAX_NAME_CHARACTERS),
    original_author_id: person.id,
  }
}

/** Returns a text within the limit. What is cut is noted. */
export function bodyOf(target: Target, text: string): string {
  if (text.length <= MAX_BODY_CHARACTERS) return text
  target.leftOut(`a text is cut to ${MAX_BODY_CHARACTERS} characters`)
  // Not within a surrogate pair.
  return text.slice(0, MAX_BODY_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')
}
