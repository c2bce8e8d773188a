import { statfs } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { DiskSpace } from '../../forge/core/disk-space.ts'

/** Sizes of a file system in bytes. */
interface FileSystemSpace {
  readonly free: number
  readonly size: number
}

/** How the space of the file system of a folder is read. */
export interface SpaceReading {
  read(folder: string): Promise<FileSystemSpace>
  /** Calls within this time share one reading. */
  readonly everyMs: number
}

/**
 * The share of the file system that is kept free by default, and its bounds. SQLite needs space for
 * its write-ahead log and for a checkpoint, Git for a repack.
 */
const RESERVED_SHARE = 0.05
const MIN_RESERVE_BYTES = 16 * 1024 ** 2
const MAX_RESERVE_BYTES = 512 * 1024 ** 2

/** Reads the space that a user without privileges has. */
export const fileSystemReading: SpaceReading = {
  async read(folder) {
    const { bavail, blocks, bsize } = await statfs(folder)
    return { free: bavail * bsize, size: blocks * bsize }
  },
  everyMs: 1_000,
}

/** Watches the free space of a data folder. */
export class DataFolderSpace implements DiskSpace {
  readonly #folder: string
  readonly #reserveBytes: number | undefined
  readonly #log: Logger
  readonly #reading: SpaceReading
  #latest: { readonly at: number; readonly isFull: Promise<boolean> } | undefined
  #wasFull = false

  /** @param reserveBytes undefined for a share of the file system; 0 for no reserve. */
  constructor(
    folder: string,
    reserveBytes: number | undefined,
    log: Logger,
    reading: SpaceReading,
  ) {
    this.#folder = folder
    this.#reserveBytes = reserveBytes
    this.#log = log
    this.#reading = reading
  }

  isFull(): Promise<boolean> {
    const at = performance.now()
    if (this.#latest === undefined || at - this.#latest.at >= this.#reading.everyMs)
      this.#latest = { at, isFull: this.#measure() }
    return this.#latest.isFull
  }

  async hasRoom(bytes: number): Promise<boolean> {
    try {
      return (await this.#reading.read(this.#folder)).free >= bytes
    } catch (err) {
      this.#log.warn({ err }, 'the free space of the data folder cannot be read')
      return false
    }
  }

  async #measure(): Promise<boolean> {
    try {
      const { free, size } = await this.#reading.read(this.#folder)
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
