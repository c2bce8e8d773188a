import { mkdir, open, opendir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type DataLock, lockDataFolder } from '../../platform/database/data-lock.ts'
import { transaction } from '../../platform/database/database.ts'
import { markAllRepositoriesPending } from '../../platform/database/maintenance.ts'
import { loadRows, summarize } from '../../platform/database/row-copy/row-copy.ts'
import { RowsRefusedError } from '../../platform/database/row-copy/row-text.ts'
import type { RowLoader, RowTable } from '../../platform/database/row-copy/rows.ts'
import type { Db, Tx } from '../../platform/database/schema.ts'
import { repositoriesIn, repositoryPath } from '../../platform/git/repositories/repositories.ts'
import type { ObjectStore } from '../../platform/objects/object-store.ts'
import { deleteIssueAttachment, setStoreOfAttachments } from '../conversations/attachments.rows.ts'
import { fillSearch } from '../migrations/0060-search.ts'
import { migrate, migrations } from '../migrations/index.ts'
import {
  attachmentPrefix,
  DATA_FOLDER_LAYOUT,
} from '../repositories/attachments/attachment-files.ts'
import { clearMultipartUploads } from '../repositories/attachments/multipart-uploads.rows.ts'
import type { ContentStore } from '../repositories/attachments/schema.ts'
import { clearStorageDeletions } from '../repositories/attachments/storage-deletions.rows.ts'
import { setStoreOfLfsContents } from '../repositories/lfs/lfs-objects.rows.ts'
import { LFS_KEYS } from '../repositories/lfs/lfs-objects.ts'
import { deleteRepository } from '../repositories/lifecycle/repositories.rows.ts'
import { checkAllRepositories } from '../repositories/maintenance/maintenance.rows.ts'
import {
  deleteReleaseAsset,
  setStoreOfAssets,
} from '../repositories/releases/release-assets.rows.ts'
import {
  ABOUT_ENTRY,
  type About,
  type ArchiveEntry,
  ATTACHMENTS_ENTRY,
  archiveEntries,
  BACKUP_FORMAT,
  COMPLETE_ENTRY,
  type Complete,
  completeOf,
  HOST_KEYS_ENTRY,
  jsonOf,
  MAX_JSON_BYTES,
  makeEntry,
  OBJECTS_ENTRY,
  type Progress,
  REPOSITORIES_ENTRY,
  RestoreError,
  ROWS_ENTRY,
} from './archive.ts'

/** Where a backup is restored. */
export interface RestoreTarget {
  /** Absolute path of a folder that is empty or does not exist. */
  readonly folder: string
  /**
   * Opens the database, which is empty or has an interrupted restore.
   *
   * @param draft the folder under its name during the restore.
   */
  open(draft: string): Promise<RestoredDatabase>
  /** Where the attachments go instead of the folder. */
  readonly contents?: RestoredContents | undefined
}

/** A store that belongs to no instance. */
export interface RestoredContents {
  readonly store: ObjectStore
  /** Called when the rows are complete. From then on, the store belongs to the instance. */
  claim(draft: string): Promise<void>
}

/** The database of a restored instance. The steps have this order. */
interface RestoredDatabase {
  readonly db: Db
  /** Called when the tables exist. From then on, no server accepts the database. */
  begin(): Promise<void>
  /** Called when the rows are complete, before the folder gets its name. */
  seal(): Promise<void>
  /** Called when the folder has its name. From then on, servers accept the database. */
  complete(): Promise<void>
}

/**
 * Creates an instance from a backup, completely or not at all. After an interruption, the same call
 * begins anew.
 *
 * @param progress counts what was restored.
 * @throws RestoreError, RowsRefusedError; DataFolderBusyError while another process restores there.
 */
export async function restoreBackup(
  input: Readable,
  target: RestoreTarget,
  progress: Progress,
): Promise<About> {
  const { folder, contents } = target
  if (!(await isVacant(folder)))
    throw new RestoreError(`${folder} is not empty: name an empty folder`)
  await mkdir(dirname(folder), { recursive: true })
  const draft = `${folder}.restoring`
  const lock = await claimDraft(draft)
  try {
    const entries = archiveEntries(input)
    const about = await readAbout(entries)
    const database = await target.open(draft)
    await migrate(database.db, about.schema)
    await database.begin()
    const complete = await loadRows(database.db, (loader) =>
      restoreEntries(entries, loader, { draft, progress, store: contents?.store }),
    )
    await migrate(database.db)
    await transaction(database.db, (tx) => adjust(tx, complete, contents?.store.name ?? 'disk'))
    // An archive has the texts, and not the index of their words.
    await transaction(database.db, fillSearch)
    await removeFiles(draft, complete, contents?.store)
    await contents?.claim(draft)
    await database.seal()
    await syncFolders(draft)
    // rename(2) replaces an empty folder.
    await rename(draft, folder)
    await syncFolder(dirname(folder))
    await database.complete()
    return about
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  } finally {
    lock.release()
  }
}

async function isVacant(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true
    throw error
  }
}

/** Takes the draft of a folder for this process, without what an interrupted restore left there. */
async function claimDraft(draft: string): Promise<DataLock> {
  await mkdir(draft, { recursive: true, mode: 0o700 })
  const lock = lockDataFolder(draft)
  for (const name of await readdir(draft))
    if (!name.startsWith('lock')) await rm(join(draft, name), { recursive: true })
  return lock
}

async function readAbout(entries: AsyncGenerator<ArchiveEntry>): Promise<About> {
  const { value: entry } = await entries.next()
  if (!entry) throw new RestoreError(TRUNCATED)
  if (entry.head.name !== ABOUT_ENTRY) throw new RestoreError('this is not a backup of Branchline')
  const about = jsonOf(await entry.content(MAX_JSON_BYTES)) as About
  if (about.format !== BACKUP_FORMAT) {
    throw new RestoreError(
      `the backup has format ${about.format}, but only format ${BACKUP_FORMAT} is supported`,
    )
  }
  if (about.schema > migrations.length) {
    throw new RestoreError(
      `the backup was made by the newer Branchline ${about.version}: restore it with that version`,
    )
  }
  return about
}

const TRUNCATED = 'the archive is truncated: it is not a complete backup'

/** Where the entries go. */
interface RestoredPlace {
  readonly draft: string
  readonly progress: Progress
  /** Undefined for attachments in the folder. */
  readonly store: ObjectStore | undefined
}

/** Restores the entries after the first one, and compares the rows with the archive. */
async function restoreEntries(
  entries: AsyncGenerator<ArchiveEntry>,
  loader: RowLoader,
  place: RestoredPlace,
): Promise<Complete> {
  const { progress } = place
  const rows = await RestoredRows.of(loader)
  let complete: Complete | undefined
  for await (const entry of entries) {
    const { name } = entry.head
    if (complete) throw new RestoreError(`the archive contains an unexpected entry: ${name}`)
    const table = ROWS_ENTRY.exec(name)?.groups?.table
    if (name === COMPLETE_ENTRY) complete = await readComplete(entry)
    else if (table === undefined) await restoreFile(entry, place)
    else progress.rows += await rows.insert(entry, table)
  }
  if (!complete) throw new RestoreError(TRUNCATED)
  await rows.check(complete, progress)
  await loader.continueAfter(complete.lastIds)
  progress.repositories -= complete.deletedRepositories.length
  return complete
}

async function readComplete(entry: ArchiveEntry): Promise<Complete> {
  const { digestBefore } = entry
  const complete = completeOf(jsonOf(await entry.content(MAX_JSON_BYTES)))
  if (complete.digest === digestBefore) return complete
  throw new RestoreError('the archive is damaged: its contents differ from its digest')
}

/**
 * Deletes the rows of what was deleted during the backup. Lets servers read all refs from Git, where
 * they may be newer than the rows.
 */
async function adjust(
  tx: Tx,
  { deletedRepositories, deletedAssets, deletedIssueAttachments = [] }: Complete,
  store: ContentStore,
): Promise<void> {
  for (const id of deletedRepositories) await deleteRepository(tx, id)
  for (const id of deletedAssets) await deleteReleaseAsset(tx, id)
  for (const id of deletedIssueAttachments) await deleteIssueAttachment(tx, id)
  await markAllRepositoriesPending(tx)
  // An archive has the contents of rows, from either store, and no others.
  await clearStorageDeletions(tx)
  await clearMultipartUploads(tx)
  await setStoreOfAssets(tx, store)
  await setStoreOfAttachments(tx, store)
  await setStoreOfLfsContents(tx, store)
  // A backup has no files that maintenance derives from others.
  await checkAllRepositories(tx)
}

/** Removes the files of deleted repositories, which a backup may have in part. */
async function removeFiles(
  draft: string,
  { deletedRepositories }: Complete,
  store: ObjectStore | undefined,
): Promise<void> {
  const repositories = repositoriesIn(join(draft, REPOSITORIES_ENTRY))
  for (const id of deletedRepositories) {
    await rm(repositoryPath(repositories, id), { recursive: true, force: true })
    const attachments = join(draft, DATA_FOLDER_LAYOUT.pathOf(attachmentPrefix(id)))
    await rm(attachments, { recursive: true, force: true })
    await store?.deleteAll(attachmentPrefix(id))
  }
}

/** Writes the names in a folder, and in all folders below it, to the disk. */
async function syncFolders(folder: string): Promise<void> {
  for await (const entry of await opendir(folder))
    if (entry.isDirectory()) await syncFolders(join(folder, entry.name))
  await syncFolder(folder)
}

/** https://man7.org/linux/man-pages/man2/fsync.2.html: a file and its name are written apart. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}

/** A group of rows has about a mebibyte, but a single row can be larger. */
const MAX_ROWS_BYTES = 512 * 1024 * 1024

/** The rows of an instance that is restored. */
class RestoredRows {
  readonly #loader: RowLoader
  readonly #tables: ReadonlyMap<string, RowTable>

  private constructor(loader: RowLoader, tables: readonly RowTable[]) {
    this.#loader = loader
    this.#tables = new Map(tables.map((table) => [table.name, table]))
  }

  static async of(loader: RowLoader): Promise<RestoredRows> {
    return new RestoredRows(loader, await loader.tables())
  }

  /** Inserts the rows of an entry of the archive, and returns their number. */
  async insert(entry: ArchiveEntry, name: string): Promise<number> {
    const content = await entry.content(MAX_ROWS_BYTES)
    const [head = '', ...rows] = content.toString('utf8').split('\n')
    // The last line ends in a newline.
    if (rows.pop() !== '') throw new RestoreError(`the rows of ${name} are truncated`)
    await this.#loader.insert(this.#table(name, jsonOf(Buffer.from(head))), rows)
    return rows.length
  }

  /**
   * Reads all rows back from the database, and compares them with those that the backup read.
   *
   * @throws RowsRefusedError
   */
  async check({ tables }: Complete, progress: Progress): Promise<void> {
    for (const name of new Set([...this.#tables.keys(), ...Object.keys(tables)])) {
      const archived = tables[name]
      const found = await summarize(this.#loader, this.#table(name, archived?.columns), (count) => {
        progress.checkedRows += count
      })
      if (archived?.rows === found.rows && archived.sum === found.sum) continue
      throw new RowsRefusedError(
        `the ${found.rows} restored rows of ${name} differ from the ${archived?.rows} rows of the backup`,
      )
    }
  }

  /** Returns a table with its columns in the order of the archive. */
  #table(name: string, columns: unknown): RowTable {
    const known = this.#tables.get(name)
    if (known && Array.isArray(columns) && sorted(columns) === sorted(known.columns))
      return { name, columns }
    throw new RestoreError(`the archive has other columns of ${name} than the database`)
  }
}

function sorted(columns: readonly unknown[]): string {
  return JSON.stringify([...columns].sort())
}

/** Creates a file, a folder or a hard link of a repository, an attachment, an LFS object, or a host key. */
async function restoreFile(
  entry: ArchiveEntry,
  { draft, progress, store }: RestoredPlace,
): Promise<void> {
  const { name, type, linkname } = entry.head
  // The list of an archive without attachments is for the operator.
  if (OBJECTS_ENTRY.test(name)) return entry.readBy(drain)
  const path = join(draft, pathOf(name))
  const key = store && type === 'file' ? DATA_FOLDER_LAYOUT.keyOf(name) : undefined
  if (type === 'link' || type === 'directory') {
    const target = type === 'link' ? join(draft, pathOf(linkname ?? '')) : ''
    await entry.skip()
    await makeEntry(type, path, target)
  } else if (type === 'file' && store && key !== undefined) {
    await entry.readBy((content) => store.put(key, content, entry.bytes))
  } else if (type === 'file') {
    await entry.writeTo(path)
  } else {
    throw unexpected(name)
  }
  if (name.startsWith(ATTACHMENTS_ENTRY) || name.startsWith(LFS_KEYS)) progress.attachments += 1
  else if (type !== 'directory') progress.files += 1
  // A backup begins each repository with this folder.
  else if (name.endsWith('.git/objects')) progress.repositories += 1
}

async function drain(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const chunk of content) void chunk
}

/** Returns the path of an entry in the data folder, never outside of it. */
function pathOf(name: string): string {
  const isInside = name.split('/').every((component) => component !== '..' && component !== '')
  // tar-stream leaves the slash at the end of a folder out.
  const isKnown = [REPOSITORIES_ENTRY, ATTACHMENTS_ENTRY, LFS_KEYS, HOST_KEYS_ENTRY].some(
    (folder) => name.startsWith(folder),
  )
  if (!isKnown || !isInside) throw unexpected(name)
  return name
}

function unexpected(name: string): RestoreError {
  return new RestoreError(`the archive contains an unexpected entry: ${name}`)
}
