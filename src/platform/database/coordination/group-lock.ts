import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataFolderBusyError, type DataLock, LOCK_FILE, takeDataFolder } from '../data-lock.ts'
import { type Database, isBusy, Sqlite } from '../sqlite.ts'
import type { Alone } from './ports.ts'

/** The time between two attempts. */
const ATTEMPT_DELAY_MS = 100

/** A member that was killed a moment ago, or a command, may still have the folder. */
const ATTEMPTS = 20

/**
 * The attempts while the other processes are worker processes whose primary process has ended: a
 * little longer than they take to finish their calls.
 */
const ATTEMPTS_AFTER_ORPHANS = 350

/** The attempts of a member that migrates, while the others end: a minute. */
const ATTEMPTS_ALONE = 600

/** A group of processes that use a data folder together. */
interface FolderGroup {
  /** A number from 1 to 2^31 - 1 that no other group has or had. */
  readonly id: number
  /** The id of the primary process. */
  readonly primaryPid: number
}

/**
 * The lock of a data folder, which the processes of one group hold together. Other processes find the
 * folder as busy as with `lockDataFolder`, and a process of the group finds it busy while one of those
 * has it.
 *
 * Each process holds a shared lock of the file `lock`, whose header has the number of the group. Only
 * a process with the exclusive lock writes the number. So it cannot change while a process of the
 * group runs, and the operating system releases the shared lock when the process ends in any way
 * (https://sqlite.org/lockingv3.html).
 */
export class GroupLock implements DataLock, Alone {
  readonly #folder: string
  readonly #group: FolderGroup
  #sqlite: Database

  private constructor(folder: string, group: FolderGroup, sqlite: Database) {
    this.#folder = folder
    this.#group = group
    this.#sqlite = sqlite
  }

  /**
   * Joins the group, or founds it when no process uses the folder.
   *
   * @param folder an existing folder.
   * @throws DataFolderBusyError
   */
  static async join(folder: string, group: FolderGroup): Promise<GroupLock> {
    for (let attempt = 1; ; attempt++) {
      const sqlite = tryJoin(folder, group.id) ?? tryFound(folder, group)
      if (sqlite) return new GroupLock(folder, group, sqlite)
      await pause(folder, attempt)
    }
  }

  async alone(isNeeded: () => Promise<boolean>, work: () => Promise<unknown>): Promise<void> {
    if (!(await isNeeded())) return
    // Processes that keep their share while they wait would wait for each other.
    this.#sqlite.close()
    for (let attempt = 1; ; attempt++) {
      const alone = takeDataFolder(this.#folder)
      if (alone) {
        try {
          if (await isNeeded()) await work()
        } finally {
          this.#sqlite = share(alone, this.#group) ?? (await this.#rejoin())
        }
        return
      }
      if (attempt === ATTEMPTS_ALONE) throw new DataFolderBusyError(this.#folder)
      await sleep(ATTEMPT_DELAY_MS)
    }
  }

  release(): void {
    this.#sqlite.close()
  }

  async #rejoin(): Promise<Database> {
    return (await GroupLock.join(this.#folder, this.#group)).#sqlite
  }
}

/**
 * Locks a data folder for a server that is alone. Waits for worker processes whose primary process
 * has ended, as after its kill.
 *
 * @throws DataFolderBusyError
 */
export async function lockDataFolderAfterOrphans(folder: string): Promise<DataLock> {
  for (let attempt = ATTEMPTS; ; attempt++) {
    const sqlite = takeDataFolder(folder)
    if (sqlite) return { release: () => sqlite.close() }
    await pause(folder, attempt)
  }
}

/**
 * Waits until the next attempt.
 *
 * @throws DataFolderBusyError when there were enough attempts.
 */
async function pause(folder: string, attempt: number): Promise<void> {
  const isOver = attempt >= ATTEMPTS && !(attempt < ATTEMPTS_AFTER_ORPHANS && hasOrphans(folder))
  if (isOver) throw new DataFolderBusyError(folder)
  await sleep(ATTEMPT_DELAY_MS)
}

/** Returns the lock of a process in the group; undefined if the folder is not that of the group. */
function tryJoin(folder: string, id: number): Database | undefined {
  const sqlite = open(folder)
  try {
    // The shared lock begins with the first read of the transaction.
    sqlite.exec('begin')
    if (numberIn(sqlite, 'user_version') === id) return sqlite
  } catch (error) {
    if (!isBusy(error)) {
      sqlite.close()
      throw error
    }
  }
  sqlite.close()
  return undefined
}

/** Founds the group when no process uses the folder, and returns the lock of this one. */
function tryFound(folder: string, group: FolderGroup): Database | undefined {
  const alone = takeDataFolder(folder)
  return alone && share(alone, group)
}

/**
 * Gives a folder, which this process has alone, to the group.
 *
 * @returns undefined if another process took the folder first.
 */
function share(alone: Database, { id, primaryPid }: FolderGroup): Database | undefined {
  try {
    alone.exec(`pragma user_version = ${id}; pragma application_id = ${primaryPid}; commit; begin`)
    if (numberIn(alone, 'user_version') === id) return alone
  } catch (error) {
    if (!isBusy(error)) {
      alone.close()
      throw error
    }
  }
  alone.close()
  return undefined
}

/** Returns whether the last group to have the folder has lost its primary process. */
function hasOrphans(folder: string): boolean {
  const sqlite = open(folder)
  try {
    const pid = numberIn(sqlite, 'application_id')
    return pid > 0 && !isRunning(pid)
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  } finally {
    sqlite.close()
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // A process of another user runs, too.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function open(folder: string): Database {
  return new Sqlite(join(folder, LOCK_FILE), { timeout: 0 })
}

function numberIn(sqlite: Database, pragma: 'user_version' | 'application_id'): number {
  return Number(sqlite.pragma(pragma, { simple: true }))
}
