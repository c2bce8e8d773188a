import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TagProtectionService } from '#gen/branchline/v1/tag_protection_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type Actor, createToken, PASSWORD, type TestUsers } from '../../support/server.ts'

const forge = await openForge()
const { server, users, client, rest } = forge
afterAll(forge.checkObjects)

/** The contents of two files whose blob ids have a common prefix, and the prefix. */
function twoBlobs(): [prefix: string, one: string, other: string] {
  const seen = new Map<string, string>()
  for (let i = 0; ; i++) {
    const content = String(i)
    const prefix = createHash('sha1')
      .update(`blob ${content.length}\0${content}`)
      .digest('hex')
      .slice(0, 4)
    const other = seen.get(prefix)
    if (other !== undefined) return [prefix, other, content]
    seen.set(prefix, content)
  }
}

/**
 * Creates a repository of bob with a first commit, cloned by a user, and returns its paths and its
 * Git clone.
 */
async function repository(name: string, who = 'bob') {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, who, PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  const path = `/repos/bob/${name}`
  return { path, git, head: await git('rev-parse', 'HEAD') }
}

const names = (tags: { name: string }[]) => tags.map(({ name }) => name)

describe('a tag', () => {
  it('is created for the default branch, as a lightweight tag', async () => {
    const { path, git, head } = await repository('light')
    const made = await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'v1.0/a' })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      name: 'v1.0/a',
      message: 'Initial commit',
      id: head,
      commit: {
        sha: head,
        url: `${server.url}/api/v1/repos/bob/light/git/commits/${head}`,
        created: expect.stringMatching(/^20/),
      },
      zipball_url: `${server.url}/bob/light/archive/v1.0%2Fa.zip`,
      tarball_url: `${server.url}/bob/light/archive/v1.0%2Fa.tar.gz`,
    })
    // Slashes may be sent unescaped.
    for (const name of ['v1.0/a', 'v1.0%2Fa'])
      expect((await rest(undefined, 'GET', `${path}/tags/${name}`)).body).toEqual(made.body)
    expect(await git('ls-remote', 'origin', 'refs/tags/*')).toBe(`${head}\trefs/tags/v1.0/a`)
  })

  it('is created for any commit, as an annotated tag', async () => {
    const { path, git, head } = await repository('annotated')
    await client.commit('annotated', 'second')
    await git('push', '-q')
    const body = { tag_name: 'v1', message: 'First\r\n\r\nof many', target: head.slice(0, 10) }
    const made = await rest(users.bob, 'POST', `${path}/tags`, body)
    expect(made.body).toMatchObject({
      name: 'v1',
      message: 'First\n\nof many',
      commit: { sha: head },
    })
    await git('fetch', '-q', '--tags')
    expect(await git('rev-parse', 'v1')).toBe(made.body.id)
    expect(
      await git('for-each-ref', '--format=%(objecttype) %(taggername) %(taggeremail)', 'refs/tags'),
    ).toBe('tag bob <bob@example.org>')
    const annotated = await rest(undefined, 'GET', `${path}/git/tags/${made.body.id}`)
    expect(annotated.body).toMatchObject({ tag: 'v1', object: { sha: head } })
  })

  it('may have a date beyond all calendars, which breaks no list', async () => {
    const { path, git } = await repository('late')
    await git('tag', '-m', 'late', 'soon')
    const tag = (await git('cat-file', 'tag', 'soon')).replace(/> \d+ .*/, '> 99999999999999 +0000')
    await writeFile(join(client.home, 'late-tag'), `${tag}\n`)
    const id = await git('hash-object', '-t', 'tag', '-w', join(client.home, 'late-tag'))
    await git('push', '-q', 'origin', `${id}:refs/tags/late`)
    const listed = await rest(undefined, 'GET', `${path}/tags`)
    expect(listed.body).toMatchObject([
      { name: 'late', commit: { created: '9999-12-31T23:59:59Z' } },
    ])
  })

  it('is not created from an ambiguous abbreviated id', async () => {
    const { path } = await repository('ambiguous')
    const [prefix, one, other] = twoBlobs()
    const files = [one, other].map((content) => ({
      operation: 'create',
      path: content,
      content: btoa(content),
    }))
    await rest(users.bob, 'POST', `${path}/contents`, { files, message: 'two' })
    const refused = await rest(users.bob, 'POST', `${path}/tags`, {
      tag_name: 'v1',
      target: prefix,
    })
    expect([refused.status, refused.body.message]).toEqual([404, 'target not found'])
  })

  it.each([
    [{}, 422, 'tag_name'],
    [{ tag_name: 'a..b' }, 422, 'tag_name'],
    [{ tag_name: '-d' }, 422, 'tag_name'],
    [{ tag_name: 'v1', target: 'nothing' }, 404, 'target not found'],
    [{ tag_name: 'there' }, 409, 'tag already exists [name: there]'],
    [{ tag_name: 'there/below' }, 409, 'one path is below the other'],
    [{ tag_name: 'a'.repeat(40) }, 403, 'looks like an object ID'],
    [{ tag_name: 'v1', message: 'x'.repeat(65_537) }, 422, 'message is longer'],
  ])('is not made from %j', async (body, status, message) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'bad-tags', auto_init: true })
    await rest(users.bob, 'POST', '/repos/bob/bad-tags/tags', { tag_name: 'there' })
    const refused = await rest(users.bob, 'POST', '/repos/bob/bad-tags/tags', body)
    expect(refused.body.message).toContain(message)
    expect(refused.status).toBe(status)
  })

  it('has no target in an empty repository', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'no-tags' })
    expect(
      (await rest(users.bob, 'POST', '/repos/bob/no-tags/tags', { tag_name: 'v1' })).status,
    ).toBe(404)
    expect((await rest(users.bob, 'GET', '/repos/bob/no-tags/tags')).body).toEqual([])
  })

  it('is deleted, and can be created again', async () => {
    const { path } = await repository('deleted-tags')
    await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'v1', message: 'one' })
    expect((await rest(users.bob, 'DELETE', `${path}/tags/v1`)).status).toBe(204)
    expect((await rest(users.bob, 'DELETE', `${path}/tags/v1`)).status).toBe(404)
    expect((await rest(users.bob, 'GET', `${path}/tags/v1`)).status).toBe(404)
    expect((await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'v1' })).status).toBe(201)
  })

  it('is listed after a push, latest first, in pages', async () => {
    const { path, git, head } = await repository('pushed-tags')
    await git('tag', 'light')
    for (const name of ['b', 'a']) await git('tag', '-a', name, '-m', name)
    await git('tag', '-a', 'nested', '-m', 'of a tag', 'a')
    await git('tag', 'readme', await git('rev-parse', 'HEAD:README.md'))
    await git('push', '-q', 'origin', '--tags')
    const listed = await rest(undefined, 'GET', `${path}/tags`)
    expect(names(listed.body).sort()).toEqual(['a', 'b', 'light', 'nested', 'readme'])
    // A tag of a blob has no date.
    expect(names(listed.body).at(-1)).toBe('readme')
    const nested = listed.body.find(({ name }: { name: string }) => name === 'nested')
    expect(nested).toMatchObject({ message: 'of a tag', commit: { sha: head } })
    const page = await rest(undefined, 'GET', `${path}/tags?limit=2&page=2`)
    expect(names(page.body)).toEqual(names(listed.body).slice(2, 4))
    expect(page.headers.get('x-total-count')).toBe('5')
    expect(page.headers.get('link')).toContain('rel="next"')
    await git('push', '-q', 'origin', ':b', '+HEAD:refs/tags/a')
    expect((await rest(undefined, 'GET', `${path}/tags/a`)).body).toMatchObject({ id: head })
    expect((await rest(undefined, 'GET', `${path}/tags/b`)).status).toBe(404)
  })

  it('is read and created over gRPC', async () => {
    await repository('grpc-tags')
    const grpc = forge.grpc(TagService, users.bob)
    const place = { owner: 'bob', repo: 'grpc-tags' }
    const made = await grpc.createTag({ ...place, tagName: 'v1', message: 'one' })
    expect(await grpc.getTag({ ...place, tag: 'v1' })).toEqual(made)
    expect(await grpc.listTags(place)).toMatchObject({ tags: [made], total: 1n, limit: 30 })
    await grpc.deleteTag({ ...place, tag: 'v1' })
    expect((await grpc.listTags(place)).total).toBe(0n)
  })
})

describe('who may create and delete tags', () => {
  it.each<[who: string, settings: object, read: number, write: number]>([
    ['nobody', {}, 200, 401],
    ['carol', {}, 200, 403],
    ['ada', {}, 200, 201],
    ['write:repository', {}, 200, 201],
    ['read:repository', {}, 200, 403],
    ['read:user', {}, 403, 403],
    ['nobody', { private: true }, 404, 401],
    ['carol', { private: true }, 404, 404],
    ['public-only', { private: true }, 404, 404],
    ['bob', { archived: true }, 200, 423],
  ])('%s of a repository with %j: %i, %i', async (who, settings, read, write) => {
    const path = `/repos/bob/tags-${who.replace(':', '-')}-${Object.keys(settings)}`
    await rest(users.bob, 'POST', '/user/repos', {
      name: path.split('/').at(-1),
      auto_init: true,
      ...settings,
    })
    await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'old' })
    await rest(users.bob, 'PATCH', path, settings)
    const caller = await actor(who)
    for (const suffix of ['/tags', '/tags/old'])
      expect((await rest(caller, 'GET', `${path}${suffix}`)).status).toBe(read)
    expect((await rest(caller, 'POST', `${path}/tags`, { tag_name: 'new' })).status).toBe(write)
    expect((await rest(caller, 'DELETE', `${path}/tags/old`)).status).toBe(
      write === 201 ? 204 : write,
    )
  })
})

async function actor(who: string): Promise<Actor | undefined> {
  if (who === 'nobody') return undefined
  if (who in users) return users[who as keyof TestUsers]
  const scopes = who.includes(':') ? [who] : ['all', who]
  return {
    username: 'bob',
    authorization: `token ${await createToken(server.url, users.bob, scopes)}`,
  }
}

describe('a protected tag', () => {
  it('is open to exempt users, by push and by API, but not to administrators', async () => {
    const { path, git, head } = await repository('protected')
    await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'v0' })
    const rule = { name_pattern: 'v*', whitelist_usernames: ['Carol'] }
    expect((await rest(users.bob, 'POST', `${path}/tag_protections`, rule)).status).toBe(201)

    const made = await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'v1' })
    expect([made.status, made.body.message]).toEqual([
      422,
      'user not allowed to create protected tag',
    ])
    const deleted = await rest(users.bob, 'DELETE', `${path}/tags/v0`)
    expect([deleted.status, deleted.body.message]).toEqual([
      422,
      'user not allowed to delete protected tag',
    ])
    await client.commit('protected', 'second')
    for (const [spec, name] of [
      ['HEAD:refs/tags/v1', 'v1'],
      ['+HEAD:refs/tags/v0', 'v0'],
      [':refs/tags/v0', 'v0'],
    ] as const) {
      await expect(git('push', '-q', 'origin', 'main', spec)).rejects.toThrow(
        `error: Tag ${name} is protected`,
      )
    }
    // A refused push has no effect.
    expect(await git('ls-remote', 'origin', 'refs/heads/main', 'refs/tags/*')).toBe(
      `${head}\trefs/heads/main\n${head}\trefs/tags/v0`,
    )
    const asCarol = remoteOf(server.url, 'bob/protected', 'carol', PASSWORD)
    await git('push', '-q', asCarol, 'HEAD:refs/tags/v1', ':refs/tags/v0')
    expect((await rest(users.carol, 'DELETE', `${path}/tags/v1`)).status).toBe(204)
    expect((await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'w1' })).status).toBe(201)
  })

  it('is open to members of an exempt team', async () => {
    await rest(users.ada, 'POST', '/orgs', { username: 'acme' })
    const team = await rest(users.ada, 'POST', '/orgs/acme/teams', {
      name: 'Releasers',
      permission: 'write',
      units: ['repo.code'],
      includes_all_repositories: true,
    })
    expect(team.status).toBe(201)
    await rest(users.ada, 'POST', '/orgs/acme/repos', { name: 'engine', auto_init: true })
    const path = '/repos/acme/engine'
    const rule = { name_pattern: '/^v[0-9]/', whitelist_teams: ['releasers'] }
    const made = await rest(users.ada, 'POST', `${path}/tag_protections`, rule)
    expect(made.body).toMatchObject({ whitelist_usernames: [], whitelist_teams: ['Releasers'] })
    await rest(users.ada, 'PUT', `/teams/${team.body.id}/members/carol`)
    await rest(users.ada, 'PUT', `${path}/collaborators/bob`, { permission: 'write' })
    const make = (who: Actor, tag_name: string) => rest(who, 'POST', `${path}/tags`, { tag_name })
    expect((await make(users.bob, 'v1')).status).toBe(422)
    expect((await make(users.carol, 'v1')).status).toBe(201)
    expect((await make(users.bob, 'x-v1')).status).toBe(201)
    const unknown = await rest(users.ada, 'POST', `${path}/tag_protections`, {
      ...rule,
      name_pattern: 'x',
      whitelist_teams: ['nobody'],
    })
    expect(unknown.status).toBe(422)
    expect(unknown.body.message).toMatch(
      /^team does not exist \[org_id \d+, team_id 0, name: nobody\]$/,
    )
  })

  it('is open to users that one of several rules exempts', async () => {
    const { path } = await repository('rules')
    const protect = (name_pattern: string, who: string) =>
      rest(users.bob, 'POST', `${path}/tag_protections`, {
        name_pattern,
        whitelist_usernames: [who],
      })
    await protect('v*', 'carol')
    await protect('v1*', 'bob')
    const make = (tag_name: string) => rest(users.bob, 'POST', `${path}/tags`, { tag_name })
    expect((await make('v1.0')).status).toBe(201)
    expect((await make('v2.0')).status).toBe(422)
  })
})

describe('a tag protection', () => {
  const rules = '/repos/bob/ruled/tag_protections'
  const rule = { name_pattern: 'v*', whitelist_usernames: ['bob'] }
  beforeAll(async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'ruled', auto_init: true })
  })

  it('is created, read, partially edited and deleted', async () => {
    const made = await rest(users.bob, 'POST', rules, {
      name_pattern: ' r* ',
      whitelist_usernames: ['bob', 'BOB', 'carol'],
    })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.any(Number),
      name_pattern: 'r*',
      whitelist_usernames: ['bob', 'carol'],
      whitelist_teams: [],
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    })
    const path = `${rules}/${made.body.id}`
    expect((await rest(users.bob, 'GET', path)).body).toEqual(made.body)
    const edit = (body: object) => rest(users.bob, 'PATCH', path, body)
    // Go clients send null for absent fields.
    const kept = await edit({
      name_pattern: null,
      whitelist_usernames: null,
      whitelist_teams: null,
    })
    expect(kept.body).toMatchObject({ name_pattern: 'r*', whitelist_usernames: ['bob', 'carol'] })
    expect((await edit({ whitelist_usernames: ['ada'] })).body.whitelist_usernames).toEqual(['ada'])
    expect((await edit({ whitelist_usernames: [] })).body.whitelist_usernames).toEqual([])
    expect((await edit({ name_pattern: 's*' })).body.name_pattern).toBe('s*')
    expect((await edit({ whitelist_usernames: [1] })).status).toBe(422)
    expect((await rest(users.bob, 'GET', rules)).body).toHaveLength(1)
    expect((await rest(users.bob, 'DELETE', path)).status).toBe(204)
    for (const method of ['GET', 'DELETE', 'PATCH'])
      expect((await rest(users.bob, method, path)).status).toBe(404)
    expect((await rest(users.bob, 'GET', `${rules}/x`)).status).toBe(404)
  })

  it.each([
    [{ ...rule, name_pattern: ' ' }, 400, 'name_pattern are empty'],
    [{ name_pattern: 'v*' }, 400, 'both whitelist_usernames and whitelist_teams are empty'],
    [{ ...rule, name_pattern: 'there' }, 403, 'Tag protection already exist'],
    [{ ...rule, name_pattern: '[' }, 422, 'regular expression in RE2 syntax'],
    [{ ...rule, name_pattern: '/(?=v)/' }, 422, 'regular expression in RE2 syntax'],
    [
      { ...rule, whitelist_usernames: ['nobody'] },
      422,
      'user does not exist [uid: 0, name: nobody]',
    ],
    [{ ...rule, whitelist_usernames: Array(101).fill('bob') }, 422, 'whitelist_usernames'],
  ])('is not made from %j', async (body, status, message) => {
    await rest(users.bob, 'POST', rules, { ...rule, name_pattern: 'there' })
    const refused = await rest(users.bob, 'POST', rules, body)
    expect(refused.body.message).toContain(message)
    expect(refused.status).toBe(status)
  })

  it('is limited in number', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'many-rules' })
    const path = '/repos/bob/many-rules/tag_protections'
    const statuses: number[] = []
    for (let i = 0; i <= 50; i++) {
      statuses.push(
        (await rest(users.bob, 'POST', path, { ...rule, name_pattern: `v${i}` })).status,
      )
    }
    expect(statuses).toEqual([...Array(50).fill(201), 422])
    expect((await rest(users.bob, 'GET', path)).body).toHaveLength(50)
  })

  it.each<[who: string, status: number]>([
    ['nobody', 401],
    ['carol', 403],
    ['read:repository', 200],
    ['read:user', 403],
  ])('is shown to %s: %i', async (who, status) => {
    expect((await rest(await actor(who), 'GET', rules)).status).toBe(status)
  })

  it.each<[who: string, settings: object, status: number]>([
    ['carol', {}, 403],
    ['read:repository', {}, 403],
    ['carol', { private: true }, 404],
    ['bob', { archived: true }, 423],
  ])('is not created by %s in a repository with %j: %i', async (who, settings, status) => {
    const path = `/repos/bob/ruled-${who.replace(':', '-')}-${Object.keys(settings)}`
    await rest(users.bob, 'POST', '/user/repos', { name: path.split('/').at(-1), ...settings })
    await rest(users.bob, 'PATCH', path, settings)
    expect((await rest(await actor(who), 'POST', `${path}/tag_protections`, rule)).status).toBe(
      status,
    )
  })

  it('is created and edited over gRPC', async () => {
    const grpc = forge.grpc(TagProtectionService, users.bob)
    const place = { owner: 'bob', repo: 'ruled' }
    const made = await grpc.createTagProtection({
      ...place,
      namePattern: 'g*',
      whitelistUsernames: ['bob'],
    })
    const values = [{ kind: { case: 'stringValue', value: 'carol' } }] as const
    const edited = await grpc.editTagProtection({
      ...place,
      id: made.id,
      whitelistUsernames: { values: [...values] },
    })
    expect(edited).toMatchObject({ namePattern: 'g*', whitelistUsernames: ['carol'] })
    await grpc.deleteTagProtection({ ...place, id: made.id })
    await expect(grpc.getTagProtection({ ...place, id: made.id })).rejects.toThrow('not found')
  })
})
