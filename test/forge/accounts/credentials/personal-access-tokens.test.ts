import { crc32 } from 'node:zlib'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  authenticatePersonalAccessToken,
  createPersonalAccessToken,
  deletePersonalAccessToken,
  listPersonalAccessTokens,
  type NewPersonalAccessToken,
} from '../../../../src/forge/accounts/credentials/personal-access-tokens.ts'
import { deleteUser, updateUser } from '../../../../src/forge/accounts/users/users.rows.ts'
import type { SignedIn } from '../../../../src/forge/core/access.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import { Scopes } from '../../../../src/forge/core/scopes.ts'
import { transaction } from '../../../../src/platform/database/database.ts'
import { createTrigger } from '../../../../src/platform/database/dialects/triggers.ts'
import { addUser, LOCAL_PEER, type TestApp, testApp } from '../../../support/app.ts'

const BAD_CREDENTIALS = expect.objectContaining({ reason: 'BAD_CREDENTIALS' })
const DAY = 24 * 60 * 60

let app: TestApp
let ada: User

beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
})

function byPassword(user: User): SignedIn {
  return { kind: 'user', peer: LOCAL_PEER, user, credential: { kind: 'password' } }
}

function byToken(user: User, ...scopes: string[]): SignedIn {
  const credential = { kind: 'token', uuid: 'any', scopes: Scopes.parse(scopes) } as const
  return { kind: 'user', peer: LOCAL_PEER, user, credential }
}

function mint(caller: SignedIn, input: Partial<NewPersonalAccessToken> = {}) {
  return createPersonalAccessToken(app, caller, {
    description: 'ci',
    expiresInDays: 0,
    scopes: [],
    ...input,
  })
}

async function listed(user: User) {
  return (await listPersonalAccessTokens(app, user, 0, 1000)).tokens
}

describe('createPersonalAccessToken', () => {
  it('creates a text that a scanner can recognise and check', async () => {
    const { text } = await mint(byPassword(ada))
    expect(text).toMatch(/^branchline_pat_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/)
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const checksum = [...text.slice(-6)].reduce(
      (value, digit) => value * 62 + digits.indexOf(digit),
      0,
    )
    expect(checksum).toBe(crc32(text.slice(0, -6)))
    expect((await mint(byPassword(ada))).text).not.toBe(text)
  })

  it('does not store the text', async () => {
    const { text } = await mint(byPassword(ada))
    const dump: unknown[] = []
    for (const { name } of await app.db.introspection.getTables())
      dump.push((await sql`select * from ${sql.table(name)}`.execute(app.db)).rows)
    expect(JSON.stringify(dump)).toContain('"ci"')
    expect(JSON.stringify(dump)).not.toContain(text.slice('branchline_pat_'.length))
  })

  it('grants all scopes if none are requested, and stores them normalised', async () => {
    expect((await mint(byPassword(ada))).token.scopes).toBe('all')
    expect(
      (await mint(byPassword(ada), { scopes: ['read:user', 'write:user'] })).token.scopes,
    ).toBe('write:user')
  })

  it.each([
    [
      'a negative number of days',
      { expiresInDays: -1 },
      { reason: 'INVALID_EXPIRY', metadata: { max_days: '36500' } },
    ],
    ['more than a hundred years', { expiresInDays: 36_501 }, { reason: 'INVALID_EXPIRY' }],
    [
      'an unknown scope',
      { scopes: ['user'] },
      { reason: 'INVALID_SCOPE', metadata: { scope: 'user' } },
    ],
    ['a long description', { description: 'x'.repeat(257) }, { reason: 'INVALID_FIELD' }],
  ])('refuses %s', async (_, input, error) => {
    await expect(mint(byPassword(ada), input)).rejects.toMatchObject(error)
    expect(await listed(ada)).toEqual([])
  })

  it('creates no token for an account that was deleted in the meantime', async () => {
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    await expect(mint(byPassword(ada))).rejects.toMatchObject({ reason: 'USER_NOT_FOUND' })
  })

  it('counts the characters of a description, not their code units', async () => {
    await expect(
      mint(byPassword(ada), { description: '\u{1f40e}'.repeat(256) }),
    ).resolves.toBeDefined()
  })

  it.each([
    // Scopes of the calling token, requested scopes, missing scope.
    [['write:user'], [], 'all'],
    [['write:user'], ['all'], 'all'],
    [['write:user'], ['write:user', 'read:repository'], 'read:repository'],
    [['read:repository', 'write:user'], ['write:repository'], 'write:repository'],
    [['write:user', 'public-only'], ['read:memo', 'public-only'], 'read:memo'],
  ])('refuses a token with %j that requests %j', async (held, asked, scope) => {
    await expect(mint(byToken(ada, ...held), { scopes: asked })).rejects.toMatchObject({
      reason: 'SCOPE_NOT_HELD',
      metadata: { scope },
    })
    expect(await listed(ada)).toEqual([])
  })

  it.each([
    [['all'], [], 'all'],
    [['write:user'], ['read:user'], 'read:user'],
    [['write:user'], ['write:user', 'public-only'], 'write:user public-only'],
    // The restriction is inherited, whether or not it is requested.
    [['all', 'public-only'], [], 'all public-only'],
    [['write:user', 'public-only'], ['read:user'], 'read:user public-only'],
  ])('lets a token with %j request %j', async (held, asked, scopes) => {
    expect((await mint(byToken(ada, ...held), { scopes: asked })).token.scopes).toBe(scopes)
  })
})

describe('authenticatePersonalAccessToken', () => {
  it('returns the current row of the owner and the scopes of the token', async () => {
    const { text, token } = await mint(byPassword(ada), { scopes: ['read:user'] })
    const { user, uuid, scopes } = await authenticatePersonalAccessToken(app, text)
    expect(user).toEqual(ada)
    expect(uuid).toBe(token.uuid)
    expect(scopes.names).toEqual(['read:user'])
  })

  it('refuses a token after its last day', async () => {
    const { text } = await mint(byPassword(ada), { expiresInDays: 1 })
    const forever = await mint(byPassword(ada), { expiresInDays: 0 })
    app.clock.advance(DAY - 1)
    await expect(authenticatePersonalAccessToken(app, text)).resolves.toBeDefined()
    app.clock.advance(1)
    await expect(authenticatePersonalAccessToken(app, text)).rejects.toEqual(BAD_CREDENTIALS)
    expect(await listed(ada)).toHaveLength(2)
    app.clock.advance(100 * 365 * DAY)
    await expect(authenticatePersonalAccessToken(app, forever.text)).resolves.toBeDefined()
  })

  it.each<[string, (text: string) => string]>([
    ['another case', (text) => text.toLowerCase()],
    ['a character more', (text) => `${text}0`],
    ['a character less', (text) => text.slice(0, -1)],
    ['another prefix', (text) => text.replace('branchline', 'memos')],
    ['nothing but the prefix', () => 'branchline_pat_'],
  ])('refuses %s', async (_, alter) => {
    const { text } = await mint(byPassword(ada))
    await expect(authenticatePersonalAccessToken(app, alter(text))).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('refuses a deleted token', async () => {
    const { text, token } = await mint(byPassword(ada))
    expect(await deletePersonalAccessToken(app, ada, token.uuid)).toBe(true)
    await expect(authenticatePersonalAccessToken(app, text)).rejects.toEqual(BAD_CREDENTIALS)
    expect(await deletePersonalAccessToken(app, ada, token.uuid)).toBe(false)
  })

  it('refuses a token while its owner is archived, and after its owner is deleted', async () => {
    const { text } = await mint(byPassword(ada))
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'ARCHIVED' }))
    await expect(authenticatePersonalAccessToken(app, text)).rejects.toEqual(BAD_CREDENTIALS)
    await transaction(app.db, (tx) => updateUser(tx, ada.id, { state: 'NORMAL' }))
    await expect(authenticatePersonalAccessToken(app, text)).resolves.toBeDefined()
    await transaction(app.db, (tx) => deleteUser(tx, ada.id))
    await expect(authenticatePersonalAccessToken(app, text)).rejects.toEqual(BAD_CREDENTIALS)
  })

  it('accepts a token after a password change', async () => {
    const { text } = await mint(byPassword(ada))
    await transaction(app.db, (tx) =>
      updateUser(tx, ada.id, { token_version: ada.token_version + 1 }),
    )
    await expect(authenticatePersonalAccessToken(app, text)).resolves.toBeDefined()
  })
})

describe('last_used_at', () => {
  async function lastUse() {
    await app.background.settled()
    return (await listed(ada))[0]?.last_used_at
  }

  it('is written on use, at most once a minute', async () => {
    const { text } = await mint(byPassword(ada))
    expect(await lastUse()).toBeNull()
    const first = app.clock.now()
    await authenticatePersonalAccessToken(app, text)
    expect(await lastUse()).toBe(first)
    app.clock.advance(59)
    await authenticatePersonalAccessToken(app, text)
    expect(await lastUse()).toBe(first)
    app.clock.advance(1)
    await authenticatePersonalAccessToken(app, text)
    expect(await lastUse()).toBe(first + 60_000)
  })

  it('never decreases, even if the clock does', async () => {
    const { text } = await mint(byPassword(ada))
    const first = app.clock.now()
    await authenticatePersonalAccessToken(app, text)
    app.clock.advance(-3600)
    await authenticatePersonalAccessToken(app, text)
    expect(await lastUse()).toBe(first)
  })

  it('does not change when a token is refused', async () => {
    const { text } = await mint(byPassword(ada), { expiresInDays: 1 })
    app.clock.advance(DAY)
    await expect(authenticatePersonalAccessToken(app, text)).rejects.toEqual(BAD_CREDENTIALS)
    expect(await lastUse()).toBeNull()
  })

  it('may fail to be written without failing the request', async () => {
    const { text } = await mint(byPassword(ada))
    const failing = 'before update on personal_access_tokens begin delete from nowhere; end'
    await transaction(app.db, (tx) => createTrigger(tx, `full_disk ${failing}`))
    await expect(authenticatePersonalAccessToken(app, text)).resolves.toMatchObject({
      user: { id: ada.id },
    })
    expect(await lastUse()).toBeNull()
  })
})

describe('listPersonalAccessTokens', () => {
  it('returns pages of the tokens of one account in order of creation, with their total number', async () => {
    const bob = await addUser(app, 'bob')
    for (const description of ['a', 'b', 'c', 'd']) {
      await mint(byPassword(ada), { description })
      await mint(byPassword(bob), { description: 'of bob' })
    }
    const first = await listPersonalAccessTokens(app, ada, 0, 2)
    expect(first).toMatchObject({ more: true, total: 4 })
    expect(first.tokens.map((token) => token.description)).toEqual(['a', 'b'])
    // A full page is the last one if nothing follows.
    const second = await listPersonalAccessTokens(app, ada, first.tokens[1]?.id ?? 0, 2)
    expect(second).toMatchObject({ more: false, total: 4 })
    expect(second.tokens.map((token) => token.description)).toEqual(['c', 'd'])
  })
})

describe('deletePersonalAccessToken', () => {
  it('does not delete the tokens of another account', async () => {
    const bob = await addUser(app, 'bob')
    const { token, text } = await mint(byPassword(bob))
    expect(await deletePersonalAccessToken(app, ada, token.uuid)).toBe(false)
    await expect(authenticatePersonalAccessToken(app, text)).resolves.toBeDefined()
  })
})
