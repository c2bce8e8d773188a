import { sql } from 'kysely'
import {
  adding,
  type Counting,
  countingTriggers,
} from '../../platform/database/dialects/counters.ts'
import { isPostgres } from '../../platform/database/dialects/dialects.ts'
import {
  createStatementTrigger,
  createTrigger,
  dropTrigger,
  type StatementTrigger,
} from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

const OPEN = `(state = 'OPEN')::integer`

const COUNTINGS: readonly Counting[] = [
  {
    table: 'branches',
    key: 'repository_id',
    amounts: ['1'],
    add: adding('repositories', 'branch_count'),
  },
  {
    table: 'pull_requests',
    key: 'repository_id',
    amounts: ['1', OPEN],
    add: adding('repositories', 'pulls_count', 'open_pulls_count'),
  },
  {
    table: 'pull_requests',
    key: 'milestone_id',
    amounts: [OPEN, `(state <> 'OPEN')::integer`],
    add: adding('milestones', 'open_issues', 'closed_issues'),
  },
  {
    table: 'pull_comments',
    key: 'pull_request_id',
    amounts: ['1'],
    add: adding('pull_requests', 'comment_count'),
  },
  {
    table: 'pull_comments',
    key: 'repository_id',
    amounts: ['1'],
    add: adding('repositories', 'pull_comments_count'),
  },
  {
    table: 'review_comments',
    key: 'review_id',
    amounts: ['1'],
    add: `${adding('reviews', 'comments_count')}
      update pull_requests set review_comment_count = review_comment_count + counted.n1
      where id = (select pull_request_id from reviews where id = counted.key and state <> 'PENDING');`,
  },
  {
    table: 'releases',
    key: 'repository_id',
    amounts: ['(draft = 0 and tag_only = 0)::integer'],
    add: adding('repositories', 'releases_count'),
  },
  {
    table: 'repository_subscriptions',
    key: 'repository_id',
    amounts: [`(mode = 'WATCHING')::integer`],
    add: adding('repositories', 'watchers_count'),
  },
  {
    table: 'stars',
    key: 'repository_id',
    amounts: ['1'],
    add: adding('repositories', 'stars_count'),
  },
  { table: 'stars', key: 'user_id', amounts: ['1'], add: adding('users', 'stars_count') },
  { table: 'follows', key: 'followed_id', amounts: ['1'], add: adding('users', 'followers_count') },
  { table: 'follows', key: 'follower_id', amounts: ['1'], add: adding('users', 'following_count') },
  {
    table: 'webhook_deliveries',
    key: 'webhook_id',
    amounts: ['(next_attempt_time is not null)::integer'],
    add: adding('user_webhooks', 'waiting_count'),
    isChanged: true,
  },
]

/** The triggers for each row that the triggers for each statement replace. Their functions stay. */
const REPLACED: Readonly<Record<string, string>> = {
  branch_counted: 'after insert on branches',
  branch_uncounted: 'after delete on branches',
  pull_requests_counted: 'after insert on pull_requests',
  pull_requests_discounted: 'after delete on pull_requests',
  pull_comments_counted: 'after insert on pull_comments',
  pull_comments_discounted: 'after delete on pull_comments',
  repository_comment_counted: 'after insert on pull_comments',
  repository_comment_uncounted: 'after delete on pull_comments',
  review_comments_counted: 'after insert on review_comments',
  review_comments_discounted: 'after delete on review_comments',
  release_counted: 'after insert on releases',
  release_uncounted: 'after delete on releases',
  repository_subscriptions_counted: 'after insert on repository_subscriptions',
  repository_subscriptions_discounted: 'after delete on repository_subscriptions',
  star_counted: 'after insert on stars',
  star_uncounted: 'after delete on stars',
  follow_counted: 'after insert on follows',
  follow_uncounted: 'after delete on follows',
  webhook_deliveries_counted: 'after insert on webhook_deliveries',
  webhook_deliveries_discounted: 'after delete on webhook_deliveries',
  webhook_deliveries_recounted: 'after update of next_attempt_time on webhook_deliveries',
  webhook_messages_unused: 'after delete on webhook_deliveries',
}

/**
 * Counts once for each statement on PostgreSQL. A trigger for each row wrote a new version of the row
 * with the number for each row of the statement, and each of them had to skip all those before:
 * thousands of rows in one statement took many seconds. SQLite changes a row in its place.
 */
export async function up(db: Tx): Promise<void> {
  if (!isPostgres(db)) return
  for (const [name, event] of Object.entries(REPLACED))
    await sql.raw(`drop trigger ${name} on ${event.split(' on ')[1]}`).execute(db)
  for (const trigger of TRIGGERS) await createStatementTrigger(db, trigger)
  await dropTrigger(db, 'pull_requests_recounted')
  for (const [name, trigger] of Object.entries(RECOUNTED))
    await createTrigger(db, `${name} ${trigger}`)
}

export async function down(db: Tx): Promise<void> {
  if (!isPostgres(db)) return
  for (const name of Object.keys(RECOUNTED)) await dropTrigger(db, name)
  await createTrigger(db, RECOUNTED_BEFORE)
  for (const { name } of TRIGGERS) await dropTrigger(db, name)
  for (const [name, event] of Object.entries(REPLACED))
    await sql
      .raw(`create trigger ${name} ${event} for each row execute function ${name}()`)
      .execute(db)
}

/** The deletion of a milestone changes thousands of pull requests, whose states it does not change. */
const RECOUNTED: Readonly<Record<string, string>> = {
  pull_requests_recounted: `after update of state on pull_requests when old.state <> new.state begin
    update repositories set open_pulls_count = open_pulls_count
      - cast(old.state = 'OPEN' as integer) + cast(new.state = 'OPEN' as integer)
    where id = new.repository_id; end`,
  pull_requests_replanned: `after update of state, milestone_id on pull_requests begin
    update milestones set open_issues = open_issues - cast(old.state = 'OPEN' as integer), closed_issues = closed_issues - cast(old.state <> 'OPEN' as integer)
    where id = old.milestone_id;
    update milestones set open_issues = open_issues + cast(new.state = 'OPEN' as integer), closed_issues = closed_issues + cast(new.state <> 'OPEN' as integer)
    where id = new.milestone_id; end`,
}

const RECOUNTED_BEFORE = `pull_requests_recounted after update of state, milestone_id on pull_requests begin
    update repositories set open_pulls_count = open_pulls_count - cast(old.state = 'OPEN' as integer) + cast(new.state = 'OPEN' as integer)
    where id = new.repository_id;
    update milestones set open_issues = open_issues - cast(old.state = 'OPEN' as integer), closed_issues = closed_issues - cast(old.state <> 'OPEN' as integer)
    where id = old.milestone_id;
    update milestones set open_issues = open_issues + cast(new.state = 'OPEN' as integer), closed_issues = closed_issues + cast(new.state <> 'OPEN' as integer)
    where id = new.milestone_id;
  end`

/** The last delivery of a message deletes the message. */
const UNUSED_MESSAGES: StatementTrigger = {
  name: 'webhook_messages_unused_at_once',
  event: 'delete',
  table: 'webhook_deliveries',
  body: `declare used record;
    begin
      for used in select distinct message_id as id from old_rows order by id
      loop
        delete from webhook_messages where id = used.id
          and not exists (select 1 from webhook_deliveries where message_id = used.id);
      end loop;
      return null;
    end`,
}

const TRIGGERS = [...COUNTINGS.flatMap(countingTriggers), UNUSED_MESSAGES]
