import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { expect, it, vi } from 'vitest'
import { createUnfinished } from '../../../../src/platform/git/repositories/unfinished.ts'
import { testRepositories } from '../fixture.ts'

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof import('node:fs/promises')>()
  return { ...files, writeFile: vi.fn(files.writeFile) }
})

it('leaves no draft of a repository whose mark cannot be written', async () => {
  const repositories = await testRepositories()
  vi.mocked(writeFile).mockRejectedValueOnce(new Error('no space left on device'))
  await expect(createUnfinished(repositories, 7, 'main')).rejects.toThrow('no space left')
  expect(readdirSync(repositories.scratch)).toEqual([])
  await createUnfinished(repositories, 7, 'main')
})
