import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { PASSWORD } from '../../support/server.ts'

const { server, users, rest, client } = await openForge()
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
})

/**
 * Makes a repository of bob with a first commit, and returns what works in his clone and what the
 * server has.
 */
async function repository(name: string) {
  const { body } = await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  const rows = (table: 'branches' | 'tags') =>
    server.app.db
      .selectFrom(table)
      .select('name')
      .where('repository_id', '=', body.id)
      .orderBy('name')
      .execute()
  return {
    id: body.id as number,
    git,
    push: (...refs: string[]) => git('push', '-q', 'origin', ...refs),
    commit: (message: string) => client.commit(name, message),
    branches: async () => (await rows('branches')).map((row) => row.name),
    tags: async () => (await rows('tags')).map((row) => row.name),
    /** What git on the server says about itself. */
    inside: (...args: string[]) =>
      client.git('.', '-C', repositoryPath(server.app.git, body.id), ...args),
  }
}

describe('a push', () => {
  it.each([
    [
      'deletes the default branch',
      ':main',
      'branch main is the default branch and cannot be deleted',
    ],
    ['takes a name in another case', 'main:MAIN', 'ok'],
    ['takes the name of a folder in another case', 'main:Deep', 'ok'],
    ['gives a tag the name of a branch', 'main:refs/tags/deep/er', 'ok'],
    ['moves other refs', 'main:refs/notes/commits', 'ok'],
  ])('that %s is refused as a whole, with a message: %s', async (_, spec, text) => {
    made ??= repository('reviewed').then(async (repository) => {
      await repository.push('main:deep/er', 'main:refs/tags/v1')
      return repository
    })
    const { push, commit, git } = await made
    await commit('next')
    const before = await git('ls-remote', 'origin')
    const pushed = push('main:refs/heads/other', spec)
    if (text === 'ok') return expect(pushed).resolves.toBe('')
    await expect(pushed).rejects.toThrow(`remote: error: ${text}`)
    expect(await git('ls-remote', 'origin')).toBe(before)
  })
  let made: ReturnType<typeof repository> | undefined

  it.each([
    [
      'belongs to the server',
      'main:refs/queue/7/main',
      'refs/queue/7/main is reserved for the server',
      'deny updating a hidden ref',
    ],
    [
      'begins with a dash',
      'main:refs/heads/-d',
      'refs/heads/-d is not a valid ref name',
      'deny updating a hidden ref',
    ],
    [
      'is longer than files have',
      `main:refs/heads/${'a'.repeat(251)}`,
      `refs/heads/${'a'.repeat(251)} is not a valid ref name`,
      'deny updating a hidden ref',
    ],
    [
      'looks like a commit',
      `main:refs/heads/${'a'.repeat(40)}`,
      `refs/heads/${'a'.repeat(40)} looks like an object ID`,
      'deny updating a hidden ref',
    ],
    [
      'is below another',
      'main:main/x',
      'branch main/x conflicts with branch main',
      'failed to update ref',
    ],
    [
      'is above another',
      'main:deep',
      'branch deep conflicts with branch deep/er',
      'failed to update ref',
    ],
    [
      'is below another tag',
      'main:refs/tags/v1/x',
      'tag v1/x conflicts with tag v1',
      'failed to update ref',
    ],
  ])('moves all refs but one that %s, unless it is atomic', async (_, spec, text, status) => {
    single ??= repository('single').then(async (repository) => {
      await repository.push('main:deep/er', 'main:refs/tags/v1')
      return repository
    })
    const { push, commit, git } = await single
    const id = await commit('next')
    const before = await git('ls-remote', 'origin')
    const atomic = push('--atomic', 'main:refs/heads/other', spec)
    await expect(atomic).rejects.toThrow(`remote: error: ${text}`)
    expect(await git('ls-remote', 'origin')).toBe(before)
    const pushed = push('main:refs/heads/other', spec)
    await expect(pushed).rejects.toThrow(`remote: error: ${text}`)
    await expect(pushed).rejects.toThrow(`(${status})`)
    const other = `${id}\trefs/heads/other`
    const lines = before.split('\n').filter((line) => !line.endsWith('refs/heads/other'))
    expect((await git('ls-remote', 'origin')).split('\n').sort()).toEqual([...lines, other].sort())
    // A refusal of another kind still stops the push.
    const protectedRef = push('main:refs/heads/third', spec, ':main')
    await expect(protectedRef).rejects.toThrow('is the default branch and cannot be deleted')
    expect(await git('ls-remote', 'origin', 'third')).toBe('')
  })
  let single: ReturnType<typeof repository> | undefined

  it('of a mirror makes a full copy of a repository with refs of another server', async () => {
    await client.git('.', 'init', '-q', '--bare', '-b', 'main', 'upstream')
    const upstream = join(client.home, 'upstream')
    importHistory(upstream, [
      { message: 'first', files: { a: '1' } },
      { message: 'second', files: { a: '2' } },
      {
        on: 'refs/pull/7/head',
        message: 'theirs',
        parents: ['refs/heads/main'],
        files: { b: '1' },
      },
    ])
    const movable = ['refs/heads/release/1', 'refs/notes/commits', 'refs/tags/v1']
    const fixed = ['refs/heads/-r', 'refs/heads/-r2/x', 'refs/pull/7/merge', 'refs/queue/1/main']
    for (const name of [...movable, ...fixed])
      await client.git('upstream', 'update-ref', name, 'main')
    await client.git('.', 'clone', '-q', '--mirror', upstream, 'mirror')
    await rest(users.bob, 'POST', '/user/repos', { name: 'mirrored' })
    const remote = remoteOf(server.url, 'bob/mirrored', 'bob', PASSWORD)
    const pushed = (...flags: string[]) =>
      client.git('mirror', 'push', '--mirror', ...flags, remote).then(
        () => expect.fail('was not refused'),
        (error: unknown) => String(error),
      )
    const held = async () =>
      (await client.git('.', 'ls-remote', remote)).split('\n').map((line) => line.split('\t')[1])
    expect(await pushed('--atomic')).toContain('pre-receive hook declined')
    expect(await held()).toEqual([undefined])
    const output = await pushed()
    for (const name of [...fixed, 'refs/pull/7/head'])
      expect(output).toMatch(new RegExp(`error: ${name} is (reserved|not a valid ref name)`))
    expect(output.match(/\[remote rejected\].*\(deny updating a hidden ref\)/g)).toHaveLength(5)
    expect(await held()).toEqual(['HEAD', 'refs/heads/main', ...movable])
    const { body } = await rest(users.bob, 'GET', '/repos/bob/mirrored')
    expect(body).toMatchObject({ default_branch: 'main', empty: false })
    const clone = await client.git('.', 'clone', '-q', remote, 'of-the-copy')
    expect([clone, await client.git('of-the-copy', 'log', '--format=%s')]).toEqual([
      '',
      'second\nfirst',
    ])
  })

  it('can replace a ref by one that collides with it', async () => {
    const { push, branches } = await repository('replacing')
    await push('main:a')
    await push(':a', 'main:b')
    await push('main:a/b', 'main:A-b')
    expect(await branches()).toEqual(['A-b', 'a/b', 'b', 'main'])
    await expect(push('main:x', 'main:x/y')).rejects.toThrow('branch x conflicts with branch x/y')
  })

  it('can rewrite history, which updates the rows', async () => {
    const { git, push, commit, id } = await repository('forced')
    await commit('second')
    await push('main')
    await git('commit', '-q', '--amend', '--allow-empty', '-m', 'other')
    await expect(push('main')).rejects.toThrow('non-fast-forward')
    await push('+main')
    const row = await server.app.db
      .selectFrom('branches')
      .selectAll()
      .where('repository_id', '=', id)
      .execute()
    expect(row).toMatchObject([{ name: 'main', commit_id: await git('rev-parse', 'HEAD') }])
  })

  it('of a thousand refs is recorded completely, and so is their deletion', async () => {
    const { push, branches, tags } = await repository('thousand')
    const names = Array.from({ length: 510 }, (_, i) => `n/${i}`)
    await push(...names.flatMap((name) => [`main:refs/heads/${name}`, `main:refs/tags/${name}`]))
    expect(await branches()).toEqual(['main', ...names].sort())
    expect(await tags()).toEqual([...names].sort())
    await push(...names.slice(1).flatMap((name) => [`:refs/heads/${name}`, `:refs/tags/${name}`]))
    expect(await branches()).toEqual(['main', 'n/0'])
    expect(await tags()).toEqual(['n/0'])
  })

  it('that races another one succeeds, or fails with a message', async () => {
    const { git, push, commit } = await repository('racing')
    const commits: string[] = []
    for (const name of ['one', 'two']) {
      await git('checkout', '-q', '-b', name, 'origin/main')
      commits.push(await commit(name))
    }
    const outcomes = await Promise.allSettled([push('one:main'), push('two:main')])
    const winners = outcomes.flatMap(({ status }, i) =>
      status === 'fulfilled' ? [commits[i]] : [],
    )
    expect(winners).toHaveLength(1)
    const [lost] = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [String(outcome.reason)] : [],
    )
    expect(lost).toMatch(/rejected|failed to update ref|non-fast-forward|fetch first/)
    await git('fetch', '-q')
    expect(await git('rev-parse', 'origin/main')).toBe(winners[0])
    expect((await rest(users.bob, 'GET', '/repos/bob/racing/commits?limit=1')).body[0].sha).toBe(
      winners[0],
    )
  })
})
