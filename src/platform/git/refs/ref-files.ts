import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OWN_REFS } from '../core/ref-names.ts'
import { hasCode } from '../core/system-errors.ts'

/**
 * The files that hold the refs of a repository, as stat(2) described them. Internal refs of the
 * server are left out.
 */
export interface RefFiles {
  /** Full names of the loose refs. */
  readonly looseNames: readonly string[]
  /** When a file or folder last changed, in milliseconds since the epoch. */
  readonly latestChangeMs: number
  /** Memory that this object takes, roughly. */
  readonly bytes: number
  /** `packed-refs`, then all folders and files of loose refs. */
  readonly paths: readonly string[]
  /** `FIELDS` numbers for each path. */
  readonly stamps: Float64Array
}

/** Numbers of one stamp: device, inode, size, time of the last change of the content, of anything. */
const FIELDS = 5

/** More files take longer to check than Git takes to read them. */
const MAX_REF_FILES = 20_000

/** Files that are checked before other requests have their turn: less than a millisecond. */
const FILES_PER_TURN = 256

/** The last part of a path component of a lock file, which Git never reads as a ref. */
const LOCK_SUFFIX = '.lock'

/** The folder of internal refs, which no client sees. */
const OWN_FOLDER = OWN_REFS.slice(0, -1)

/** A file or folder that Git would not read as a plain ref, or too many files. */
class UnusualRefs extends Error {}

/**
 * Codes of errors when a folder goes away, becomes a file or becomes unreadable while its entries
 * are read. `throwIfNoEntry` of `lstatSync` covers ENOENT alone.
 */
const GONE = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG']

/**
 * Reads the stamps of all files of refs.
 *
 * @param path of the repository.
 * @returns undefined when there are more files than `MAX_REF_FILES`, symbolic links or other
 *   entries that only Git understands, and when a file goes away meanwhile.
 */
export async function readRefFiles(path: string): Promise<RefFiles | undefined> {
  const walk = new RefWalk(path)
  try {
    walk.addPackedRefs()
    for (const folder of walk.folders) {
      walk.addEntries(folder)
      if (walk.isLong()) await nextTurn()
    }
    return walk.result()
  } catch (error) {
    if (error instanceof UnusualRefs || hasCode(error, ...GONE)) return undefined
    throw error
  }
}

/**
 * Returns whether each file and folder still has its stamp.
 *
 * Git replaces files by rename(2), which changes the folder. Another program may write into a file,
 * which changes the file only. So both are compared. The time of the last status change
 * (`st_ctime`, inode(7)) shows changes after which a program restores the other time.
 */
export async function areUnchanged({ paths, stamps }: RefFiles): Promise<boolean> {
  try {
    for (let i = 0; i < paths.length; i++) {
      if (i % FILES_PER_TURN === FILES_PER_TURN - 1) await nextTurn()
      if (!hasStamp(paths[i] ?? '', stamps, i * FIELDS)) return false
    }
    return true
  } catch (error) {
    if (hasCode(error, ...GONE)) return false
    throw error
  }
}

function hasStamp(path: string, stamps: Float64Array, at: number): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return stamps[at] === -1
  return (
    stats.ino === stamps[at + 1] &&
    stats.ctimeMs === stamps[at + 4] &&
    stats.mtimeMs === stamps[at + 3] &&
    stats.size === stamps[at + 2] &&
    stats.dev === stamps[at]
  )
}

/** A walk over the files of refs, which collects their stamps. */
class RefWalk {
  /** Names of folders, relative to the repository. Grows during the walk. */
  readonly folders = ['refs']
  readonly #root: string
  readonly #paths: string[] = []
  readonly #stamps: number[] = []
  readonly #looseNames: string[] = []
  #latestChangeMs = 0
  #bytes = 0
  #turnEnd = FILES_PER_TURN

  constructor(root: string) {
    this.#root = root
  }

  addPackedRefs(): void {
    const path = join(this.#root, 'packed-refs')
    if (this.#add(path, true) === 'folder') throw new UnusualRefs()
    this.#addFolder('refs')
  }

  addEntries(folder: string): void {
    for (const entry of readdirSync(join(this.#root, folder))) {
      const name = `${folder}/${entry}`
      // As Git does in `loose_fill_ref_dir` (refs/files-backend.c of Git 2.39).
      if (entry.startsWith('.') || entry.endsWith(LOCK_SUFFIX) || name === OWN_FOLDER) continue
      // The name is not in UTF-8.
      if (name.includes('\ufffd')) throw new UnusualRefs()
      // The stamp of a folder is older than the list of its entries: a change between them shows.
      if (this.#add(join(this.#root, name), false) === 'folder') this.folders.push(name)
      else this.#looseNames.push(name)
    }
  }

  /** Returns whether the walk should give way to other requests. */
  isLong(): boolean {
    if (this.#paths.length < this.#turnEnd) return false
    this.#turnEnd = this.#paths.length + FILES_PER_TURN
    return true
  }

  result(): RefFiles {
    return {
      looseNames: this.#looseNames,
      latestChangeMs: this.#latestChangeMs,
      bytes: this.#bytes,
      paths: this.#paths,
      stamps: Float64Array.from(this.#stamps),
    }
  }

  #addFolder(name: string): void {
    if (this.#add(join(this.#root, name), false) === 'file') throw new UnusualRefs()
  }

  #add(path: string, mayBeMissing: boolean): 'file' | 'folder' {
    if (this.#paths.length === MAX_REF_FILES) throw new UnusualRefs()
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats && !mayBeMissing) throw new UnusualRefs()
    this.#paths.push(path)
    // The path, its name, and the numbers.
    this.#bytes += path.length * 2 + FIELDS * 8 + 64
    if (!stats) {
      this.#stamps.push(-1, -1, -1, -1, -1)
      return 'file'
    }
    if (!stats.isFile() && !stats.isDirectory()) throw new UnusualRefs()
    this.#stamps.push(stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs)
    this.#latestChangeMs = Math.max(this.#latestChangeMs, stats.mtimeMs, stats.ctimeMs)
    return stats.isFile() ? 'file' : 'folder'
  }
}
