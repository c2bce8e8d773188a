import { link, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { hasCode } from '../core/system-errors.ts'
import { UNLINKABLE } from '../packs/forks.ts'
import { unlessGone } from '../repositories/folders.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'
import { STEP_TIMEOUT_MS } from './derived-files.ts'
import { MIN_SHARED_BYTES, type PackState, readState } from './state.ts'
import { runMaintenance, runStep } from './steps.ts'

/** Layout of the index of a pack, version 2 (gitformat-pack(5)). */
const FANOUT_START = 8
const IDS_START = FANOUT_START + 256 * 4
const ID_BYTES = 20

/** Ids that are compared before other work of the process has its turn. */
const IDS_AT_ONCE = 10_000

/** The parts of a pack that another repository needs. The index is last: Git looks for indexes. */
const PARTS = ['pack', 'rev', 'idx'] as const

/**
 * Replaces large packs of a fork by the pack of another repository that has all of their objects, as
 * a hard link. After the other repository was packed as a whole, both share their objects again.
 *
 * @param fromId repository that was packed as a whole.
 * @param toId the fork. The caller has its lock of maintenance.
 * @param mayLearn whether the fork may get objects that it does not have yet.
 * @returns whether the fork has changed.
 * @throws StepError; GitError BUSY, NO_REPOSITORY, OUT_OF_MEMORY, TIMEOUT
 */
export async function shareNewPack(
  repositories: Repositories,
  { fromId, toId, mayLearn }: { fromId: number; toId: number; mayLearn: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  const [source, target] = [fromId, toId].map((id) => packFolder(repositories, id)) as [
    string,
    string,
  ]
  const [from, to] = [await readState(repositories, fromId), await readState(repositories, toId)]
  const largest = from?.packs
    .filter(({ isCruft, bytes }) => !isCruft && bytes >= MIN_SHARED_BYTES)
    .sort((a, b) => b.bytes - a.bytes)[0]
  if (!largest || !to || to.packs.some(({ name }) => name === largest.name)) return false
  const own = to.packs.filter(({ isCruft, isKept }) => !isCruft && !isKept)
  const [index] = await indexesOf(source, [largest])
  if (!index) return false
  if (!mayLearn && !(await areAllIn(index, await indexesOf(target, to.packs), signal))) return false
  let isWorthwhile = false
  for (const old of await indexesOf(target, own.filter(isLarge)))
    if (await areAllIn(old, [index], signal)) isWorthwhile = true
  if (!isWorthwhile || !(await linkPack(source, target, largest))) return false
  // Git takes each object from the preferred pack, and removes the packs of which nothing is used.
  const midx = ['multi-pack-index', 'write', '--no-progress', `--preferred-pack=${largest.name}`]
  for (const args of [midx, ['multi-pack-index', 'expire', '--no-progress']])
    await runMaintenance(repositories, toId, args, { timeoutMs: STEP_TIMEOUT_MS }, signal)
  const after = await readState(repositories, toId)
  if (after) await runStep(repositories, toId, 'bitmap', after, signal)
  return true
}

function packFolder(repositories: Repositories, id: number): string {
  return join(repositoryPath(repositories, id), 'objects/pack')
}

function isLarge({ bytes }: PackState): boolean {
  return bytes >= MIN_SHARED_BYTES
}

/** Reads the indexes of packs. Those that Git has replaced meanwhile are left out. */
async function indexesOf(folder: string, packs: readonly PackState[]): Promise<Buffer[]> {
  const found: Buffer[] = []
  for (const { name } of packs) {
    const path = join(folder, name.replace(/pack$/, 'idx'))
    found.push(...(await unlessGone(async () => [await readFile(path)])))
  }
  return found
}

/** Returns whether each object of an index is in one of some others. */
async function areAllIn(
  index: Buffer,
  others: readonly Buffer[],
  signal: AbortSignal,
): Promise<boolean> {
  const count = countOf(index, 255)
  for (let i = 0; i < count; i += 1) {
    const start = IDS_START + i * ID_BYTES
    const id = index.subarray(start, start + ID_BYTES)
    if (!others.some((other) => has(other, id))) return false
    if (i % IDS_AT_ONCE === 0) {
      signal.throwIfAborted()
      await breathe()
    }
  }
  return true
}

/** Returns the number of ids in an index up to those with a first byte. */
function countOf(index: Buffer, firstByte: number): number {
  return firstByte < 0 ? 0 : index.readUInt32BE(FANOUT_START + firstByte * 4)
}

/** The ids of an index are sorted. */
function has(index: Buffer, id: Buffer): boolean {
  const first = id[0] ?? 0
  let [low, high] = [countOf(index, first - 1), countOf(index, first)]
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = IDS_START + middle * ID_BYTES
    const order = index.compare(id, 0, ID_BYTES, start, start + ID_BYTES)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle
  }
  return false
}

/** Returns false when the file system cannot link the files. */
async function linkPack(source: string, target: string, { name }: PackState): Promise<boolean> {
  for (const part of PARTS) {
    const file = name.replace(/pack$/, part)
    try {
      await link(join(source, file), join(target, file))
    } catch (error) {
      if (hasCode(error, ...UNLINKABLE)) return false
      const isOptional = part === 'rev' && hasCode(error, 'ENOENT')
      if (!isOptional && !hasCode(error, 'EEXIST')) throw error
    }
  }
  return (await stat(join(target, name))).nlink > 1
}
