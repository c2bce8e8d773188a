import { findUserById } from '../../storage/accounts/users.ts'
import * as rows from '../../storage/memos/memos.ts'
import type { MemoChanges, NewMemo } from '../../storage/schema/memos.ts'
import type { Db, Tx } from '../../storage/schema/schema.ts'
import { defaultMemoVisibility } from '../accounts/users/user-settings.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import {
  isReadable,
  type MemoReader,
  requirePublicIfRestricted,
  requireReadable,
  requireWritable,
} from './memo-access.ts'
import { publishing, publishMemoEvent } from './memo-events.ts'
import {
  type MemoDraft,
  type MemoField,
  type MemoValues,
  readDraft,
  readValues,
} from './memo-values.ts'
import { type MemoView, viewOf, viewsOf } from './memo-view.ts'
import type { MemosApp } from './ports.ts'

/** A memo as stored. */
export type Memo = rows.RootedMemo

/**
 * A memo or comment that the reader may read.
 *
 * @throws MEMO_NOT_FOUND, UNAUTHENTICATED, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
 */
export async function getMemo(db: Db, reader: MemoReader, uid: string): Promise<MemoView> {
  return viewOf(db, requireReadable(await rows.findMemoByUid(db, uid), reader, nameOf(uid)))
}

/** Those of some memos and comments that the reader may read, by uid. */
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
 * A memo or comment that the caller may change, whether or not they may read it.
 *
 * @throws MEMO_NOT_FOUND, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
 */
export async function getWritableMemo(db: Db, caller: SignedIn, uid: string): Promise<Memo> {
  return requireWritable(await rows.findMemoByUid(db, uid), caller, nameOf(uid))
}

/**
 * Makes a memo of the caller. Without a visibility it gets the default of their settings.
 *
 * @throws INVALID_MEMO_ID, INVALID_FIELD, PUBLIC_ONLY_TOKEN, MEMO_ID_TAKEN
 */
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

/** A new memo or comment. */
export interface MemoParts {
  readonly memo: Omit<NewMemo, 'creator_id'>
  readonly tags: readonly string[]
  readonly commentedOn: MemoView | undefined
}

/**
 * Stores a new memo or comment of the caller and tells of it.
 *
 * @param commentedOn of a comment, the memo that it comments on.
 * @throws PUBLIC_ONLY_TOKEN, MEMO_ID_TAKEN, and BAD_CREDENTIALS when the account was deleted
 *   meanwhile
 */
export async function storeNewMemo(
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
  await publishMemoEvent(app, tx, {
    type: 'memo.created',
    view,
    previousContent: undefined,
    commentedOn,
    timeMs,
  })
  return view
}

/** The new values of a memo, and the fields to change. */
export interface MemoUpdate {
  readonly values: MemoValues
  readonly fields: ReadonlySet<MemoField>
  readonly all: boolean
}

/**
 * Changes the named fields of a memo, all or none.
 *
 * @param all whether the update was for every field rather than for named ones: then those that the
 *   request leaves out are passed over.
 * @throws INVALID_FIELD, MEMO_NOT_FOUND, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
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
    await publishMemoEvent(app, tx, {
      type: 'memo.updated',
      view,
      previousContent,
      commentedOn: undefined,
      timeMs,
    })
    return view
  })
}

/**
 * Deletes a memo with all comments below it.
 *
 * @throws MEMO_NOT_FOUND, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
 */
export async function deleteMemo(app: MemosApp, caller: SignedIn, uid: string): Promise<void> {
  await publishing(app, async (tx) => {
    const view = await viewOf(tx, await getWritableMemo(tx, caller, uid))
    const { id, content: previousContent } = view.memo
    await rows.deleteMemo(tx, id)
    const timeMs = app.clock.now()
    await publishMemoEvent(app, tx, {
      type: 'memo.deleted',
      view,
      previousContent,
      commentedOn: undefined,
      timeMs,
    })
  })
}

/** What writing some columns changes of a memo, and the time of the update with it. */
function changesOf(app: MemosApp, present: Memo, columns: MemoChanges): MemoChanges {
  const changes: MemoChanges = Object.fromEntries(
    Object.entries(columns).filter(
      ([column, value]) => present[column as keyof MemoChanges] !== value,
    ),
  )
  // A comment follows the memo at the top of its tree.
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
