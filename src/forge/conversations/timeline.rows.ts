import { sql } from 'kysely'
import type { Db, Tx } from '../../platform/database/schema.ts'
import type { CommentPeriod } from './issue-comments.rows.ts'
import type { NewTimelineEntry, TimelineTable } from './schema.ts'

/** Something that happened to a conversation, or that somebody said. */
export interface TimelineRow {
  readonly type: TimelineTable['type'] | 'comment' | 'review'
  /** Id of the event, the comment or the review. */
  readonly id: number
  /** Null for the server, or when the account is gone. */
  readonly actor_id: number | null
  readonly create_time: number
  readonly update_time: number
  /** Markdown; empty for events. */
  readonly body: string
  readonly old_value: string
  readonly new_value: string
}

export async function insertTimelineEntries(
  tx: Tx,
  entries: readonly NewTimelineEntry[],
): Promise<void> {
  if (entries.length > 0) await tx.insertInto('issue_timeline').values(entries).execute()
}

/** Lists the events, comments and submitted reviews of a conversation, oldest first. */
export function listTimeline(
  db: Db,
  conversationId: number,
  period: CommentPeriod,
  offset: number,
  limit: number,
): Promise<TimelineRow[]> {
  return selectTimeline(db, conversationId, period)
    .selectAll()
    .orderBy('create_time')
    .orderBy('type')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** Returns the number of entries in that list. */
export async function countTimeline(
  db: Db,
  conversationId: number,
  period: CommentPeriod,
): Promise<number> {
  const { count } = await selectTimeline(db, conversationId, period)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

function selectTimeline(db: Db, conversationId: number, { since, before }: CommentPeriod) {
  const none = sql.lit('').$castTo<string>()
  const events = db
    .selectFrom('issue_timeline')
    .select(['type', 'id', 'actor_id', 'create_time', 'create_time as update_time'])
    .select([none.as('body'), 'old_value', 'new_value'])
    .where('issue_id', '=', conversationId)
    .$castTo<TimelineRow>()
  const comments = db
    .selectFrom('issue_comments')
    .select([sql.lit('comment').as('type'), 'id', 'poster_id as actor_id', 'create_time'])
    .select(['update_time', 'body', none.as('old_value'), none.as('new_value')])
    .where('issue_id', '=', conversationId)
    .$castTo<TimelineRow>()
  const reviews = db
    .selectFrom('reviews')
    .select([sql.lit('review').as('type'), 'id', 'reviewer_id as actor_id', 'create_time'])
    .select(['update_time', 'body', none.as('old_value'), none.as('new_value')])
    .where('pull_request_id', '=', conversationId)
    .where('state', 'in', ['APPROVED', 'REQUEST_CHANGES', 'COMMENT'])
    .$castTo<TimelineRow>()
  return db
    .selectFrom(events.unionAll(comments).unionAll(reviews).as('timeline'))
    .$if(since !== undefined, (query) => query.where('update_time', '>=', since ?? 0))
    .$if(before !== undefined, (query) => query.where('update_time', '<=', before ?? 0))
}
