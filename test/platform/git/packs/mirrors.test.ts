import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCommit } from '../../../../src/platform/git/objects/commits.ts'
import {
  compareRefs,
  draftSync,
  releaseObjects,
} from '../../../../src/platform/git/packs/mirrors.ts'
import {
  discardDraft,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { createFilledRepository, git, gitAt, testRepositories } from '../fixture.ts'

const ID = 7

describe('the draft of a synchronisation', () => {
  it('borrows existing objects and releases only new ones', async () => {
    const repositories = await testRepositories()
    const first = await createFilledRepository(repositories, ID)
    git(repositories, ID, 'update-ref', 'refs/heads/gone', first)
    git(repositories, ID, 'update-ref', 'refs/pull/1/head', first)
    const draft = await draftSync(repositories, ID)
    const tree = gitAt(draft, 'rev-parse', 'main^{tree}')
    const second = gitAt(draft, ...AS_ADA, 'commit-tree', tree, '-p', first, '-m', 'second')
    gitAt(draft, 'update-ref', 'refs/heads/main', second)
    gitAt(draft, 'update-ref', 'refs/heads/new', first)
    gitAt(draft, 'update-ref', '-d', 'refs/heads/gone')
    gitAt(draft, 'repack', '-dlq')
    expect(() => git(repositories, ID, 'cat-file', '-e', second)).toThrow()
    expect(await compareRefs(repositories, ID, draft)).toEqual([
      { name: 'refs/heads/gone', from: first, to: undefined },
      { name: 'refs/heads/main', from: first, to: second },
      { name: 'refs/heads/new', from: undefined, to: first },
    ])
    await releaseObjects(repositories, ID, draft)
    await discardDraft(draft)
    expect(await readCommit(repositories, ID, second)).toMatchObject({ parentIds: [first] })
    const packs = readdirSync(join(repositoryPath(repositories, ID), 'objects/pack')).filter(
      (file) => /idx$/.test(file),
    )
    expect(git(repositories, ID, 'verify-pack', '-v', `objects/pack/${packs[0]}`)).not.toContain(
      first,
    )
  })
})

const AS_ADA = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
