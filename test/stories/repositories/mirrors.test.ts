import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { findMirror } from '../../../src/forge/repositories/lifecycle/mirrors.rows.ts'
import { MAX_COMMIT_BYTES } from '../../../src/platform/git/objects/large-texts.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { testClock } from '../../support/app.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { execFileSync } from '../../support/programs.ts'
import { type RestAnswer, restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  PASSWORD,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

const HOUR = 3600

const clock = testClock()
let users: TestUsers
let upstream: GitUpstream

const {
  server,
  users: sessions,
  rest,
  client,
} = await openForge({ clock, webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
beforeAll(async () => {
  // Sessions would end with the hours that pass here.
  const withToken = async (actor: Actor) => {
    const token = await createToken(server.url, actor, ['all'])
    return { ...actor, authorization: `token ${token}` }
  }
  const { ada, bob, carol } = sessions
  users = { ada: await withToken(ada), bob: await withToken(bob), carol: await withToken(carol) }
})
beforeEach(async () => {
  upstream = await startGitUpstream()
  upstream.commit('main', 'first')
})
afterEach(async () => {
  // Nothing is left of what failed, nor of what did not.
  const scratch = await readdir(server.app.git.scratch)
  expect(scratch.filter((name) => !name.startsWith('lock'))).toEqual([])
  await upstream.stop()
  // What they follow is gone.
  await server.app.db.deleteFrom('mirrors').execute()
})

const migrate = (
  who: Pick<Actor, 'authorization'> | undefined,
  name: string,
  fields: object = {},
) => rest(who, 'POST', '/repos/migrate', { clone_addr: upstream.url, repo_name: name, ...fields })

/** Makes a mirror of bob. */
async function mirror(name: string, fields: object = {}): Promise<RestAnswer['body']> {
  const { status, body } = await migrate(users.bob, name, { mirror: true, ...fields })
  expect(status).toBe(201)
  return body
}

/** Does something that makes a mirror due, and waits until all mirrors have followed. */
async function synchronised(cause: () => Promise<unknown>): Promise<void> {
  await cause()
  await followed(server)
}

/** Waits until no mirror is due. The signal is also given when one has followed. */
async function followed({ app }: Pick<TestServer, 'app'>): Promise<void> {
  const { mirrors } = app.signals
  for (;;) {
    const seen = mirrors.count
    const due = app.db.selectFrom('mirrors').select('repository_id')
    if (!(await due.where('next_sync_time', '<=', clock.now()).executeTakeFirst())) return
    await mirrors.after(seen, new AbortController().signal)
  }
}

const requestSync = (name: string) =>
  synchronised(() => rest(users.bob, 'POST', `/repos/bob/${name}/mirror-sync`))

/** Refs with what they hold, as fetched from here and as they are there. */
async function refsHere(path: string): Promise<string[]> {
  const listed = await client.git('.', 'ls-remote', '--refs', remoteOf(server.url, path))
  return listed.split('\n').map((line) => line.replace('\t', ' '))
}
const refsThere = () =>
  upstream
    .git('for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/tags')
    .split('\n')

function fsck(id: number): void {
  execFileSync('git', ['-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict'])
}

/** Commits a folder `.git`, on a branch of its own, and returns the id of the commit. */
function commitAttack(): string {
  const entry = Buffer.concat([
    Buffer.from('40000 .git\0'),
    Buffer.from(upstream.git('rev-parse', 'main^{tree}'), 'hex'),
  ])
  const folder = upstream.git('rev-parse', '--absolute-git-dir')
  const store = ['-C', folder, 'hash-object', '-t', 'tree', '--literally', '-w', '--stdin']
  const tree = execFileSync('git', store, { input: entry, encoding: 'utf8' }).trim()
  const commit = upstream.git('commit-tree', tree, '-m', 'evil')
  upstream.git('update-ref', 'refs/heads/evil', commit)
  return commit
}

/** Puts a commit with more text than anybody may push here on a branch there. */
function commitLargeText(): void {
  const folder = upstream.git('rev-parse', '--absolute-git-dir')
  const identity = ['-c', 'user.name=Uma', '-c', 'user.email=uma@example.org']
  const make = ['-C', folder, ...identity, 'commit-tree', 'main^{tree}', '-F', '-']
  const commit = execFileSync('git', make, {
    input: 'x'.repeat(MAX_COMMIT_BYTES),
    encoding: 'utf8',
  }).trim()
  upstream.git('update-ref', 'refs/heads/large', commit)
}

/** Wants a name and a password. */
function guard(expected: string): void {
  upstream.intercept = (request, response) => {
    const given = request.headers.authorization?.replace('Basic ', '') ?? ''
    if (Buffer.from(given, 'base64').toString() === expected) return false
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
    return true
  }
}

describe('a copy from another server', () => {
  it('has the branches, the tags and the default branch, and is a normal repository', async () => {
    upstream.commit('trunk')
    upstream.commit('a/b')
    upstream.git(
      '-c',
      'user.name=U',
      '-c',
      'user.email=u@example.org',
      'tag',
      '-m',
      'one',
      'v1',
      'main',
    )
    upstream.git('update-ref', 'refs/pull/1/head', 'main')
    upstream.git('symbolic-ref', 'HEAD', 'refs/heads/trunk')
    const made = await migrate(users.bob, 'Copy', {
      description: 'of another',
      private: true,
      issues: true,
      wiki: true,
    })
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({
        full_name: 'bob/Copy',
        description: 'of another',
        private: true,
        empty: false,
        mirror: false,
        mirror_interval: '',
        fork: false,
        default_branch: 'trunk',
        branch_count: 3,
        original_url: upstream.url,
      }),
    ])
    fsck(made.body.id)
    await rest(users.bob, 'PATCH', '/repos/bob/copy', { private: false })
    expect(await refsHere('bob/copy')).toEqual(refsThere())
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/copy', 'bob', PASSWORD), 'copy')
    await client.commit('copy', 'mine')
    await client.git('copy', 'push', '-q', 'origin', 'trunk')
    expect((await rest(users.bob, 'POST', '/repos/bob/copy/mirror-sync')).body.message).toBe(
      'Repository is not a mirror',
    )
  })

  it('may be empty', async () => {
    upstream.git('update-ref', '-d', 'refs/heads/main')
    expect((await migrate(users.bob, 'nothing')).body).toMatchObject({
      empty: true,
      default_branch: 'main',
    })
  })

  it('leaves out ref names that a push could not create', async () => {
    upstream.git('update-ref', 'refs/heads/-x', 'main')
    const { body } = await migrate(users.bob, 'names')
    expect(body.branch_count).toBe(1)
  })

  it('can be made from another Branchline server, with a token', async () => {
    await rest(users.carol, 'POST', '/user/repos', { name: 'own', private: true, auto_init: true })
    const clone_addr = `${server.url}/carol/own.git`
    const refused = await migrate(users.bob, 'own', { clone_addr })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('credentials'),
    ])
    const auth_token = await createToken(server.url, users.carol, ['read:repository'])
    expect(
      (await migrate(users.bob, 'own', { clone_addr, auth_token, auth_username: 'carol' })).status,
    ).toBe(201)
  })

  it('can be made over gRPC', async () => {
    const mirrors = createClient(
      MirrorService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const made = await mirrors.migrateRepository({
      cloneAddr: upstream.url,
      repoName: 'spoken',
      mirror: true,
    })
    expect([made.fullName, made.mirror, made.mirrorInterval]).toEqual([
      'bob/spoken',
      true,
      '8h0m0s',
    ])
    await synchronised(() => mirrors.syncMirror({ owner: 'bob', repo: 'spoken' }))
  })
})

describe('credentials for another server', () => {
  it.each<[how: string, fields: object, userinfo: string, expected: string]>([
    ['a name and a password', { auth_username: 'uma', auth_password: 'p:w' }, '', 'uma:p:w'],
    ['a token', { auth_token: 'ghp_x' }, '', 'oauth2:ghp_x'],
    [
      'a name and a token',
      { auth_username: 'uma', auth_token: 'ghp_x', auth_password: 'no' },
      '',
      'uma:ghp_x',
    ],
    ['what the URL says', {}, 'uma:p%40w@', 'uma:p@w'],
  ])('are %s, and are not sent to other servers', async (how, fields, userinfo, expected) => {
    guard(expected)
    const name = how.replaceAll(' ', '-')
    const clone_addr = upstream.url.replace('//', `//${userinfo}`)
    const { id, ...repository } = await mirror(name, { clone_addr, ...fields })
    expect(repository.original_url).toBe(upstream.url)
    const secret = expected.slice(expected.indexOf(':') + 1)
    expect(JSON.stringify(repository)).not.toContain(secret)
    expect(JSON.stringify(server.logged)).not.toContain(secret)
    const row = await findMirror(server.app.db, id)
    expect(Buffer.from(row?.credentials ?? '').includes(secret)).toBe(false)
    const files = await readdir(repositoryPath(server.app.git, id), {
      recursive: true,
      withFileTypes: true,
    })
    for (const file of files.filter((entry) => entry.isFile())) {
      expect((await readFile(join(file.parentPath, file.name))).includes(secret)).toBe(false)
    }
    // They are there when the mirror follows.
    const commit = upstream.commit('main')
    await requestSync(name)
    expect(await refsHere(`bob/${name}`)).toEqual([`${commit} refs/heads/main`])
  })

  it('have their own error when missing or wrong', async () => {
    guard('uma:secret')
    const refused = await migrate(users.bob, 'guarded', {
      auth_username: 'uma',
      auth_password: 'wrong',
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('refuses the given ones'),
    ])
  })
})

describe('a copy is refused', () => {
  it.each([
    ['ssh://git@example.org/a.git'],
    ['git://example.org/a.git'],
    ['git@example.org:a.git'],
    ['file:///etc'],
    ['/etc'],
    ['ext::sh -c "touch /tmp/x"'],
    ['-oProxyCommand=x'],
    ['http://'],
    ['https://example.org/a.git?x=y'],
    [''],
  ])('from %j, which is not a valid address', async (clone_addr) => {
    const refused = await migrate(users.bob, 'refused', { clone_addr })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'clone_addr must be an http or https URL',
    ])
  })

  it.each<[what: string, answer: (response: ServerResponse) => void, message: string]>([
    [
      'a private address',
      (response) => response.writeHead(302, { location: METADATA }).end(),
      'private or reserved',
    ],
    [
      'something else',
      (response) => response.writeHead(200).end('hello'),
      'does not serve a repository',
    ],
    ['nothing', (response) => response.writeHead(404).end(), 'the address has no repository'],
    ['nobody any more', (response) => response.destroy(), 'connection failed'],
    [
      'nonsense',
      (response) => response.writeHead(200, ADVERTISEMENT).end('000fnonsense..'),
      'could not read',
    ],
    ['something without an end', (response) => flood(response), 'larger than this server allows'],
  ])('from an address that leads to %s', async (_, answer, message) => {
    upstream.intercept = (_, response) => {
      answer(response)
      return true
    }
    const refused = await migrate(users.bob, 'refused')
    expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining(message)])
    expect((await rest(users.bob, 'GET', '/repos/bob/refused')).status).toBe(404)
  })

  it('with objects that would attack clients', async () => {
    commitAttack()
    const refused = await migrate(users.bob, 'refused')
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('malformed object (hasDotgit)'),
    ])
  })

  it('with a commit message above the limit', async () => {
    commitLargeText()
    const refused = await migrate(users.bob, 'refused')
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('object (tooLarge)'),
    ])
  })

  it('from a private address unless the operator allows it', async () => {
    const strict = await startTestServer()
    const { bob } = await createTestUsers(strict.url)
    const body = { clone_addr: upstream.url, repo_name: 'inside' }
    const refused = await restAt(strict.url)(bob, 'POST', '/repos/migrate', body)
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining('private or reserved'),
    ])
    expect(upstream.asked).toEqual([])
    await strict.stop()
  })

  it('to a name that is taken or invalid, and to an owner for whom the caller may not create repositories', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'taken' })
    await rest(users.carol, 'POST', '/orgs', { username: 'acme' })
    const cases: [who: Actor | undefined, name: string, fields: object, status: number][] = [
      [undefined, 'x', {}, 401],
      [users.bob, 'Taken', {}, 409],
      [users.bob, 'a.git', {}, 422],
      [users.bob, 'x', { description: 'x'.repeat(2049) }, 422],
      [users.bob, 'x', { mirror: true, mirror_interval: '9m59s' }, 422],
      [users.bob, 'x', { repo_owner: 'nobody' }, 422],
      [users.bob, 'x', { uid: 123_456 }, 422],
      [users.bob, 'x', { repo_owner: 'carol' }, 403],
      [users.bob, 'x', { repo_owner: 'acme' }, 403],
    ]
    for (const [who, name, fields, status] of cases) {
      expect([fields, (await migrate(who, name, fields)).status]).toEqual([fields, status])
    }
    expect(upstream.asked).toEqual([])
    expect((await migrate(users.carol, 'x', { repo_owner: 'acme' })).body.full_name).toBe('acme/x')
    const { id } = (await rest(undefined, 'GET', '/orgs/acme')).body
    expect((await migrate(users.carol, 'y', { uid: id })).body.full_name).toBe('acme/y')
    expect((await migrate(users.ada, 'z', { repo_owner: 'carol' })).body.full_name).toBe('carol/z')
  })

  it.each([
    ['nobody', 401],
    ['read:repository', 403],
    ['write:user', 403],
    // A copy may be private.
    ['public-only', 403],
    ['write:repository', 201],
  ])('for %s, or it is: %i', async (name, status) => {
    const caller = await callerNamed(server.url, sessions, name)
    expect((await migrate(caller, `of-${name.replace(':', '-')}`)).status).toBe(status)
  })

  it('above the limit of concurrent copies, and when the client disconnects', async () => {
    const asked = new Promise<void>((resolve) => {
      upstream.intercept = () => {
        if (upstream.asked.length === 2) resolve()
        return true
      }
    })
    const leaving = new AbortController()
    const request = (name: string) =>
      fetch(`${server.url}/api/v1/repos/migrate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: users.bob.authorization },
        body: JSON.stringify({ clone_addr: upstream.url, repo_name: name }),
        signal: leaving.signal,
      }).catch(() => 'gone')
    const waiting = [request('slow-1'), request('slow-2')]
    await asked
    expect((await migrate(users.bob, 'slow-3')).status).toBe(429)
    leaving.abort()
    expect(await Promise.all(waiting)).toEqual(['gone', 'gone'])
    await server.app.background.settled()
    upstream.intercept = undefined
    expect((await migrate(users.bob, 'slow-3')).status).toBe(201)
    expect((await rest(users.bob, 'GET', '/repos/bob/slow-1')).status).toBe(404)
  })
})

const METADATA = 'http://169.254.169.254/info/refs?service=git-upload-pack'
const ADVERTISEMENT = { 'content-type': 'application/x-git-upload-pack-advertisement' }

/** Sends as much as the other side takes: comments of the protocol, without an end. */
function flood(response: ServerResponse): void {
  response.writeHead(200, ADVERTISEMENT)
  const line = `fff0${'#'.repeat(0xfff0 - 5)}\n`
  const more = () => {
    while (!response.destroyed && response.write(line));
  }
  response.on('drain', more)
  more()
}

describe('a mirror', () => {
  it('is shown as a mirror', async () => {
    const made = await mirror('told', { mirror_interval: '90m' })
    const now = new Date(clock.now()).toISOString().replace('.000Z', 'Z')
    expect(made).toMatchObject({
      mirror: true,
      mirror_interval: '1h30m0s',
      mirror_updated: now,
      mirror_last_sync_at: now,
      original_url: upstream.url,
    })
  })

  it('refuses writes', async () => {
    const { id } = await mirror('fixed')
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/fixed', 'bob', PASSWORD),
      'fixed',
    )
    await client.commit('fixed', 'mine')
    await expect(client.git('fixed', 'push', '-q', 'origin', 'main')).rejects.toThrow('403')
    const push = await fetch(`${server.url}/bob/fixed.git/info/refs?service=git-receive-pack`, {
      headers: { authorization: `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}` },
    })
    expect([push.status, await push.text()]).toEqual([403, 'mirror repository is read-only\n'])
    const tag = await rest(users.bob, 'POST', '/repos/bob/fixed/tags', { tag_name: 'v1' })
    expect([tag.status, tag.body.message]).toEqual([403, 'Git Repository is a mirror.'])
    fsck(id)
  })

  it('is synchronised on request: new, rewritten and deleted refs', async () => {
    upstream.commit('old')
    upstream.commit('a')
    upstream.git('tag', 'v1', 'main')
    const { id } = await mirror('follower')
    clock.advance(60)
    upstream.commit('main', 'second')
    upstream.git('branch', '-D', 'old', 'a')
    upstream.commit('a/b')
    upstream.git('tag', '-f', 'v1', 'a/b')
    upstream.git('tag', 'v2', 'main')
    upstream.git('update-ref', 'refs/pull/1/head', 'main')
    const answer = await fetch(`${server.url}/api/v1/repos/bob/follower`)
    expect(await answer.json()).toMatchObject({ branch_count: 3 })
    await synchronised(async () => {
      const asked = await rest(users.bob, 'POST', '/repos/bob/follower/mirror-sync')
      expect([asked.status, asked.body]).toEqual([200, {}])
    })
    expect(await refsHere('bob/follower')).toEqual(refsThere())
    const seconds = new Date(clock.now()).toISOString().replace('.000Z', 'Z')
    expect((await rest(undefined, 'GET', '/repos/bob/follower')).body).toMatchObject({
      branch_count: 2,
      mirror_updated: seconds,
      mirror_last_sync_at: seconds,
    })
    fsck(id)
  })

  it('is synchronised by schedule, and shows when nothing was new', async () => {
    await mirror('steady')
    const before = (await rest(undefined, 'GET', '/repos/bob/steady')).body
    upstream.commit('main')
    await dueNow(7 * HOUR)
    expect(await refsHere('bob/steady')).not.toEqual(refsThere())
    await synchronised(() => dueNow(HOUR))
    expect(await refsHere('bob/steady')).toEqual(refsThere())
    const first = (await rest(undefined, 'GET', '/repos/bob/steady')).body
    await synchronised(() => dueNow(8 * HOUR))
    const second = (await rest(undefined, 'GET', '/repos/bob/steady')).body
    expect(second.mirror_updated).toBe(first.mirror_updated)
    expect(second.mirror_last_sync_at > first.mirror_last_sync_at).toBe(true)
    expect(first.mirror_updated > before.mirror_updated).toBe(true)
  })

  it('is synchronised in its interval, or on request only', async () => {
    const { id } = await mirror('told-often')
    const patch = (mirror_interval: string) =>
      rest(users.bob, 'PATCH', '/repos/bob/told-often', { mirror_interval })
    expect((await patch('5m')).status).toBe(422)
    expect((await patch('10m')).body.mirror_interval).toBe('10m0s')
    expect((await findMirror(server.app.db, id))?.next_sync_time).toBe(clock.now() + 600_000)
    expect((await patch('0')).body.mirror_interval).toBe('0s')
    expect((await findMirror(server.app.db, id))?.next_sync_time).toBeNull()
    const commit = upstream.commit('main')
    await requestSync('told-often')
    expect(await refsHere('bob/told-often')).toEqual([`${commit} refs/heads/main`])
  })

  it('keeps refs that the original deletes, if configured', async () => {
    upstream.commit('kept')
    await mirror('hoarder')
    await rest(users.bob, 'PATCH', '/repos/bob/hoarder', { enable_prune: false })
    upstream.git('branch', '-D', 'kept')
    await requestSync('hoarder')
    expect(await refsHere('bob/hoarder')).toHaveLength(2)
  })

  it('does not change while its original fails or lies, and recovers', async () => {
    const { id } = await mirror('patient')
    const before = await refsHere('bob/patient')
    upstream.commit('main')
    upstream.intercept = (_, response) => {
      response.writeHead(302, { location: METADATA }).end()
      return true
    }
    await requestSync('patient')
    expect(await refsHere('bob/patient')).toEqual(before)
    expect(await findMirror(server.app.db, id)).toMatchObject({
      error: 'the host has a private or reserved address',
      next_sync_time: clock.now() + 8 * HOUR * 1000,
    })
    upstream.intercept = undefined
    await requestSync('patient')
    expect(await refsHere('bob/patient')).toEqual(refsThere())
    expect((await findMirror(server.app.db, id))?.error).toBe('')
  })

  it('refuses objects that would attack clients', async () => {
    const { id } = await mirror('careful')
    const before = await refsHere('bob/careful')
    const attack = commitAttack()
    upstream.commit('main')
    await requestSync('careful')
    expect(await refsHere('bob/careful')).toEqual(before)
    expect((await findMirror(server.app.db, id))?.error).toBe(
      'the repository has a malformed object (hasDotgit)',
    )
    const look = ['-C', repositoryPath(server.app.git, id), 'cat-file', '-e', attack]
    expect(() => execFileSync('git', look)).toThrow()
    upstream.git('update-ref', '-d', 'refs/heads/evil')
    commitLargeText()
    await requestSync('careful')
    expect(await refsHere('bob/careful')).toEqual(before)
    expect((await findMirror(server.app.db, id))?.error).toBe(
      'the repository has a malformed object (tooLarge)',
    )
  })

  it('can be synchronised by users with write access while it is not archived', async () => {
    await mirror('asked')
    const ask = async (who: Actor | undefined) =>
      (await rest(who, 'POST', '/repos/bob/asked/mirror-sync')).status
    expect([await ask(undefined), await ask(users.carol)]).toEqual([401, 403])
    await rest(users.bob, 'PATCH', '/repos/bob/asked', { archived: true })
    expect(await ask(users.bob)).toBe(423)
    upstream.commit('main')
    const before = await refsHere('bob/asked')
    await synchronised(() => dueNow(8 * HOUR))
    expect(await refsHere('bob/asked')).toEqual(before)
  })

  it('that was due when the server stopped is synchronised when the server starts', async () => {
    const data = await mkdtemp(join(tmpdir(), 'branchline-mirror-'))
    const settings = { data, clock, webhookAllowedHosts: parseAllowedHosts('127.0.0.1') }
    const first = await startTestServer(settings)
    const { bob } = await createTestUsers(first.url)
    const body = { clone_addr: upstream.url, repo_name: 'later', mirror: true }
    await restAt(first.url)(bob, 'POST', '/repos/migrate', body)
    await first.close(0)
    const commit = upstream.commit('main')
    clock.advance(8 * HOUR)
    const second = await startTestServer(settings)
    await followed(second)
    const listed = await client.git('.', 'ls-remote', '--refs', remoteOf(second.url, 'bob/later'))
    expect(listed).toBe(`${commit}\trefs/heads/main`)
    await second.close(0)
    await rm(data, { recursive: true })
  })
})

/** Lets time pass, and the server notice. */
async function dueNow(seconds: number): Promise<void> {
  clock.advance(seconds)
  server.app.signals.mirrors.notify()
}
