import { link, mkdir, rm, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasCode } from '../core/system-errors.ts'
import { UNLINKABLE } from '../packs/forks.ts'
import { entriesOf, unlessGone } from '../repositories/folders.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/**
 * Steps replace packs, their indexes and commit-graphs, which other servers may have open. On a disk,
 * an open file stays readable after its removal. On a network file system, that holds for the machine
 * that removes the file; a reader on another machine gets ESTALE, or SIGBUS when the file is mapped.
 * There, a second name in another folder keeps each replaced file for an hour. The name is created
 * before the step, so that a killed server leaves too many names, and never too few.
 */

/** No read takes longer, except downloads of very large repositories. */
export const KEPT_MS = 60 * 60_000

/** Folders of the files that steps replace, within a repository. */
const FOLDERS = ['objects/pack', 'objects/info', 'objects/info/commit-graphs'] as const

/** Names of files that are complete. Git writes others, and renames them. */
const COMPLETE =
  /^(pack-[0-9a-f]{40}\.(pack|idx|rev|bitmap|mtimes)|multi-pack-index.*|commit-graph|graph-.*\.graph)$/

/** Locks have the name of their file and this ending. */
const LOCK_END = '.lock'

/** File systems whose machines remove files below each other, by their number (statfs(2)). */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB 2
  0x00c36400, // Ceph
  0x65735546, // FUSE, as GlusterFS and others
  0x0bd00bd0, // Lustre
  0x19830326, // BeeGFS
  0x01021997, // 9P
  0x5346414f, // AFS
  0x47504653, // GPFS
])

/** The names of replaced files of one repository, in a folder for each step. */
const ENTRY = /^\d+$/

/** Returns whether a file system, by its number (statfs(2)), is one of a network. */
export function isNetworkFileSystem(type: number): boolean {
  return NETWORK_FILE_SYSTEMS.has(type >>> 0)
}

/**
 * Runs a step that replaces files of a repository. On a network file system that several servers use,
 * the replaced files stay for an hour. The caller has the lock of maintenance.
 *
 * @param nowMs Unix milliseconds.
 */
export async function keepingReplaced<T>(
  repositories: Repositories,
  id: number,
  nowMs: number,
  step: () => Promise<T>,
): Promise<T> {
  if (!(await mustKeep(repositories))) return step()
  const folder = await createEntry(join(keptFolder(repositories), String(id)), nowMs)
  try {
    await linkFiles(repositoryPath(repositories, id), folder)
    return await step()
  } finally {
    await dropPresent(repositories, id)
  }
}

/** Returns the numbers of the repositories of which replaced files are kept, in no order. */
export async function repositoriesWithReplaced(repositories: Repositories): Promise<number[]> {
  const entries = await entriesOf(keptFolder(repositories))
  return entries.flatMap(({ name }) => (ENTRY.test(name) ? Number(name) : []))
}

/**
 * Removes the files of a repository that were replaced an hour ago, and the second names of files that
 * are still in use. The caller has the lock of maintenance.
 *
 * @param nowMs Unix milliseconds.
 */
export async function sweepReplaced(
  repositories: Repositories,
  id: number,
  nowMs: number,
): Promise<void> {
  const root = join(keptFolder(repositories), String(id))
  for (const { name } of await entriesOf(root))
    if (Number(name) <= nowMs - KEPT_MS)
      await rm(join(root, name), { recursive: true, force: true })
  await dropPresent(repositories, id)
}

/**
 * Removes the second names of files that have another name too: no step has replaced these, or a fork
 * has them. With a second name, a pack would count as one that a fork has. The caller has the lock of
 * maintenance.
 */
export async function dropPresent(repositories: Repositories, id: number): Promise<void> {
  const root = join(keptFolder(repositories), String(id))
  for (const { name: time } of await entriesOf(root)) {
    for (const folder of [...FOLDERS].reverse()) {
      const kept = join(root, time, folder)
      for (const entry of await entriesOf(kept)) {
        const path = join(kept, entry.name)
        const [file] = await unlessGone(async () => [await stat(path)])
        if (file?.isFile() && file.nlink > 1) await rm(path, { force: true })
      }
      await removeEmpty(kept)
    }
    await removeEmpty(join(root, time, 'objects'))
    await removeEmpty(join(root, time))
  }
  await removeEmpty(root)
}

/** Returns the folder of the replaced files of all repositories. */
function keptFolder({ folder }: Repositories): string {
  return join(folder, 'replaced')
}

async function mustKeep({ folder, isShared, isOnNetwork }: Repositories): Promise<boolean> {
  if (!isShared) return false
  return isOnNetwork ?? isNetworkFileSystem((await statfs(folder)).type)
}

/** Creates the folder of a step, named by a time that no other step has. */
async function createEntry(root: string, nowMs: number): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  for (let time = nowMs; ; time += 1) {
    const folder = join(root, String(time))
    try {
      await mkdir(folder, { mode: 0o700 })
      return folder
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
}

/** Gives each file that a step may replace a second name. Nothing is done where none is possible. */
async function linkFiles(repository: string, target: string): Promise<void> {
  for (const folder of FOLDERS) {
    for (const { name } of await entriesOf(join(repository, folder))) {
      if (!COMPLETE.test(name) || name.endsWith(LOCK_END)) continue
      const second = join(target, folder, name)
      await mkdir(dirname(second), { recursive: true, mode: 0o700 })
      try {
        await link(join(repository, folder, name), second)
      } catch (error) {
        if (hasCode(error, ...UNLINKABLE)) return
        // Git has replaced the file meanwhile, or the repository is being deleted.
        if (!hasCode(error, 'ENOENT')) throw error
      }
    }
  }
}

async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTEMPTY', 'EEXIST')) throw error
  }
}
