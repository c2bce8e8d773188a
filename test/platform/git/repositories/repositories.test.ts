import { existsSync, readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCommit } from '../../../../src/platform/git/objects/commits.ts'
import { readRef } from '../../../../src/platform/git/refs/refs.ts'
import {
  createRepository,
  deleteRepository,
  prepareRepositories,
  repositoryExists,
  repositoryPath,
  withRepositoryLock,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { createFilledRepository, git, testRepositories } from '../fixture.ts'

describe('a new repository', () => {
  it('is bare and empty, and HEAD points to the default branch', async () => {
    const repositories = await testRepositories()
    await createRepository(repositories, 7, 'trunk')
    expect(await repositoryExists(repositories, 7)).toBe(true)
    expect(git(repositories, 7, 'rev-parse', '--is-bare-repository')).toBe('true')
    expect(git(repositories, 7, 'symbolic-ref', 'HEAD')).toBe('refs/heads/trunk')
    expect(git(repositories, 7, 'for-each-ref')).toBe('')
  })

  it('does not change an existing one', async () => {
    const repositories = await testRepositories()
    const commit = await createFilledRepository(repositories, 7)
    await expect(createRepository(repositories, 7, 'main')).rejects.toMatchObject({
      kind: 'EXISTS',
    })
    expect(await readRef(repositories, 7, 'refs/heads/main')).toBe(commit)
    expect(readdirSync(join(repositories.folder, 'scratch'))).toEqual([])
  })
})

describe('the path of a repository', () => {
  it('depends on the id; ids with the same last byte share a folder', async () => {
    const repositories = await testRepositories()
    const inFolder = (id: number) =>
      repositoryPath(repositories, id).slice(repositories.folder.length)
    expect([7, 263, 256].map(inFolder)).toEqual(['/07/7.git', '/07/263.git', '/00/256.git'])
  })
})

describe('deleting a repository', () => {
  it('ends access through open handles', async () => {
    const repositories = await testRepositories()
    const commit = await createFilledRepository(repositories, 7)
    await deleteRepository(repositories, 7)
    expect(existsSync(repositoryPath(repositories, 7))).toBe(false)
    expect(await repositoryExists(repositories, 7)).toBe(false)
    await expect(readCommit(repositories, 7, commit)).rejects.toMatchObject({
      kind: 'NO_REPOSITORY',
    })
  })

  it('a second time has no effect', async () => {
    const repositories = await testRepositories()
    await createRepository(repositories, 7, 'main')
    await deleteRepository(repositories, 7)
    await expect(deleteRepository(repositories, 7)).resolves.toBeUndefined()
  })
})

describe('preparing the folder', () => {
  it('removes only leftovers of a crash', async () => {
    const repositories = await testRepositories()
    const commit = await createFilledRepository(repositories, 7)
    await mkdir(join(repositories.folder, 'scratch', 'half-made', 'refs'), { recursive: true })
    await prepareRepositories(repositories)
    expect(readdirSync(join(repositories.folder, 'scratch'))).toEqual([])
    expect(await readRef(repositories, 7, 'refs/heads/main')).toBe(commit)
  })
})

describe('the lock of a repository', () => {
  it('runs work in order, one at a time, and is released after a failure', async () => {
    const repositories = await testRepositories()
    const log: string[] = []
    const work = (name: string) => async () => {
      log.push(`${name} begins`)
      await Promise.resolve()
      log.push(`${name} ends`)
      if (name === 'first') throw new Error('first fails')
    }
    const first = withRepositoryLock(repositories, 1, work('first'))
    const second = withRepositoryLock(repositories, 1, work('second'))
    await expect(first).rejects.toThrow('first fails')
    await second
    expect(log).toEqual(['first begins', 'first ends', 'second begins', 'second ends'])
  })

  it('does not lock other repositories', async () => {
    const repositories = await testRepositories()
    await withRepositoryLock(repositories, 1, () =>
      withRepositoryLock(repositories, 2, async () => {}),
    )
  })
})
