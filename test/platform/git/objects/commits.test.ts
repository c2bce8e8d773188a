import { describe, expect, it } from 'vitest'
import { EMPTY_TREE } from '../../../../src/platform/git/core/object-ids.ts'
import { readCommit } from '../../../../src/platform/git/objects/commits.ts'
import * as writes from '../../../../src/platform/git/objects/object-writes.ts'
import { ADA, createFilledRepository, git, storeCommit, testRepositories } from '../fixture.ts'

describe('a first commit', () => {
  it('is read as it was stored and passes git fsck', async () => {
    const repositories = await testRepositories()
    const id = await createFilledRepository(repositories, 1)
    const treeId = git(repositories, 1, 'rev-parse', 'main^{tree}')
    expect(await readCommit(repositories, 1, id)).toEqual({
      id,
      treeId,
      parentIds: [],
      author: ADA,
      committer: ADA,
      message: 'first',
    })
    expect(git(repositories, 1, 'show', 'main:README.md')).toBe('# first')
    expect(git(repositories, 1, 'fsck', '--full', '--strict')).toBe('')
  })

  it.each([
    ['Ada <ada@evil.example> Lovelace', 'Ada ada@evil.example Lovelace'],
    ['a\nparent 1111', 'aparent 1111'],
    ['<>', 'unknown'],
  ])('cannot be forged by the name %j', async (name, stored) => {
    const repositories = await testRepositories(1)
    const author = { ...ADA, name }
    const commit = { treeId: EMPTY_TREE, parentIds: [], author, committer: ADA, message: 'x' }
    const { id } = await writes.storeCommit(repositories, 1, commit)
    expect((await readCommit(repositories, 1, id))?.author.name).toBe(stored)
  })
})

describe('reading a commit', () => {
  it('finds nothing when the object does not exist or is no commit', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, 1)
    const treeId = git(repositories, 1, 'rev-parse', 'main^{tree}')
    expect(await readCommit(repositories, 1, treeId)).toBeUndefined()
    expect(await readCommit(repositories, 1, '1'.repeat(40))).toBeUndefined()
  })

  it('sees objects that arrived in a pack after the repository was opened', async () => {
    const repositories = await testRepositories()
    await createFilledRepository(repositories, 1)
    const later = await storeCommit(repositories, 1, 'later')
    git(repositories, 1, 'update-ref', 'refs/heads/later', later)
    git(repositories, 1, 'repack', '-adq')
    git(repositories, 1, 'prune-packed')
    expect((await readCommit(repositories, 1, later))?.message).toBe('later')
  })

  it('rejects an id that is not complete', async () => {
    const repositories = await testRepositories(1)
    await expect(readCommit(repositories, 1, 'main')).rejects.toMatchObject({
      kind: 'INVALID_NAME',
    })
  })
})
