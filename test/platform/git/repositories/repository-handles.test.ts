import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { GitError } from '../../../../src/platform/git/core/errors.ts'
import {
  createRepository,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { RepositoryHandles } from '../../../../src/platform/git/repositories/repository-handles.ts'
import { testRepositories } from '../fixture.ts'

/** Three repositories, by path, behind a cache that holds two. */
async function threeBehindTwo() {
  const repositories = await testRepositories()
  for (const id of [1, 2, 3]) await createRepository(repositories, id, 'main')
  const handles = new RepositoryHandles(2)
  const open = (id: number) =>
    handles.use(repositoryPath(repositories, id), async (repository) => repository)
  return { repositories, handles, open }
}

describe('handles of repositories', () => {
  it('stay open for the most recently used repositories', async () => {
    const { open } = await threeBehindTwo()
    const [first, second] = [await open(1), await open(2)]
    expect(await open(1)).toBe(first)
    await open(3)
    expect(await open(1)).toBe(first)
    expect(await open(2)).not.toBe(second)
  })

  it('stay valid while they are used', async () => {
    const { repositories, handles, open } = await threeBehindTwo()
    await handles.use(repositoryPath(repositories, 1), async (repository) => {
      await open(2)
      await open(3)
      handles.dropAll()
      await repository.setHead('refs/heads/other')
    })
  })

  it('report a repository that is deleted during a read, whatever the read says', async () => {
    const { repositories, handles } = await threeBehindTwo()
    const path = repositoryPath(repositories, 1)
    const read = handles.use(path, async () => {
      rmSync(path, { recursive: true })
      throw new GitError('NOT_FOUND', 'object not found')
    })
    await expect(read).rejects.toMatchObject({ kind: 'NO_REPOSITORY' })
  })

  it('are not cached when the repository does not exist', async () => {
    const { repositories, open } = await threeBehindTwo()
    await expect(open(4)).rejects.toMatchObject({ kind: 'NO_REPOSITORY' })
    await createRepository(repositories, 4, 'main')
    await expect(open(4)).resolves.toBeDefined()
  })
})
