import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { readRows } from '../../platform/database/row-copy/row-copy.ts'
import { RowSum } from '../../platform/database/row-copy/row-text.ts'
import type { RowReader } from '../../platform/database/row-copy/rows.ts'
import { repositoryExists } from '../../platform/git/repositories/repositories.ts'
import { foldersOf, repositoryFiles } from '../../platform/git/repositories/repository-files.ts'
import { attachmentKey, DATA_FOLDER_LAYOUT } from '../repositories/attachments/attachment-files.ts'
import type { ReposApp } from '../repositories/ports.ts'
import {
  ABOUT_ENTRY,
  type About,
  type ArchivedTable,
  ArchiveWriter,
  BACKUP_FORMAT,
  COMPLETE_ENTRY,
  type Complete,
  HOST_KEYS_ENTRY,
  type Progress,
  REPOSITORIES_ENTRY,
} from './archive.ts'
import { issueFiles, lfsPlaces, releaseFiles } from './stored-file-rows.ts'

interface BackupOptions {
  /** The version of this program. */
  readonly version: string
  /** Counts what the archive has. */
  readonly progress: Progress
  /** Path of the folder with the host keys of SSH, which may be missing. */
  readonly hostKeysFolder?: string
  /** Whether the archive has a list of the attachments instead of their contents. */
  readonly withoutObjects?: boolean
}

type Source = Pick<ReposApp, 'db' | 'git' | 'objects' | 'clock'>

/** The rows of the backup: their tables, and the rows that have files. */
interface Snapshot extends Pick<Complete, 'tables' | 'lastIds'> {
  readonly repositories: readonly number[]
  readonly assets: readonly number[]
  readonly issueAttachments: readonly number[]
}

/**
 * Writes all data of an instance as one tar archive. Servers may be running.
 *
 * The rows are those at the start of the backup. Refs and objects are read afterwards, so the
 * objects that a row refers to are included. Refs may be newer than the rows. The restored instance
 * therefore reads its branches from Git again when it starts, as after a crash.
 *
 * The rows come first, so that the transaction that reads them ends before the files are read:
 * meanwhile, SQLite cannot shorten its log, and PostgreSQL cannot remove old rows.
 *
 * @param output is ended after the archive.
 */
export async function writeBackup(
  source: Source,
  output: Writable,
  options: BackupOptions,
): Promise<void> {
  const archive = new ArchiveWriter(output)
  try {
    const { tables, lastIds, ...ids } = await addRows(archive, source, options)
    const deletedRepositories = await addRepositories(archive, source, ids.repositories, options)
    const assets = { ids: ids.assets, rowsOf: releaseFiles }
    const ofIssues = { ids: ids.issueAttachments, rowsOf: issueFiles }
    const list = options.withoutObjects ? new ObjectList(archive) : undefined
    const deletedAssets = await addAttachments(archive, source, assets, { ...options, list })
    const deletedIssueAttachments = await addAttachments(archive, source, ofIssues, {
      ...options,
      list,
    })
    await addLfsContents(archive, source, { ...options, list })
    await list?.end()
    await addHostKeys(archive, options)
    const { digest } = archive
    const complete: Complete = {
      tables,
      lastIds,
      deletedRepositories,
      deletedAssets,
      deletedIssueAttachments,
      digest,
    }
    await archive.addContent(COMPLETE_ENTRY, JSON.stringify(complete))
    await archive.end()
  } catch (error) {
    throw await archive.abort(error)
  }
}

/** Adds `about.json` and the rows of one moment. */
function addRows(
  archive: ArchiveWriter,
  { db, clock }: Source,
  { version, progress, withoutObjects }: BackupOptions,
): Promise<Snapshot> {
  const timeMs = clock.now()
  return readRows(db, async (reader) => {
    const about: About = {
      format: BACKUP_FORMAT,
      version,
      schema: reader.schema,
      timeMs,
      ...(withoutObjects && { isWithoutObjects: true }),
    }
    await archive.addContent(ABOUT_ENTRY, JSON.stringify(about))
    const tables = await addTables(archive, reader, progress)
    // A new Branchline may back up the data of an older one.
    const hasAttachments = tables.issue_attachments !== undefined
    return {
      tables,
      lastIds: await reader.lastIds(),
      repositories: await reader.ids('repositories'),
      assets: await reader.ids('release_assets'),
      issueAttachments: hasAttachments ? await reader.ids('issue_attachments') : [],
    }
  })
}

async function addTables(
  archive: ArchiveWriter,
  reader: RowReader,
  progress: Progress,
): Promise<Record<string, ArchivedTable>> {
  const archived: Record<string, ArchivedTable> = {}
  for (const table of await reader.tables()) {
    const sum = new RowSum()
    let number = 0
    for await (const rows of reader.rows(table)) {
      for (const row of rows) sum.add(row)
      const lines = [JSON.stringify(table.columns), ...rows, '']
      await archive.addContent(`rows/${table.name}.${number}.jsonl`, lines.join('\n'))
      number += 1
      progress.rows += rows.length
    }
    archived[table.name] = { columns: table.columns, ...sum.summary }
  }
  return archived
}

/** Adds repositories. Returns those that no longer exist. */
async function addRepositories(
  archive: ArchiveWriter,
  { git }: Source,
  ids: readonly number[],
  { progress }: BackupOptions,
): Promise<number[]> {
  /** The paths in the archive of files that several repositories share. */
  const places = new Map<string, string>()
  const deleted: number[] = []
  for (const id of ids) {
    for (const folder of foldersOf(git, id)) {
      await archive.addContent(`${REPOSITORIES_ENTRY}${folder}`, '', {
        type: 'directory',
        mode: 0o700,
      })
    }
    for await (const { path, bytes, linkKey, content } of repositoryFiles(git, id)) {
      const name = `${REPOSITORIES_ENTRY}${path}`
      const linkname = linkKey === undefined ? undefined : places.get(linkKey)
      if (Buffer.isBuffer(content)) await archive.addContent(name, content)
      else if (linkname !== undefined)
        await archive.addContent(name, '', { type: 'link', linkname })
      else
        await archive.addFile({ name, size: bytes }, content.createReadStream({ autoClose: false }))
      if (linkKey !== undefined) places.set(linkKey, linkname ?? name)
      progress.files += 1
    }
    if (await repositoryExists(git, id)) progress.repositories += 1
    else deleted.push(id)
  }
  return deleted
}

/** A key, rather than a socket or what an interrupted command has left. */
const HOST_KEY_FILE = /^host_[a-z0-9]+(?:\.next)?$/

/** Adds the host keys of SSH, so that clients recognise the restored server. */
async function addHostKeys(
  archive: ArchiveWriter,
  { hostKeysFolder, progress }: BackupOptions,
): Promise<void> {
  if (hostKeysFolder === undefined || !existsSync(hostKeysFolder)) return
  for (const name of (await readdir(hostKeysFolder)).toSorted()) {
    if (!HOST_KEY_FILE.test(name)) continue
    await archive.addContent(
      `${HOST_KEYS_ENTRY}${name}`,
      await readFile(join(hostKeysFolder, name)),
    )
    progress.files += 1
  }
}

/** Adds the contents of Git LFS. Those that the rows of the backup need stay for a week. */
async function addLfsContents(
  archive: ArchiveWriter,
  { db, objects }: Source,
  { progress, list }: BackupOptions & { readonly list: ObjectList | undefined },
): Promise<void> {
  // A content may be in the queue of deletions more than once.
  const added = new Set<string>()
  for await (const { key, store } of lfsPlaces(db)) {
    if (added.has(key)) continue
    if (list) {
      const bytes = await objects.of(store).size(key)
      if (bytes !== undefined) await list.add({ key, bytes, store })
      added.add(key)
      continue
    }
    const file = await objects.of(store).get(key)
    if (!file) continue
    await archive.addFile({ name: key, size: file.bytes }, file.content)
    added.add(key)
    progress.attachments += 1
  }
}

/** Adds the files of some rows. Returns the ids of the rows whose files no longer exist. */
async function addAttachments(
  archive: ArchiveWriter,
  { db, objects }: Source,
  { ids, rowsOf }: { readonly ids: readonly number[]; readonly rowsOf: typeof releaseFiles },
  { progress, list }: BackupOptions & { readonly list: ObjectList | undefined },
): Promise<number[]> {
  const missing = new Set(ids)
  if (missing.size === 0) return []
  // A row is created after its file, so those that are new have no part in the backup.
  for await (const { id, uuid, repository_id, bytes, store } of rowsOf(db)) {
    if (!missing.has(id)) continue
    const key = attachmentKey(repository_id, uuid)
    if (list) {
      await list.add({ key, bytes, store })
      missing.delete(id)
      continue
    }
    // An open file can still be read after its deletion.
    const file = await objects.of(store).get(key)
    if (!file) continue
    const name = DATA_FOLDER_LAYOUT.pathOf(key)
    await archive.addFile({ name, size: file.bytes }, file.content)
    missing.delete(id)
    progress.attachments += 1
  }
  return [...missing]
}

/** The lines of an entry of the list. */
const LINES_PER_ENTRY = 10_000

/** Writes the list of the contents that an archive does not have. */
class ObjectList {
  readonly #archive: ArchiveWriter
  #lines: string[] = []
  #entries = 0

  constructor(archive: ArchiveWriter) {
    this.#archive = archive
  }

  async add(object: { readonly key: string; readonly bytes: number; readonly store: string }) {
    this.#lines.push(`${JSON.stringify(object)}\n`)
    if (this.#lines.length >= LINES_PER_ENTRY) await this.end()
  }

  async end(): Promise<void> {
    if (this.#lines.length === 0) return
    await this.#archive.addContent(`objects/${this.#entries}.jsonl`, this.#lines.join(''))
    this.#entries += 1
    this.#lines = []
  }
}
