import { mkdtemp, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  storeLooseObject,
  takeObjects,
} from '../../../../src/platform/git/objects/loose-objects.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories } from '../fixture.ts'

it('objects are moved into folders that maintenance removes while they are empty', async () => {
  const repositories = await testRepositories(1)
  const objects = join(repositoryPath(repositories, 1), 'objects')
  const ids: string[] = []
  let isOver = false
  const prune = async () => {
    // As git-prune-packed(1) does.
    for (; !isOver; await setImmediate())
      for (const id of ids) await rmdir(join(objects, id.slice(0, 2))).catch(() => undefined)
  }
  const pruning = prune()
  try {
    for (let round = 0; round < 100; round++) {
      const folder = await mkdtemp(join(repositories.folder, 'taken-'))
      const content = Buffer.from(`round ${round}`)
      ids.push(await storeLooseObject(folder, 'blob', content))
      await takeObjects(repositories, 1, folder)
    }
  } finally {
    isOver = true
    await pruning
  }
  for (const [round, id] of ids.entries())
    expect(git(repositories, 1, 'cat-file', 'blob', id)).toBe(`round ${round}`)
})
