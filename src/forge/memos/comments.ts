import type { Tx } from '../../platform/database/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { publishing } from './activity/memo-events.ts'
import { type MemoReader, readerOf } from './memo-access.ts'
import { listComments } from './memo-list.rows.ts'
import { listingOf, type MemoListing, type MemoPage } from './memo-list.ts'
import { type MemoDraft, readDraft } from './memo-values.ts'
import type { MemoView } from './memo-view.ts'
import { findReadable, getMemo, storeNewMemo } from './memos.ts'
import type { MemosApp } from './ports.ts'

/**
 * Creates a comment of the caller on a memo or comment that the caller may read. The comment has
 * the visibility of the memo; the visibility of the draft is ignored.
 *
 * @throws MEMO_NOT_FOUND, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED, INVALID_MEMO_ID, INVALID_FIELD,
 *   MEMO_ARCHIVED, MEMO_ID_TAKEN
 */
export async function createComment(
  app: MemosApp,
  caller: SignedIn,
  uid: string,
  draft: MemoDraft,
): Promise<MemoView> {
  // Checked first, because reading the content takes time, and because the content must not affect
  // whether the caller is refused.
  await findReadable(app.db, readerOf(caller), uid)
  const { columns, tags } = readDraft(app, draft, 'comment')
  return publishing(app, async (tx: Tx) => {
    const commentedOn = await getMemo(tx, readerOf(caller), uid)
    const { id, root_id, state, root_state, visibility } = commentedOn.memo
    if (state === 'ARCHIVED' || root_state === 'ARCHIVED') {
      throw new DomainError('MEMO_ARCHIVED', { name: `memos/${uid}` })
    }
    const comment = { ...columns, visibility, parent_id: id, root_id: root_id ?? id }
    return storeNewMemo(app, tx, caller, { memo: comment, tags, commentedOn })
  })
}

/**
 * Returns the direct comments on a memo, without archived ones.
 *
 * @throws MEMO_NOT_FOUND, UNAUTHENTICATED, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
 */
export async function listMemoComments(
  app: MemosApp,
  reader: MemoReader,
  uid: string,
  page: MemoPage,
): Promise<MemoListing> {
  const { id } = await findReadable(app.db, reader, uid)
  return listingOf(app, page, (longer) => listComments(app.db, id, longer))
}
