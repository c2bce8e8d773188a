import type { Tx } from '../../platform/database/schema.ts'
import { findLabelsNamed, replaceConversationLabels } from '../conversations/labels.rows.ts'
import { findMilestoneByTitle } from '../conversations/milestones.rows.ts'
import { replaceAssignees } from '../conversations/participants.rows.ts'
import { REACTIONS } from '../conversations/reactions.ts'
import type { Conversation, StateReason } from '../conversations/schema.ts'
import { writeSearchText } from '../conversations/search-texts.rows.ts'
import { DomainError } from '../core/errors.ts'
import type { Repository } from '../repositories/schema.ts'
import { STATE_REASONS } from './duplicates.ts'
import type { ImportRecord } from './import-records.ts'
import { passNumber, usedNumbers } from './issue-exchange.rows.ts'
import { listPinned } from './issue-pins.rows.ts'
import { MAX_PINS } from './issue-pins.ts'
import { insertIssue } from './issues.rows.ts'

/** The ids of users here. */
export interface Users {
  /** By their logins in records, which come first. */
  readonly byLogin: ReadonlyMap<string, number>
  readonly byEmail: ReadonlyMap<string, number>
}

/** Where records are stored. */
interface Target {
  readonly repository: Pick<Repository, 'id'>
  readonly users: Users
  readonly keepsNumbers: boolean
}

/**
 * Stores a record. Nobody is told.
 *
 * @returns the id of an issue; undefined for another record.
 */
export async function storeRecord(
  tx: Tx,
  target: Target,
  record: ImportRecord,
  now: number,
): Promise<number | undefined> {
  const { id } = target.repository
  const kind = record.text('kind')
  if (kind === 'issue') return storeIssue(tx, target, record, now)
  if (kind === 'label') await storeLabel(tx, id, record)
  else await storeMilestone(tx, id, record, now)
  return undefined
}

/** Stores a label, unless the repository has one of that name. */
async function storeLabel(tx: Tx, repositoryId: number, record: ImportRecord): Promise<void> {
  const name = record.title('name')
  const color = record.text('color').replace(/^#/, '').toLowerCase()
  if (name.length > 50) record.refuse('name has at most 50 characters')
  if (!/^[0-9a-f]{6}$/.test(color)) record.refuse('color is six hexadecimal digits')
  const owner = { repository_id: repositoryId, organization_id: null }
  if ((await findLabelsNamed(tx, owner, [name])).size > 0) return
  const flags = {
    exclusive: Number(record.flag('exclusive')),
    archived: Number(record.flag('is_archived')),
  }
  const description = record.body('description')
  await tx
    .insertInto('labels')
    .values({ ...owner, name, color, description, ...flags })
    .execute()
}

/** Stores a milestone, unless the repository has one of that title. */
async function storeMilestone(
  tx: Tx,
  repository_id: number,
  record: ImportRecord,
  now: number,
): Promise<void> {
  const title = record.title('title')
  if (await findMilestoneByTitle(tx, repository_id, title)) return
  const state = record.text('state') === 'closed' ? 'closed' : 'open'
  const create_time = record.time('created_at') ?? now
  await tx
    .insertInto('milestones')
    .values({
      repository_id,
      title,
      description: record.body('description'),
      state,
      due_time: record.time('due_on'),
      close_time: state === 'closed' ? (record.time('closed_at') ?? now) : null,
      create_time,
      update_time: record.time('updated_at') ?? create_time,
    })
    .execute()
}

async function storeIssue(
  tx: Tx,
  { repository: { id: repository_id }, users, keepsNumbers }: Target,
  record: ImportRecord,
  now: number,
): Promise<number> {
  const number = keepsNumbers ? record.number('number') : 0
  if (number > 0) {
    await passNumber(tx, repository_id, number)
    if ((await usedNumbers(tx, repository_id, [number])).has(number))
      throw new DomainError('IMPORT_CONFLICT', { number: String(number) })
  }
  const isOpen = record.text('state') !== 'closed'
  const create_time = record.time('created_at') ?? now
  const { id: poster_id, ...original } = importedAuthor(users, record.part('user'))
  const [milestone] = record.names('milestone', 'title')
  const found = milestone && (await findMilestoneByTitle(tx, repository_id, milestone))
  const reason = STATE_REASONS.find((word) => word === record.text('state_reason'))
  const issue = {
    repository_id,
    poster_id,
    ...original,
    title: record.title('title'),
    body: record.body('body'),
    ref: record.text('ref'),
    state: isOpen ? 'OPEN' : 'CLOSED',
    state_reason: isOpen ? '' : ((reason ?? '') as StateReason | ''),
    milestone_id: found ? found.id : null,
    due_time: record.time('due_date'),
    lock_reason: record.flag('is_locked') ? record.text('lock_reason').slice(0, 255) : null,
    change_count: 1,
    create_time,
    update_time: record.time('updated_at') ?? create_time,
    close_time: isOpen ? null : (record.time('closed_at') ?? now),
  } as const
  const conversation = await insertIssue(tx, issue, number === 0 ? undefined : number)
  const { id, title, body } = conversation
  await writeSearchText(tx, { conversation, title, body })
  const owner = { repository_id, organization_id: null }
  const labels = await findLabelsNamed(tx, owner, record.names('labels', 'name'))
  await replaceConversationLabels(tx, id, [...new Set(labels.values())].slice(0, 100))
  const assignees = record.parts('assignees').flatMap((one) => accountOf(users, one) ?? [])
  await replaceAssignees(tx, id, [...new Set(assignees)].slice(0, 100))
  await storeReactions(tx, { issue_id: id, comment_id: null }, users, record)
  for (const comment of record.parts('comments'))
    await storeComment(tx, { repository_id, id }, users, comment, now)
  await pin(tx, conversation, record.number('pin_order'))
  return id
}

/** An issue that was stored. */
interface Stored {
  readonly repository_id: number
  readonly id: number
}

async function storeComment(
  tx: Tx,
  { repository_id, id: issue_id }: Stored,
  users: Users,
  record: ImportRecord,
  now: number,
): Promise<void> {
  const { id: poster_id, ...original } = importedAuthor(users, record.part('author'))
  const create_time = record.time('created_at') ?? now
  const update_time = record.time('updated_at') ?? create_time
  const body = record.body('body')
  const { id: comment_id } = await tx
    .insertInto('issue_comments')
    .values({ issue_id, repository_id, poster_id, ...original, create_time, update_time, body })
    .returning('id')
    .executeTakeFirstOrThrow()
  const conversation = { id: issue_id, repository_id }
  await writeSearchText(tx, { conversation, commentId: comment_id, body })
  await storeReactions(tx, { issue_id, comment_id }, users, record)
}

/** Stores the reactions of users who have an account here. */
async function storeReactions(
  tx: Tx,
  target: { readonly issue_id: number; readonly comment_id: number | null },
  users: Users,
  record: ImportRecord,
): Promise<void> {
  const reactions = record.parts('reactions').flatMap((one) => {
    const user_id = accountOf(users, one.part('user'))
    const content = one.text('content')
    if (user_id === undefined || !REACTIONS.includes(content)) return []
    return { ...target, user_id, content, create_time: one.time('created_at') ?? 0 }
  })
  const once = new Map(reactions.map((one) => [`${one.user_id} ${one.content}`, one]))
  if (once.size > 0)
    await tx
      .insertInto('issue_reactions')
      .values([...once.values()])
      .execute()
}

/** Pins an issue at a position that is free. A fourth issue is not pinned. */
async function pin(tx: Tx, issue: Conversation, position: number): Promise<void> {
  if (position === 0) return
  const taken = new Set((await listPinned(tx, issue)).map(({ pin_order }) => pin_order))
  const free = [position, 1, 2, 3].find((one) => one <= MAX_PINS && !taken.has(one))
  if (free !== undefined)
    await tx.updateTable('issues').set({ pin_order: free }).where('id', '=', issue.id).execute()
}

/** Returns the account of a person; undefined for none. */
export function accountOf(users: Users, person: ImportRecord | undefined): number | undefined {
  return (
    users.byLogin.get(person?.text('login') ?? '') ?? users.byEmail.get(person?.text('email') ?? '')
  )
}

/** Returns the account of a person, or who has none. */
export function importedAuthor(users: Users, person: ImportRecord | undefined) {
  const login = person?.text('login') ?? ''
  const id = accountOf(users, person)
  if (id !== undefined) return { id, original_author: '', original_name: '' }
  const name = person?.text('name') ?? ''
  return {
    id: null,
    original_author: login === 'Ghost' ? '' : login.slice(0, 255),
    original_name: name.slice(0, 255),
  }
}
