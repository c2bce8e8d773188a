/** The free space of the file system with the data. */
export interface DiskSpace {
  /** Returns whether so little is left that only reads and deletions may go on. */
  isFull(): Promise<boolean>
  /** Returns whether so many bytes are free. */
  hasRoom(bytes: number): Promise<boolean>
}

/** For commands, whose operator sees the disk. */
export const UNLIMITED_DISK: DiskSpace = {
  isFull: async () => false,
  hasRoom: async () => true,
}

/**
 * Codes of an error for want of space: of the file system (errno(3)), SQLite and PostgreSQL
 * (https://www.postgresql.org/docs/15/errcodes-appendix.html).
 */
const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL', '53100'])

/** The texts of these errors in what Git and libgit2 print. */
const TEXT = /No space left on device|Disk quota exceeded/

/** Returns whether an operation failed for want of space. */
export function isForWantOfSpace(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (('code' in cause && CODES.has(cause.code)) || TEXT.test(cause.message)) return true
  return false
}
