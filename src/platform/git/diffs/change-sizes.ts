import { inspectObjects } from '../objects/objects.ts'
import { MAX_TEXT_BYTES, readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'

/** Memory of all cached sizes of changes, and of one. */
const MAX_SIZES_BYTES = 1024 ** 2
const SIZES_BYTES = 100

const changeSizes = (repositories: Repositories) =>
  resultsOf<ChangeSizes>(repositories, 'change sizes', MAX_SIZES_BYTES, () => SIZES_BYTES)

/**
 * Sizes of the changed files, before and after, from which the cost of a comparison follows. All
 * sizes are infinite when there are more than `MAX_RECORDS` files.
 */
export interface ChangeSizes {
  /** Number of changed paths. A moved file has two. */
  readonly paths: number
  readonly bytes: number
  /** Size of the files that Git compares by lines, without larger files. */
  readonly textBytes: number
  /** Size of the added and deleted files, which Git reads to find moved files. */
  readonly movableBytes: number
}

/**
 * A raw record without score (git-diff-tree(1), "Raw output format"). A path in this format is
 * harmless: its ids add sizes of other objects of the repository.
 */
const RAW_RECORD = /^:[0-7]{6} [0-7]{6} ([0-9a-f]{40}) ([0-9a-f]{40}) ([A-Z])$/

/** Longer than such a record. The rest of a path is ignored. */
const MAX_RECORD_BYTES = 128

/** Changed files up to which sizes are measured. */
const MAX_RECORDS = 100_000
const TOO_MUCH = Number.POSITIVE_INFINITY
const IMMENSE: ChangeSizes = {
  paths: TOO_MUCH,
  bytes: TOO_MUCH,
  textBytes: TOO_MUCH,
  movableBytes: TOO_MUCH,
}

/** Options that print records in the format of `RAW_RECORD`. */
const FORMAT = ['-z', '--raw', '--no-abbrev', '--no-renames']

/**
 * Returns the sizes of the changes between two trees. The result never changes and is cached.
 *
 * @param from, to ids of trees or commits.
 * @throws GitError BUSY, TIMEOUT
 */
export function measureTrees(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): Promise<ChangeSizes> {
  return changeSizes(repositories).get(id, `${from} ${to}`, () =>
    measure(repositories, id, ['diff-tree', '-r', ...FORMAT, from, to]),
  )
}

/**
 * Returns the sum of the sizes of the changes of all commits of a range, without merges. The result
 * is cached.
 *
 * @param range range of ids of commits (gitrevisions(7)).
 * @throws GitError BUSY, TIMEOUT
 */
export function measureCommits(
  repositories: Repositories,
  id: number,
  range: string,
): Promise<ChangeSizes> {
  return changeSizes(repositories).get(id, `log ${range}`, () =>
    measure(repositories, id, [
      'log',
      '--format=',
      '--no-merges',
      '--root',
      ...FORMAT,
      range,
      '--',
    ]),
  )
}

async function measure(
  repositories: Repositories,
  id: number,
  args: readonly string[],
): Promise<ChangeSizes> {
  const records: { readonly from: string; readonly to: string; readonly status: string }[] = []
  for await (const token of splitAtZeros(readGit(repositories, id, args), MAX_RECORD_BYTES)) {
    const [, from = '', to = '', status = ''] = RAW_RECORD.exec(token.toString('latin1')) ?? []
    if (status !== '') records.push({ from, to, status })
    if (records.length > MAX_RECORDS) return IMMENSE
  }
  const objects = await inspectObjects(repositories, id, [
    ...new Set(records.flatMap(({ from, to }) => [from, to])),
  ])
  const sizes = { paths: records.length, bytes: 0, textBytes: 0, movableBytes: 0 }
  for (const { from, to, status } of records) {
    const [before, after] = [objects.get(from)?.bytes ?? 0, objects.get(to)?.bytes ?? 0]
    sizes.bytes += before + after
    if (Math.max(before, after) <= MAX_TEXT_BYTES) sizes.textBytes += before + after
    if (status === 'A' || status === 'D') sizes.movableBytes += before + after
  }
  return sizes
}
