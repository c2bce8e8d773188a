import { link, mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Repository } from 'nodegit'
import { GitError } from '../core/errors.ts'
import { hasCode } from '../core/system-errors.ts'
import { entriesOf, unlessGone } from '../repositories/folders.ts'
import {
  dropReaders,
  limboFolder,
  limboOf,
  type Repositories,
  repositoryPath,
} from '../repositories/repositories.ts'

/**
 * The limbo has the objects that prunes have removed from repositories. Each prune has a folder of
 * its own, named by the time, with packs. The folder of a prune that has not ended has a suffix.
 */
const ENTRY = /^(\d+)(\.part)?$/
const PACK = /^(pack-[0-9a-f]{40})\.pack$/

/** Layout of the index of a pack, version 2 (gitformat-pack(5)). */
const INDEX_START_BYTES = 8
const FANOUT_BYTES = 256 * 4
const ID_BYTES = 20

/** The objects that one prune has removed from a repository. */
export interface LimboEntry {
  /** Time of the prune in Unix milliseconds. */
  readonly timeMs: number
  /** Path of the folder. */
  readonly folder: string
  /** Whether the prune has not ended, because the prune still runs or was killed. */
  readonly isUnfinished: boolean
}

/** Time after a prune in which a read that began before its end may still fail. */
const RECENT_MS = 60_000

/**
 * Time for which a read waits for an object that a running prune has removed, and the pause between
 * two looks. The prune of a large repository takes longer: its readers come back later.
 */
const MAX_WAIT_MS = 5_000
const LOOK_MS = 50

/** A prune has removed an object that a new ref needs. The object comes back when the prune ends. */
export class ObjectAwayError extends GitError {
  constructor() {
    super('BUSY', 'the repository is being cleaned')
  }
}

/** Returns whether a prune of a repository runs, or has just ended, so that objects may be away. */
export async function isPrunedNow(repositories: Repositories, id: number): Promise<boolean> {
  const [root] = await unlessGone(async () => [await stat(limboOf(repositories, id))])
  if (!root) return false
  if (Date.now() - root.mtimeMs < RECENT_MS) return true
  return (await limboEntries(repositories, id)).some(({ isUnfinished }) => isUnfinished)
}

/**
 * Reads an object of a repository that may be away because of a prune.
 *
 * @param read returns undefined if the repository does not have the object.
 * @throws ObjectAwayError
 */
export async function unlessAway<T>(
  repositories: Repositories,
  id: number,
  objectId: string,
  read: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const value = await read()
  if (value !== undefined) return value
  return (await untilBack(repositories, id, [objectId])) ? read() : undefined
}

/**
 * Waits while the running prune of a repository, if there is one, has objects that were missed.
 * Objects are in the limbo before they are removed.
 *
 * @returns whether the objects may be there by now: a prune runs or has just ended.
 * @throws ObjectAwayError when the objects do not come back soon
 */
export async function untilBack(
  repositories: Repositories,
  id: number,
  missed: readonly string[],
): Promise<boolean> {
  if (missed.length === 0 || !(await isPrunedNow(repositories, id))) return false
  await repeatWhileAway(() => checkNotAway(repositories, id, missed))
  return true
}

/** @throws ObjectAwayError */
async function checkNotAway(
  repositories: Repositories,
  id: number,
  missed: readonly string[],
): Promise<void> {
  for (const { folder, isUnfinished } of await limboEntries(repositories, id)) {
    if (!isUnfinished) continue
    const removed = new Set(await objectIds(folder))
    if (missed.some((objectId) => removed.has(objectId))) throw new ObjectAwayError()
  }
}

/**
 * Repeats work that fails because of a prune for some seconds. Most prunes end sooner, so that no user
 * hears of them.
 *
 * @throws ObjectAwayError
 */
export async function repeatWhileAway<T>(work: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isLast = performance.now() - startMs > MAX_WAIT_MS
      if (!(error instanceof ObjectAwayError) || isLast) throw error
      await pause(LOOK_MS)
    }
  }
}

/**
 * Runs work of libgit2 on objects that must exist, as `RepositoryHandles.use`. During a prune and
 * shortly after, work that misses an object is repeated.
 *
 * @throws ObjectAwayError instead of NOT_FOUND when the object does not come back soon
 */
export async function useObjects<T>(
  repositories: Repositories,
  id: number,
  work: (repository: Repository) => Promise<T>,
): Promise<T> {
  return repeatWhileAway(async () => {
    try {
      return await repositories.handles.use(repositoryPath(repositories, id), work)
    } catch (error) {
      const isMissing = error instanceof GitError && error.kind === 'NOT_FOUND'
      throw isMissing && (await isPrunedNow(repositories, id)) ? new ObjectAwayError() : error
    }
  })
}

/** Returns the numbers of the repositories that have objects in the limbo, in no order. */
export async function repositoriesInLimbo(repositories: Repositories): Promise<number[]> {
  const entries = await entriesOf(limboFolder(repositories))
  return entries.flatMap(({ name }) => (/^\d+$/.test(name) ? Number(name) : []))
}

/** Returns what the limbo has of a repository, the oldest entry first. */
export async function limboEntries(repositories: Repositories, id: number): Promise<LimboEntry[]> {
  const root = limboOf(repositories, id)
  const entries = (await entriesOf(root)).flatMap(({ name }) => {
    const [, time, part] = ENTRY.exec(name) ?? []
    if (time === undefined) return []
    const folder = join(root, name)
    return { timeMs: Number(time), folder, isUnfinished: part !== undefined }
  })
  return entries.sort((a, b) => a.timeMs - b.timeMs)
}

/**
 * Creates the folder of a prune.
 *
 * @param nowMs Unix milliseconds.
 */
export async function beginEntry(
  repositories: Repositories,
  id: number,
  nowMs: number,
): Promise<LimboEntry> {
  const known = await limboEntries(repositories, id)
  const timeMs = Math.max(nowMs, ...known.map((entry) => entry.timeMs + 1))
  const folder = join(limboOf(repositories, id), `${timeMs}.part`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return { timeMs, folder, isUnfinished: true }
}

/** Marks the prune of a folder as ended. A folder without a pack is removed. */
export async function endEntry({ folder }: LimboEntry): Promise<void> {
  if ((await packsIn(folder)).length === 0) await rm(folder, { recursive: true, force: true })
  else await rename(folder, folder.replace(/\.part$/, ''))
}

/** Returns the bytes of all packs in the limbo. */
export async function limboBytes(repositories: Repositories): Promise<number> {
  let sum = 0
  for (const id of await repositoriesInLimbo(repositories))
    for (const { folder } of await limboEntries(repositories, id)) sum += await bytesIn(folder)
  return sum
}

/** Returns the number of the objects of an entry and their bytes. */
export async function measureEntry({ folder }: LimboEntry) {
  return { bytes: await bytesIn(folder), objects: (await objectIds(folder)).length }
}

async function bytesIn(folder: string): Promise<number> {
  const packs = await packsIn(folder)
  const sizes = await Promise.all(
    packs.map((pack) => unlessGone(async () => [(await stat(join(folder, `${pack}.pack`))).size])),
  )
  return sizes.flat().reduce((sum, size) => sum + size, 0)
}

/** Returns the ids of the objects in a folder of the limbo. */
export async function objectIds(folder: string): Promise<string[]> {
  const ids: string[] = []
  for (const pack of await packsIn(folder)) {
    const [index] = await unlessGone(async () => [await readFile(join(folder, `${pack}.idx`))])
    if (!index) continue
    const start = INDEX_START_BYTES + FANOUT_BYTES
    const count = index.readUInt32BE(start - 4)
    for (let i = 0; i < count; i += 1) {
      const at = start + i * ID_BYTES
      ids.push(index.toString('hex', at, at + ID_BYTES))
    }
  }
  return ids
}

/**
 * Brings the objects of an entry back into their repository and removes the entry. From then on, the
 * objects count as just written, so that the next prune keeps them.
 */
export async function bringBack(
  repositories: Repositories,
  id: number,
  { folder }: LimboEntry,
): Promise<void> {
  const target = join(repositoryPath(repositories, id), 'objects/pack')
  const now = new Date()
  for (const pack of await packsIn(folder)) {
    await utimes(join(folder, `${pack}.pack`), now, now)
    // Git looks for indexes, so the index comes last. Without its `.mtimes` file, the pack is an
    // ordinary one.
    for (const part of ['pack', 'idx'])
      await linkUnlessThere(join(folder, `${pack}.${part}`), join(target, `${pack}.${part}`))
  }
  await flushFolder(target)
  await rm(folder, { recursive: true, force: true })
  await dropReaders(repositories, id)
}

/**
 * Deletes the entries of a repository that are older than a time, for good.
 *
 * @param beforeMs Unix milliseconds.
 * @returns the number of deleted entries.
 */
export async function emptyLimbo(
  repositories: Repositories,
  id: number,
  beforeMs: number,
): Promise<number> {
  const all = await limboEntries(repositories, id)
  const old = all.filter(({ timeMs, isUnfinished }) => timeMs < beforeMs && !isUnfinished)
  for (const { folder } of old) await rm(folder, { recursive: true, force: true })
  return old.length
}

/** Returns the names of the complete packs in a folder, without suffix. */
async function packsIn(folder: string): Promise<string[]> {
  const names = new Set((await entriesOf(folder)).map(({ name }) => name))
  return [...names].flatMap((name) => {
    const pack = PACK.exec(name)?.[1]
    return pack !== undefined && names.has(`${pack}.idx`) ? pack : []
  })
}

/** A pack of that name has the same content: its name is the checksum. */
async function linkUnlessThere(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

async function flushFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
