import type { Memo } from '../../storage/schema/memos.ts'
import {
  actsAsAdministrator,
  type Caller,
  type SignedIn,
  seesPublicDataOnly,
} from '../core/access.ts'
import { DomainError } from '../core/errors.ts'

/**
 * What decides who may read a memo. Of a comment, `root` is the memo at the top of its tree; else
 * it is itself.
 */
export interface MemoAccess extends Pick<Memo, 'creator_id' | 'state' | 'visibility'> {
  readonly root_creator_id: number
  readonly root_state: Memo['state']
}

/** Who reads. */
export interface MemoReader {
  /** Undefined for an anonymous reader. */
  readonly userId: number | undefined
  /** The credential shows public data only. */
  readonly publicOnly: boolean
}

/** The reader behind a call. */
export function readerOf(caller: Caller): MemoReader {
  return {
    userId: caller.kind === 'user' ? caller.user.id : undefined,
    publicOnly: seesPublicDataOnly(caller),
  }
}

/**
 * Whether a reader may read a memo: PUBLIC ones are for everybody, PROTECTED ones for accounts,
 * PRIVATE ones for their creator, and archived ones for their creator whatever their visibility. A
 * comment is as visible as the memo at the top of its tree. Administrators read no more than
 * others.
 */
export function isReadable(memo: MemoAccess, reader: MemoReader): boolean {
  if (isArchivedFor(memo, reader.userId)) return false
  if (memo.visibility === 'PUBLIC') return true
  if (reader.publicOnly || reader.userId === undefined) return false
  return memo.visibility === 'PROTECTED' || memo.root_creator_id === reader.userId
}

/**
 * Lets a memo that the reader may read pass.
 *
 * @param memo undefined when there is none of that name.
 * @param name what an error calls it.
 * @throws MEMO_NOT_FOUND, UNAUTHENTICATED, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
 */
export function requireReadable<M extends MemoAccess>(
  memo: M | undefined,
  reader: MemoReader,
  name: string,
): M {
  if (!memo || isArchivedFor(memo, reader.userId)) throw new DomainError('MEMO_NOT_FOUND', { name })
  if (isReadable(memo, reader)) return memo
  if (reader.userId === undefined) throw new DomainError('UNAUTHENTICATED')
  throw new DomainError(reader.publicOnly ? 'PUBLIC_ONLY_TOKEN' : 'PERMISSION_DENIED')
}

/**
 * Lets a memo that the caller may change pass: their own, and for administrators everybody's.
 *
 * @param memo undefined when there is none of that name.
 * @param name what an error calls it.
 * @throws MEMO_NOT_FOUND, PUBLIC_ONLY_TOKEN, PERMISSION_DENIED
 */
export function requireWritable<M extends MemoAccess>(
  memo: M | undefined,
  caller: SignedIn,
  name: string,
): M {
  const may = memo?.creator_id === caller.user.id || actsAsAdministrator(caller, 'write')
  if (!memo || (!may && isArchivedFor(memo, caller.user.id)))
    throw new DomainError('MEMO_NOT_FOUND', { name })
  requirePublicIfRestricted(memo.visibility, caller)
  if (!may) throw new DomainError('PERMISSION_DENIED')
  return memo
}

/**
 * @throws PUBLIC_ONLY_TOKEN when the caller may write public data only, and a memo of this
 *   visibility is not.
 */
export function requirePublicIfRestricted(visibility: Memo['visibility'], caller: SignedIn): void {
  if (visibility !== 'PUBLIC' && seesPublicDataOnly(caller))
    throw new DomainError('PUBLIC_ONLY_TOKEN')
}

/**
 * Whether the memo, or that at the top of its tree, is archived by somebody else: as good as not
 * there.
 */
function isArchivedFor(memo: MemoAccess, userId: number | undefined): boolean {
  if (memo.state === 'ARCHIVED' && memo.creator_id !== userId) return true
  return memo.root_state === 'ARCHIVED' && memo.root_creator_id !== userId
}
