import {
  actsAsAdministrator,
  type Caller,
  type SignedIn,
  seesPublicDataOnly,
} from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { Memo } from './schema.ts'

/**
 * The properties that decide who may read a memo. The root of a comment is the memo at the top of
 * its tree. The root of any other memo is the memo itself.
 */
export interface MemoAccess extends Pick<Memo, 'creator_id' | 'state' | 'visibility'> {
  readonly root_creator_id: number
  readonly root_state: Memo['state']
}

/** A user or anonymous caller that reads memos. */
export interface MemoReader {
  /** Undefined for an anonymous reader. */
  readonly userId: number | undefined
  /** Whether the credential gives access to public data only. */
  readonly publicOnly: boolean
}

/** Returns the reader for a caller. */
export function readerOf(caller: Caller): MemoReader {
  return {
    userId: caller.kind === 'user' ? caller.user.id : undefined,
    publicOnly: seesPublicDataOnly(caller),
  }
}

/**
 * Returns whether a reader may read a memo. Everyone may read PUBLIC memos, every account PROTECTED
 * memos, and only the creator PRIVATE memos. Only the creator may read an archived memo. A comment
 * is as visible as its root. Administrators have no additional access.
 */
export function isReadable(memo: MemoAccess, reader: MemoReader): boolean {
  if (isArchivedFor(memo, reader.userId)) return false
  if (memo.visibility === 'PUBLIC') return true
  if (reader.publicOnly || reader.userId === undefined) return false
  return memo.visibility === 'PROTECTED' || memo.root_creator_id === reader.userId
}

/**
 * Returns the memo if the reader may read it.
 *
 * @param memo undefined when no memo has the name.
 * @param name the resource name of the memo, for errors.
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
 * Returns the memo if the caller may change it. Users may change their own memos, and
 * administrators all memos.
 *
 * @param memo undefined when no memo has the name.
 * @param name the resource name of the memo, for errors.
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

/** Checks that a caller with access to public data only writes public memos only. */
export function requirePublicIfRestricted(visibility: Memo['visibility'], caller: SignedIn): void {
  if (visibility !== 'PUBLIC' && seesPublicDataOnly(caller))
    throw new DomainError('PUBLIC_ONLY_TOKEN')
}

/** Returns whether another user archived the memo or its root. Such a memo appears not to exist. */
function isArchivedFor(memo: MemoAccess, userId: number | undefined): boolean {
  if (memo.state === 'ARCHIVED' && memo.creator_id !== userId) return true
  return memo.root_state === 'ARCHIVED' && memo.root_creator_id !== userId
}
