import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MAX_COMMIT_BYTES } from '../../../src/platform/git/objects/large-texts.ts'
import { openForge, startForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { execFileSync } from '../../support/programs.ts'
import { createTestUsers, createToken, PASSWORD, startTestServer } from '../../support/server.ts'

const { server, users, rest, client } = await openForge()

const git = (...args: string[]) => client.git('.', ...args)

/** The URL of a repository for git, with a password in it unless it is nobody who asks. */
const remote = (path: string, username?: string, password = PASSWORD) =>
  remoteOf(server.url, path, username, password)

/**
 * Makes a repository of bob with a first commit, and a clone of it in a folder of the same name.
 */
async function repositoryWithClone(name: string, settings: object = {}): Promise<void> {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true, ...settings })
  await git('clone', '-q', remote(`bob/${name}`, 'bob'), name)
}

/** A pointer file of Git LFS (git-lfs specification, docs/spec.md, "The Pointer"). */
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`

const commit = (folder: string, message: string) => client.commit(folder, message)

describe('a repository', () => {
  it('is empty at first, and the first push sets its default branch', async () => {
    const made = await rest(users.bob, 'POST', '/user/repos', {
      name: 'Engine',
      description: 'turns',
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('content-type')).toBe('application/json;charset=utf-8')
    expect(made.body).toMatchObject({
      name: 'Engine',
      full_name: 'bob/Engine',
      description: 'turns',
      owner: { login: 'bob' },
      empty: true,
      private: false,
      archived: false,
      archived_at: '1970-01-01T00:00:00Z',
      default_branch: 'main',
      branch_count: 0,
      permissions: { admin: true, push: true, pull: true },
      clone_url: `${server.url}/bob/Engine.git`,
    })
    expect(typeof made.body.id).toBe('number')
    await git('clone', '-q', remote('bob/engine', 'bob'), 'engine')
    await commit('engine', 'first')
    await git('-C', 'engine', 'push', '-q', 'origin', 'HEAD:refs/heads/trunk')
    const pushed = await rest(undefined, 'GET', '/repos/BOB/engine')
    expect(pushed.body).toMatchObject({ empty: false, default_branch: 'trunk', branch_count: 1 })
    expect(pushed.body.permissions).toEqual({ admin: false, push: false, pull: true })
  })

  it('has a first commit if requested', async () => {
    await repositoryWithClone('begun', { default_branch: 'trunk', description: 'well' })
    expect(await git('-C', 'begun', 'log', '--format=%an %s %D')).toContain(
      'bob Initial commit HEAD -> trunk',
    )
    expect(await git('-C', 'begun', 'show', 'HEAD:README.md')).toBe('# begun\n\nwell')
  })

  it('counts its branches', async () => {
    await repositoryWithClone('branches')
    await git('-C', 'branches', 'push', '-q', 'origin', 'main:a/b', 'main:c', 'main:refs/tags/v1')
    expect((await rest(undefined, 'GET', '/repos/bob/branches')).body).toMatchObject({
      branch_count: 3,
    })
    await git('-C', 'branches', 'push', '-q', 'origin', ':c')
    expect((await rest(undefined, 'GET', '/repos/bob/branches')).body).toMatchObject({
      branch_count: 2,
    })
  })

  it.each([
    [{ name: 'engine' }, 409, 'The repository with the same name already exists.'],
    [{ name: 'ENGINE' }, 409, 'The repository with the same name already exists.'],
    [{}, 422, ''],
    [{ name: '..' }, 422, ''],
    [{ name: '../ada' }, 422, ''],
    [{ name: 'a.git' }, 422, ''],
    [{ name: 'a.WIKI' }, 422, ''],
    [{ name: 'a'.repeat(101) }, 422, ''],
    [{ name: 'fine', default_branch: 'a..b' }, 422, ''],
    [{ name: 'fine', description: 'x'.repeat(2049) }, 422, ''],
  ])('cannot be created from %j', async (body, status, message) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'engine' })
    const refused = await rest(users.bob, 'POST', '/user/repos', body)
    expect(refused.status).toBe(status)
    expect(refused.headers.get('x-error-reason')).toMatch(/^(REPOSITORY_EXISTS|INVALID_[A-Z_]+)$/)
    expect(refused.body).toEqual({
      message: expect.stringContaining(message),
      url: '/openapi.json',
    })
  })

  it('is listed for users with access, by name, in pages', async () => {
    for (const name of ['one', 'two', 'three'])
      await rest(users.carol, 'POST', '/user/repos', { name })
    await rest(users.carol, 'POST', '/user/repos', { name: 'secret', private: true })
    const names = (list: unknown) => (list as { name: string }[]).map(({ name }) => name)
    const own = await rest(users.carol, 'GET', '/user/repos')
    expect(names(own.body)).toEqual(['one', 'secret', 'three', 'two'])
    const page = await rest(users.bob, 'GET', '/users/Carol/repos?limit=2&page=2')
    expect(names(page.body)).toEqual(['two'])
    expect(page.headers.get('x-total-count')).toBe('3')
    expect(page.headers.get('link')).toContain('rel="prev"')
    expect((await rest(undefined, 'GET', '/users/nobody/repos')).status).toBe(404)
  })

  it('is edited completely or not at all, and redirects from its old name', async () => {
    await repositoryWithClone('old')
    const refused = await rest(users.bob, 'PATCH', '/repos/bob/old', {
      description: 'new',
      default_branch: 'nothing',
    })
    expect(refused.status).toBe(422)
    expect((await rest(users.bob, 'GET', '/repos/bob/old')).body.description).toBe('')
    await git('-C', 'old', 'push', '-q', 'origin', 'main:next')
    const edit = {
      name: 'New',
      description: 'new',
      website: 'https://example.org',
      default_branch: 'next',
    }
    const edited = await rest(users.bob, 'PATCH', '/repos/bob/old', edit)
    expect(edited.body).toMatchObject({ ...edit, full_name: 'bob/New' })
    const moved = await rest(undefined, 'GET', '/repos/bob/old')
    expect([moved.status, moved.headers.get('location')]).toEqual([301, '/api/v1/repos/bob/New'])
    await git('-C', 'old', 'fetch', '-q')
    await git('clone', '-q', remote('bob/old'), 'follows')
    expect(await git('-C', 'follows', 'branch', '--show-current')).toBe('next')
    // The name is free for another one, which it then leads to.
    expect((await rest(users.bob, 'POST', '/user/repos', { name: 'old' })).status).toBe(201)
    expect((await rest(users.bob, 'GET', '/repos/bob/old')).status).toBe(200)
  })

  it('is not found by anyone once it is deleted', async () => {
    await repositoryWithClone('gone')
    expect((await rest(users.carol, 'DELETE', '/repos/bob/gone')).status).toBe(403)
    expect((await rest(users.bob, 'DELETE', '/repos/bob/gone')).status).toBe(204)
    expect((await rest(users.bob, 'GET', '/repos/bob/gone')).status).toBe(404)
    await expect(git('-C', 'gone', 'fetch')).rejects.toThrow('not found')
  })

  it('refuses a commit message above the limit, which a small pack can contain', async () => {
    await repositoryWithClone('terse')
    const message = join(client.home, 'message')
    await writeFile(message, 'x'.repeat(MAX_COMMIT_BYTES))
    await git('-C', 'terse', 'commit', '-q', '--allow-empty', '-F', message)
    await expect(git('-C', 'terse', 'push', '-q')).rejects.toThrow(
      'is a commit or tag of more than 1048576 bytes',
    )
    expect((await rest(users.bob, 'GET', '/repos/bob/terse/commits')).body).toHaveLength(1)
  })

  it('refuses files over the limit of the operator, and names them', async () => {
    const strict = await startForge({ settings: { maxFileBytes: 1024 * 1024 } })
    onTestFinished(strict.stop)
    const { bob } = strict.users
    const git = (...args: string[]) => strict.client.git('.', ...args)
    await strict.ask(bob, 'POST', '/user/repos', { name: 'media', auto_init: true })
    await git('clone', '-q', remoteOf(strict.server.url, 'bob/media', 'bob', PASSWORD), 'media')
    const store = async (file: string, bytes: number) => {
      await writeFile(join(strict.client.home, 'media', file), Buffer.alloc(bytes, file))
      await git('-C', 'media', 'add', file)
      await git('-C', 'media', 'commit', '-q', '-m', file)
    }
    await store('allowed', 1024 * 1024)
    await git('-C', 'media', 'push', '-q')
    await store('a film', 1.5 * 1024 * 1024)
    await git('-C', 'media', 'rm', '-q', 'a film')
    await git('-C', 'media', 'commit', '-q', '-m', 'no film')
    await expect(git('-C', 'media', 'push', '-q')).rejects.toThrow(
      'a film has 1.50 MiB, the limit is 1.00 MiB: use Git LFS',
    )
    const content = Buffer.alloc(1024 * 1024 + 1).toString('base64')
    const { status, body } = await strict.rest(bob, 'POST', '/repos/bob/media/contents/large', {
      content,
    })
    expect([status, body.message]).toEqual([422, 'the file has 1.00 MiB, the limit is 1.00 MiB'])
  })

  it('refuses a pointer file of Git LFS where the option says so', async () => {
    const strict = await startForge({ settings: { refuseLfsPointers: true } })
    onTestFinished(strict.stop)
    const git = (...args: string[]) => strict.client.git('.', ...args)
    await strict.ask(strict.users.bob, 'POST', '/user/repos', { name: 'media', auto_init: true })
    await git('clone', '-q', remoteOf(strict.server.url, 'bob/media', 'bob', PASSWORD), 'media')
    const store = async (file: string, text: string) => {
      await writeFile(join(strict.client.home, 'media', file), text)
      await git('-C', 'media', 'add', file)
      await git('-C', 'media', 'commit', '-q', '-m', file)
    }
    // The text of a pointer within a longer file is no pointer.
    await store('notes', `A pointer:\n${POINTER}`)
    await git('-C', 'media', 'push', '-q')
    await store('film', POINTER)
    await store('more', 'text')
    await expect(git('-C', 'media', 'push', '-q')).rejects.toThrow('is a pointer of Git LFS')
    await git('-C', 'media', 'reset', '-q', '--hard', 'HEAD~2')
    await store('more', 'text')
    await git('-C', 'media', 'push', '-q')
  })

  it('refuses reserved names in a push', async () => {
    await repositoryWithClone('refs')
    await commit('refs', 'second')
    await expect(
      git('-C', 'refs', 'push', '-q', 'origin', 'main', 'main:refs/queue/1'),
    ).rejects.toThrow('refs/queue/1 is reserved for the server')
    expect(await git('ls-remote', remote('bob/refs'))).not.toContain('queue')
  })
})

describe('permissions', () => {
  it.each<[name: string, settings: object, caller: string, fetch: string, push: string]>([
    ['public', {}, 'nobody', 'ok', 'could not read Username'],
    ['public', {}, 'bob', 'ok', 'ok'],
    ['public', {}, 'carol', 'ok', 'User permission denied for writing.'],
    ['public', {}, 'ada', 'ok', 'ok'],
    // Git shows credentials when it is asked to, which it is not for what everybody may read.
    ['public', {}, 'wrong', 'ok', 'Authentication failed'],
    ['private', { private: true }, 'wrong', 'Authentication failed', 'Authentication failed'],
    ['private', { private: true }, 'read:repository', 'ok', '403'],
    ['private', { private: true }, 'write:repository', 'ok', 'ok'],
    ['private', { private: true }, 'read:user', '403', '403'],
    ['private', { private: true }, 'nobody', 'could not read Username', 'could not read Username'],
    ['private', { private: true }, 'bob', 'ok', 'ok'],
    ['private', { private: true }, 'carol', 'Repository not found', 'Repository not found'],
    ['private', { private: true }, 'public-only', 'Repository not found', 'Repository not found'],
    ['nothing', {}, 'nobody', 'could not read Username', 'could not read Username'],
    ['nothing', {}, 'carol', 'Repository not found', 'Repository not found'],
    ['archived', {}, 'bob', 'ok', 'This repo is archived. You can view files and clone it'],
    // Before anything is said about the repository.
    ['archived', {}, 'nobody', 'ok', 'could not read Username'],
  ])('to use a repository with %s %j: %s', async (name, settings, caller, fetch, push) => {
    const repository = `matrix-${name}`
    if (name !== 'nothing') {
      await rest(users.bob, 'POST', '/user/repos', {
        name: repository,
        auto_init: true,
        ...settings,
      })
      if (name === 'archived')
        await rest(users.bob, 'PATCH', `/repos/bob/${repository}`, { archived: true })
    }
    const url = await remoteFor(repository, caller)
    const folder = `${repository}-${caller.replace(':', '-')}-${Math.trunc(performance.now() * 1000)}`
    const outcome = (work: Promise<unknown>) =>
      work.then(
        () => 'ok',
        ({ stderr }) => String(stderr),
      )
    expect(await outcome(git('ls-remote', url))).toContain(fetch)
    await git('init', '-q', folder)
    // Another commit than those of other callers, even in the same second.
    await commit(folder, `pushed by ${caller}`)
    expect(
      await outcome(git('-C', folder, 'push', '-q', '--force', url, 'HEAD:refs/heads/pushed')),
    ).toContain(push)
  })

  /** The URL that somebody uses: a person by password, or a token of bob with a scope. */
  async function remoteFor(repository: string, caller: string): Promise<string> {
    const path = `bob/${repository}`
    if (caller === 'nobody') return remote(path)
    if (caller === 'wrong') return remote(path, 'bob', 'a wrong password')
    if (caller === 'public-only')
      return remote(path, 'bob', await createToken(server.url, users.bob, ['all', caller]))
    if (caller.includes(':'))
      return remote(path, 'bob', await createToken(server.url, users.bob, [caller]))
    return remote(path, caller)
  }
})

describe('an archived repository', () => {
  it('accepts no change except its unarchiving', async () => {
    await repositoryWithClone('kept')
    await rest(users.bob, 'PATCH', '/repos/bob/kept', { archived: true })
    expect((await rest(users.bob, 'PATCH', '/repos/bob/kept', { description: 'x' })).status).toBe(
      423,
    )
    const opened = await rest(users.bob, 'PATCH', '/repos/bob/kept', {
      archived: false,
      description: 'x',
    })
    expect(opened.body).toMatchObject({ archived: false, description: 'x' })
  })
})

describe('refs that are missing in the database', () => {
  it('are read from Git when the server restarts', async () => {
    const crashing = await startTestServer({
      data: await mkdtemp(join(tmpdir(), 'branchline-crash-')),
    })
    const { bob } = await createTestUsers(crashing.url)
    const post = (path: string, body: object) =>
      fetch(crashing.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: bob.authorization },
        body: JSON.stringify(body),
      })
    const { id } = (await (
      await post('/api/v1/user/repos', { name: 'engine', auto_init: true })
    ).json()) as {
      id: number
    }
    // As if the process had been killed after Git moved the refs of a push, and before anything was
    // recorded.
    const path = join(crashing.data, 'repositories', id.toString(16).padStart(2, '0'), `${id}.git`)
    execFileSync('git', ['-C', path, 'update-ref', 'refs/heads/pushed', 'main'])
    execFileSync('git', ['-C', path, 'update-ref', '-d', 'refs/heads/main'])
    await crashing.app.db
      .insertInto('pending_ref_updates')
      .values({ repository_id: id, create_time: 0 })
      .execute()
    await crashing.close(0)
    const restarted = await startTestServer({ data: crashing.data })
    const healed = await (await fetch(`${restarted.url}/api/v1/repos/bob/engine`)).json()
    expect(healed).toMatchObject({ branch_count: 1, default_branch: 'pushed' })
    expect(await restarted.app.db.selectFrom('pending_ref_updates').selectAll().execute()).toEqual(
      [],
    )
    await restarted.close(0)
    await rm(crashing.data, { recursive: true })
  })
})
