import type { Db, Tx } from '../../platform/database/schema.ts'
import { defaultMemoVisibility } from '../accounts/users/user-settings.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { publishing, publishMemoEvent } from './activity/memo-events.ts'
import {
  isReadable,
  type MemoReader,
  readerOf,
  requirePublicIfRestricted,
  requireReadable,
  requireWritable,
} from './memo-access.ts'
import { listComments } from './memo-list.rows.ts'
import { listingOf, type MemoListing, type MemoPage } from './memo-list.ts'
import {
  type MemoDraft,
  type MemoField,
  type MemoValues,
  readDraft,
  readValues,
} from './memo-values.ts'
import { type MemoView, viewOf, viewsOf } from './memo-view.ts'
import * as rows from './memos.rows.ts'
import type { MemosApp } from './ports.ts'
import type { MemoChanges, NewMemo } from './schema.ts'

/** A stored memo. */
export type Memo = rows.RootedMemo

/** Returns a memo or comment that the reader may read. */
export async function getMemo(db: Db, reader: MemoReader, uid: string): Promise<MemoView> {
  return viewOf(db, await findReadable(db, reader, uid))
}

/** Returns a memo or comment that the reader may read, without what its view adds. */
async function findReadable(db: Db, reader: MemoReader, uid: string): Promise<Memo> {
  return requireReadable(await rows.findMemoByUid(db, uid), reader, nameOf(uid))
}

/** Returns those of the given memos and comments that the reader may read, by uid. */
export async function findReadableMemos(
  db: Db,
  reader: MemoReader,
  uids: readonly string[],
): Promise<ReadonlyMap<string, MemoView>> {
  const found = await rows.findMemosByUids(db, uids)
  const readable = found.filter((memo) => isReadable(memo, reader))
  return new Map((await viewsOf(db, readable)).map((view) => [view.memo.uid, view]))
}

/**
 * Returns a memo or comment that the caller may change. The caller need not be allowed to read it.
 */
export async function getWritableMemo(db: Db, caller: SignedIn, uid: string): Promise<Memo> {
  return requireWritable(await rows.findMemoByUid(db, uid), caller, nameOf(uid))
}

/** Creates a memo of the caller. The default visibility is that of the caller's settings. */
export async function createMemo(
  app: MemosApp,
  caller: SignedIn,
  draft: MemoDraft,
): Promise<MemoView> {
  const { columns, tags } = readDraft(app, draft, 'memo')
  return publishing(app, async (tx) => {
    const visibility = draft.visibility ?? (await defaultMemoVisibility(tx, caller.user.id))
    return storeNewMemo(app, tx, caller, {
      memo: { ...columns, visibility, parent_id: null, root_id: null },
      tags,
      commentedOn: undefined,
    })
  })
}

/** The parts of a new memo or comment. */
interface MemoParts {
  readonly memo: Omit<NewMemo, 'creator_id'>
  readonly tags: readonly string[]
  readonly commentedOn: MemoView | undefined
}

/** Stores a new memo or comment of the caller and publishes the event. */
async function storeNewMemo(
  app: MemosApp,
  tx: Tx,
  caller: SignedIn,
  { memo, tags, commentedOn }: MemoParts,
): Promise<MemoView> {
  requirePublicIfRestricted(memo.visibility, caller)
  if (!(await findUserById(tx, caller.user.id))) throw new DomainError('BAD_CREDENTIALS')
  if (await rows.findMemoByUid(tx, memo.uid))
    throw new DomainError('MEMO_ID_TAKEN', { memo_id: memo.uid })
  await rows.insertMemo(tx, { ...memo, creator_id: caller.user.id }, tags)
  const view = await viewOf(tx, await requirePresent(tx, memo.uid))
  const timeMs = app.clock.now()
  await publishMemoEvent(app, tx, { type: 'memo.created', view, commentedOn, timeMs })
  return view
}

/** The new values of a memo, and the fields to change. */
interface MemoUpdate {
  readonly values: MemoValues
  readonly fields: ReadonlySet<MemoField>
  readonly all: boolean
}

/**
 * Changes fields of a memo, all or none.
 *
 * @param all whether the update has no field mask. Then fields without a value are not changed.
 */
export async function updateMemo(
  app: MemosApp,
  caller: SignedIn,
  uid: string,
  { values, fields, all }: MemoUpdate,
): Promise<MemoView> {
  const { columns, tags } = readValues(app, values, fields, all)
  return publishing(app, async (tx) => {
    const present = await getWritableMemo(tx, caller, uid)
    const changes = changesOf(app, present, columns)
    if (changes.visibility) requirePublicIfRestricted(changes.visibility, caller)
    if (Object.keys(changes).length === 0) return viewOf(tx, present)
    await rows.updateMemo(tx, present.id, changes)
    if (changes.visibility) await rows.setVisibilityOfComments(tx, present.id, changes.visibility)
    if (changes.content !== undefined) await rows.replaceTags(tx, present.id, tags)
    const view = await viewOf(tx, await requirePresent(tx, uid))
    const { content: previousContent } = present
    const timeMs = app.clock.now()
    await publishMemoEvent(app, tx, { type: 'memo.updated', view, previousContent, timeMs })
    return view
  })
}

/** Deletes a memo with all comments below it. */
export async function deleteMemo(app: MemosApp, caller: SignedIn, uid: string): Promise<void> {
  await publishing(app, async (tx) => {
    const view = await viewOf(tx, await getWritableMemo(tx, caller, uid))
    const { id, content: previousContent } = view.memo
    await rows.deleteMemo(tx, id)
    const timeMs = app.clock.now()
    await publishMemoEvent(app, tx, { type: 'memo.deleted', view, previousContent, timeMs })
  })
}

/** Returns the columns that differ from the stored ones, with a new update time if needed. */
function changesOf(app: MemosApp, present: Memo, columns: MemoChanges): MemoChanges {
  const changes: MemoChanges = Object.fromEntries(
    Object.entries(columns).filter(
      ([column, value]) => present[column as keyof MemoChanges] !== value,
    ),
  )
  // A comment has the visibility of its root.
  if (present.root_id !== null) delete changes.visibility
  const moves = changes.content !== undefined || changes.visibility || changes.state
  return moves && columns.update_time === undefined
    ? { ...changes, update_time: nowSeconds(app.clock) }
    : changes
}

async function requirePresent(tx: Tx, uid: string): Promise<Memo> {
  const memo = await rows.findMemoByUid(tx, uid)
  if (!memo) throw new Error('a memo that was written in this transaction is gone')
  return memo
}

function nameOf(uid: string): string {
  return `memos/${uid}`
}

/**
 * Creates a comment of the caller on a memo or comment that the caller may read. The comment has
 * the visibility of the memo; the visibility of the draft is ignored.
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

/** Returns the direct comments on a memo, without archived ones. */
export async function listMemoComments(
  app: MemosApp,
  reader: MemoReader,
  uid: string,
  page: MemoPage,
): Promise<MemoListing> {
  const { id } = await findReadable(app.db, reader, uid)
  return listingOf(app, page, (longer) => listComments(app.db, id, longer))
}
