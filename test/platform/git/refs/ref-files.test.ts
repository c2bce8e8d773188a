import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { areUnchanged, readRefFiles } from '../../../../src/platform/git/refs/ref-files.ts'
import { scratchFolder } from '../fixture.ts'

/** More files than the server reads before other requests have their turn. */
const MANY = 300

/** Creates the folders of a repository with many loose refs. */
async function createFolders(): Promise<string> {
  const path = await scratchFolder()
  mkdirSync(join(path, 'refs/heads'), { recursive: true })
  // Entries of deep folders are read last.
  mkdirSync(join(path, 'refs/nested/deep'), { recursive: true })
  writeFileSync(join(path, 'refs/nested/deep/branch'), '')
  for (let i = 0; i < MANY; i++) writeFileSync(join(path, `refs/heads/branch-${i}`), '')
  return path
}

it('leaves refs to Git when a folder goes away while the server reads folders', async () => {
  const path = await createFolders()
  const reading = readRefFiles(path)
  rmSync(join(path, 'refs/nested'), { recursive: true })
  expect(await reading).toBeUndefined()
})

it('sees a change when a folder becomes a file while the server compares files', async () => {
  const path = await createFolders()
  const files = await readRefFiles(path)
  if (!files) throw new Error('the folders were not read')
  expect(await areUnchanged(files)).toBe(true)
  const comparing = areUnchanged(files)
  rmSync(join(path, 'refs/nested'), { recursive: true })
  writeFileSync(join(path, 'refs/nested'), '')
  expect(await comparing).toBe(false)
})
