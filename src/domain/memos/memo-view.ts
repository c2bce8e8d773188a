import { findUsersByIds } from '../../storage/accounts/users.ts'
import {
  type CommentedMemo,
  findCommentedMemos,
  findTags,
  type RootedMemo,
} from '../../storage/memos/memos.ts'
import type { User } from '../../storage/schema/accounts.ts'
import type { Db } from '../../storage/schema/schema.ts'
import { DomainError } from '../core/errors.ts'
import { isReadable, type MemoReader } from './memo-access.ts'

/** A memo with what its representation needs beside its own row. */
export interface MemoView {
  readonly memo: RootedMemo
  readonly creator: User
  /** In the order in which they appear in the content. */
  readonly tags: readonly string[]
  /** The memo that it comments on; undefined for a memo that is no comment. */
  readonly parent: CommentedMemo | undefined
}

/** Memos as views, in three queries however many they are. */
export async function viewsOf(db: Db, memos: readonly RootedMemo[]): Promise<MemoView[]> {
  const creators = await findUsersByIds(db, [...new Set(memos.map(({ creator_id }) => creator_id))])
  const parentIds = memos.flatMap(({ parent_id }) => parent_id ?? [])
  const parents = await findCommentedMemos(db, [...new Set(parentIds)])
  const tags = await findTags(
    db,
    memos.map(({ id }) => id),
  )
  return memos.flatMap((memo) => {
    const creator = creators.get(memo.creator_id)
    // The creator may have gone, and the memo with them, since it was read.
    return creator
      ? [{ memo, creator, tags: tags.get(memo.id) ?? [], parent: parents.get(memo.parent_id ?? 0) }]
      : []
  })
}

/**
 * A memo as a view.
 *
 * @throws MEMO_NOT_FOUND when its creator, and with them the memo, was deleted since it was read.
 */
export async function viewOf(db: Db, memo: RootedMemo): Promise<MemoView> {
  const [view] = await viewsOf(db, [memo])
  if (!view) throw new DomainError('MEMO_NOT_FOUND', { name: `memos/${memo.uid}` })
  return view
}

/**
 * What a reader of a comment sees of the memo that it comments on, beside its name; undefined when
 * it is archived.
 */
export function readableSnippet(
  { memo, parent }: MemoView,
  reader: MemoReader,
): string | undefined {
  if (!parent) return undefined
  const { creator_id, state, snippet } = parent
  return isReadable({ ...memo, creator_id, state }, reader) ? snippet : undefined
}

/** A change of one memo, told of in the transaction that makes it. */
export interface MemoEvent {
  readonly type: 'memo.created' | 'memo.updated' | 'memo.deleted'
  /** As it is after the change; of a deleted memo, as it was. */
  readonly view: MemoView
  /** Before the change; undefined for a new memo. */
  readonly previousContent: string | undefined
  /** Of a new comment, the memo that it comments on. */
  readonly commentedOn: MemoView | undefined
  /** Unix milliseconds. */
  readonly timeMs: number
}
