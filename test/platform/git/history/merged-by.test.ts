import { describe, expect, it } from 'vitest'
import { listAuthors } from '../../../../src/platform/git/history/authors.ts'
import { firstParentMerges } from '../../../../src/platform/git/history/commits-of-merge.ts'
import type { ScriptedCommit } from '../../../support/histories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

/** A repository with a history, and what tells an id by the name of a ref. */
async function repositoryWith(commits: readonly ScriptedCommit[]) {
  const repositories = await testRepositories(1)
  writeHistory(repositories, 1, commits)
  return { repositories, idOf: (name: string) => git(repositories, 1, 'rev-parse', name) }
}

const made = (name: string) => `refs/made/${name}`

/**
 * `old` is where the branch was; `side` comes to it by `one`, `late` and `later` together by `two`,
 * and `own` is its own.
 */
const HISTORY: readonly ScriptedCommit[] = [
  { on: made('old'), message: 'old' },
  { on: made('side'), message: 'side', parents: [made('old')] },
  { on: made('later'), message: 'later', parents: [made('side')] },
  { on: made('late'), message: 'late', parents: [made('old')] },
  { on: made('one'), message: 'one', parents: [made('old'), made('side')] },
  { on: made('own'), message: 'own', parents: [made('one')] },
  { on: made('inner'), message: 'inner', parents: [made('late'), made('later')] },
  { on: made('two'), message: 'two', parents: [made('own'), made('inner')] },
  { on: made('tip'), message: 'tip', parents: [made('two')] },
  { on: made('else'), message: 'else', parents: [made('old')] },
]

describe('the merge of a commit into a branch', () => {
  it('is the first commit on the first-parent line that contains the commit', async () => {
    const { repositories, idOf } = await repositoryWith(HISTORY)
    const merges = await firstParentMerges(repositories, 1, idOf(made('old')), idOf(made('tip')))
    const by = (name: string) => merges.get(idOf(made(name)))
    expect(by('side')).toBe(idOf(made('one')))
    for (const name of ['late', 'later', 'inner'])
      expect([name, by(name)]).toEqual([name, idOf(made('two'))])
    for (const name of ['one', 'own', 'two', 'tip'])
      expect([name, by(name)]).toEqual([name, idOf(made(name))])
    for (const name of ['old', 'else']) expect([name, by(name)]).toEqual([name, undefined])
  })

  it('does not exist without new commits', async () => {
    const { repositories, idOf } = await repositoryWith(HISTORY)
    expect(
      (await firstParentMerges(repositories, 1, idOf(made('tip')), idOf(made('old')))).size,
    ).toBe(0)
  })
})

describe('authors of commits', () => {
  it('appear once, in the order of their commits, without merges', async () => {
    const [dora, finn] = ['Dora <dora@example.org>', 'Finn <finn@example.org>']
    const { repositories, idOf } = await repositoryWith([
      { on: made('base'), message: 'base' },
      {
        on: made('head'),
        message:
          'a\n\nText.\n\nCo-authored-by: Ivo\n <ivo@example.org>\nCo-authored-by: nobody\nReviewed-by: Kim <kim@example.org>',
        parents: [made('base')],
        author: dora,
      },
      { on: made('other'), message: 'b', parents: [made('base')], author: finn },
      {
        on: made('head'),
        message:
          'c\n\nco-authored-BY: I. <IVO@example.org>\nCo-authored-by: Finn <finn@example.org>',
        author: 'D. <DORA@example.org>',
      },
      {
        on: made('head'),
        message: 'd',
        parents: [made('head'), made('other')],
        author: 'Gus <gus@example.org>',
      },
      { on: made('head'), message: 'e', author: 'Hal <>' },
    ])
    const list = (max: number) =>
      listAuthors(repositories, 1, idOf(made('head')), idOf(made('base')), max)
    const [ivo, seenFinn] = [
      { name: 'Ivo', email: 'ivo@example.org' },
      { name: 'Finn', email: 'finn@example.org' },
    ]
    expect(await list(10)).toEqual({
      authors: [{ name: 'Dora', email: 'dora@example.org' }, seenFinn, { name: 'Hal', email: '' }],
      coAuthors: [ivo, seenFinn],
    })
    expect(await list(1)).toEqual({
      authors: [{ name: 'Dora', email: 'dora@example.org' }],
      coAuthors: [ivo],
    })
    expect(await listAuthors(repositories, 1, idOf(made('base')), idOf(made('head')), 10)).toEqual({
      authors: [],
      coAuthors: [],
    })
  })
})
