import type { SignedIn } from '../../../src/domain/core/access.ts'
import { Scopes } from '../../../src/domain/core/scopes.ts'
import { type MemoReader, readerOf } from '../../../src/domain/memos/memo-access.ts'
import type { MemoDraft } from '../../../src/domain/memos/memo-values.ts'
import type { User } from '../../../src/storage/schema/accounts.ts'
import { LOCAL_PEER } from '../../support/app.ts'

/** Nobody in particular. */
export const ANONYMOUS: MemoReader = { userId: undefined, publicOnly: false }

/** Somebody by session. */
export function caller(user: User): SignedIn {
  return { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'session', sessionId: 's' } }
}

/** Somebody by a token with these scopes. */
export function tokenCaller(user: User, ...scopes: string[]): SignedIn {
  return {
    kind: 'user',
    peer: LOCAL_PEER,
    user,
    credential: { kind: 'token', uuid: 't', scopes: Scopes.parse(scopes) },
  }
}

/** What somebody reads by session. */
export function reader(user: User): MemoReader {
  return readerOf(caller(user))
}

/** A draft that leaves everything out but what `fields` says. */
export function draft(content: string, fields: Partial<MemoDraft> = {}): MemoDraft {
  return {
    uid: '',
    content,
    visibility: undefined,
    pinned: false,
    state: 'NORMAL',
    create_time: undefined,
    update_time: undefined,
    ...fields,
  }
}
