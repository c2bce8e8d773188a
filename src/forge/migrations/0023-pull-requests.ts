import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/** Pull requests with their reviews, comments and merges. */
export async function up(db: Tx): Promise<void> {
  // Pull requests share numbers with future issues. Numbers are never reused.
  await db.schema
    .alterTable('repositories')
    .addColumn('last_issue_number', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  await createPullRequests(db)
  await createPlanning(db)
  await createReviews(db)
  await createMerging(db)
  await createMessages(db)
}

async function createPullRequests(db: Tx): Promise<void> {
  await db.schema
    .createTable('pull_requests')
    // AUTOINCREMENT never reuses an id. Clients store the id.
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('number', 'integer', (c) => c.notNull())
    .addColumn('poster_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('content_version', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('state', 'text', (c) =>
      c.notNull().check(sql`state in ('OPEN', 'CLOSED', 'MERGED')`),
    )
    .addColumn('base_branch', 'text', (c) => c.notNull())
    .addColumn('head_repository_id', 'integer', (c) =>
      c.references('repositories.id').onDelete('set null'),
    )
    .addColumn('head_branch', 'text', (c) => c.notNull())
    .addColumn('head_commit', 'text', (c) => c.notNull())
    .addColumn('head_ref_commit', 'text')
    .addColumn('mergeability', 'text', (c) =>
      c
        .notNull()
        .defaultTo('CHECKING')
        .check(
          sql`mergeability in ('CHECKING', 'MERGEABLE', 'CONFLICT', 'ERROR', 'EMPTY', 'ANCESTOR')`,
        ),
    )
    .addColumn('checked_base', 'text')
    .addColumn('checked_head', 'text')
    .addColumn('merge_base', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('counted_base', 'text')
    .addColumn('counted_head', 'text')
    .addColumn('additions', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('deletions', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('changed_files', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('merge_commit', 'text')
    .addColumn('merger_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('merge_time', 'integer')
    .addColumn('milestone_id', 'integer', (c) => c.references('milestones.id').onDelete('set null'))
    .addColumn('due_time', 'integer')
    .addColumn('allow_maintainer_edit', 'integer', (c) => c.notNull())
    .addColumn('comment_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('review_comment_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('change_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('close_time', 'integer')
    // Last, because it may be long, and the columns before it are often read without it.
    .addColumn('body', 'text', (c) => c.notNull())
    .addUniqueConstraint('pull_requests_number', ['repository_id', 'number'])
    .execute()
  // Two open pull requests never have the same head and base.
  await sql`create unique index pull_requests_open on pull_requests
    (head_repository_id, head_branch, repository_id, base_branch) where state = 'OPEN'`.execute(db)
  await sql`create index pull_requests_behind on pull_requests (id)
    where head_ref_commit is null or head_ref_commit <> head_commit`.execute(db)
  await sql`create index pull_requests_by_base on pull_requests (repository_id, base_branch, state, create_time, id)`.execute(
    db,
  )
  await sql`create index pull_requests_by_merge_commit on pull_requests (repository_id, merge_commit)
    where merge_commit is not null`.execute(db)
  await sql`create index pull_requests_by_poster on pull_requests (repository_id, poster_id, state, create_time, id)`.execute(
    db,
  )
  await sql`create index pull_requests_of_poster on pull_requests (poster_id)`.execute(db)
  await sql`create index pull_requests_of_merger on pull_requests (merger_id) where merger_id is not null`.execute(
    db,
  )
  await sql`create index pull_requests_by_milestone on pull_requests
    (milestone_id, repository_id, state, create_time, id) where milestone_id is not null`.execute(
    db,
  )
  await sql`create index pull_requests_of_head on pull_requests (head_repository_id, head_branch)`.execute(
    db,
  )
  // One index per sort order for one state, and one for all states.
  for (const [name, columns] of SORTS) {
    await sql`create index ${sql.ref(`pull_requests_by_${name}`)} on pull_requests
      (repository_id, ${sql.raw(columns)})`.execute(db)
    await sql`create index ${sql.ref(`pull_requests_in_state_by_${name}`)} on pull_requests
      (repository_id, (state = 'OPEN'), ${sql.raw(columns)})`.execute(db)
  }
  // For the counts of unfiltered lists and of the repository.
  await db.schema
    .alterTable('repositories')
    .addColumn('pulls_count', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  for (const trigger of COUNTING) await createTrigger(db, trigger)
}

const SORTS: readonly (readonly [string, string])[] = [
  ['creation', 'create_time, id'],
  ['update', 'update_time, create_time, id'],
  ['closing', 'coalesce(close_time, 0), create_time, id'],
  // Pull requests with equal counts are sorted newest first in both directions.
  ['most_comments', 'comment_count, create_time, id'],
  ['least_comments', 'comment_count, create_time desc, id desc'],
]

const COUNTING: readonly string[] = [
  `pull_requests_counted after insert on pull_requests begin
    update repositories set pulls_count = pulls_count + 1, open_pulls_count = open_pulls_count + cast(new.state = 'OPEN' as integer)
    where id = new.repository_id;
    update milestones set open_issues = open_issues + cast(new.state = 'OPEN' as integer), closed_issues = closed_issues + cast(new.state <> 'OPEN' as integer)
    where id = new.milestone_id;
  end`,
  `pull_requests_discounted after delete on pull_requests begin
    update repositories set pulls_count = pulls_count - 1, open_pulls_count = open_pulls_count - cast(old.state = 'OPEN' as integer)
    where id = old.repository_id;
    update milestones set open_issues = open_issues - cast(old.state = 'OPEN' as integer), closed_issues = closed_issues - cast(old.state <> 'OPEN' as integer)
    where id = old.milestone_id;
  end`,
  `pull_requests_recounted after update of state, milestone_id on pull_requests begin
    update repositories set open_pulls_count = open_pulls_count - cast(old.state = 'OPEN' as integer) + cast(new.state = 'OPEN' as integer)
    where id = new.repository_id;
    update milestones set open_issues = open_issues - cast(old.state = 'OPEN' as integer), closed_issues = closed_issues - cast(old.state <> 'OPEN' as integer)
    where id = old.milestone_id;
    update milestones set open_issues = open_issues + cast(new.state = 'OPEN' as integer), closed_issues = closed_issues + cast(new.state <> 'OPEN' as integer)
    where id = new.milestone_id;
  end`,
]

async function createPlanning(db: Tx): Promise<void> {
  await createPairs(db, 'pull_request_labels', 'label_id', 'labels.id')
  await createPairs(db, 'pull_request_assignees', 'user_id', 'users.id')
  await createPairs(db, 'pull_dependencies', 'depends_on_id', 'pull_requests.id')
  await db.schema
    .createTable('pull_participants')
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('seen', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('pull_participants_key', ['pull_request_id', 'user_id'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex('pull_participants_user')
    .on('pull_participants')
    .column('user_id')
    .execute()
  await db.schema
    .createTable('pull_comments')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('poster_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('pull_comments_of_pull')
    .on('pull_comments')
    .columns(['pull_request_id', 'create_time', 'id'])
    .execute()
  await db.schema
    .createIndex('pull_comments_poster')
    .on('pull_comments')
    .column('poster_id')
    .execute()
  await createTrigger(
    db,
    `pull_comments_counted after insert on pull_comments begin
    update pull_requests set comment_count = comment_count + 1 where id = new.pull_request_id;
  end`,
  )
  await createTrigger(
    db,
    `pull_comments_discounted after delete on pull_comments begin
    update pull_requests set comment_count = comment_count - 1 where id = old.pull_request_id;
  end`,
  )
}

async function createPairs(
  db: Tx,
  table: string,
  column: string,
  references: string,
): Promise<void> {
  await db.schema
    .createTable(table)
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn(column, 'integer', (c) => c.notNull().references(references).onDelete('cascade'))
    .addPrimaryKeyConstraint(`${table}_key`, ['pull_request_id', column])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await db.schema
    .createIndex(`${table}_${column}`)
    .on(table)
    .columns([column, 'pull_request_id'])
    .execute()
}

async function createReviews(db: Tx): Promise<void> {
  await db.schema
    .createTable('reviews')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('pull_request_id', 'integer', (c) =>
      c.notNull().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('reviewer_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('team_id', 'integer', (c) => c.references('teams.id').onDelete('cascade'))
    .addColumn('state', 'text', (c) =>
      c
        .notNull()
        .check(
          sql`state in ('PENDING', 'APPROVED', 'REQUEST_CHANGES', 'COMMENT', 'REQUEST_REVIEW')`,
        ),
    )
    .addColumn('commit_id', 'text', (c) => c.notNull())
    .addColumn('merge_base', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('official', 'integer', (c) => c.notNull())
    .addColumn('stale', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('compared_head', 'text', (c) => c.notNull())
    .addColumn('dismissed', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('comments_count', 'integer', (c) => c.notNull().defaultTo(0))
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('dismissal_message', 'text', (c) => c.notNull().defaultTo(''))
    .addColumn('body', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('reviews_of_pull')
    .on('reviews')
    .columns(['pull_request_id', 'id'])
    .execute()
  await sql`create unique index reviews_pending on reviews (pull_request_id, reviewer_id)
    where state = 'PENDING'`.execute(db)
  await sql`create unique index reviews_requested on reviews (pull_request_id, reviewer_id)
    where state = 'REQUEST_REVIEW' and reviewer_id is not null`.execute(db)
  await sql`create unique index reviews_requested_of_team on reviews (pull_request_id, team_id)
    where state = 'REQUEST_REVIEW' and team_id is not null`.execute(db)
  await sql`create index reviews_requests on reviews (pull_request_id) where state = 'REQUEST_REVIEW'`.execute(
    db,
  )
  // One official vote per reviewer.
  await sql`create unique index reviews_official on reviews (pull_request_id, reviewer_id)
    where official = 1 and state in ('APPROVED', 'REQUEST_CHANGES')`.execute(db)
  await db.schema.createIndex('reviews_reviewer').on('reviews').column('reviewer_id').execute()
  await db.schema.createIndex('reviews_team').on('reviews').column('team_id').execute()
  // The pending reviews and the review requests of an account are deleted with it.
  await createTrigger(
    db,
    `reviews_abandoned after update of reviewer_id on reviews
    when new.reviewer_id is null and new.team_id is null and new.state in ('PENDING', 'REQUEST_REVIEW') begin
    delete from reviews where id = new.id;
  end`,
  )

  await db.schema
    .createTable('review_comments')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('review_id', 'integer', (c) =>
      c.notNull().references('reviews.id').onDelete('cascade'),
    )
    .addColumn('poster_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('resolver_id', 'integer', (c) => c.references('users.id').onDelete('set null'))
    .addColumn('path', 'text', (c) => c.notNull())
    .addColumn('side', 'text', (c) => c.notNull().check(sql`side in ('old', 'new')`))
    .addColumn('line', 'integer', (c) => c.notNull())
    .addColumn('commit_id', 'text', (c) => c.notNull())
    .addColumn('original_commit_id', 'text', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    .addColumn('diff_hunk', 'text', (c) => c.notNull())
    .addColumn('body', 'text', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('review_comments_of_review')
    .on('review_comments')
    .columns(['review_id', 'id'])
    .execute()
  await createTrigger(
    db,
    `review_comments_counted after insert on review_comments begin
    update reviews set comments_count = comments_count + 1 where id = new.review_id;
    update pull_requests set review_comment_count = review_comment_count + 1 where id =
      (select pull_request_id from reviews where id = new.review_id and state <> 'PENDING');
  end`,
  )
  await createTrigger(
    db,
    `review_comments_discounted after delete on review_comments begin
    update reviews set comments_count = comments_count - 1 where id = old.review_id;
    update pull_requests set review_comment_count = review_comment_count - 1 where id =
      (select pull_request_id from reviews where id = old.review_id and state <> 'PENDING');
  end`,
  )
  // The comments of a pending review are visible to its reviewer only, so they do not count.
  await createTrigger(
    db,
    `reviews_submitted after update of state on reviews
    when old.state = 'PENDING' and new.state <> 'PENDING' begin
    update pull_requests set review_comment_count = review_comment_count + new.comments_count
      where id = new.pull_request_id;
  end`,
  )
  // The comments are deleted after their review, too late to read its state.
  await createTrigger(
    db,
    `reviews_deleted after delete on reviews when old.state <> 'PENDING' begin
    update pull_requests set review_comment_count = review_comment_count - old.comments_count
      where id = old.pull_request_id;
  end`,
  )
  await db.schema
    .createIndex('review_comments_poster')
    .on('review_comments')
    .column('poster_id')
    .execute()
  await sql`create index review_comments_resolver on review_comments (resolver_id)
    where resolver_id is not null`.execute(db)
}

async function createMerging(db: Tx): Promise<void> {
  await db.schema
    .createTable('auto_merges')
    .addColumn('pull_request_id', 'integer', (c) =>
      c.primaryKey().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('repository_id', 'integer', (c) =>
      c.notNull().references('repositories.id').onDelete('cascade'),
    )
    .addColumn('scheduler_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    .addColumn('scopes', 'text')
    .addColumn('style', 'text', (c) => c.notNull())
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('message', 'text', (c) => c.notNull())
    .addColumn('delete_branch', 'integer')
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('due_time', 'integer', (c) => c.notNull())
    .addColumn('wake_count', 'integer', (c) => c.notNull().defaultTo(0))
    .execute()
  // Contains the columns that the lookup of due work reads, because one account may have much
  // pending work.
  await db.schema
    .createIndex('auto_merges_due')
    .on('auto_merges')
    .columns(['due_time', 'scheduler_id'])
    .execute()
  await db.schema
    .createIndex('auto_merges_repository')
    .on('auto_merges')
    .column('repository_id')
    .execute()
  await db.schema
    .createIndex('auto_merges_scheduler')
    .on('auto_merges')
    .column('scheduler_id')
    .execute()

  await db.schema
    .createTable('pull_merge_attempts')
    .addColumn('pull_request_id', 'integer', (c) =>
      c.primaryKey().references('pull_requests.id').onDelete('cascade'),
    )
    .addColumn('note_id', 'integer', (c) =>
      c.notNull().references('pending_ref_updates.id').onDelete('cascade'),
    )
    .addColumn('merger_id', 'integer', (c) => c.notNull())
    .addColumn('merge_base', 'text', (c) => c.notNull())
    .addColumn('head_commit', 'text', (c) => c.notNull())
    .addColumn('merge_commit', 'text', (c) => c.notNull())
    .addColumn('time', 'integer', (c) => c.notNull())
    .execute()
  await db.schema
    .createIndex('pull_merge_attempts_note')
    .on('pull_merge_attempts')
    .column('note_id')
    .execute()
}

async function createMessages(db: Tx): Promise<void> {
  await db.schema
    .createTable('pull_messages')
    .addColumn('message_id', 'integer', (c) =>
      c.primaryKey().references('webhook_messages.id').onDelete('cascade'),
    )
    // Ids are never reused, so the deletion of the pull request needs no cascade.
    .addColumn('pull_request_id', 'integer', (c) => c.notNull())
    .addColumn('actor_id', 'integer')
    .execute()
}

export async function down(db: Tx): Promise<void> {
  for (const table of [
    'pull_messages',
    'pull_dependencies',
    'pull_merge_attempts',
    'auto_merges',
    'review_comments',
    'reviews',
    'pull_comments',
    'pull_participants',
    'pull_request_assignees',
    'pull_request_labels',
    'pull_requests',
  ]) {
    await db.schema.dropTable(table).execute()
  }
  await db.schema.alterTable('repositories').dropColumn('pulls_count').execute()
  await db.schema.alterTable('repositories').dropColumn('last_issue_number').execute()
}
