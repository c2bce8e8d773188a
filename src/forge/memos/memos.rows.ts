import { numbersOf, prepareFirst, prepareQuery, textsOf } from '../../platform/database/prepared.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import { stateCaches } from '../../platform/database/state-cache.ts'
import type { User } from '../core/schema.ts'
import type { Memo, MemoChanges, MemoVisibility, NewMemo } from './schema.ts'

/**
 * A memo with the properties of its root that decide on access. The root may be the memo itself.
 */
export interface RootedMemo extends Memo {
  readonly root_creator_id: Memo['creator_id']
  readonly root_state: Memo['state']
}

/** What a comment shows of the memo that it belongs to, and what decides who may read that memo. */
export type CommentedMemo = Pick<Memo, 'uid' | 'snippet' | 'creator_id' | 'state'>

export const findMemoByUid = prepareFirst((db, uid: string) =>
  selectRootedMemos(db).where('memos.uid', '=', uid),
)

/** Returns the memos and comments with these uids, in no particular order. */
export async function findMemosByUids(db: Db, uids: readonly string[]): Promise<RootedMemo[]> {
  return uids.length === 0 ? [] : memosByUids(db, JSON.stringify(uids))
}

const memosByUids = prepareQuery((db, uids: string) =>
  selectRootedMemos(db).where('memos.uid', 'in', textsOf(uids)),
)

/** Returns the memos and comments with these ids, by id. */
export async function findMemosByIds(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RootedMemo>> {
  if (ids.length === 0) return new Map()
  const found = await memosByIds(db, JSON.stringify(ids))
  return new Map(found.map((memo) => [memo.id, memo]))
}

const memosByIds = prepareQuery((db, ids: string) =>
  selectRootedMemos(db).where('memos.id', 'in', numbersOf(ids)),
)

/** Selects memos and comments with the properties of their roots. */
export function selectRootedMemos(db: Db) {
  return db
    .selectFrom('memos')
    .innerJoin('memos as root', (join) =>
      join.on((eb) => eb('root.id', '=', eb.fn.coalesce('memos.root_id', 'memos.id'))),
    )
    .selectAll('memos')
    .select(['root.creator_id as root_creator_id', 'root.state as root_state'])
}

/** Returns what comments show of the memos with these ids, by id. */
export async function findCommentedMemos(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, CommentedMemo>> {
  if (ids.length === 0) return new Map()
  const found = await commentedMemosByIds(db, JSON.stringify(ids))
  return new Map(found.map((memo) => [memo.id, memo]))
}

const commentedMemosByIds = prepareQuery((db, ids: string) =>
  db
    .selectFrom('memos')
    .select(['id', 'uid', 'snippet', 'creator_id', 'state'])
    .where('id', 'in', numbersOf(ids)),
)

/** What a memo shows of its creator, and the state that decides who hears of the memo. */
export type MemoCreator = Pick<User, 'id' | 'user_id' | 'username' | 'state'>

/** Creators of memos by id, 5 MB when full. */
const creatorsOf = stateCaches<number, MemoCreator>(10_000)

/** Returns the creators with these ids, active or not, by id. */
export function findMemoCreators(
  db: Db,
  ids: readonly number[],
): Promise<ReadonlyMap<number, MemoCreator>> {
  return creatorsOf(db).readAll(
    db,
    ids,
    async (others) => {
      const found = await creatorsByIds(db, JSON.stringify(others))
      return new Map(found.map((creator) => [creator.id, creator]))
    },
    () => true,
  )
}

const creatorsByIds = prepareQuery((db, ids: string) =>
  db
    .selectFrom('users')
    .select(['id', 'user_id', 'username', 'state'])
    .where('id', 'in', numbersOf(ids)),
)

/** Tags by the ids of memos, 5 MB when full. */
const tagsOf = stateCaches<number, readonly string[]>(10_000)

/** The maximum length of the tags of a memo that are kept. A memo can have hundreds of tags. */
const MAX_KEPT_CHARACTERS = 100

/** Returns the tags of the memos with these ids, by id, in order of appearance. */
export function findTags(
  db: Db,
  memoIds: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  return tagsOf(db).readAll(
    db,
    memoIds,
    (others) => readTags(db, others),
    (tags) => tags.reduce((total, { length }) => total + length, 0) <= MAX_KEPT_CHARACTERS,
  )
}

async function readTags(
  db: Db,
  memoIds: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const tags = new Map<number, string[]>(memoIds.map((id) => [id, []]))
  const found = await tagsOfMemos(db, JSON.stringify(memoIds))
  // A page has few tags. SQLite would make a table of them to sort them.
  found.sort((a, b) => a.position - b.position)
  for (const { memo_id, tag } of found) tags.get(memo_id)?.push(tag)
  return tags
}

const tagsOfMemos = prepareQuery((db, memoIds: string) =>
  db
    .selectFrom('memo_tags')
    .select(['memo_id', 'tag', 'position'])
    .where('memo_id', 'in', numbersOf(memoIds)),
)

/**
 * Stores a memo with its tags, which must be distinct.
 *
 * @throws a unique violation when the uid is taken.
 */
export async function insertMemo(tx: Tx, memo: NewMemo, tags: readonly string[]): Promise<void> {
  const { id } = await tx.insertInto('memos').values(memo).returning('id').executeTakeFirstOrThrow()
  await insertTags(tx, id, tags)
}

export async function updateMemo(tx: Tx, id: number, changes: MemoChanges): Promise<void> {
  await tx.updateTable('memos').set(changes).where('id', '=', id).execute()
}

/** Replaces the tags of a memo. The tags must be distinct. */
export async function replaceTags(tx: Tx, id: number, tags: readonly string[]): Promise<void> {
  await tx.deleteFrom('memo_tags').where('memo_id', '=', id).execute()
  await insertTags(tx, id, tags)
}

async function insertTags(tx: Tx, memo_id: number, tags: readonly string[]): Promise<void> {
  if (tags.length === 0) return
  await tx
    .insertInto('memo_tags')
    .values(tags.map((tag, position) => ({ memo_id, tag, position })))
    .execute()
}

/** Sets the visibility of all comments below a memo, at any depth. */
export async function setVisibilityOfComments(
  tx: Tx,
  rootId: number,
  visibility: MemoVisibility,
): Promise<void> {
  await tx.updateTable('memos').set({ visibility }).where('root_id', '=', rootId).execute()
}

/** Deletes a memo with the tree of comments below it. */
export function deleteMemo(tx: Tx, id: number): Promise<void> {
  return deleteTrees(tx, 'id', id)
}

/**
 * Deletes all memos and comments of an account, with the trees of comments below them, including
 * other users' comments.
 */
export function deleteMemosOf(tx: Tx, userId: number): Promise<void> {
  return deleteTrees(tx, 'creator_id', userId)
}

async function deleteTrees(tx: Tx, column: 'id' | 'creator_id', value: number): Promise<void> {
  await tx
    .withRecursive('doomed(id)', (db) =>
      db
        .selectFrom('memos')
        .select('memos.id')
        .where(column, '=', value)
        // `union` removes duplicates: a user's comment below another comment of the user is in
        // several trees.
        .union(
          db
            .selectFrom('memos')
            .innerJoin('doomed', 'doomed.id', 'memos.parent_id')
            .select('memos.id'),
        ),
    )
    .deleteFrom('memos')
    .where('id', 'in', (db) => db.selectFrom('doomed').select('doomed.id'))
    .execute()
}
