import { expressionBuilder, sql } from 'kysely'
import type { Db, Schema, Tx } from '../../platform/database/schema.ts'
import {
  type RepositoryReader,
  readableBy,
} from '../repositories/access/repository-readers.rows.ts'
import type { CommentPeriod } from './issue-comments.rows.ts'
import type { NewTimelineEntry, ReferencesTable, TimelineTable } from './schema.ts'

/** Something that happened to a conversation, or that somebody said. */
export interface TimelineRow {
  readonly type: TimelineTable['type'] | ReferencesTable['type'] | 'comment' | 'review'
  /** Id of the event, the reference, the comment or the review. */
  readonly id: number
  /** Null for the server, or when the account is gone. */
  readonly actor_id: number | null
  readonly create_time: number
  readonly update_time: number
  /** Markdown; empty for events. */
  readonly body: string
  readonly old_value: string
  readonly new_value: string
  /** The conversation whose text has a reference; 0 for other entries. */
  readonly source_id: number
  /** The comment that has a reference; 0 for other entries. */
  readonly comment_id: number
}

interface PlacedRow extends TimelineRow {
  /** One of `PLACES`. */
  readonly place: number
}

/** The entries of a timeline: those that a reader may see, of a period. */
export interface TimelineSelection extends CommentPeriod {
  readonly conversationId: number
  readonly reader: RepositoryReader
}

export async function insertTimelineEntries(
  tx: Tx,
  entries: readonly NewTimelineEntry[],
): Promise<void> {
  if (entries.length > 0) await tx.insertInto('issue_timeline').values(entries).execute()
}

/** Returns whether a timeline has an entry of a type with a value. */
export async function hasTimelineEntry(
  db: Db,
  conversationId: number,
  type: NewTimelineEntry['type'],
  value: string,
): Promise<boolean> {
  const found = await db
    .selectFrom('issue_timeline')
    .select('id')
    .where('issue_id', '=', conversationId)
    .where('type', '=', type)
    .where('new_value', '=', value)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/**
 * The order of entries of the same second, which have ids of four tables: what somebody said comes
 * before what followed from it, and the events stay in the order in which they happened.
 */
const PLACES = { review: 0, comment: 1, reference: 2, event: 3 } as const

/** Lists the events, references, comments and submitted reviews of a conversation, oldest first. */
export function listTimeline(
  db: Db,
  selection: TimelineSelection,
  offset: number,
  limit: number,
): Promise<TimelineRow[]> {
  return selectTimeline(db, selection)
    .selectAll()
    .orderBy('create_time')
    .orderBy('place')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of entries in that list. */
export async function countTimeline(db: Db, selection: TimelineSelection): Promise<number> {
  const { count } = await selectTimeline(db, selection)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** The events that one read returns. A watcher gets further ones with the next change. */
const MAX_NEW_ENTRIES = 1000

/** Lists the events of a conversation with ids above `after`, in the order in which they happened. */
export function listTimelineAfter(
  db: Db,
  selection: Pick<TimelineSelection, 'conversationId' | 'reader'>,
  after: number,
): Promise<TimelineRow[]> {
  return selectEvents(db, selection)
    .where('event.id', '>', after)
    .orderBy('event.id')
    .limit(MAX_NEW_ENTRIES)
    .execute()
}

/** Returns the id of the latest event of a conversation; 0 if there is none. */
export async function newestTimelineEntry(db: Db, conversationId: number): Promise<number> {
  const { newest } = await db
    .selectFrom('issue_timeline')
    .select((eb) => eb.fn.max('id').as('newest'))
    .where('issue_id', '=', conversationId)
    .executeTakeFirstOrThrow()
  return newest ?? 0
}

const none = sql.lit('').$castTo<string>()
const zero = sql.lit(0).$castTo<number>()

/** Selects the events whose other conversation, if they have one, the reader may read. */
function selectEvents(
  db: Db,
  { conversationId, reader }: Pick<TimelineSelection, 'conversationId' | 'reader'>,
) {
  return db
    .selectFrom('issue_timeline as event')
    .leftJoin('issues as source', 'source.id', 'event.source_id')
    .select(['event.type', 'event.id', 'event.actor_id', 'event.create_time'])
    .select(['event.create_time as update_time', none.as('body')])
    .select(['event.old_value', 'event.new_value'])
    .select((eb) => [eb.fn.coalesce('event.source_id', zero).as('source_id')])
    .select([zero.as('comment_id'), placeOf('event')])
    .where('event.issue_id', '=', conversationId)
    .where((eb) => eb.or([eb('event.source_id', 'is', null), sourceReadable(reader)]))
    .$castTo<PlacedRow>()
}

function selectTimeline(db: Db, selection: TimelineSelection) {
  const { conversationId, since, before } = selection
  const events = selectEvents(db, selection)
  const comments = db
    .selectFrom('issue_comments')
    .select([sql.lit('comment').as('type'), 'id', 'poster_id as actor_id', 'create_time'])
    .select(['update_time', 'body', none.as('old_value'), none.as('new_value')])
    .select([zero.as('source_id'), zero.as('comment_id'), placeOf('comment')])
    .where('issue_id', '=', conversationId)
    .$castTo<PlacedRow>()
  const reviews = db
    .selectFrom('reviews')
    .select([sql.lit('review').as('type'), 'id', 'reviewer_id as actor_id', 'create_time'])
    .select(['update_time', 'body', none.as('old_value'), none.as('new_value')])
    .select([zero.as('source_id'), zero.as('comment_id'), placeOf('review')])
    .where('pull_request_id', '=', conversationId)
    .where('state', 'in', ['APPROVED', 'REQUEST_CHANGES', 'COMMENT'])
    .$castTo<PlacedRow>()
  return db
    .selectFrom(
      events
        .unionAll(comments)
        .unionAll(reviews)
        .unionAll(selectReferences(db, selection))
        .as('timeline'),
    )
    .$if(since !== undefined, (query) => query.where('update_time', '>=', since ?? 0))
    .$if(before !== undefined, (query) => query.where('update_time', '<=', before ?? 0))
}

function placeOf(table: keyof typeof PLACES) {
  return sql.lit(PLACES[table]).$castTo<number>().as('place')
}

/** Selects the references whose text or commit the reader may read. */
function selectReferences(db: Db, { conversationId, reader }: TimelineSelection) {
  return db
    .selectFrom('issue_references as reference')
    .leftJoin('issues as source', 'source.id', 'reference.source_id')
    .select(['reference.type', 'reference.id', 'reference.writer_id as actor_id'])
    .select(['reference.create_time', 'reference.create_time as update_time'])
    .select([sql.lit('').as('body'), 'reference.action as old_value'])
    .select('reference.commit_id as new_value')
    .select((eb) => [
      eb.fn.coalesce('reference.source_id', sql.lit(0)).as('source_id'),
      eb.fn.coalesce('reference.comment_id', sql.lit(0)).as('comment_id'),
      placeOf('reference'),
    ])
    .where('reference.target_id', '=', conversationId)
    .where((eb) =>
      eb.or([
        sourceReadable(reader),
        eb.and([
          eb('reference.source_id', 'is', null),
          readable(reader, 'code', 'reference.repository_id'),
        ]),
      ]),
    )
    .$castTo<PlacedRow>()
}

/** Returns the condition that the other conversation of an entry, which is named `source`, is readable. */
export function sourceReadable(reader: RepositoryReader) {
  const eb = expressionBuilder<Schema>()
  const isPull = sql.ref<number>('source.is_pull')
  const reads = (unit: keyof typeof FEATURES) => readable(reader, unit, 'source.repository_id')
  return eb.or([
    eb.and([eb(isPull, '=', 0), reads('issues')]),
    // Pull requests consist of code, so a reader needs both features.
    eb.and([eb(isPull, '=', 1), reads('pulls'), reads('code')]),
  ])
}

/** The feature of a repository that has the texts, and the column that says whether it is on. */
const FEATURES = {
  issues: 'repositories.has_issues',
  pulls: 'repositories.has_pull_requests',
  code: undefined,
} as const

/** @param repository the column that names the repository. */
function readable(reader: RepositoryReader, unit: keyof typeof FEATURES, repository: string) {
  const eb = expressionBuilder<Schema>()
  const column = FEATURES[unit]
  return eb.exists(
    eb
      .selectFrom('repositories')
      .select('repositories.id')
      .where('repositories.id', '=', sql.ref<number>(repository))
      .$if(column !== undefined, (query) => query.where(column ?? 'repositories.id', '=', 1))
      .where(readableBy(reader, unit)),
  )
}
