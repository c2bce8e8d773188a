import { inspectObjects } from '../objects/objects.ts'
import { MAX_TEXT_BYTES, readGit, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { cacheOf } from '../repositories/repositories.ts'

/** Cached sizes of changes: a key and a few numbers each. */
const MAX_SIZES = 1_000

const changeSizes = (repositories: Repositories) =>
  cacheOf<ChangeSizes>(repositories, 'change sizes', MAX_SIZES)

/**
 * How much content is behind what differs, before and after: what it may cost to look into it.
 * Infinite where that is too much to say.
 */
export interface ChangeSizes {
  /** A file that moved has two. */
  readonly paths: number
  readonly bytes: number
  /** Of files that are compared by lines; of larger ones git says only that they differ. */
  readonly textBytes: number
  /** Of files that are new or gone, which git reads to see what moved. */
  readonly movableBytes: number
}

/**
 * A raw record without score (git-diff-tree(1), "Raw output format"). A path that looks like one
 * adds what is in the repository anyway.
 */
const RAW_RECORD = /^:[0-7]{6} [0-7]{6} ([0-9a-f]{40}) ([0-9a-f]{40}) ([A-Z])$/

/** More than such a record has. The rest of a path is not looked at. */
const MAX_RECORD_BYTES = 128

/** Added up. Beyond, it is too much for everything. */
const MAX_RECORDS = 100_000
const TOO_MUCH = Number.POSITIVE_INFINITY
const IMMENSE: ChangeSizes = {
  paths: TOO_MUCH,
  bytes: TOO_MUCH,
  textBytes: TOO_MUCH,
  movableBytes: TOO_MUCH,
}

/** Prints raw records that `RAW_RECORD` reads. */
const FORMAT = ['-z', '--raw', '--no-abbrev', '--no-renames']

/**
 * How much differs between two trees. Kept, since it stays true for ever.
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
  return changeSizes(repositories).get(`${id} ${from} ${to}`, () =>
    measure(repositories, id, ['diff-tree', '-r', ...FORMAT, from, to]),
  )
}

/**
 * How much the commits of a range change, all added up, merges left out. Kept, too.
 *
 * @param range of commits (gitrevisions(7)), made of ids.
 * @throws GitError BUSY, TIMEOUT
 */
export function measureCommits(
  repositories: Repositories,
  id: number,
  range: string,
): Promise<ChangeSizes> {
  return changeSizes(repositories).get(`${id} log ${range}`, () =>
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
