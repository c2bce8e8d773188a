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

const MOST_REMOVALS = 3

it('objects are moved into folders that maintenance removes while they are empty', async () => {
  const repositories = await testRepositories(1)
  const objects = join(repositoryPath(repositories, 1), 'objects')
  const ids: string[] = []
  const removals = new Map<string, number>()
  let isOver = false
  const prune = async () => {
    // As git-prune-packed(1) does, which runs a few times while a merge moves its objects at most.
    for (; !isOver; await setImmediate())
      for (const id of ids) {
        const removed = removals.get(id) ?? 0
        if (removed === MOST_REMOVALS) continue
        const isGone = await rmdir(join(objects, id.slice(0, 2))).then(
          () => true,
          () => false,
        )
        if (isGone) removals.set(id, removed + 1)
      }
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
