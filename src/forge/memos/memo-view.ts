import type { Db } from '../../platform/database/schema.ts'
import { DomainError } from '../core/errors.ts'
import { isReadable, type MemoReader } from './memo-access.ts'
import {
  type CommentedMemo,
  findCommentedMemos,
  findMemoCreators,
  findTags,
  type MemoCreator,
  type RootedMemo,
} from './memos.rows.ts'

/** A memo with the related data of its representation. */
export interface MemoView {
  readonly memo: RootedMemo
  readonly creator: MemoCreator
  /** In order of appearance in the content. */
  readonly tags: readonly string[]
  /** The memo that a comment belongs to; undefined for a memo that is not a comment. */
  readonly parent: CommentedMemo | undefined
}

/** Returns memos as views, with three queries in total. */
export async function viewsOf(db: Db, memos: readonly RootedMemo[]): Promise<MemoView[]> {
  if (memos.length === 0) return []
  const creators = await findMemoCreators(db, distinct(memos.map(({ creator_id }) => creator_id)))
  const parentIds = memos.flatMap(({ parent_id }) => parent_id ?? [])
  const parents = await findCommentedMemos(db, distinct(parentIds))
  const tags = await findTags(
    db,
    memos.map(({ id }) => id),
  )
  return memos.flatMap((memo) => {
    const creator = creators.get(memo.creator_id)
    // The creator may have been deleted, with the memo, after the memo was read.
    return creator
      ? [{ memo, creator, tags: tags.get(memo.id) ?? [], parent: parents.get(memo.parent_id ?? 0) }]
      : []
  })
}

function distinct(ids: readonly number[]): number[] {
  return [...new Set(ids)]
}

/** Returns a memo as a view. */
export async function viewOf(db: Db, memo: RootedMemo): Promise<MemoView> {
  const [view] = await viewsOf(db, [memo])
  if (!view) throw new DomainError('MEMO_NOT_FOUND', { name: `memos/${memo.uid}` })
  return view
}

/**
 * Returns the snippet of the memo that a comment belongs to; undefined when the reader may not read
 * that memo.
 */
export function readableSnippet(
  { memo, parent }: MemoView,
  reader: MemoReader,
): string | undefined {
  if (!parent) return undefined
  const { creator_id, state, snippet } = parent
  return isReadable({ ...memo, creator_id, state }, reader) ? snippet : undefined
}

/** A change of one memo, published in the transaction of the change. */
export interface MemoEvent {
  readonly type: 'memo.created' | 'memo.updated' | 'memo.deleted'
  /** The memo after the change. A deleted memo is as before the deletion. */
  readonly view: MemoView
  /** The content before the change; undefined for a new memo. */
  readonly previousContent?: string | undefined
  /** The memo that a new comment belongs to. */
  readonly commentedOn?: MemoView | undefined
  /** Unix milliseconds. */
  readonly timeMs: number
}
