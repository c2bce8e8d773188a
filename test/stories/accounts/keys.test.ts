import { generateKeyPairSync } from 'node:crypto'
import { createClient } from '@connectrpc/connect'
import sshpk from 'sshpk'
import { beforeAll, describe, expect, it } from 'vitest'
import { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import type { SendRest } from '../../support/rest.ts'
import { createToken, transportTo } from '../../support/server.ts'

const { server, users, rest } = await openForge()

/** Creates a key in the format of OpenSSH. */
function newKey(comment = ''): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = sshpk.parseKey(publicKey.export({ type: 'spki', format: 'pem' }), 'pem')
  key.comment = comment
  return key.toString('ssh')
}

function fingerprintOf(key: string): string {
  return sshpk.parseKey(key, 'ssh').fingerprint('sha256').toString()
}

const names = (list: { title: string }[]) => list.map(({ title }) => title)

describe('SSH keys of an account', () => {
  it('are added, read and deleted', async () => {
    const key = newKey('bob@work')
    const made = await rest(users.bob, 'POST', '/user/keys', {
      title: ' work ',
      key: `  ${key}  \n`,
      read_only: true,
    })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.any(Number),
      key,
      url: `${server.url}/api/v1/user/keys/${made.body.id}`,
      title: 'work',
      fingerprint: fingerprintOf(key),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      last_used_at: '0001-01-01T00:00:00Z',
      user: expect.objectContaining({ login: 'bob', email: 'bob@example.org' }),
      read_only: true,
      key_type: 'user',
    })
    expect((await rest(users.bob, 'GET', `/user/keys/${made.body.id}`)).body).toEqual(made.body)
    expect((await rest(users.bob, 'GET', '/user/keys')).body).toEqual([made.body])
    expect((await rest(users.bob, 'DELETE', `/user/keys/${made.body.id}`)).status).toBe(204)
    expect((await rest(users.bob, 'GET', `/user/keys/${made.body.id}`)).status).toBe(404)
    // The key is free again, also for other users.
    expect((await rest(users.carol, 'POST', '/user/keys', { title: 'found', key })).status).toBe(
      201,
    )
  })

  it('are listed in pages in the order in which they were added, or by fingerprint', async () => {
    const keys = ['c', 'b', 'a'].map((title) => ({ title, key: newKey() }))
    for (const key of keys) await rest(users.ada, 'POST', '/user/keys', key)
    const page = await rest(users.ada, 'GET', '/user/keys?limit=2&page=2')
    expect(names(page.body)).toEqual(['a'])
    expect(page.headers.get('x-total-count')).toBe('3')
    expect(page.headers.get('link')).toContain('rel="prev"')
    const fingerprint = encodeURIComponent(fingerprintOf(keys[1]?.key ?? ''))
    expect(
      names((await rest(users.ada, 'GET', `/user/keys?fingerprint=${fingerprint}`)).body),
    ).toEqual(['b'])
    expect((await rest(users.bob, 'GET', `/user/keys?fingerprint=${fingerprint}`)).body).toEqual([])
  })

  it('are public with the account, except for private fields', async () => {
    await rest(users.carol, 'POST', '/user/keys', {
      title: 'shown',
      key: newKey(),
      read_only: true,
    })
    const seen = await rest(undefined, 'GET', '/users/Carol/keys')
    const shown = seen.body.find(({ title }: { title: string }) => title === 'shown')
    expect(Object.keys(shown).sort()).toEqual([
      'created_at',
      'fingerprint',
      'id',
      'key',
      'last_used_at',
      'title',
      'url',
    ])
    const own = (await rest(users.carol, 'GET', '/users/carol/keys')).body
    expect(own).toContainEqual(
      expect.objectContaining({ id: shown.id, read_only: true, key_type: 'user' }),
    )
    expect((await rest(undefined, 'GET', '/users/nobody/keys')).status).toBe(404)
    await rest(users.ada, 'PATCH', '/admin/users/carol', { visibility: 'private' })
    expect((await rest(undefined, 'GET', '/users/carol/keys')).status).toBe(404)
    await rest(users.ada, 'PATCH', '/admin/users/carol', { visibility: 'public' })
  })

  it('can be read by id and deleted only by the owner and administrators', async () => {
    const { body } = await rest(users.bob, 'POST', '/user/keys', { title: 'mine', key: newKey() })
    const path = `/user/keys/${body.id}`
    for (const method of ['GET', 'DELETE']) {
      const refused = await rest(users.carol, method, path)
      expect([refused.status, refused.body.message]).toEqual([
        403,
        'You do not have access to this key',
      ])
      expect((await rest(undefined, method, path)).status).toBe(401)
      expect((await rest(users.carol, method, '/user/keys/0')).status).toBe(404)
      expect((await rest(users.carol, method, '/user/keys/mine')).status).toBe(404)
    }
    expect((await rest(users.ada, 'GET', path)).body.user.login).toBe('bob')
    expect((await rest(users.ada, 'DELETE', path)).status).toBe(204)
  })

  it.each<[string, object, number, string]>([
    ['without a title', { key: newKey() }, 422, 'title'],
    ['with a title that is too long', { title: 'x'.repeat(256), key: newKey() }, 422, '255'],
    ['without a key', { title: 'none' }, 422, 'Invalid key content'],
    [
      'that are private',
      { title: 'p', key: '-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n' },
      422,
      'private key',
    ],
    ['that are too weak', { title: 'w', key: 'ssh-dss AAAAB3NzaC1kc3MAAAAB' }, 422, 'ssh-dss'],
  ])('are refused %s', async (_, body, status, message) => {
    const refused = await rest(users.bob, 'POST', '/user/keys', body)
    expect(refused.status).toBe(status)
    expect(refused.body).toEqual({
      message: expect.stringContaining(message),
      url: '/openapi.json',
    })
    expect(JSON.stringify(server.logged)).not.toContain('c2VjcmV0')
  })

  it('belong to one account, which other users do not learn', async () => {
    const key = newKey('bob@secret-project')
    await rest(users.bob, 'POST', '/user/keys', { title: 'once', key })
    for (const who of [users.bob, users.carol]) {
      const refused = await rest(who, 'POST', '/user/keys', {
        title: 'twice',
        key: key.split(' ').slice(0, 2).join(' '),
      })
      expect([refused.status, refused.body.message]).toEqual([
        422,
        'Key content has been used as non-deploy key',
      ])
    }
    const retitled = await rest(users.bob, 'POST', '/user/keys', { title: 'once', key: newKey() })
    expect([retitled.status, retitled.body.message]).toEqual([422, 'Key title has been used'])
    expect(
      (await rest(users.carol, 'POST', '/user/keys', { title: 'once', key: newKey() })).status,
    ).toBe(201)
  })

  it('are limited to a hundred', async () => {
    const { id } = await server.app.db
      .selectFrom('users')
      .select('id')
      .where('username', '=', 'carol')
      .executeTakeFirstOrThrow()
    const rows = Array.from({ length: 100 }, (_, i) => ({
      user_id: id,
      fingerprint: `SHA256:${i}`,
      title: `full ${i}`,
      line: '',
      read_only: 0,
      create_time: 0,
    }))
    await server.app.db.insertInto('public_keys').values(rows).execute()
    const refused = await rest(users.carol, 'POST', '/user/keys', { title: 'more', key: newKey() })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'the limit of 100 keys has been reached',
    ])
    await server.app.db.deleteFrom('public_keys').where('title', 'like', 'full %').execute()
  })

  it.each([
    [['read:user'], 200, 403],
    [['write:user'], 200, 201],
    [['all'], 200, 201],
    [['write:repository'], 403, 403],
    [['all', 'public-only'], 403, 403],
  ])('are managed by a token with %j: reading %i, adding %i', async (scopes, reading, adding) => {
    const token = { authorization: `token ${await createToken(server.url, users.bob, scopes)}` }
    expect((await rest(token, 'GET', '/user/keys')).status).toBe(reading)
    const body = { title: `by ${scopes.join()}`, key: newKey() }
    expect((await rest(token, 'POST', '/user/keys', body)).status).toBe(adding)
  })

  it('are the same over gRPC', async () => {
    const bob = createClient(
      PublicKeyService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const carol = createClient(
      PublicKeyService,
      transportTo(server.url, 'gRPC', users.carol.authorization),
    )
    const made = await bob.createPublicKey({ title: 'gRPC', key: newKey() })
    expect((await bob.getPublicKey({ id: made.id })).title).toBe('gRPC')
    await expect(carol.deletePublicKey({ id: made.id })).rejects.toThrow('do not have access')
    await bob.deletePublicKey({ id: made.id })
    await expect(bob.getPublicKey({ id: made.id })).rejects.toThrow('not found')
  })
})

describe('deploy keys of a repository', () => {
  beforeAll(async () => {
    for (const name of ['engine', 'wheel']) await rest(users.bob, 'POST', '/user/repos', { name })
    await rest(users.bob, 'POST', '/user/repos', { name: 'secret', private: true })
    await rest(users.carol, 'POST', '/user/repos', { name: 'brake' })
  })

  it('are added, read and deleted', async () => {
    const key = newKey('ci')
    const made = await rest(users.bob, 'POST', '/repos/bob/engine/keys', {
      title: 'ci',
      key,
      read_only: true,
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      id: expect.any(Number),
      key_id: expect.any(Number),
      key,
      url: `${server.url}/api/v1/repos/bob/engine/keys/${made.body.id}`,
      title: 'ci',
      fingerprint: fingerprintOf(key),
      read_only: true,
      repository: { full_name: 'bob/engine' },
    })
    const path = `/repos/bob/engine/keys/${made.body.id}`
    expect((await rest(users.bob, 'GET', path)).body).toEqual(made.body)
    expect((await rest(users.bob, 'GET', '/repos/bob/engine/keys')).body).toEqual([made.body])
    // The key belongs to this repository only, and to no account.
    expect((await rest(users.bob, 'GET', path.replace('engine', 'wheel'))).status).toBe(404)
    expect((await rest(users.bob, 'GET', `/user/keys/${made.body.key_id}`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', path)).status).toBe(204)
    expect((await rest(users.bob, 'DELETE', path)).status).toBe(404)
  })

  it('may be shared, and are free once the last repository has deleted them', async () => {
    const key = newKey('bob only')
    const bare = key.split(' ').slice(0, 2).join(' ')
    const first = await rest(users.bob, 'POST', '/repos/bob/engine/keys', { title: 'shared', key })
    const second = await rest(users.bob, 'POST', '/repos/bob/wheel/keys', {
      title: 'other',
      key: bare,
    })
    const third = await rest(users.carol, 'POST', '/repos/carol/brake/keys', {
      title: 'shared',
      key: bare,
    })
    expect([second.body.key_id, third.body.key_id]).toEqual([first.body.key_id, first.body.key_id])
    // Carol cannot read the comment that bob added.
    expect(third.body.key).toBe(bare)
    const asUser = () => rest(users.carol, 'POST', '/user/keys', { title: 'was deployed', key })
    expect((await asUser()).body.message).toBe('Key content has been used as non-deploy key')
    await rest(users.bob, 'DELETE', `/repos/bob/engine/keys/${first.body.id}`)
    await rest(users.bob, 'DELETE', '/repos/bob/wheel')
    expect((await asUser()).status).toBe(422)
    await rest(users.carol, 'DELETE', '/repos/carol/brake')
    expect((await asUser()).status).toBe(201)
  })

  it('are listed by id and fingerprint of the key', async () => {
    const [one, two] = [newKey(), newKey()]
    const made = await rest(users.bob, 'POST', '/repos/bob/engine/keys', { title: 'one', key: one })
    await rest(users.bob, 'POST', '/repos/bob/engine/keys', { title: 'two', key: two })
    const list = async (query: string) =>
      names((await rest(users.bob, 'GET', `/repos/bob/engine/keys?${query}`)).body)
    expect(await list('')).toEqual(['one', 'two'])
    expect(await list(`key_id=${made.body.key_id}`)).toEqual(['one'])
    expect(await list(`fingerprint=${encodeURIComponent(fingerprintOf(two))}`)).toEqual(['two'])
    expect(await list('limit=1&page=2')).toEqual(['two'])
  })

  it('are refused with a reason', async () => {
    const key = newKey()
    const add = (title: string, line: string) =>
      rest(users.bob, 'POST', '/repos/bob/secret/keys', { title, key: line })
    expect((await add('taken', key)).status).toBe(201)
    const personal = newKey()
    await rest(users.carol, 'POST', '/user/keys', { title: 'personal', key: personal })
    for (const [title, line, message] of [
      ['again', key, 'This key has already been added to this repository'],
      ['taken', newKey(), 'A key with the same name already exists'],
      ['stolen', personal, 'Key content has been used as non-deploy key'],
      ['bad', 'ssh-rsa AAAA', 'Invalid key content: its content does not match its type'],
      ['', newKey(), 'title is missing or not allowed'],
    ] as const) {
      const refused = await add(title, line)
      expect([refused.status, refused.body.message]).toEqual([422, message])
    }
  })

  it('are visible to administrators of the repository only', async () => {
    const body = { title: 'x', key: newKey() }
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', '/1'],
      ['DELETE', '/1'],
    ] as const) {
      const send = (who: Parameters<SendRest>[0], name: string) =>
        rest(who, method, `/repos/bob/${name}/keys${path}`, method === 'POST' ? body : undefined)
      expect((await send(undefined, 'engine')).status).toBe(401)
      expect((await send(users.carol, 'engine')).status).toBe(403)
      expect((await send(users.carol, 'secret')).status).toBe(404)
      const reads = {
        authorization: `token ${await createToken(server.url, users.bob, ['read:repository'])}`,
      }
      const granted = method === 'GET' ? (await send(users.bob, 'engine')).status : 403
      expect((await send(reads, 'engine')).status).toBe(granted)
      const shy = {
        authorization: `token ${await createToken(server.url, users.bob, ['all', 'public-only'])}`,
      }
      expect((await send(shy, 'secret')).status).toBe(404)
    }
    await rest(users.bob, 'PUT', '/repos/bob/engine/collaborators/carol', { permission: 'write' })
    expect((await rest(users.carol, 'GET', '/repos/bob/engine/keys')).status).toBe(403)
    await rest(users.bob, 'PUT', '/repos/bob/engine/collaborators/carol', { permission: 'admin' })
    expect((await rest(users.carol, 'GET', '/repos/bob/engine/keys')).status).toBe(200)
  })

  it('of an archived repository cannot be changed', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'archived' })
    const { body } = await rest(users.bob, 'POST', '/repos/bob/archived/keys', {
      title: 'kept',
      key: newKey(),
    })
    await rest(users.bob, 'PATCH', '/repos/bob/archived', { archived: true })
    expect((await rest(users.bob, 'GET', '/repos/bob/archived/keys')).body).toHaveLength(1)
    expect(
      (await rest(users.bob, 'POST', '/repos/bob/archived/keys', { title: 'x', key: newKey() }))
        .status,
    ).toBe(423)
    expect((await rest(users.bob, 'DELETE', `/repos/bob/archived/keys/${body.id}`)).status).toBe(
      423,
    )
  })

  it('are the same over gRPC', async () => {
    const bob = createClient(
      DeployKeyService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const place = { owner: 'bob', repo: 'engine' }
    const { id } = await bob.createDeployKey({ ...place, title: 'gRPC', key: newKey() })
    expect((await bob.listDeployKeys(place)).keys.map(({ title }) => title)).toContain('gRPC')
    await bob.deleteDeployKey({ ...place, id })
    await expect(bob.getDeployKey({ ...place, id })).rejects.toThrow('not found')
  })
})
