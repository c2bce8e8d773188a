import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { mergeCommits } from '../../../../src/platform/git/merging/merge.ts'
import {
  MAX_REBASED_COMMITS,
  type Rebase,
  rebaseCommits,
} from '../../../../src/platform/git/merging/rebase.ts'
import { storeCommit } from '../../../../src/platform/git/objects/object-writes.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import type { ScriptedCommit } from '../../../support/histories.ts'
import { mergeHistory } from '../../../support/merge-histories.ts'
import { isLongTier } from '../../../support/tier.ts'
import { seededRandom } from '../../rpc/rest/random.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'
import { MERGER, type MergedByGit, mergeByGit, type Outcome } from '../merged-by-git.ts'

type Pair = readonly [base: string, head: string]

/** Stores histories, and returns what their branches are at. */
async function store(commits: readonly ScriptedCommit[]): Promise<{
  readonly repositories: Repositories
  readonly at: (ref: string) => string
}> {
  const repositories = await testRepositories(1)
  writeHistory(repositories, 1, commits)
  const refs = git(repositories, 1, 'for-each-ref', '--format=%(refname) %(objectname)').split('\n')
  const ids = new Map(refs.map((line) => [line.slice(0, -41), line.slice(-40)]))
  return { repositories, at: (ref) => ids.get(ref) ?? '' }
}

async function mergeOurselves(
  repositories: Repositories,
  [base, head]: Pair,
): Promise<MergedByGit> {
  const join = async (message: string, parentIds: string[]): Promise<Outcome> => {
    const merge = await mergeCommits(repositories, 1, base, head)
    if (merge.outcome === 'unrelated') return { conflicts: [] }
    if (merge.outcome === 'conflict') return { conflicts: sorted(merge.paths) }
    const commit = { treeId: merge.treeId, parentIds, author: MERGER, committer: MERGER, message }
    return { commitId: (await storeCommit(repositories, 1, commit)).id }
  }
  return {
    merge: await join('merged\n', [base, head]),
    squash: await join('squashed\n', [base]),
    rebase: await rebaseOurselves(repositories, [base, head]),
  }
}

async function rebaseOurselves(repositories: Repositories, [onto, head]: Pair): Promise<Outcome> {
  const rebase = await rebaseCommits(repositories, 1, { onto, head, committer: MERGER })
  if (rebase.outcome === 'too-many') throw new Error('these are not many')
  if (rebase.outcome === 'clean') return { commitId: rebase.commitId }
  return { conflicts: sorted(rebase.paths), stoppedAt: rebase.commitId }
}

/**
 * Files make room for others under names with a label, for which `git rebase` takes an abbreviated
 * id and the message.
 */
function sorted(paths: readonly string[]): string[] {
  return paths.map((path) => path.replace(/~[0-9a-f]{7,40}(?: \(.*\))?$/, '~theirs')).sort()
}

const withLabels = (outcome: Outcome) =>
  'conflicts' in outcome ? { ...outcome, conflicts: sorted(outcome.conflicts) } : outcome

const MAIN = 'refs/heads/main'
const WORK = 'refs/heads/work'

const text = (...lines: string[]) => lines.map((line) => `${line}\n`).join('')

describe('a rebase', () => {
  const LINES = ['1', '2', '3', '4', '5', '6', '7', '8']
  const withLine = (number: number, line: string) => text(...LINES.with(number - 1, line))

  /** Two branches: `main` goes on by one commit, `work` by some. */
  const branches = (...work: Omit<ScriptedCommit, 'on'>[]): ScriptedCommit[] => [
    { on: MAIN, message: 'base', files: { file: text(...LINES) } },
    ...work.map((commit, n) => ({ on: WORK, ...(n === 0 && { parents: [MAIN] }), ...commit })),
    { on: MAIN, message: 'on', files: { file: withLine(8, 'eight') } },
  ]

  const rebase = (
    repositories: Repositories,
    order: Pick<Rebase, 'onto' | 'head'> & Partial<Rebase>,
    signal?: AbortSignal,
  ) => rebaseCommits(repositories, 1, { committer: MERGER, ...order }, { signal })

  const log = (repositories: Repositories, ...args: string[]) =>
    git(repositories, 1, 'log', ...args)

  it('keeps authors and their times, and drops commits that exist already or become empty', async () => {
    const { repositories, at } = await store(
      branches(
        { message: 'first', author: 'Bob <bob@example.org>', files: { file: withLine(1, 'one') } },
        { message: 'empty from the beginning' },
        {
          message: 'as on the base',
          files: { file: text(...LINES.with(0, 'one').with(7, 'eight')) },
        },
        { message: 'last', files: { other: 'x\n' } },
      ),
    )
    const rebased = await rebase(repositories, { onto: at(MAIN), head: at(WORK) })
    if (rebased.outcome !== 'clean') throw new Error(rebased.outcome)
    const lines = log(
      repositories,
      '--format=%s|%an|%cn|%ct',
      `${at(MAIN)}..${rebased.commitId}`,
    ).split('\n')
    const committed = `${MERGER.name}|${MERGER.time}`
    expect(lines).toEqual([
      `last|Ada|${committed}`,
      `empty from the beginning|Ada|${committed}`,
      `first|Bob|${committed}`,
    ])
    expect(rebased.treeId).toBe(git(repositories, 1, 'rev-parse', `${rebased.commitId}^{tree}`))
  })

  it('keeps commits that need no change, signs the others and replaces the last message', async () => {
    const { repositories, at } = await store(
      branches({ message: 'first', files: { other: 'x\n' } }, { message: 'last' }),
    )
    const base = git(repositories, 1, 'rev-parse', `${WORK}~2`)
    const [onto, head] = [base, at(WORK)]
    expect(await rebase(repositories, { onto, head })).toMatchObject({ commitId: head })
    expect(await rebase(repositories, { onto: head, head: onto })).toMatchObject({ commitId: head })
    const sign = (payload: Buffer) => `signature of\n${payload.length} bytes\n`
    const reworded = await rebase(repositories, { onto, head, sign, lastMessage: 'Merge (#1)\n' })
    if (reworded.outcome !== 'clean') throw new Error(reworded.outcome)
    const raw = git(repositories, 1, 'cat-file', 'commit', reworded.commitId)
    expect(raw).toMatch(
      /\nauthor Ada (?:.*)\ncommitter Grace (?:.*)\ngpgsig signature of\n [0-9]+ bytes\n\nMerge \(#1\)$/,
    )
    expect(git(repositories, 1, 'rev-parse', `${reworded.commitId}~`)).toBe(
      `${git(repositories, 1, 'rev-parse', `${WORK}~`)}`,
    )
  })

  it('accepts commits that name UTF-16 as encoding, which Git refuses', async () => {
    // One of the first two has an even number of bytes.
    const encodings = ['UTF-16LE', 'UTF-16LE', 'utf-16be', 'Unicode']
    const messages = encodings.map((_, i) => '!'.repeat(i + 1))
    const { repositories, at } = await store(
      branches(
        { message: 'base', files: { other: 'x\n' } },
        ...encodings.map((encoding, i) => ({
          message: messages[i] ?? '',
          encoding,
          files: { other: `${i}` },
        })),
      ),
    )
    const rebased = await rebase(repositories, { onto: at(MAIN), head: at(WORK) })
    if (rebased.outcome !== 'clean') throw new Error(rebased.outcome)
    const lines = log(
      repositories,
      '--reverse',
      '--format=%s|%an <%ae>',
      '-4',
      rebased.commitId,
    ).split('\n')
    expect(lines).toEqual(messages.map((message) => `${message}|Ada <ada@example.org>`))
    git(repositories, 1, 'fsck', '--full', '--strict')
  })

  it('reports the commit with conflicts and leaves no files', async () => {
    const { repositories, at } = await store(
      branches(
        { message: 'fits', files: { other: 'x\n' } },
        { message: 'does not', files: { file: withLine(8, 'VIII') } },
      ),
    )
    const rebased = await rebase(repositories, { onto: at(MAIN), head: at(WORK) })
    expect(rebased).toEqual({
      outcome: 'conflict',
      commitId: at(WORK),
      paths: ['file'],
      text: 'CONFLICT (content): Merge conflict in file\n',
    })
    expect(readdirSync(join(repositories.folder, 'scratch'))).toEqual([])
  })

  it('is refused for too many commits', async () => {
    const many = Array.from({ length: MAX_REBASED_COMMITS + 1 }, (_, n) => ({ message: `${n}` }))
    const { repositories, at } = await store(branches(...many))
    expect(await rebase(repositories, { onto: at(MAIN), head: at(WORK) })).toEqual({
      outcome: 'too-many',
    })
  })

  it('takes two processes for any number of commits', async () => {
    const many = Array.from({ length: 100 }, (_, n) => ({
      message: `${n}`,
      files: { [`folder-${n % 7}/file`]: `${n}\n` },
    }))
    const { repositories, at } = await store(branches(...many))
    const enter = vi.spyOn(repositories.readers, 'acquire')
    const rebased = await rebase(repositories, { onto: at(MAIN), head: at(WORK) })
    if (rebased.outcome !== 'clean') throw new Error(rebased.outcome)
    expect(enter).toHaveBeenCalledTimes(2)
    expect(
      log(repositories, '--format=%s', `${at(MAIN)}..${rebased.commitId}`).split('\n').length,
    ).toBe(100)
    git(repositories, 1, 'fsck', '--full', '--strict')
  })

  it('ends with its signal', async () => {
    const { repositories, at } = await store(
      branches({ message: 'first', files: { other: 'x\n' } }),
    )
    const stopped = AbortSignal.abort(new Error('the server stops'))
    await expect(rebase(repositories, { onto: at(MAIN), head: at(WORK) }, stopped)).rejects.toThrow(
      'the server stops',
    )
  })
})

describe('attributes of files', () => {
  it.each([
    ['at the top', '.gitattributes', 'folder/file merge=union'],
    ['in the folder', 'folder/.gitattributes', 'file merge=union'],
    ['by a name of their own', '.gitattributes', '[attr]both merge=union\nfile both'],
    ['for line ends', '.gitattributes', '* text=auto\nfile eol=crlf'],
    ['against merging', '.gitattributes', '* -merge'],
    ['of binary files', 'folder/.gitattributes', '* binary'],
    ['in a file that is a link', '.gitattributes', { mode: '120000', content: 'folder/file' }],
    ['in a folder of another name', 'other/.gitattributes', 'file merge=union'],
  ])('count as they do in a work tree: %s', async (_, path, content) => {
    const attributes = typeof content === 'string' ? `${content}\n` : content
    const { repositories, at } = await store([
      {
        on: MAIN,
        message: 'base',
        files: { 'folder/file': text('1', '2', '3'), apart: text('a', 'b', 'c', 'd', 'e') },
      },
      {
        on: WORK,
        message: 'theirs',
        parents: [MAIN],
        files: { 'folder/file': text('1', 'theirs', '3'), apart: text('A', 'b', 'c', 'd', 'e') },
      },
      { on: WORK, message: 'more', files: { 'folder/file': text('1', 'theirs', 'again', '3') } },
      {
        on: MAIN,
        message: 'ours',
        files: {
          'folder/file': text('1', 'ours', '3'),
          apart: text('a', 'b', 'c', 'd', 'E'),
          [path]: attributes,
        },
      },
    ])
    const pair = [at(MAIN), at(WORK)] as const
    const [byGit] = await mergeByGit(repositoryPath(repositories, 1), [pair], 1)
    expect(await mergeOurselves(repositories, pair)).toEqual(byGit)
  })
})

describe('merges, squashes and rebases of random histories', () => {
  /** Git merges each three times in a work tree. */
  const HISTORIES = isLongTier ? 80 : 24

  it.each(isLongTier ? [1, 2, 3, 4] : [1])(
    'equal those of Git in a work tree, byte by byte (seed %i)',
    async (seed) => {
      const random = seededRandom(seed)
      const histories = Array.from({ length: HISTORIES }, (_, n) =>
        mergeHistory(random, `history-${n}`),
      )
      const { repositories, at } = await store(histories.flatMap(({ commits }) => commits))
      const pairs = histories.map(({ base, head }) => [at(base), at(head)] as const)
      const byGit = await mergeByGit(repositoryPath(repositories, 1), pairs, 2)
      const seen = { clean: 0, conflict: 0 }
      for (const [i, pair] of pairs.entries()) {
        const ours = await mergeOurselves(repositories, pair)
        for (const style of ['merge', 'squash', 'rebase'] as const) {
          const expected = byGit[i]?.[style] ?? { conflicts: [] }
          // Nothing is left to merge: it is for the caller to know.
          if (style === 'merge' && 'commitId' in expected && expected.commitId === pair[0]) continue
          expect(ours[style], `history ${i}, ${style}, ${pair.join(' ')}`).toEqual(
            withLabels(expected),
          )
          seen['commitId' in expected ? 'clean' : 'conflict'] += 1
        }
      }
      // The histories are worth the comparison.
      expect(seen.clean).toBeGreaterThan(HISTORIES)
      expect(seen.conflict).toBeGreaterThan(HISTORIES / 2)
      git(repositories, 1, 'fsck', '--full', '--strict')
    },
    180_000,
  )
})
