import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DATABASE_FILE } from '../../../src/app/data-folder.ts'
import { authenticate } from '../../../src/edge/authentication/authenticate.ts'
import {
  createPersonalAccessToken,
  deletePersonalAccessToken,
  listPersonalAccessTokens,
} from '../../../src/forge/accounts/credentials/personal-access-tokens.ts'
import { endSession, startSession } from '../../../src/forge/accounts/credentials/sessions.ts'
import type { UserChanges } from '../../../src/forge/accounts/schema.ts'
import { deleteUser, updateUser } from '../../../src/forge/accounts/users/users.rows.ts'
import type { Caller, SignedIn } from '../../../src/forge/core/access.ts'
import type { User } from '../../../src/forge/core/schema.ts'
import { Scopes } from '../../../src/forge/core/scopes.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { addUser, LOCAL_PEER, NO_CLIENT, type TestApp, testApp } from '../../support/app.ts'
import { openDatabaseFile } from '../../support/database.ts'
import { execFileSync } from '../../support/programs.ts'

const BAD_CREDENTIALS = expect.objectContaining({ reason: 'BAD_CREDENTIALS' })
const ROOT = join(import.meta.dirname, '..', '..', '..')
const DAY_S = 24 * 60 * 60

let folder: string
let db: Db
let app: TestApp
let ada: User
/** The tokens of ada, by their kinds. */
let tokens: { access: string; personal: string }
let ids: { session: string; personal: string }

// A database in memory has no second connection, and so no cache.
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  db = await openDatabaseFile(folder)
  app = await testApp({}, { db })
  ada = await addUser(app, 'ada')
  const session = await startSession(app, ada, NO_CLIENT)
  const { token, text } = await createPersonalAccessToken(app, bySession(session.sessionId), {
    description: '',
    expiresInDays: 1,
    scopes: ['read:user'],
  })
  tokens = { access: session.accessToken, personal: text }
  ids = { session: session.sessionId, personal: token.uuid }
  // In this order, because the recorded use of the personal token ends what was kept before.
  await repeat('personal')
  await repeat('access')
})

afterEach(async () => {
  await app.background.settled()
  await db.destroy()
  await rm(folder, { recursive: true })
})

function bySession(sessionId: string): SignedIn {
  return { kind: 'user', peer: LOCAL_PEER, user: ada, credential: { kind: 'session', sessionId } }
}

function call(kind: keyof typeof tokens): Caller | Promise<Caller> {
  const headers = new Headers({ authorization: `Bearer ${tokens[kind]}` })
  return authenticate(app, headers, LOCAL_PEER)
}

/** Calls until the result comes without a look-up, and returns that result. */
async function repeat(kind: keyof typeof tokens): Promise<Caller> {
  // The first call records the use of the token, which changes the database.
  await call(kind)
  await app.background.settled()
  await call(kind)
  const caller = call(kind)
  if (caller instanceof Promise) throw new Error('the caller was looked up again')
  return caller
}

function change(changes: UserChanges): Promise<User> {
  return transaction(db, (tx) => updateUser(tx, ada.id, changes))
}

const kinds = ['access', 'personal'] as const

describe('a credential that was used before', () => {
  it.each(kinds)('identifies the same caller without a look-up: %s token', async (kind) => {
    const first = await call(kind)
    expect(await repeat(kind)).toEqual(first)
    expect(first).toMatchObject({ kind: 'user', user: { username: 'ada' } })
  })

  it.each(kinds)('has the peer of each call: %s token', async (kind) => {
    const peer = { address: '192.0.2.1', loopback: false }
    const headers = new Headers({ authorization: `Bearer ${tokens[kind]}` })
    expect(await authenticate(app, headers, peer)).toMatchObject({ peer })
    expect(await call(kind)).toMatchObject({ peer: LOCAL_PEER })
  })

  it('is that of the call on a connection with several tokens', async () => {
    const bob = await addUser(app, 'bob')
    const other = await createPersonalAccessToken(
      app,
      { ...bySession(ids.session), user: bob },
      { description: '', expiresInDays: 1, scopes: ['read:user'] },
    )
    const peer = { ...LOCAL_PEER }
    const nameOf = async (token: string) => {
      const headers = new Headers({ authorization: `Bearer ${token}` })
      const caller = await authenticate(app, headers, peer)
      await app.background.settled()
      return caller.kind === 'user' && caller.user.username
    }
    for (let round = 0; round < 4; round++) {
      expect(await nameOf(tokens.personal)).toBe('ada')
      expect(await nameOf(other.text)).toBe('bob')
      expect(await nameOf(tokens.access)).toBe('ada')
    }
    // No log can print a token that the connection holds.
    expect(JSON.stringify(peer)).toBe(JSON.stringify(LOCAL_PEER))
  })

  it('is refused at the next call after its session has ended', async () => {
    await endSession(app, ids.session)
    await expect(Promise.resolve(call('access'))).rejects.toEqual(BAD_CREDENTIALS)
    expect(await call('personal')).toMatchObject({ kind: 'user' })
  })

  it('is refused at the next call after the token was deleted', async () => {
    expect(await deletePersonalAccessToken(app, ada, ids.personal)).toBe(true)
    await expect(Promise.resolve(call('personal'))).rejects.toEqual(BAD_CREDENTIALS)
    expect(await call('access')).toMatchObject({ kind: 'user' })
  })

  it('is refused at the next call after the password was changed', async () => {
    await change({ token_version: ada.token_version + 1 })
    await expect(Promise.resolve(call('access'))).rejects.toEqual(BAD_CREDENTIALS)
  })

  it.each(kinds)(
    'is refused at the next call after the account was archived: %s token',
    async (kind) => {
      await change({ state: 'ARCHIVED' })
      await expect(Promise.resolve(call(kind))).rejects.toEqual(BAD_CREDENTIALS)
      await change({ state: 'NORMAL' })
      expect(await call(kind)).toMatchObject({ user: { state: 'NORMAL' } })
    },
  )

  it.each(kinds)(
    'is refused at the next call after the account was deleted: %s token',
    async (kind) => {
      await transaction(db, (tx) => deleteUser(tx, ada.id))
      await expect(Promise.resolve(call(kind))).rejects.toEqual(BAD_CREDENTIALS)
    },
  )

  it.each(kinds)('has the new role at the next call: %s token', async (kind) => {
    for (const role of ['ADMIN', 'USER'] as const) {
      await change({ role })
      expect(await call(kind)).toMatchObject({ user: { role } })
      expect(await repeat(kind)).toMatchObject({ user: { role } })
    }
  })

  it('has the new scopes at the next call', async () => {
    expect(await call('personal')).toMatchObject({
      credential: { scopes: Scopes.fromText('read:user') },
    })
    await db.updateTable('personal_access_tokens').set({ scopes: 'read:repository' }).execute()
    expect(await call('personal')).toMatchObject({
      credential: { scopes: Scopes.fromText('read:repository') },
    })
  })

  it.each(kinds)('is not revoked by changes of other rows: %s token', async (kind) => {
    const other = await addUser(app, 'bob')
    await transaction(db, (tx) => updateUser(tx, other.id, { state: 'ARCHIVED' }))
    expect(await call(kind)).toMatchObject({ user: { username: 'ada', state: 'NORMAL' } })
  })

  it.each(kinds)('obeys a change by another process: %s token', async (kind) => {
    runInAnotherProcess(`update users set role = 'ADMIN' where id = ${ada.id}`)
    await nextIteration()
    expect(await call(kind)).toMatchObject({ user: { role: 'ADMIN' } })
    await repeat(kind)
    runInAnotherProcess(`update users set state = 'ARCHIVED' where id = ${ada.id}`)
    await nextIteration()
    await expect(Promise.resolve(call(kind))).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('obeys a change that is committed while the token is verified', async () => {
    await change({ description: 'anything' })
    const verifying = call('personal')
    const archiving = change({ state: 'ARCHIVED' })
    await Promise.allSettled([verifying, archiving])
    await expect(Promise.resolve(call('personal'))).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('is refused once the access token has expired', async () => {
    app.clock.advance(15 * 60 - 1)
    expect(await call('access')).toMatchObject({ kind: 'user' })
    app.clock.advance(1)
    await expect(Promise.resolve(call('access'))).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('is refused once the personal access token has expired', async () => {
    app.clock.advance(DAY_S - 1)
    expect(await repeat('personal')).toMatchObject({ kind: 'user' })
    app.clock.advance(1)
    await expect(Promise.resolve(call('personal'))).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('records its use again after a minute', async () => {
    const lastUse = async () => {
      await app.background.settled()
      return (await listPersonalAccessTokens(app, ada, 0, 1)).tokens[0]?.last_used_at
    }
    const before = await lastUse()
    app.clock.advance(59)
    await call('personal')
    expect(await lastUse()).toBe(before)
    app.clock.advance(1)
    await call('personal')
    expect(await lastUse()).toBe(app.clock.now())
  })
})

const RUN_STATEMENT = `
  import { usesNodeApi } from './src/platform/database/sqlite-choice.mjs'
  const { default: Sqlite } = await import(usesNodeApi ? 'better-sqlite3-napi' : 'better-sqlite3')
  new Sqlite(process.argv[1]).exec(process.argv[2])`

function runInAnotherProcess(statement: string): void {
  const program = ['--input-type=module', '--eval', RUN_STATEMENT]
  execFileSync(process.execPath, [...program, join(folder, DATABASE_FILE), statement], {
    cwd: ROOT,
  })
}

function nextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
