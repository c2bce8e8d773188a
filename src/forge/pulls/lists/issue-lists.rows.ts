import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { containsSql } from '../../../platform/database/database.ts'
import { either } from '../../../platform/database/dialects/dialects.ts'
import type { Db, Schema } from '../../../platform/database/schema.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../../repositories/access/repository-readers.rows.ts'
import type { PullRequest } from '../schema.ts'

/**
 * The number of pull requests, newest first, that one search examines. It bounds the time that a
 * search blocks the process.
 */
const MAX_SEARCHED = 50_000

/** Selects pull requests for clients that look for issues. Undefined fields do not restrict. */
export interface IssueFilter {
  readonly isOpen: boolean | undefined
  /** Names of labels, at least one of which a pull request has. */
  readonly labels?: readonly string[] | undefined
  readonly milestones?: MilestoneNames | undefined
  readonly posterId?: number | undefined
  readonly assigneeId?: number | undefined
  /** The username, in lower case, that a text of the pull request mentions. */
  readonly mention?: string | undefined
  /** A user or team member who was asked for a review. */
  readonly requestedId?: number | undefined
  /** A user who has submitted a review. */
  readonly reviewerId?: number | undefined
  /** A text in the title, the description or a comment. */
  readonly text?: string | undefined
  /** The period of the last change with its ends, in Unix seconds. */
  readonly since?: number | undefined
  readonly before?: number | undefined
}

/** Milestones, one of which a pull request has, by title or number. */
interface MilestoneNames {
  readonly titles: readonly string[]
  readonly ids: readonly number[]
}

/** The repositories of a list: one of them, or those that a reader may read. */
type IssuePlace =
  | { readonly repositoryId: number }
  | { readonly reader: RepositoryReader; readonly ownerId: number | undefined }

/** A part of a list. */
interface IssuePage {
  readonly offset: number
  readonly limit: number
  /** The repository whose pull requests come first. */
  readonly firstRepositoryId?: number | undefined
}

/** Lists pull requests, newest first. */
export function listIssues(
  db: Db,
  place: IssuePlace,
  filter: IssueFilter,
  { offset, limit, firstRepositoryId }: IssuePage,
): Promise<PullRequest[]> {
  const found = selectIssues(db, place, filter)
  const first =
    firstRepositoryId === undefined
      ? found
      : found.orderBy((eb) => eb('issues.repository_id', '=', firstRepositoryId), 'desc')
  // Ids rise with time. The index of a repository has both.
  const sorted = 'repositoryId' in place ? first.orderBy('create_time', 'desc') : first
  return sorted.selectAll().orderBy('id', 'desc').limit(limit).offset(offset).execute()
}

/** Returns the number of pull requests in that list. */
export async function countIssues(db: Db, place: IssuePlace, filter: IssueFilter): Promise<number> {
  const { count } = await selectIssues(db, place, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

type Pulls = ExpressionBuilder<Schema, 'issues'>

function selectIssues(db: Db, place: IssuePlace, filter: IssueFilter) {
  return db
    .selectFrom('issues')
    .where((eb) =>
      eb.and([
        'repositoryId' in place
          ? eb('issues.repository_id', '=', place.repositoryId)
          : isReadable(eb, place),
        ...conditions(eb, filter),
      ]),
    )
}

/** Pull requests consist of code, so a reader needs both features. */
function isReadable(
  eb: Pulls,
  { reader, ownerId }: { readonly reader: RepositoryReader; readonly ownerId: number | undefined },
): Expression<SqlBool> {
  const newest = eb.selectFrom('issues as all').select(({ fn }) => fn.max('all.id').as('id'))
  return eb.and([
    sql<SqlBool>`issues.id > ${newest} - ${MAX_SEARCHED}`,
    eb.exists(
      eb
        .selectFrom('repositories')
        .select('repositories.id')
        .whereRef('repositories.id', '=', 'issues.repository_id')
        .where('repositories.has_pull_requests', '=', 1)
        .$if(ownerId !== undefined, (query) =>
          query.where('repositories.owner_id', '=', ownerId ?? 0),
        )
        .where(readableBy(reader, 'code'))
        .where(readableBy(reader, 'pulls')),
    ),
  ])
}

function conditions(eb: Pulls, filter: IssueFilter): Expression<SqlBool>[] {
  const { isOpen, posterId, since, before } = filter
  const found: Expression<SqlBool>[] = people(eb, filter)
  if (isOpen !== undefined) found.push(eb('issues.state', isOpen ? '=' : '<>', 'OPEN'))
  if (posterId !== undefined) found.push(eb('issues.poster_id', '=', posterId))
  if (since !== undefined) found.push(eb('issues.update_time', '>=', since))
  if (before !== undefined) found.push(eb('issues.update_time', '<=', before))
  if (filter.labels) found.push(hasLabel(eb, filter.labels))
  if (filter.milestones) found.push(hasMilestone(eb, filter.milestones))
  if (filter.text !== undefined) {
    const { text } = filter
    found.push(
      eb.or([
        containsSql(eb.ref('issues.title'), text),
        isSaid(eb, (said) => containsSql(said, text)),
      ]),
    )
  }
  return found
}

function people(
  eb: Pulls,
  { assigneeId, mention, requestedId, reviewerId }: IssueFilter,
): Expression<SqlBool>[] {
  const found: Expression<SqlBool>[] = []
  if (assigneeId !== undefined) {
    const assigned = eb
      .selectFrom('issue_assignees')
      .select('issue_id')
      .where('user_id', '=', assigneeId)
    found.push(eb('issues.id', 'in', assigned))
  }
  if (mention !== undefined) found.push(isSaid(eb, (said) => mentions(said, mention)))
  if (requestedId !== undefined) {
    const asked = eb
      .selectFrom('reviews')
      .select('pull_request_id')
      .where('state', '=', 'REQUEST_REVIEW')
      .where('reviewer_id', '=', requestedId)
    found.push(eb('issues.id', 'in', asked))
  }
  if (reviewerId !== undefined) {
    const reviewed = eb
      .selectFrom('reviews')
      .select('pull_request_id')
      .where('state', 'in', ['APPROVED', 'REQUEST_CHANGES', 'COMMENT'])
      .where('reviewer_id', '=', reviewerId)
    found.push(eb('issues.id', 'in', reviewed))
  }
  return found
}

function hasLabel(eb: Pulls, names: readonly string[]): Expression<SqlBool> {
  return eb(
    'issues.id',
    'in',
    eb
      .selectFrom('issue_labels')
      .innerJoin('labels', 'labels.id', 'issue_labels.label_id')
      .select('issue_labels.issue_id')
      .where('labels.name', 'in', names),
  )
}

function hasMilestone(eb: Pulls, { titles, ids }: MilestoneNames): Expression<SqlBool> {
  const ofPlace = eb
    .selectFrom('milestones')
    .select('milestones.id')
    .whereRef('milestones.repository_id', '=', 'issues.repository_id')
    .where((milestone) =>
      milestone.or([milestone('title', 'in', titles), milestone('milestones.id', 'in', ids)]),
    )
  return eb('issues.milestone_id', 'in', ofPlace)
}

/** The condition that the description or a comment has something. */
function isSaid(
  eb: Pulls,
  has: (text: Expression<string>) => Expression<SqlBool>,
): Expression<SqlBool> {
  return eb.or([
    has(eb.ref('issues.body')),
    eb.exists(
      eb
        .selectFrom('issue_comments')
        .select('issue_comments.id')
        .whereRef('issue_comments.issue_id', '=', 'issues.id')
        .where((comment) => has(comment.ref('issue_comments.body'))),
    ),
  ])
}

/**
 * The condition that a text mentions a name: `@name` between characters of no name. A full stop
 * after the name ends the sentence unless a letter or digit follows.
 */
function mentions(text: Expression<string>, name: string): Expression<SqlBool> {
  const padded = sql`(' ' || lower(${text}) || '  ')`
  const before = '[^-a-z0-9_.@/]'
  const after = '[^-a-z0-9_.]'
  return either({
    sqlite: sql<SqlBool>`(${padded} glob ${`*${before}@${name}${after}*`}
      or ${padded} glob ${`*${before}@${name}.[^a-z0-9]*`})`,
    postgres: sql<SqlBool>`${padded} ~ ${`${before}@${name.replaceAll('.', '\\.')}(${after}|\\.[^a-z0-9])`}`,
  })
}
