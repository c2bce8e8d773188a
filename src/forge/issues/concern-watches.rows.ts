import { type RawBuilder, sql } from 'kysely'
import { either } from '../../platform/database/dialects/dialects.ts'
import { numbersOf } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'

/** The events of some users' issues and pull requests, in the events of all repositories. */

/** The time within which the entry of a timeline and the event of the same change are made. */
const TRANSACTION_SECONDS = 60

/** The range of the stored events of all repositories. */
interface EventRange {
  /** Id of the latest event; 0 without events. */
  readonly newest: number
  /** Surplus and expired events have been deleted up to this id. */
  readonly floor: number
}

/** Returns the range of the stored events of all repositories. */
export async function findEventRange(db: Db): Promise<EventRange> {
  const { rows } = await sql<{ newest: number; floor: number }>`
    select coalesce((select max(id) from repository_events), 0) as newest,
      coalesce((select max(floor) from repository_event_logs), 0) as floor`.execute(db)
  const [range] = rows
  return { newest: Number(range?.newest ?? 0), floor: Number(range?.floor ?? 0) }
}

/** Returns the id of the latest event of all repositories; 0 without events. */
export async function findNewestEvent(db: Db): Promise<number> {
  const { rows } = await sql<{ newest: number }>`
    select coalesce(max(id), 0) as newest from repository_events`.execute(db)
  return Number(rows[0]?.newest ?? 0)
}

/**
 * Returns the users whom events after an id concern, each with the latest such event. User 0 has the
 * latest event of all, so that the next search starts behind events that concern nobody.
 */
export async function findConcernedUsers(
  db: Db,
  after: number,
): Promise<{ user_id: number; newest: number }[]> {
  const { rows } = await sql<{ user_id: number; newest: number }>`
    select user_id, max(id) as newest from (${concerned(sql`event.id > ${after}`)}
      union all select 0 as user_id, id, null as issue_id from repository_events where id > ${after}
    ) as found where user_id is not null group by user_id`.execute(db)
  return rows.map(({ user_id, newest }) => ({ user_id: Number(user_id), newest: Number(newest) }))
}

/** Conversations that concern a user, each with its latest event within a range, oldest first. */
export async function listConcerningEvents(
  db: Db,
  userId: number,
  { after, until }: { readonly after: number; readonly until: number },
  limit: number,
): Promise<{ id: number; issue_id: number }[]> {
  const isInRange = sql`event.id > ${after} and event.id <= ${until}`
  const { rows } = await sql<{ id: number; issue_id: number }>`
    select max(id) as id, issue_id from (${concerned(isInRange)}) as found
    where user_id = ${userId} group by issue_id order by max(id) limit ${limit}`.execute(db)
  return rows.map(({ id, issue_id }) => ({ id: Number(id), issue_id: Number(issue_id) }))
}

/** More users of a deleted issue are not told. */
const MAX_CONCERNED = 500

/** Returns the users whom an issue concerns that is about to be deleted. */
export async function usersConcernedBy(
  tx: Tx,
  { id, poster_id }: { readonly id: number; readonly poster_id: number | null },
): Promise<number[]> {
  const { rows } = await sql<{ user_id: number }>`
    select user_id from issue_assignees where issue_id = ${id}
    union select user_id from issue_mentions where issue_id = ${id}
    limit ${MAX_CONCERNED}`.execute(tx)
  return [
    ...new Set([
      ...(poster_id === null ? [] : [poster_id]),
      ...rows.map(({ user_id }) => Number(user_id)),
    ]),
  ]
}

/** Returns the deletions of issues among events. */
export async function deletionsAmong(
  db: Db,
  ids: readonly number[],
): Promise<{ readonly id: number; readonly repository_id: number; readonly subject: string }[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('repository_events')
    .select(['id', 'repository_id', 'subject'])
    .where('id', 'in', numbersOf(JSON.stringify(ids)))
    .where('type', '=', 'ISSUE_DELETED')
    .execute()
}

/** The users in the subject of the deletion of an issue. Other subjects may be no JSON. */
const DELETED_FOR = either({
  sqlite: sql`join json_each(case when event.type = 'ISSUE_DELETED' then event.subject else '[]' end, '$[3]') as told`,
  postgres: sql`join lateral jsonb_array_elements_text(case when event.type = 'ISSUE_DELETED'
    then coalesce(event.subject::jsonb -> 3, '[]') else '[]' end) as told (value) on true`,
})

/**
 * Selects events with each user whom they concern: the author, assignees, those whom a text mentions,
 * those who are asked for a review, those who were assigned or asked until the change or shortly
 * before, and those of deleted issues.
 */
function concerned(condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const isConversation = sql`event.audience in ('issues', 'pulls') and ${condition}`
  const rowsOf = (user: RawBuilder<unknown>, join: RawBuilder<unknown>, more = sql`1 = 1`) => sql`
    select ${user} as user_id, event.id, event.subject_id as issue_id
    from repository_events as event ${join} where ${isConversation} and ${more}`
  const former = sql`case when entry.old_value = '' or entry.old_value like 'team:%' then null
    else cast(entry.old_value as integer) end`
  return sql`${rowsOf(sql`issues.poster_id`, sql`join issues on issues.id = event.subject_id`)}
    union all ${rowsOf(
      sql`issue_assignees.user_id`,
      sql`join issue_assignees on issue_assignees.issue_id = event.subject_id`,
    )}
    union all ${rowsOf(
      sql`issue_mentions.user_id`,
      sql`join issue_mentions on issue_mentions.issue_id = event.subject_id`,
    )}
    union all ${rowsOf(
      sql`reviews.reviewer_id`,
      sql`join reviews on reviews.pull_request_id = event.subject_id`,
      sql`reviews.state = 'REQUEST_REVIEW'`,
    )}
    union all ${rowsOf(
      former,
      sql`join issue_timeline as entry on entry.issue_id = event.subject_id`,
      sql`entry.type in ('assignees', 'review_request')
        and entry.create_time >= event.time / 1000 - ${TRANSACTION_SECONDS}`,
    )}
    union all ${rowsOf(
      sql`cast(told.value as bigint)`,
      sql`${DELETED_FOR}`,
      sql`event.type = 'ISSUE_DELETED'`,
    )}`
}
