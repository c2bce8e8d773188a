import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { markAllRepositoriesPending } from '../../../src/platform/database/maintenance.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient

beforeAll(async () => {
  server = await startPatientServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  const left = await problems()
  await server.stop()
  await client.remove()
  expect(left).toEqual([])
})

/** Starts a server whose fetches wait for refs of pull requests, however busy the machine is. */
async function startPatientServer(data?: string) {
  const started = await startTestServer(data === undefined ? {} : { data })
  started.app.patience.headRefsMs = 60_000
  return started
}

/** What an operator is told of. */
async function problems(fix = false) {
  const found: string[] = []
  for await (const { problem, outcome } of examine(server.app, { fsck: true, fix }))
    found.push(`${problem}: ${outcome}`)
  return found
}

const remote = (path: string, who?: string) =>
  remoteOf(server.url, path.slice('/repos/'.length), who, who && PASSWORD)

/** The commit that a ref of a repository holds, for whoever fetches; empty without one. */
async function held(path: string, ref: string): Promise<string> {
  return (await client.git('.', 'ls-remote', remote(path, 'bob'), ref)).split('\t')[0] ?? ''
}

/**
 * Bob's repository with a branch `own`, and eve's fork with a branch `theirs`, each asked to be
 * pulled; with clones.
 */
async function proposed(name: string) {
  const base = await forge.repository(users.bob, name)
  const own = await forge.change(users.bob, base.path, 'own')
  const fork = await forge.fork(users.eve, base.path)
  const theirs = await forge.change(users.eve, fork.path, 'theirs')
  await forge.ask(users.bob, 'POST', base.pulls, { head: 'own', base: 'main', title: 'Mine' })
  await forge.ask(users.eve, 'POST', base.pulls, {
    head: 'eve:theirs',
    base: 'main',
    title: 'Theirs',
  })
  await recorded(base.id, 1, own)
  await recorded(base.id, 2, theirs)
  await client.git('.', 'clone', '-q', remote(base.path, 'bob'), name)
  await client.git('.', 'clone', '-q', '-b', 'theirs', remote(fork.path, 'eve'), `${name}-fork`)
  return {
    ...base,
    own,
    theirs,
    fork,
    git: (...args: string[]) => client.git(name, ...args),
    forkGit: (...args: string[]) => client.git(`${name}-fork`, ...args),
    read: (number: number) => forge.ask(users.bob, 'GET', `${base.pulls}/${number}`),
  }
}

const rowOf = (id: number, number: number) =>
  server.app.db
    .selectFrom('issues')
    .selectAll()
    .where('repository_id', '=', id)
    .where('number', '=', number)
    .executeTakeFirstOrThrow()

/** Waits until the server has moved the ref of a pull request to its head, which it does by itself. */
async function recorded(id: number, number: number, commit: string): Promise<void> {
  await expect.poll(async () => (await rowOf(id, number)).head_ref_commit).toBe(commit)
}

describe('the head of a pull request', () => {
  it('follows every push to its branch, in the repository and in a fork', async () => {
    const { path, fork, git, forkGit, read } = await proposed('followed')
    await git('checkout', '-q', 'own')
    for (const [number, push, folder] of [
      [1, git, 'followed'],
      [2, forkGit, 'followed-fork'],
    ] as const) {
      const before = await read(number)
      const next = await client.commit(folder, 'next')
      await push('push', '-q')
      // Whoever fetches behind the push finds what was pushed.
      expect(await held(path, `refs/pull/${number}/head`)).toBe(next)
      const seen = await read(number)
      expect(seen.head.sha).toBe(next)
      expect(Date.parse(seen.updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at))
      await push('commit', '-q', '--amend', '--allow-empty', '-m', 'other')
      await push('push', '-q', '--force')
      const forced = await push('rev-parse', 'HEAD')
      expect(await held(path, `refs/pull/${number}/head`)).toBe(forced)
    }
    // By the API as well.
    const written = await forge.change(users.eve, fork.path, 'theirs', 'main', 'more.txt')
    expect(await held(path, 'refs/pull/2/head')).toBe(written)
    expect((await read(2)).head).toMatchObject({ ref: 'theirs', sha: written })
  })

  it('cannot be pushed to', async () => {
    const { git } = await proposed('kept')
    await client.commit('kept', 'mine')
    await expect(git('push', '-q', 'origin', 'HEAD:refs/pull/1/head')).rejects.toThrow(
      'deny updating a hidden ref',
    )
    await expect(git('push', '-q', 'origin', ':refs/pull/1/head')).rejects.toThrow()
    // What mirrors a clone of the usual kind leaves them alone.
    await git('fetch', '-q')
    await git('push', '-q', '--mirror', 'origin')
    expect(await git('ls-remote', 'origin', 'refs/pull/1/head')).not.toBe('')
  })

  it('outlives its branch, whose deletion closes the pull request', async () => {
    const { id, path, fork, git, forkGit, read, own, theirs } = await proposed('deleted')
    await git('push', '-q', 'origin', ':own')
    await forge.ask(users.eve, 'DELETE', `${fork.path}/branches/theirs`)
    for (const [number, commit] of [
      [1, own],
      [2, theirs],
    ] as const) {
      expect(await read(number)).toMatchObject({
        state: 'closed',
        merged: false,
        head: { ref: `refs/pull/${number}/head`, sha: commit },
      })
      expect(await held(path, `refs/pull/${number}/head`)).toBe(commit)
    }
    expect((await forge.ask(users.bob, 'GET', path)).open_pr_counter).toBe(0)
    // A branch that gets the name of an old one has nothing to do with what is closed.
    await forkGit('commit', '-q', '--allow-empty', '-m', 'anew')
    await forkGit('push', '-q', 'origin', 'HEAD:theirs')
    expect((await rowOf(id, 2)).head_commit).toBe(theirs)
  })

  it('outlives its repository with the last pushed commit, and reveals nothing of the repository', async () => {
    const { path, id, fork, forkGit, read } = await proposed('orphaned')
    const last = await client.commit('orphaned-fork', 'last')
    await forkGit('push', '-q')
    await recorded(id, 2, last)
    // As if the server had not come to it yet. The row comes last: the server follows it at any time.
    await client.git(
      '.',
      '-C',
      repositoryPath(server.app.git, id),
      'update-ref',
      '-d',
      'refs/pull/2/head',
    )
    await transaction(server.app.db, (tx) =>
      tx
        .updateTable('issues')
        .set({ head_ref_commit: null })
        .where('repository_id', '=', id)
        .execute(),
    )
    await forge.ask(users.eve, 'DELETE', fork.path)
    expect(await held(path, 'refs/pull/2/head')).toBe(last)
    const seen = await read(2)
    expect([seen.state, seen.head.repo, seen.head.repo_id, seen.head.sha]).toEqual([
      'open',
      null,
      -1,
      last,
    ])
    expect(JSON.stringify(seen.head)).not.toContain('eve')
  })

  it('outlives the account of its fork', async () => {
    const { path, pulls, read } = await proposed('left')
    const user = {
      username: 'gone',
      email: 'gone@example.org',
      password: PASSWORD,
      must_change_password: false,
    }
    await forge.ask(users.ada, 'POST', '/admin/users', user)
    const gone = {
      username: 'gone',
      authorization: `Basic ${Buffer.from(`gone:${PASSWORD}`).toString('base64')}`,
    }
    const fork = await forge.fork(gone, path)
    const commit = await forge.change(gone, fork.path, 'mine')
    const { number } = await forge.ask(gone, 'POST', pulls, {
      head: 'gone:mine',
      base: 'main',
      title: 'x',
    })
    await forge.ask(users.ada, 'DELETE', '/admin/users/gone?purge=true')
    expect(await read(number)).toMatchObject({
      user: { login: 'Ghost' },
      head: { repo: null, sha: commit },
    })
    expect(await held(path, `refs/pull/${number}/head`)).toBe(commit)
  })

  it('follows a rename of its branch, and so does the base', async () => {
    const { path, pulls, fork, read } = await proposed('renamed')
    await forge.change(users.bob, path, 'stable')
    await forge.ask(users.eve, 'PATCH', `${pulls}/2`, { base: 'stable' })
    await forge.ask(users.eve, 'PATCH', `${fork.path}/branches/theirs`, { name: 'new/name' })
    await forge.ask(users.bob, 'PATCH', `${path}/branches/stable`, { name: 'solid' })
    await forge.ask(users.bob, 'PATCH', `${path}/branches/main`, { name: 'trunk' })
    expect(await read(2)).toMatchObject({
      state: 'open',
      head: { ref: 'new/name' },
      base: { ref: 'solid' },
    })
    expect(await read(1)).toMatchObject({
      state: 'open',
      head: { ref: 'own' },
      base: { ref: 'trunk' },
    })
    const moved = await forge.change(users.eve, fork.path, 'new/name', 'main', 'more.txt')
    expect((await read(2)).head.sha).toBe(moved)
  })
})

describe('the base of a pull request', () => {
  it('cannot be deleted over the API while an open pull request goes there', async () => {
    const { path, pulls } = await proposed('targeted')
    await forge.change(users.bob, path, 'stable')
    await forge.ask(users.eve, 'PATCH', `${pulls}/2`, { base: 'stable' })
    const refused = await forge.rest(users.bob, 'DELETE', `${path}/branches/stable`)
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'can not delete default or pull request target branch',
    ])
    await forge.ask(users.eve, 'PATCH', `${pulls}/2`, { state: 'closed' })
    expect((await forge.rest(users.bob, 'DELETE', `${path}/branches/stable`)).status).toBe(204)
  })

  it('changes to the default branch when a push deletes it, unless that is impossible', async () => {
    const { path, pulls, git, fork, read } = await proposed('retargeted')
    for (const name of ['alpha', 'beta']) await forge.change(users.bob, path, name)
    await forge.change(users.eve, fork.path, 'second')
    const open = async (who: 'bob' | 'eve', head: string, base: string): Promise<number> =>
      (await forge.ask(users[who], 'POST', pulls, { head, base, title: `${head} to ${base}` }))
        .number
    const moves = await open('eve', 'eve:second', 'alpha')
    // There is one to the default branch already.
    const doubles = await open('eve', 'eve:theirs', 'alpha')
    // The default branch to itself.
    const loops = await open('bob', 'main', 'alpha')
    // And of two that go the same way the first alone.
    const follows = await open('eve', 'eve:second', 'beta')
    await git('push', '-q', 'origin', ':alpha', ':beta')
    expect(await read(moves)).toMatchObject({ state: 'open', base: { ref: 'main' } })
    expect(await read(doubles)).toMatchObject({ state: 'closed', base: { ref: 'alpha' } })
    expect(await read(loops)).toMatchObject({ state: 'closed', base: { ref: 'alpha' } })
    expect(await read(follows)).toMatchObject({ state: 'closed', base: { ref: 'beta' } })
  })
})

describe('after a crash', () => {
  it('refs follow the rows, whether the crash was before or after the row', async () => {
    const { id, path, theirs, forkGit } = await proposed('crashed')
    const folder = repositoryPath(server.app.git, id)
    const inside = (...args: string[]) => client.git('.', '-C', folder, ...args)
    const behind = (head_ref_commit: string | null) =>
      transaction(server.app.db, (tx) =>
        tx.updateTable('issues').set({ head_ref_commit }).where('repository_id', '=', id).execute(),
      )
    // A row without a ref.
    await inside('update-ref', '-d', 'refs/pull/2/head')
    await behind(null)
    expect(await held(path, 'refs/pull/2/head')).toBe(theirs)
    expect((await rowOf(id, 2)).head_ref_commit).toBe(theirs)
    // A ref without a row, in the way of the next one.
    await inside('update-ref', 'refs/pull/3/head', 'main')
    expect(await problems()).toEqual([
      'refs/pull/3/head belongs to no pull request: --fix repairs it',
    ])
    const next = await forge.change(users.bob, path, 'third')
    const made = await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      head: 'third',
      base: 'main',
      title: 'x',
    })
    expect([made.number, await held(path, 'refs/pull/3/head')]).toEqual([3, next])
    // The ref has moved, and the row does not know yet.
    await forkGit('commit', '-q', '--allow-empty', '-m', 'late')
    await forkGit('push', '-q')
    const late = await forkGit('rev-parse', 'HEAD')
    expect(await held(path, 'refs/pull/2/head')).toBe(late)
    await behind(theirs)
    expect(await held(path, 'refs/pull/2/head')).toBe(late)
    expect((await rowOf(id, 2)).head_ref_commit).toBe(late)
  })

  it('unrecorded refs of a push or a backup are recorded at the start, with their pull requests', async () => {
    const data = server.data
    const first = await startPatientServer(`${data}-again`)
    const own = pullForge(first)
    const people = await createPullTestUsers(first.url)
    const { path, pulls, id } = await own.repository(people.bob, 'restarted')
    const before = await own.change(people.bob, path, 'own')
    await own.change(people.bob, path, 'gone')
    for (const head of ['own', 'gone'])
      await own.ask(people.bob, 'POST', pulls, { head, base: 'main', title: head })
    const folder = repositoryPath(first.app.git, id)
    await first.close(0)
    // Git did what it was asked for, and the server was killed.
    const second = await startPatientServer(`${data}-again`)
    await transaction(second.app.db, markAllRepositoriesPending)
    await second.close(0)
    const tree = await client.git('.', '-C', folder, 'rev-parse', `${before}^{tree}`)
    const moved = await client.git(
      '.',
      '-C',
      folder,
      'commit-tree',
      tree,
      '-p',
      before,
      '-m',
      'next',
    )
    await client.git('.', '-C', folder, 'update-ref', 'refs/heads/own', moved)
    await client.git('.', '-C', folder, 'update-ref', '-d', 'refs/heads/gone')
    const third = await startPatientServer(`${data}-again`)
    const again = pullForge(third)
    expect(await again.ask(people.bob, 'GET', `${pulls}/1`)).toMatchObject({
      state: 'open',
      head: { sha: moved },
    })
    expect(await again.ask(people.bob, 'GET', `${pulls}/2`)).toMatchObject({ state: 'closed' })
    await expect
      .poll(() => client.git('.', '-C', folder, 'rev-parse', 'refs/pull/1/head'))
      .toBe(moved)
    await third.close(0)
    await rm(`${data}-again`, { recursive: true })
  })

  it('doctor reports refs that differ from their rows, and repairs them', async () => {
    const { id, own, theirs } = await proposed('examined')
    const inside = (...args: string[]) =>
      client.git('.', '-C', repositoryPath(server.app.git, id), ...args)
    await inside('update-ref', 'refs/pull/1/head', 'main')
    await inside('update-ref', '-d', 'refs/pull/2/head')
    await inside('update-ref', 'refs/pull/9/head', 'main')
    const main = await inside('rev-parse', 'main')
    const texts = [
      `refs/pull/1/head is ${main} in Git and ${own} in the database`,
      `refs/pull/2/head is missing in Git and ${theirs} in the database`,
      'refs/pull/9/head belongs to no pull request',
    ]
    expect(await problems()).toEqual(texts.map((text) => `${text}: --fix repairs it`))
    expect(await problems(true)).toEqual(texts.map((text) => `${text}: repaired`))
    expect(await problems()).toEqual([])
    expect(await inside('rev-parse', 'refs/pull/1/head', 'refs/pull/2/head')).toBe(
      `${own}\n${theirs}`,
    )
  })
})
