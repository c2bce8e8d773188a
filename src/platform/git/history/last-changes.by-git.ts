import { Readable } from 'node:stream'
import { GitError } from '../core/errors.ts'
import { textOfPath } from '../core/path-text.ts'
import { type ReadOptions, readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import type { LastChanges, PendingEntries } from './pending-entries.ts'

/** Last changes are an addition to an answer, which must not be late. */
const TIMEOUT_MS = 2_000

/**
 * The orders of the walks of a search. By date, a walk passes a commit before its descendants when
 * clients wrote wrong times. A second walk begins at such commits. Its order costs Git a walk over all
 * commits before the first one is printed.
 */
const ORDERS: readonly (readonly string[])[] = [[], ['--topo-order']]

/** Longest path or record. */
const MAX_RECORD_BYTES = 64 * 1024

/** A commit, and the parent that it is compared with: none of a first commit. */
interface Pair {
  readonly commitId: string
  readonly parentId: string | undefined
  readonly isLastParent: boolean
}

/** The target of a walk. */
export interface FarSearch {
  /** Path that all entries are at or below. The root: all paths. */
  readonly below: string
  readonly pending: PendingEntries
  /** Returns the answers that are known for a commit. */
  readonly knownAt: (commitId: string) => LastChanges | undefined
}

/**
 * Finds last changes by Git. Leaves entries pending that take longer than `TIMEOUT_MS`.
 *
 * @throws GitError BUSY
 */
export async function findFarChanges(
  repositories: Repositories,
  id: number,
  search: FarSearch,
): Promise<void> {
  let leftMs = TIMEOUT_MS
  for (const order of ORDERS) {
    if (search.pending.isEmpty || leftMs <= 0) return
    const startedMs = performance.now()
    try {
      await walkOnce(repositories, id, search, { order, timeoutMs: Math.ceil(leftMs) })
    } catch (error) {
      if (!(error instanceof GitError && error.kind === 'TIMEOUT')) throw error
      return
    }
    leftMs -= performance.now() - startedMs
  }
}

/**
 * Compares commits with their parents, newest first, until all entries are found.
 *
 * One process lists the commits and another one compares their folders. `git log` compares whole
 * trees, also below the folder: six times the processor time for fifty thousand files in folders.
 */
async function walkOnce(
  repositories: Repositories,
  id: number,
  { below, pending, knownAt }: FarSearch,
  { order, timeoutMs }: { readonly order: readonly string[]; readonly timeoutMs: number },
): Promise<void> {
  const stop = new AbortController()
  const options = { timeoutMs, signal: stop.signal, isBuffered: true }
  const pairs: Pair[] = []
  // The list starts when the other process has started, which takes one slot for both.
  const input = Readable.from(
    pairLines(listCommits(repositories, id, pending, order, { ...options, hasSlot: true }), pairs),
  )
  input.on('error', (error) => stop.abort(error))
  const flags = ['-z', '--stdin', '--always', '--root', '--raw', '--no-renames']
  const part = below === '' ? [] : ['-r', '-t', '--', below]
  const output = readGit(repositories, id, ['diff-tree', ...flags, ...part], { ...options, input })
  try {
    for await (const { pair, changed } of comparisons(output, pairs, pending)) {
      const { commitId, parentId, isLastParent } = pair
      pending.answer(commitId, knownAt(commitId) ?? new Map())
      pending.pass(commitId, parentId, changed)
      if (isLastParent) pending.end(commitId)
      if (pending.isEmpty) break
    }
  } finally {
    stop.abort()
    input.destroy()
  }
}

/** Lists commits with their parents, and all their ancestors. */
function listCommits(
  repositories: Repositories,
  id: number,
  pending: PendingEntries,
  order: readonly string[],
  options: ReadOptions,
): AsyncIterable<Buffer> {
  const input = pending.commitIds.map((commitId) => `${commitId}\n`).join('')
  const args = ['rev-list', '--parents', ...order, '--stdin']
  return readGit(repositories, id, args, { ...options, input })
}

/** Yields lines that make git-diff-tree(1) compare commits with each parent, and notes the pairs. */
async function* pairLines(
  commits: AsyncIterable<Buffer>,
  pairs: Pair[],
): AsyncGenerator<string, void, undefined> {
  let rest = ''
  for await (const chunk of commits) {
    const lines = `${rest}${chunk.toString('latin1')}`.split('\n')
    rest = lines.pop() ?? ''
    let text = ''
    for (const line of lines) {
      const [commitId = '', ...parentIds] = line.split(' ')
      const parents = parentIds.length === 0 ? [undefined] : parentIds
      for (const [i, parentId] of parents.entries()) {
        pairs.push({ commitId, parentId, isLastParent: i === parents.length - 1 })
        text += parentId === undefined ? `${commitId}\n` : `${commitId} ${parentId}\n`
      }
    }
    yield text
  }
}

/** The pending entries that differ between a commit and a parent. */
interface Comparison {
  readonly pair: Pair
  readonly changed: readonly string[]
}

/**
 * Yields the comparisons of an output: the id of the commit, and for each difference a colon, modes,
 * ids and a letter, then the path (git-diff-tree(1), "Raw output format").
 */
async function* comparisons(
  output: AsyncIterable<Buffer>,
  pairs: Pair[],
  pending: PendingEntries,
): AsyncGenerator<Comparison, void, undefined> {
  let comparison: { pair: Pair; changed: string[] } | undefined
  let isPath = false
  for await (const token of splitAtZeros(output, MAX_RECORD_BYTES)) {
    if (isPath) {
      isPath = false
      if (!comparison || !pending.has(comparison.pair.commitId)) continue
      const path = textOfPath(token)
      if (pending.has(comparison.pair.commitId, path)) comparison.changed.push(path)
    } else if (token[0] === COLON) {
      isPath = true
    } else {
      if (comparison) yield comparison
      const pair = pairs.shift()
      if (pair?.commitId !== token.toString('latin1')) throw new Error('an unexpected comparison')
      comparison = { pair, changed: [] }
    }
  }
  if (comparison) yield comparison
}

const COLON = 0x3a
