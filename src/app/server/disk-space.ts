import { statfs } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { DiskSpace } from '../../forge/core/disk-space.ts'

/** Sizes of a file system in bytes. */
interface FileSystemSpace {
  readonly free: number
  readonly size: number
}

/** Reads the space of the file system of a folder. */
export type ReadSpace = (folder: string) => Promise<FileSystemSpace>

/**
 * The share of the file system that is kept free by default, and its bounds. SQLite needs space for
 * its write-ahead log and for a checkpoint, Git for a repack.
 */
const RESERVED_SHARE = 0.05
const MIN_RESERVE_BYTES = 16 * 1024 ** 2
const MAX_RESERVE_BYTES = 512 * 1024 ** 2

/** Calls within this time share one reading. */
const READ_EVERY_MS = 1_000

/** Returns the space of the file system of a folder, for a user without privileges. */
export async function readFileSystem(folder: string): Promise<FileSystemSpace> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, size: blocks * bsize }
}

/** Watches the free space of a data folder. */
export class DataFolderSpace implements DiskSpace {
  readonly #folder: string
  readonly #reserveBytes: number | undefined
  readonly #log: Logger
  readonly #read: ReadSpace
  #latest: { readonly at: number; readonly isFull: Promise<boolean> } | undefined
  #wasFull = false

  /** @param reserveBytes undefined for a share of the file system; 0 for no reserve. */
  constructor(folder: string, reserveBytes: number | undefined, log: Logger, read: ReadSpace) {
    this.#folder = folder
    this.#reserveBytes = reserveBytes
    this.#log = log
    this.#read = read
  }

  isFull(): Promise<boolean> {
    const at = performance.now()
    if (this.#latest === undefined || at - this.#latest.at >= READ_EVERY_MS)
      this.#latest = { at, isFull: this.#measure() }
    return this.#latest.isFull
  }

  async hasRoom(bytes: number): Promise<boolean> {
    try {
      return (await this.#read(this.#folder)).free >= bytes
    } catch (err) {
      this.#log.warn({ err }, 'the free space of the data folder cannot be read')
      return false
    }
  }

  async #measure(): Promise<boolean> {
    try {
      const { free, size } = await this.#read(this.#folder)
      const reserve = this.#reserveBytes ?? defaultReserve(size)
      const isFull = free < reserve
      if (isFull && !this.#wasFull)
        this.#log.error({ free, reserve }, 'the disk is full: calls that store data are refused')
      if (!isFull && this.#wasFull) this.#log.info({ free }, 'the disk has space again')
      this.#wasFull = isFull
      return isFull
    } catch (err) {
      // The database and Git report a file system that does not answer.
      this.#log.warn({ err }, 'the free space of the data folder cannot be read')
      return false
    }
  }
}

function defaultReserve(size: number): number {
  return Math.min(Math.max(size * RESERVED_SHARE, MIN_RESERVE_BYTES), MAX_RESERVE_BYTES)
}
