import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createMessage, generateKey, type PrivateKey, sign } from 'openpgp'
import { afterAll, describe, expect, it } from 'vitest'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { execFileSync } from '../../support/programs.ts'
import { type Actor, createToken, transportTo } from '../../support/server.ts'

const HOUR_MS = 60 * 60 * 1000
/** The clock stands still ahead of the system time, which signatures use. */
let now = (Math.ceil(Date.now() / HOUR_MS) + 1) * HOUR_MS

const { server, users, rest } = await openForge({ clock: { now: () => now } })

async function newKey(...emails: string[]): Promise<PrivateKey> {
  const userIDs = emails.map((email) => ({ name: 'Somebody', email }))
  const { privateKey } = await generateKey({
    userIDs,
    subkeys: [{ sign: true }, {}],
    format: 'object',
  })
  return privateKey
}

/** Returns the text whose signature proves ownership of a key. */
async function tokenFor({ authorization }: Actor): Promise<string> {
  const response = await fetch(`${server.url}/api/v1/user/gpg_key_token`, {
    headers: { authorization },
  })
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  return response.text()
}

async function signatureOf(key: PrivateKey, text: string): Promise<string> {
  const message = await createMessage({ binary: Buffer.from(text) })
  return (await sign({ message, signingKeys: key, detached: true })) as string
}

function add(who: Actor, key: PrivateKey, armored_signature?: string) {
  return rest(who, 'POST', '/user/gpg_keys', {
    armored_public_key: key.toPublic().armor(),
    armored_signature,
  })
}

/** Deletes all keys of a user. */
async function deleteKeysOf(who: Actor): Promise<void> {
  const { body } = await rest(who, 'GET', '/user/gpg_keys')
  for (const { id } of body)
    expect((await rest(who, 'DELETE', `/user/gpg_keys/${id}`)).status).toBe(204)
}

const EMAIL_UNKNOWN = 'None of the emails attached to the GPG key could be found'
const PROVES_NOTHING = 'The provided GPG key, signature and token do not match'

describe('OpenPGP keys of an account', () => {
  it('are added by the address of the account, read and deleted', async () => {
    const key = await newKey('BOB@example.org', 'bob@elsewhere.example')
    const made = await add(users.bob, key)
    expect(made.status).toBe(201)
    const keyId = key.getKeyID().toHex().toUpperCase()
    expect(made.body).toEqual({
      id: expect.any(Number),
      primary_key_id: '',
      key_id: keyId,
      public_key: expect.stringMatching(/^[\w+/]+=*$/),
      emails: [
        { email: 'BOB@example.org', verified: true },
        { email: 'bob@elsewhere.example', verified: false },
      ],
      subkeys: [
        expect.objectContaining({
          primary_key_id: keyId,
          can_sign: true,
          can_encrypt_comms: false,
          emails: [],
          subkeys: [],
        }),
        expect.objectContaining({
          primary_key_id: keyId,
          can_sign: false,
          can_encrypt_comms: true,
        }),
      ],
      can_sign: true,
      can_encrypt_comms: false,
      can_encrypt_storage: false,
      can_certify: true,
      verified: false,
      created_at: key.getCreationTime().toISOString().replace('.000Z', 'Z'),
      expires_at: '1970-01-01T00:00:00Z',
    })
    const path = `/user/gpg_keys/${made.body.id}`
    expect((await rest(users.bob, 'GET', path)).body).toEqual(made.body)
    expect((await rest(users.bob, 'GET', '/user/gpg_keys')).body).toEqual([made.body])
    // A subkey cannot be read alone, and other users cannot read the key.
    expect((await rest(users.bob, 'GET', `/user/gpg_keys/${made.body.subkeys[0].id}`)).status).toBe(
      404,
    )
    for (const method of ['GET', 'DELETE'])
      expect((await rest(users.carol, method, path)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', path)).status).toBe(204)
    expect((await rest(users.bob, 'GET', '/user/gpg_keys')).body).toEqual([])
    expect((await add(users.bob, key)).status).toBe(201)
    await deleteKeysOf(users.bob)
  })

  it('are shown to others without the address of the account', async () => {
    const { body } = await add(users.bob, await newKey('bob@example.org'))
    const seen = await rest(undefined, 'GET', '/users/Bob/gpg_keys')
    expect(seen.body).toEqual([{ ...body, emails: [] }])
    expect(seen.headers.get('x-total-count')).toBe('1')
    const bytes = Buffer.from(seen.body[0].public_key, 'base64').toString('latin1')
    expect(bytes).not.toContain('example.org')
    expect((await rest(users.ada, 'GET', '/users/bob/gpg_keys')).body).toEqual([body])
    expect((await rest(undefined, 'GET', '/users/nobody/gpg_keys')).status).toBe(404)
    await deleteKeysOf(users.bob)
  })

  it('with another address require a signature by the key', async () => {
    const key = await newKey('somebody@elsewhere.example')
    const unknown = await add(users.bob, key)
    const token = await tokenFor(users.bob)
    expect(unknown.status).toBe(404)
    expect(unknown.body.message).toBe(
      `${EMAIL_UNKNOWN}. It may still be added if you provide a valid signature for the token: ${token}`,
    )
    const made = await add(users.bob, key, await signatureOf(key, token))
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ verified: true, emails: [{ verified: false }] })
    await deleteKeysOf(users.bob)
  })

  it('are verified later, by the id of the key or of a subkey', async () => {
    const key = await newKey('bob@example.org')
    const { body } = await add(users.bob, key)
    const prove = (who: Actor, key_id: string, armored_signature: string) =>
      rest(who, 'POST', '/user/gpg_key_verify', { key_id, armored_signature })
    const signature = await signatureOf(key, `${await tokenFor(users.bob)}\n`)
    expect((await prove(users.carol, body.key_id, signature)).status).toBe(404)
    expect((await prove(users.bob, '0123456789ABCDEF', signature)).status).toBe(404)
    const refused = await prove(users.bob, body.key_id, await signatureOf(key, 'something'))
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining(PROVES_NOTHING),
    ])
    const proven = await prove(users.bob, body.subkeys[0].key_id.toLowerCase(), signature)
    expect(proven.status).toBe(200)
    expect(proven.body).toMatchObject({
      id: body.id,
      verified: true,
      subkeys: [{ verified: true }, { verified: true }],
    })
    await deleteKeysOf(users.bob)
  })

  it.each<[string, (key: PrivateKey) => Promise<string>]>([
    ['of the text of somebody else', async (key) => signatureOf(key, await tokenFor(users.carol))],
    [
      'by another key',
      async () => signatureOf(await newKey('bob@example.org'), await tokenFor(users.bob)),
    ],
    ['that is none', async () => 'hello'],
  ])('are not verified by a signature %s', async (_, make) => {
    const key = await newKey('bob@example.org')
    const refused = await add(users.bob, key, await make(key))
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining(PROVES_NOTHING),
    ])
    expect((await rest(users.bob, 'GET', '/user/gpg_keys')).body).toEqual([])
  })

  it('are verified by the text of the current or the previous hour, but not by an older one', async () => {
    const key = await newKey('elsewhere@example.com')
    const signature = await signatureOf(key, await tokenFor(users.bob))
    const start = now
    try {
      now = start + HOUR_MS
      const { accessToken } = await signInAgain()
      const bob = { username: 'bob', authorization: `Bearer ${accessToken}` }
      expect((await add(bob, key, signature)).status).toBe(201)
      await deleteKeysOf(bob)
      now = start + 2 * HOUR_MS
      const again = await signInAgain()
      expect(
        (await add({ ...bob, authorization: `Bearer ${again.accessToken}` }, key, signature))
          .status,
      ).toBe(422)
    } finally {
      now = start
    }
  })

  it('are taken over by a user who proves ownership, but not by others', async () => {
    const key = await newKey('bob@example.org', 'carol@example.org')
    expect((await add(users.carol, key)).status).toBe(201)
    const claimed = await add(users.bob, key)
    expect([claimed.status, claimed.body.message]).toEqual([
      422,
      'A key with the same id already exists',
    ])
    const proven = await add(users.bob, key, await signatureOf(key, await tokenFor(users.bob)))
    expect(proven.status).toBe(201)
    expect((await rest(users.carol, 'GET', '/user/gpg_keys')).body).toEqual([])
    const late = await add(users.carol, key, await signatureOf(key, await tokenFor(users.carol)))
    expect([late.status, late.body.message]).toEqual([422, 'A key with the same id already exists'])
    await deleteKeysOf(users.bob)
  })

  it('are not added by an address that a token has set', async () => {
    const token = {
      username: 'carol',
      authorization: `token ${await createToken(server.url, users.carol, ['all'])}`,
    }
    const setEmail = (who: Actor, email: string) =>
      rest(who, 'PATCH', '/users/carol?updateMask=email', { email }).then(({ status }) =>
        expect(status).toBe(200),
      )
    const key = await newKey('victim@example.org')
    await setEmail(token, 'victim@example.org')
    expect((await add(token, key)).body.message).toContain(EMAIL_UNKNOWN)
    await setEmail(users.carol, 'victim@example.org')
    // The same address counts once the account has set it by password.
    expect((await add(token, key)).body.emails).toEqual([
      { email: 'victim@example.org', verified: true },
    ])
    await setEmail(users.carol, 'carol@example.org')
    expect((await rest(users.carol, 'GET', '/user/gpg_keys')).body[0].emails).toEqual([
      { email: 'victim@example.org', verified: false },
    ])
    await deleteKeysOf(users.carol)
  })

  it('are never private, and private keys appear nowhere', async () => {
    const key = await newKey('bob@example.org')
    const refused = await rest(users.bob, 'POST', '/user/gpg_keys', {
      armored_public_key: key.armor(),
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('private key'),
    ])
    expect(JSON.stringify(server.logged)).not.toContain('BEGIN PGP')
    expect((await rest(users.bob, 'POST', '/user/gpg_keys', {})).status).toBe(422)
  })

  it('are limited to fifty', async () => {
    const { id } = await server.app.db
      .selectFrom('users')
      .select('id')
      .where('username', '=', 'bob')
      .executeTakeFirstOrThrow()
    const rows = Array.from({ length: 50 }, (_, i) => ({
      user_id: id,
      key_id: `FULL${i}`,
      fingerprint: `full${i}`,
      packet: '',
      flags: 0,
      emails: '[]',
      verified: 0,
      create_time: 0,
    }))
    await server.app.db.insertInto('gpg_keys').values(rows).execute()
    expect((await add(users.bob, await newKey('bob@example.org'))).body.message).toBe(
      'the limit of 50 keys has been reached',
    )
    expect((await rest(users.bob, 'GET', '/user/gpg_keys?page=2')).body).toHaveLength(20)
    await deleteKeysOf(users.bob)
    await deleteKeysOf(users.bob)
  })

  it.each([
    [['read:user'], 200, 403],
    [['write:user'], 200, 201],
    [['write:repository'], 403, 403],
    [['all', 'public-only'], 403, 403],
  ])('are managed by a token with %j: reading %i, adding %i', async (scopes, reading, adding) => {
    const token = {
      username: 'bob',
      authorization: `token ${await createToken(server.url, users.bob, scopes)}`,
    }
    expect((await rest(token, 'GET', '/user/gpg_keys')).status).toBe(reading)
    expect((await add(token, await newKey('bob@example.org'))).status).toBe(adding)
    await deleteKeysOf(users.bob)
  })

  it('are the same over gRPC', async () => {
    const bob = createClient(
      GpgKeyService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const key = await newKey('elsewhere@example.org')
    const token = Buffer.from((await bob.getGpgKeyToken({})).data).toString()
    const armoredPublicKey = key.toPublic().armor()
    await expect(bob.createGpgKey({ armoredPublicKey })).rejects.toThrow(EMAIL_UNKNOWN)
    const { id } = await bob.createGpgKey({
      armoredPublicKey,
      armoredSignature: await signatureOf(key, token),
    })
    expect((await bob.getGpgKey({ id })).verified).toBe(true)
    await bob.deleteGpgKey({ id })
  })

  /** Sessions end before the hours for which a text is valid. */
  async function signInAgain(): Promise<{ accessToken: string }> {
    const { body } = await rest(undefined, 'POST', '/auth/signin', {
      passwordCredentials: { username: 'bob', password: 'correct horse battery' },
    })
    return body
  }
})

const gnupg = mkdtempSync(join(tmpdir(), 'branchline-gnupg-'))
afterAll(() => {
  // GnuPG starts an agent that would keep running.
  if (isGnupgHere) execFileSync('gpgconf', ['--kill', 'gpg-agent'], { env: gnupgEnv })
  rmSync(gnupg, { recursive: true, force: true })
})

const gnupgEnv = { PATH: process.env.PATH ?? '', HOME: gnupg, GNUPGHOME: gnupg }

function gpg(args: string[], input = ''): string {
  const options = [
    '--batch',
    '--quiet',
    '--no-tty',
    '--passphrase',
    '',
    '--pinentry-mode',
    'loopback',
  ]
  return execFileSync('gpg', [...options, ...args], {
    env: gnupgEnv,
    input,
    encoding: 'utf8',
  })
}

const isGnupgHere = (() => {
  try {
    gpg(['--version'])
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!isGnupgHere)('a key of GnuPG (skipped without gpg)', () => {
  it('is added and verified', async () => {
    gpg(['--quick-gen-key', 'Bob <bob@example.org>', 'ed25519', 'sign,cert', '1y'])
    const armored_public_key = gpg([
      '--armor',
      '--export',
      '--export-options',
      'export-minimal',
      'bob@example.org',
    ])
    const armored_signature = gpg(['--armor', '--detach-sign'], `${await tokenFor(users.bob)}\n`)
    const made = await rest(users.bob, 'POST', '/user/gpg_keys', {
      armored_public_key,
      armored_signature,
    })
    expect(made.body).toMatchObject({
      verified: true,
      emails: [{ email: 'bob@example.org', verified: true }],
    })
    const listed = gpg(['--list-keys', '--with-colons', '--keyid-format', 'long'])
    expect(listed).toContain(`:${made.body.key_id}:`)
    const [, expiry] = /^pub:(?:[^:]*:){5}(\d+)/m.exec(listed) ?? []
    expect(Date.parse(made.body.expires_at) / 1000).toBe(Number(expiry))
    await deleteKeysOf(users.bob)
  })
})
