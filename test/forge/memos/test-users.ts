import type { SignedIn } from '../../../src/forge/core/access.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { Scopes } from '../../../src/forge/core/scopes.ts'
import { type MemoReader, readerOf } from '../../../src/forge/memos/memo-access.ts'
import type { MemoDraft } from '../../../src/forge/memos/memo-values.ts'
import { LOCAL_PEER } from '../../support/app.ts'

/** An anonymous reader. */
export const ANONYMOUS: MemoReader = { userId: undefined, publicOnly: false }

/** Returns a caller with a session. */
export function caller(user: User): SignedIn {
  return { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'session', sessionId: 's' } }
}

/** Returns a caller with a token with these scopes. */
export function tokenCaller(user: User, ...scopes: string[]): SignedIn {
  return {
    kind: 'user',
    peer: LOCAL_PEER,
    user,
    credential: { kind: 'token', uuid: 't', scopes: Scopes.parse(scopes) },
  }
}

/** Returns a reader with a session. */
export function reader(user: User): MemoReader {
  return readerOf(caller(user))
}

/** Returns a draft with default values except for `fields`. */
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
