import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/forge/core/errors.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import {
  isReadable,
  type MemoAccess,
  type MemoReader,
  readerOf,
  requireReadable,
  requireWritable,
} from '../../../src/forge/memos/memo-access.ts'
import { addUser, testApp } from '../../support/app.ts'
import { ANONYMOUS, caller, tokenCaller } from './test-users.ts'

const app = await testApp()
const [bob, carol] = [await addUser(app, 'bob'), await addUser(app, 'carol')]
const ada = await addUser(app, 'ada', { role: 'ADMIN' })

const memo = (creator: User, fields: Partial<MemoAccess> = {}): MemoAccess => ({
  creator_id: creator.id,
  state: 'NORMAL',
  visibility: 'PUBLIC',
  root_creator_id: creator.id,
  root_state: fields.state ?? 'NORMAL',
  ...fields,
})

const PUBLIC = memo(bob)
const PROTECTED = memo(bob, { visibility: 'PROTECTED' })
const PRIVATE = memo(bob, { visibility: 'PRIVATE' })
const ARCHIVED = memo(bob, { state: 'ARCHIVED' })
const COMMENT_ON_PRIVATE = memo(carol, { visibility: 'PRIVATE', root_creator_id: bob.id })
const COMMENT_ON_ARCHIVED = memo(carol, { root_creator_id: bob.id, root_state: 'ARCHIVED' })
const ARCHIVED_COMMENT = memo(carol, {
  state: 'ARCHIVED',
  root_creator_id: bob.id,
  root_state: 'NORMAL',
})

/** Returns the reason of an error, or `ok`. */
function outcomeOf(check: () => unknown): string {
  try {
    check()
    return 'ok'
  } catch (error) {
    if (error instanceof DomainError) return error.reason
    throw error
  }
}

describe('reading a memo', () => {
  const READERS: readonly MemoReader[] = [
    ANONYMOUS,
    readerOf(caller(bob)),
    readerOf(caller(carol)),
    readerOf(caller(ada)),
    readerOf(tokenCaller(bob, 'all', 'public-only')),
  ]
  const [none, hidden, forbidden, restricted] = [
    'UNAUTHENTICATED',
    'MEMO_NOT_FOUND',
    'PERMISSION_DENIED',
    'PUBLIC_ONLY_TOKEN',
  ]

  // anonymous, bob, carol, ada the administrator, bob by a token for public data
  it.each([
    ['no memo', undefined, [hidden, hidden, hidden, hidden, hidden]],
    ['a public memo', PUBLIC, ['ok', 'ok', 'ok', 'ok', 'ok']],
    ['a protected memo', PROTECTED, [none, 'ok', 'ok', 'ok', restricted]],
    ['a private memo', PRIVATE, [none, 'ok', forbidden, forbidden, restricted]],
    ['an archived memo', ARCHIVED, [hidden, 'ok', hidden, hidden, 'ok']],
    [
      "carol's comment on it while it is private",
      COMMENT_ON_PRIVATE,
      [none, 'ok', forbidden, forbidden, restricted],
    ],
    [
      "carol's comment on it while it is archived",
      COMMENT_ON_ARCHIVED,
      [hidden, 'ok', hidden, hidden, 'ok'],
    ],
    ['a comment that carol archived', ARCHIVED_COMMENT, [hidden, hidden, 'ok', hidden, hidden]],
  ])('%s of bob', (_, read, outcomes) => {
    expect(
      READERS.map((reader) => outcomeOf(() => requireReadable(read, reader, 'memos/x'))),
    ).toEqual(outcomes)
    if (read)
      expect(READERS.map((reader) => isReadable(read, reader))).toEqual(
        outcomes.map((one) => one === 'ok'),
      )
  })
})

describe('changing a memo', () => {
  const CALLERS = [
    caller(bob),
    caller(carol),
    caller(ada),
    tokenCaller(ada, 'write:memo'),
    tokenCaller(bob, 'write:memo', 'public-only'),
  ]
  const [hidden, forbidden, restricted] = [
    'MEMO_NOT_FOUND',
    'PERMISSION_DENIED',
    'PUBLIC_ONLY_TOKEN',
  ]

  // bob, carol, ada the administrator, ada by a token without that scope, bob by a token for public
  // data
  it.each([
    ['no memo', undefined, [hidden, hidden, hidden, hidden, hidden]],
    ['a public memo', PUBLIC, ['ok', forbidden, 'ok', forbidden, 'ok']],
    ['a private memo', PRIVATE, ['ok', forbidden, 'ok', forbidden, restricted]],
    ['an archived memo', ARCHIVED, ['ok', hidden, 'ok', hidden, 'ok']],
    // The author of a comment can delete it, whatever happens to the memo.
    [
      "carol's comment on it while it is private",
      COMMENT_ON_PRIVATE,
      [forbidden, 'ok', 'ok', forbidden, restricted],
    ],
    [
      "carol's comment on it while it is archived",
      COMMENT_ON_ARCHIVED,
      [forbidden, 'ok', 'ok', hidden, forbidden],
    ],
  ])('%s of bob', (_, written, outcomes) => {
    expect(CALLERS.map((one) => outcomeOf(() => requireWritable(written, one, 'memos/x')))).toEqual(
      outcomes,
    )
  })
})
