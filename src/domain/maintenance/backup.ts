import { createReadStream } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Header, type Pack, pack } from 'tar-stream'
import { repositoryExists } from '../../git/repositories/repositories.ts'
import { foldersOf, repositoryFiles } from '../../git/repositories/repository-files.ts'
import { openDatabase, transaction } from '../../storage/database/database.ts'
import {
  allRepositoryIds,
  markAllRepositoriesPending,
  snapshotDatabase,
} from '../../storage/database/maintenance.ts'
import { schemaVersion } from '../../storage/database/migrate.ts'
import { attachmentPath, openAttachment } from '../../storage/repos/attachment-files.ts'
import { deleteReleaseAssets, pageOfAttachments } from '../../storage/repos/release-assets.ts'
import { deleteRepository } from '../../storage/repos/repositories.ts'
import type { Db } from '../../storage/schema/schema.ts'
import type { ReposApp } from '../repos/ports.ts'
import {
  ABOUT_ENTRY,
  type About,
  ATTACHMENTS_ENTRY,
  BACKUP_FORMAT,
  COMPLETE_ENTRY,
  DATABASE_ENTRY,
  REPOSITORIES_ENTRY,
} from './archive.ts'

/** The content of a backup, in numbers. */
export interface BackupSummary {
  readonly repositories: number
  readonly files: number
  readonly attachments: number
}

export interface BackupOptions {
  /**
   * The path of the temporary snapshot, in the folder of the database. A snapshot that a killed
   * backup left there is replaced.
   */
  readonly snapshotFile: string
  /** The version of this program. */
  readonly version: string
}

/**
 * Writes all data of an instance as one tar archive. The instance may be running.
 *
 * The rows are those at the start of the backup. Refs and objects are read afterwards, so the
 * objects that a row refers to are included. Refs may be newer than the rows. The restored instance
 * therefore reads its branches from Git again when it starts, as after a crash.
 *
 * @param output is ended after the archive.
 */
export async function writeBackup(
  { db, git, attachments, clock }: Pick<ReposApp, 'db' | 'git' | 'attachments' | 'clock'>,
  output: Writable,
  { snapshotFile, version }: BackupOptions,
): Promise<BackupSummary> {
  const archive = pack()
  const written = pipeline(archive, output)
  // Awaited at the end. A failure of the output also fails the entries.
  written.catch(() => {})
  await rm(snapshotFile, { force: true })
  await snapshotDatabase(db, snapshotFile)
  try {
    const snapshot = openDatabase(snapshotFile)
    const about: About = {
      format: BACKUP_FORMAT,
      version,
      schema: await schemaVersion(snapshot),
      timeMs: clock.now(),
    }
    await addContent(archive, ABOUT_ENTRY, JSON.stringify(about))
    const summary = await addFiles(archive, snapshot, { git, attachments }).finally(() =>
      snapshot.destroy(),
    )
    const size = (await stat(snapshotFile)).size
    await addFile(archive, { name: DATABASE_ENTRY, size }, createReadStream(snapshotFile))
    await addContent(archive, COMPLETE_ENTRY, JSON.stringify(summary))
    archive.finalize()
    await written
    return summary
  } catch (error) {
    archive.destroy()
    throw await written.then(
      () => error,
      (failure: unknown) => failure ?? error,
    )
  } finally {
    await rm(snapshotFile, { force: true })
  }
}

async function addFiles(
  archive: Pack,
  snapshot: Db,
  { git, attachments }: Pick<ReposApp, 'git' | 'attachments'>,
): Promise<BackupSummary> {
  const repositories = await addRepositories(archive, snapshot, git)
  return { ...repositories, attachments: await addAttachments(archive, snapshot, attachments) }
}

/** Adds the repositories of a snapshot. Deletes those from the snapshot that no longer exist. */
async function addRepositories(
  archive: Pack,
  snapshot: Db,
  git: ReposApp['git'],
): Promise<Omit<BackupSummary, 'attachments'>> {
  const ids = await allRepositoryIds(snapshot)
  /** The paths in the archive of files that several repositories share. */
  const places = new Map<string, string>()
  let files = 0
  const deleted: number[] = []
  for (const id of ids) {
    for (const folder of foldersOf(git, id)) {
      await addContent(archive, `${REPOSITORIES_ENTRY}${folder}`, '', {
        type: 'directory',
        mode: 0o700,
      })
    }
    for await (const { path, bytes, linkKey, content } of repositoryFiles(git, id)) {
      const name = `${REPOSITORIES_ENTRY}${path}`
      const linkname = linkKey === undefined ? undefined : places.get(linkKey)
      if (Buffer.isBuffer(content)) await addContent(archive, name, content)
      else if (linkname !== undefined)
        await addContent(archive, name, '', { type: 'link', linkname })
      else
        await addFile(
          archive,
          { name, size: bytes },
          content.createReadStream({ autoClose: false }),
        )
      if (linkKey !== undefined) places.set(linkKey, linkname ?? name)
      files += 1
    }
    if (!(await repositoryExists(git, id))) deleted.push(id)
  }
  await transaction(snapshot, async (tx) => {
    for (const id of deleted) await deleteRepository(tx, id)
    await markAllRepositoriesPending(tx)
  })
  return { repositories: ids.length - deleted.length, files }
}

/** Adds attachments in the same way, and returns their number. */
async function addAttachments(
  archive: Pack,
  snapshot: Db,
  files: ReposApp['attachments'],
): Promise<number> {
  const deleted: string[] = []
  let count = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await pageOfAttachments(snapshot, after, ATTACHMENTS_PER_QUERY)
    for (const { uuid, repository_id } of page) {
      // An open file can still be read after its deletion.
      const file = await openAttachment(files, repository_id, uuid)
      if (!file) {
        deleted.push(uuid)
        continue
      }
      const name = `${ATTACHMENTS_ENTRY}${attachmentPath(repository_id, uuid)}`
      const { size } = await file.stat()
      await addFile(archive, { name, size }, file.createReadStream())
      count += 1
    }
    after = page.at(-1)?.uuid
  }
  await transaction(snapshot, (tx) => deleteReleaseAssets(tx, deleted))
  return count
}

/** The number of rows that are read at a time. */
const ATTACHMENTS_PER_QUERY = 500

function addContent(
  archive: Pack,
  name: string,
  content: string | Buffer,
  more: Partial<Header> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    archive.entry({ ...FILE, name, ...more }, content, (error) =>
      error ? reject(error) : resolve(),
    )
  })
}

async function addFile(
  archive: Pack,
  header: Pick<Header, 'name' | 'size'>,
  content: Readable,
): Promise<void> {
  await pipeline(content, archive.entry({ ...FILE, ...header }))
}

/** The owner of the files is the user that restores them. */
const FILE = { mode: 0o600, uid: 0, gid: 0 } as const
