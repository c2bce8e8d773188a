import { afterAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
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
    [
      'names what belongs to the server',
      'main:refs/draft/main',
      'refs/draft/main is reserved for the server',
    ],
    [
      'would make a pull request elsewhere',
      'main:refs/for/main',
      'refs/for/main is reserved for the server',
    ],
    ['begins a name with a dash', 'main:refs/heads/-d', 'refs/heads/-d is not a valid ref name'],
    [
      'makes a name longer than files have',
      `main:refs/heads/${'a'.repeat(251)}`,
      `refs/heads/${'a'.repeat(251)} is not a valid ref name`,
    ],
    [
      'names a branch like a commit',
      `main:refs/heads/${'a'.repeat(40)}`,
      `refs/heads/${'a'.repeat(40)} looks like an object ID`,
    ],
    ['puts a branch below another', 'main:main/x', 'branch main/x conflicts with branch main'],
    ['puts a branch above another', 'main:deep', 'branch deep conflicts with branch deep/er'],
    ['takes a name in another case', 'main:MAIN', 'ok'],
    ['takes the name of a folder in another case', 'main:Deep', 'ok'],
    ['puts a tag below another', 'main:refs/tags/v1/x', 'tag v1/x conflicts with tag v1'],
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
    const names = Array.from({ length: 600 }, (_, i) => `n/${i}`)
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
