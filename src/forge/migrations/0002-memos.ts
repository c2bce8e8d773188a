import { sql } from 'kysely'
import { WITHOUT_ROWID } from '../../platform/database/dialects/dialects.ts'
import { createTrigger } from '../../platform/database/dialects/triggers.ts'
import type { Tx } from '../../platform/database/schema.ts'

/**
 * The memos that statistics count: without comments and archived memos. `row` is `old`, `new` or a
 * table.
 */
const counted = (row: string) => `${row}.parent_id is null and ${row}.state = 'NORMAL'`

/** Memos with their tags and figures. */
export async function up(db: Tx): Promise<void> {
  await db.schema
    .createTable('memos')
    .addColumn('id', 'integer', (c) => c.primaryKey().autoIncrement())
    .addColumn('uid', 'text', (c) => c.notNull().unique())
    .addColumn('creator_id', 'integer', (c) =>
      c.notNull().references('users.id').onDelete('cascade'),
    )
    // One statement deletes a whole tree of comments, because a cascade of SQLite ends after 1000
    // levels.
    .addColumn('parent_id', 'integer', (c) => c.references('memos.id'))
    .addColumn('root_id', 'integer', (c) => c.references('memos.id'))
    .addColumn('state', 'text', (c) => c.notNull().check(sql`state in ('NORMAL', 'ARCHIVED')`))
    .addColumn('visibility', 'text', (c) =>
      c.notNull().check(sql`visibility in ('PRIVATE', 'PROTECTED', 'PUBLIC')`),
    )
    .addColumn('pinned', 'integer', (c) => c.notNull())
    .addColumn('has_link', 'integer', (c) => c.notNull())
    .addColumn('has_code', 'integer', (c) => c.notNull())
    .addColumn('has_task_list', 'integer', (c) => c.notNull())
    .addColumn('has_incomplete_tasks', 'integer', (c) => c.notNull())
    .addColumn('create_time', 'integer', (c) => c.notNull())
    .addColumn('update_time', 'integer', (c) => c.notNull())
    // Long texts are last, because SQLite reads a row only up to the last column that is requested.
    .addColumn('title', 'text', (c) => c.notNull())
    .addColumn('snippet', 'text', (c) => c.notNull())
    .addColumn('content', 'text', (c) => c.notNull())
    .execute()
  await addListIndexes(db)

  await db.schema
    .createTable('memo_tags')
    .addColumn('memo_id', 'integer', (c) => c.notNull().references('memos.id').onDelete('cascade'))
    .addColumn('tag', 'text', (c) => c.notNull())
    .addColumn('position', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('memo_tags_key', ['memo_id', 'tag'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()

  await db.schema
    .createTable('memo_counts')
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('visibility', 'text', (c) => c.notNull())
    .addColumn('memos', 'integer', (c) => c.notNull())
    .addColumn('with_link', 'integer', (c) => c.notNull())
    .addColumn('with_code', 'integer', (c) => c.notNull())
    .addColumn('with_task_list', 'integer', (c) => c.notNull())
    .addColumn('with_incomplete_tasks', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('memo_counts_key', ['user_id', 'visibility'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await addMemoCounting(db)

  await db.schema
    .createTable('memo_tag_counts')
    .addColumn('user_id', 'integer', (c) => c.notNull().references('users.id').onDelete('cascade'))
    .addColumn('visibility', 'text', (c) => c.notNull())
    .addColumn('tag', 'text', (c) => c.notNull())
    .addColumn('memos', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('memo_tag_counts_key', ['user_id', 'visibility', 'tag'])
    .modifyEnd(WITHOUT_ROWID)
    .execute()
  await addTagCounting(db)
}

/**
 * Lists merge partitions of one state and visibility, of all creators or of one, each in the order
 * of an index. The indexes of a creator's memos by time also cover the statistics.
 */
async function addListIndexes(db: Tx): Promise<void> {
  for (const index of [
    'memos_by_create_time on memos (state, visibility, create_time, id) where parent_id is null',
    'memos_by_update_time on memos (state, visibility, update_time, id) where parent_id is null',
    'memos_pinned_first on memos (state, visibility, pinned, create_time, id) where parent_id is null',
    // Includes comments, to find all memos of a deleted account.
    'memos_of_creator_by_create_time on memos (creator_id, parent_id, state, visibility, create_time, id)',
    `memos_of_creator_by_update_time on memos (creator_id, parent_id, state, visibility, update_time, id)
      where parent_id is null`,
    `memos_of_creator_pinned_first on memos (creator_id, parent_id, state, visibility, pinned, create_time, id)
      where parent_id is null`,
    'comments_of_memo on memos (parent_id, state, create_time, id) where parent_id is not null',
    'comments_of_root on memos (root_id) where root_id is not null',
  ]) {
    await sql.raw(`create index ${index}`).execute(db)
  }
}

/**
 * Statistics must not scan the memos, so each memo is counted when it is inserted, changed or
 * deleted.
 */
async function addMemoCounting(db: Tx): Promise<void> {
  const count = `insert into memo_counts
      values (new.creator_id, new.visibility, 1, new.has_link, new.has_code, new.has_task_list, new.has_incomplete_tasks)
      on conflict (user_id, visibility) do update set memos = memo_counts.memos + 1,
        with_link = memo_counts.with_link + excluded.with_link,
        with_code = memo_counts.with_code + excluded.with_code,
        with_task_list = memo_counts.with_task_list + excluded.with_task_list,
        with_incomplete_tasks = memo_counts.with_incomplete_tasks + excluded.with_incomplete_tasks;`
  const uncount = `update memo_counts set memos = memos - 1, with_link = with_link - old.has_link,
        with_code = with_code - old.has_code, with_task_list = with_task_list - old.has_task_list,
        with_incomplete_tasks = with_incomplete_tasks - old.has_incomplete_tasks
      where user_id = old.creator_id and visibility = old.visibility;`
  const change =
    'update of state, visibility, has_link, has_code, has_task_list, has_incomplete_tasks'
  for (const trigger of [
    `memo_counted after insert on memos when ${counted('new')} begin ${count} end`,
    `memo_uncounted after delete on memos when ${counted('old')} begin ${uncount} end`,
    `memo_uncounted_before before ${change} on memos when ${counted('old')} begin ${uncount} end`,
    `memo_counted_after after ${change} on memos when ${counted('new')} begin ${count} end`,
    `memo_counts_emptied after update on memo_counts when new.memos = 0 begin
      delete from memo_counts where user_id = new.user_id and visibility = new.visibility; end`,
  ]) {
    await createTrigger(db, trigger)
  }
}

/**
 * Tags are counted per visibility of their memo, so they are counted again when the visibility
 * changes.
 */
async function addTagCounting(db: Tx): Promise<void> {
  const count = (condition: string) => `insert into memo_tag_counts
      select memos.creator_id, memos.visibility, memo_tags.tag, 1
      from memo_tags join memos on memos.id = memo_tags.memo_id where ${counted('memos')} and ${condition}
      on conflict (user_id, visibility, tag) do update set memos = memo_tag_counts.memos + 1;`
  const uncount = `update memo_tag_counts set memos = memos - 1
      where user_id = old.creator_id and visibility = old.visibility
        and tag in (select tag from memo_tags where memo_id = old.id);`
  const change = 'update of state, visibility'
  for (const trigger of [
    `memo_tag_counted after insert on memo_tags begin
      ${count('memo_tags.memo_id = new.memo_id and memo_tags.tag = new.tag')} end`,
    // When a memo is deleted, its row is gone before its tags are deleted, so this trigger does
    // nothing.
    `memo_tag_uncounted after delete on memo_tags begin
      update memo_tag_counts set memos = memo_tag_counts.memos - 1 from memos
      where memos.id = old.memo_id and ${counted('memos')} and memo_tag_counts.user_id = memos.creator_id
        and memo_tag_counts.visibility = memos.visibility and memo_tag_counts.tag = old.tag; end`,
    `memo_tags_uncounted before delete on memos when ${counted('old')} begin ${uncount} end`,
    `memo_tags_uncounted_before before ${change} on memos when ${counted('old')} begin ${uncount} end`,
    `memo_tags_counted_after after ${change} on memos when ${counted('new')} begin
      ${count('memo_tags.memo_id = new.id')} end`,
    `memo_tag_counts_emptied after update on memo_tag_counts when new.memos = 0 begin
      delete from memo_tag_counts
      where user_id = new.user_id and visibility = new.visibility and tag = new.tag; end`,
  ]) {
    await createTrigger(db, trigger)
  }
}

export async function down(db: Tx): Promise<void> {
  for (const table of ['memo_tag_counts', 'memo_counts', 'memo_tags', 'memos']) {
    await db.schema.dropTable(table).execute()
  }
}
