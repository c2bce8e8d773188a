import { existsSync } from 'node:fs'
import { chmod, lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The data folder has password hashes and the keys of the instance. Nobody but the user of the
 * server may read the folder. The mode of the folder protects everything below. The modes of its
 * entries protect the database where somebody opens the folder, for example for a backup.
 */

/** The folder of the host keys of SSH, in the data folder. */
export const HOST_KEYS_FOLDER = 'ssh'

/** What this program creates belongs to its user alone, whatever the umask of its parent. */
export const PRIVATE_UMASK = 0o077

const OTHERS = 0o077

/** A file or folder that others may access. */
export interface OpenPath {
  readonly path: string
  /** Permission bits. */
  readonly mode: number
}

/**
 * Returns what others may access of a data folder: the folder, its entries, and the host keys of
 * SSH, which operators may copy to and fro.
 */
export async function openToOthers(folder: string): Promise<OpenPath[]> {
  const hostKeys = join(folder, HOST_KEYS_FOLDER)
  const keyFiles = existsSync(hostKeys) ? await pathsIn(hostKeys) : []
  const paths = [folder, ...(await pathsIn(folder)), ...keyFiles]
  const found = await Promise.all(paths.map(modeOf))
  return found.flatMap((entry) => (entry !== undefined && entry.mode & OTHERS ? [entry] : []))
}

async function pathsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder)
  return names.map((name) => join(folder, name))
}

/**
 * Takes the access of others to a data folder away.
 *
 * @returns what was corrected, and what belongs to another user, so that it could not be.
 */
export async function closeToOthers(
  folder: string,
): Promise<{ corrected: OpenPath[]; refused: OpenPath[] }> {
  const corrected: OpenPath[] = []
  const refused: OpenPath[] = []
  for (const entry of await openToOthers(folder)) {
    const isCorrected = await restrict(entry)
    if (isCorrected !== undefined) (isCorrected ? corrected : refused).push(entry)
  }
  return { corrected, refused }
}

/** Returns whether the user may correct the mode; undefined for what is gone. */
async function restrict({ path, mode }: OpenPath): Promise<boolean | undefined> {
  try {
    await chmod(path, mode & ~OTHERS)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    if (codeOf(error) === 'EPERM' || codeOf(error) === 'EROFS') return false
    throw error
  }
}

/** Returns undefined for a symbolic link, whose mode means nothing, and for what is gone. */
async function modeOf(path: string): Promise<OpenPath | undefined> {
  try {
    const entry = await lstat(path)
    return entry.isSymbolicLink() ? undefined : { path, mode: entry.mode & 0o777 }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** Returns a mode as operators write it. */
export function modeText(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
