import { findOwnersByIds } from '../accounts/users/owners.rows.ts'
import {
  attachmentsOfConversations,
  attachmentsOfIssueComments,
} from '../conversations/attachments.rows.ts'
import { type OpenConversations, openConversations } from '../conversations/conversation-readers.ts'
import { grouped } from '../conversations/conversations.rows.ts'
import { findLabelsByIds, labelsOfConversations } from '../conversations/labels.rows.ts'
import { findMilestonesByIds } from '../conversations/milestones.rows.ts'
import { assigneesOfConversations } from '../conversations/participants.rows.ts'
import type {
  Conversation,
  IssueAttachment,
  Label,
  Milestone,
  StoredReference,
} from '../conversations/schema.ts'
import type { Caller } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { RepositoryName } from '../core/names.ts'
import { repositoryReader } from '../repositories/access/permissions.ts'
import { findRepositoriesByIds } from '../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { ExchangeRecord } from './exchange-records.ts'
import { keyOfOther } from './imported-links.ts'
import * as rows from './issue-exchange.rows.ts'

/** The number of issues that an export reads at a time. */
const PAGE = 50

/**
 * Yields the labels and milestones of a repository, then its issues by number, as records that an
 * import reads. Records have neither ids nor addresses, but administrators get the addresses of files.
 * With a number to continue after, there are only issues.
 *
 * @throws as `openConversations`; REPOSITORY_UNIT_CLOSED if the caller may not read issues.
 */
export async function* exportIssues(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  afterNumber: number,
): AsyncGenerator<ExchangeRecord> {
  const { repository } = await openReadable(app, caller, name)
  if (afterNumber === 0) {
    for (const label of await rows.labelsOfRepository(app.db, repository.id))
      yield { kind: 'label', ...labelRecord(label) }
    for (const milestone of await rows.milestonesOfRepository(app.db, repository.id))
      yield { kind: 'milestone', ...milestoneRecord(milestone) }
  }
  for (let last = afterNumber; ; ) {
    // The rights of the caller may have changed while the client was reading.
    const { units } = await openReadable(app, caller, name)
    const issues = await rows.issuesAfter(app.db, repository.id, last, PAGE)
    const final = issues.at(-1)
    if (!final) return
    const ids = issues.map(({ id }) => id)
    const files = suffices(units.code, 'admin') ? await filesOf(app, ids) : NO_FILES
    const others = await othersOf(app, caller, repository.id, ids)
    // Only readers of code see commits.
    const commits = suffices(units.code, 'read')
      ? await rows.commitReferencesOf(app.db, repository.id, ids)
      : []
    yield* await issueRecords(app, issues, files, { ...others, commits })
    last = final.number
  }
}

async function openReadable(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<OpenConversations> {
  const open = await openConversations(app, caller, name)
  if (!open.kinds.issues) throw new DomainError('REPOSITORY_UNIT_CLOSED', { unit: 'issues' })
  return open
}

/** Returns the records of the files of an issue, without those of its comments, or of a comment. */
interface Files {
  ofIssue(issueId: number): ExchangeRecord[]
  ofComment(commentId: number): ExchangeRecord[]
}

const NO_FILES: Files = { ofIssue: () => [], ofComment: () => [] }

async function filesOf(app: ReposApp, ids: readonly number[]): Promise<Files> {
  const files = await attachmentsOfConversations(app.db, ids)
  const ofComments = await attachmentsOfIssueComments(app.db, ids)
  const fileRecord = ({ name, bytes, uuid }: IssueAttachment) => ({
    name,
    size: bytes,
    url: `${app.publicUrl()}/attachments/${uuid}`,
  })
  return {
    ofIssue: (id) => (files.get(id) ?? []).map(fileRecord),
    ofComment: (id) => (ofComments.get(id) ?? []).map(fileRecord),
  }
}

/** The conversations that issues and their events name, as far as the caller may read these. */
interface Others {
  readonly events: readonly rows.ExportedEvent[]
  /** The references of commits of the repository. */
  readonly commits: readonly StoredReference[]
  /** Returns what an issue names: by lists and single ones, without empty ones. */
  linksOf(issueId: number): ExchangeRecord
  /** Returns the other conversation of an event; undefined for an event about one. */
  otherOf(event: Place): ExchangeRecord | undefined
}

type Place = Pick<rows.ExportedEvent, 'other_number' | 'other_repository_id'>

async function othersOf(
  app: ReposApp,
  caller: Caller,
  repositoryId: number,
  ids: readonly number[],
): Promise<Omit<Others, 'commits'>> {
  const reader = repositoryReader(app, caller)
  const events = await rows.eventsOf(app.db, ids, reader)
  const links = await rows.linksOf(app.db, ids, reader)
  const repositories = await findRepositoriesByIds(app.db, [
    ...new Set([...events, ...links].flatMap((one) => one.other_repository_id ?? [])),
  ])
  const owners = await findOwnersByIds(app.db, [
    ...new Set([...repositories.values()].map(({ owner_id }) => owner_id)),
  ])
  // Those of the repository itself are the same after an import elsewhere.
  const otherOf = ({ other_number: number, other_repository_id: id }: Place) => {
    if (number === null || id === null) return undefined
    const repository = repositories.get(id)
    if (id === repositoryId || !repository) return { number }
    const owner = owners.get(repository.owner_id)?.name ?? ''
    const { name } = repository
    return { number, repository: { owner, name, full_name: `${owner}/${name}` } }
  }
  const byIssue = grouped(links.map((link) => [link.issue_id, link] as const))
  const linksOf = (id: number) => {
    const record: ExchangeRecord = {}
    for (const link of byIssue.get(id) ?? []) {
      const other = otherOf(link) ?? null
      const isList = link.kind !== 'parent' && link.kind !== 'duplicate_of'
      record[link.kind] = isList ? [...[record[link.kind] ?? []].flat(), other] : other
    }
    return record
  }
  return { events, linksOf, otherOf }
}

/** An account, or the author of something that was imported. */
interface Author {
  readonly id: number | null
  readonly original_author: string
  readonly original_name: string
}

type Person = (author: Author) => ExchangeRecord

async function issueRecords(
  { db }: ReposApp,
  issues: readonly rows.ExportedIssue[],
  files: Files,
  others: Others,
): Promise<ExchangeRecord[]> {
  const { events, commits, linksOf } = others
  const ids = issues.map(({ id }) => id)
  const comments = await rows.commentsOfIssues(db, ids)
  const reactions = await rows.reactionsOf(db, ids)
  const labels = await labelsOfConversations(db, ids)
  const assignees = await assigneesOfConversations(db, ids)
  const idsIn = (types: readonly string[]) => [
    ...new Set(
      events
        .filter(({ type }) => types.includes(type))
        .flatMap(({ old_value, new_value }) => [Number(old_value), Number(new_value)])
        .filter((id) => id > 0),
    ),
  ]
  const milestones = await findMilestonesByIds(db, [
    ...new Set([...idsIn(['milestone']), ...issues.flatMap((row) => row.milestone_id ?? [])]),
  ])
  const eventLabels = await findLabelsByIds(db, idsIn(['label']))
  const people = [
    ...[...issues, ...comments].map(({ poster_id }) => poster_id),
    ...reactions.map(({ user_id }) => user_id),
    ...events.map(({ actor_id }) => actor_id),
    ...commits.map(({ writer_id }) => writer_id),
    ...idsIn(['assignees']),
    ...[...assignees.values()].flat(),
  ]
  const owners = await findOwnersByIds(db, [...new Set(people.flatMap((id) => id ?? []))])
  const person: Person = ({ id, original_author, original_name }) => {
    // Who imports a project stands for its authors.
    const owner = original_author === '' ? owners.get(id ?? 0) : undefined
    if (owner) return { login: owner.name, name: owner.full_name }
    return { login: original_author || 'Ghost', name: original_name }
  }
  const user = (id: number | null) => person({ id, original_author: '', original_name: '' })
  const reactionRecord = ({ user_id, content, create_time }: (typeof reactions)[number]) => ({
    user: user(user_id),
    content,
    created_at: time(create_time),
  })
  const commentsById = grouped(comments.map((row) => [row.issue_id, row] as const))
  const reactionsById = grouped(reactions.map((row) => [row.issue_id, row] as const))
  const timelineOf = timelines(others, person, { labels: eventLabels, milestones, user })
  return issues.map((issue) => {
    const said = reactionsById.get(issue.id) ?? []
    const milestone = milestones.get(issue.milestone_id ?? 0)
    return {
      ...factsOf(issue),
      user: person({ ...issue, id: issue.poster_id }),
      labels: (labels.get(issue.id) ?? []).map(labelRecord),
      milestone: milestone ? milestoneRecord(milestone) : null,
      assignees: (assignees.get(issue.id) ?? []).map(user),
      reactions: said.filter((row) => row.comment_id === null).map(reactionRecord),
      comments: (commentsById.get(issue.id) ?? []).map((comment) => ({
        author: person({ ...comment, id: comment.poster_id }),
        body: comment.body,
        created_at: time(comment.create_time),
        updated_at: time(comment.update_time),
        reactions: said.filter((row) => row.comment_id === comment.id).map(reactionRecord),
        ...withSome('attachments', files.ofComment(comment.id)),
      })),
      timeline: timelineOf(issue.id),
      attachments: files.ofIssue(issue.id),
      ...linksOf(issue.id),
    }
  })
}

/** Returns what makes the events of an issue, oldest first. */
function timelines(
  { events, commits, otherOf }: Others,
  person: Person,
  named: Named,
): (issueId: number) => ExchangeRecord[] {
  const eventsById = grouped(events.map((row) => [row.issue_id, row] as const))
  const commitsById = grouped(commits.map((row) => [row.target_id, row] as const))
  const eventRecord = (event: rows.ExportedEvent) => ({
    type: event.type,
    actor: person({ ...event, id: event.actor_id }),
    created_at: time(event.create_time),
    ...(otherRecord(event, otherOf(event)) ?? valuesOf(event, named)),
  })
  const commitRecord = ({ writer_id, create_time, commit_id }: StoredReference) => ({
    type: 'commit_ref',
    actor: person({ id: writer_id, original_author: '', original_name: '' }),
    created_at: time(create_time),
    ref_commit_sha: commit_id,
  })
  return (id) =>
    [
      ...(eventsById.get(id) ?? []).map(eventRecord),
      ...(commitsById.get(id) ?? []).map(commitRecord),
    ].sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at))
}

/** The properties of an issue that have no other row. */
function factsOf(issue: Conversation): ExchangeRecord {
  return {
    kind: 'issue',
    number: issue.number,
    title: issue.title,
    body: issue.body,
    ref: issue.ref,
    state: issue.state === 'OPEN' ? 'open' : 'closed',
    ...(issue.state_reason !== '' && { state_reason: issue.state_reason }),
    is_locked: issue.lock_reason !== null,
    lock_reason: issue.lock_reason ?? '',
    created_at: time(issue.create_time),
    updated_at: time(issue.update_time),
    closed_at: timeOrNull(issue.close_time),
    due_date: timeOrNull(issue.due_time),
    ...(issue.pin_order !== null && { pin_order: issue.pin_order }),
  }
}

function withSome(key: string, records: ExchangeRecord[]): ExchangeRecord {
  return records.length === 0 ? {} : { [key]: records }
}

/** Returns the other conversation of an event, by its name in timelines; undefined for none. */
function otherRecord(
  { type }: rows.ExportedEvent,
  other: ExchangeRecord | undefined,
): ExchangeRecord | undefined {
  return other && { [keyOfOther(type) ?? 'ref_issue']: other }
}

/** What the values of events name. */
interface Named {
  readonly labels: ReadonlyMap<number, Label>
  readonly milestones: ReadonlyMap<number, Milestone>
  readonly user: (id: number) => ExchangeRecord
}

/** Returns the values of an event by their names in timelines. Values of other types are as stored. */
function valuesOf(
  { type, old_value, new_value }: rows.ExportedEvent,
  { labels, milestones, user }: Named,
): ExchangeRecord {
  const title = (value: string) => milestones.get(Number(value))?.title ?? ''
  switch (type) {
    case 'label': {
      const label = labels.get(Number(new_value || old_value))
      return { label: label ? labelRecord(label) : null, body: new_value === '' ? '' : '1' }
    }
    case 'milestone':
      return { old_milestone: title(old_value), milestone: title(new_value) }
    case 'assignees':
      return {
        assignee: user(Number(new_value || old_value)),
        removed_assignee: new_value === '',
      }
    case 'change_title':
      return { old_title: old_value, new_title: new_value }
    case 'change_issue_ref':
      return { old_ref: old_value, new_ref: new_value }
    case 'close':
      return { body: old_value, ref_commit_sha: new_value }
    case 'reopen':
      return { ref_commit_sha: new_value }
    case 'lock':
      return { body: new_value }
    default:
      return { old_value, new_value }
  }
}

function labelRecord({ name, color, description, exclusive, archived }: Label): ExchangeRecord {
  return { name, color, description, exclusive: exclusive === 1, is_archived: archived === 1 }
}

function milestoneRecord(milestone: Milestone): ExchangeRecord {
  const { title, description, state, due_time, close_time, create_time, update_time } = milestone
  return {
    title,
    description,
    state,
    due_on: timeOrNull(due_time),
    closed_at: timeOrNull(close_time),
    created_at: time(create_time),
    updated_at: time(update_time),
  }
}

function time(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

function timeOrNull(seconds: number | null): string | null {
  return seconds === null ? null : time(seconds)
}
