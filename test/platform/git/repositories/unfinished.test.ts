import { readdirSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createUnfinished } from '../../../../src/platform/git/repositories/repositories.ts'
import { testRepositories } from '../fixture.ts'

it('leaves no draft of a repository whose mark cannot be written', async () => {
  const repositories = await testRepositories()
  failOnce()
  await expect(createUnfinished(repositories, 7, 'main')).rejects.toThrow('no space left')
  expect(readdirSync(repositories.scratch)).toEqual([])
  await createUnfinished(repositories, 7, 'main')
})

/** Lets the next file that this process writes fail, as on a full disk. */
function failOnce(): void {
  const write = vi.spyOn(files, 'writeFile')
  onTestFinished(() => {
    write.mockRestore()
    syncBuiltinESMExports()
  })
  write.mockRejectedValueOnce(new Error('no space left on device'))
  syncBuiltinESMExports()
}
