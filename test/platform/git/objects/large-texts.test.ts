import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  findLargeObject,
  MAX_COMMIT_BYTES,
} from '../../../../src/platform/git/objects/large-texts.ts'
import { GitProcesses } from '../../../../src/platform/git/processes/running-processes.ts'
import { repositoryPath } from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { createFilledRepository, testRepositories } from '../fixture.ts'

/** A repository with a commit, and how to add objects to it and look for large ones. */
async function repository() {
  const repositories = await testRepositories()
  const commit = await createFilledRepository(repositories, 1)
  const path = repositoryPath(repositories, 1)
  const store = (type: string, content: string) =>
    execFileSync('git', ['-C', path, 'hash-object', '-w', '-t', type, '--stdin'], {
      input: content,
      encoding: 'utf8',
    }).trim()
  return {
    commit,
    store,
    find: async () => (await findLargeObject(new GitProcesses(), path, join(path, 'objects')))?.id,
  }
}

const IDENTITY = 'Bob <bob@example.org> 1700000000 +0000'

describe('a large commit or tag', () => {
  it.each([
    [
      'commit',
      (commit: string) => `parent ${commit}\nauthor ${IDENTITY}\ncommitter ${IDENTITY}\n\n`,
    ],
    ['tag', (commit: string) => `object ${commit}\ntype commit\ntag v1\ntagger ${IDENTITY}\n\n`],
  ])('is found in a %s', async (type, headerOf) => {
    const { commit, store, find } = await repository()
    const tree = type === 'commit' ? `tree ${store('tree', '')}\n` : ''
    const header = tree + headerOf(commit)
    store(type, header.padEnd(MAX_COMMIT_BYTES, 'x'))
    expect(await find()).toBeUndefined()
    const large = store(type, header.padEnd(MAX_COMMIT_BYTES + 1, 'x'))
    expect(await find()).toBe(large)
  })

  it('is not a large file', async () => {
    const { store, find } = await repository()
    store('blob', 'x'.repeat(2 * MAX_COMMIT_BYTES))
    expect(await find()).toBeUndefined()
  })
})
