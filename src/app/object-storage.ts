import { randomUUID } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { RestoredContents } from '../forge/administration/restore.ts'
import type { Clock } from '../forge/core/core.ts'
import { DATA_FOLDER_LAYOUT } from '../forge/repositories/attachments/attachment-files.ts'
import { uploadJournal } from '../forge/repositories/attachments/multipart-uploads.ts'
import type { Db } from '../platform/database/schema.ts'
import { createFolderStore } from '../platform/objects/folder-store.ts'
import { type ObjectStores, objectStores } from '../platform/objects/object-store.ts'
import { keysOfFile } from '../platform/objects/s3/key-file.ts'
import type { S3Address } from '../platform/objects/s3/s3-address.ts'
import { type CountRequest, S3Client } from '../platform/objects/s3/s3-client.ts'
import { checkUnclaimed, claimBucket, probeBucket } from '../platform/objects/s3/s3-probe.ts'
import { S3Store } from '../platform/objects/s3/s3-store.ts'

/** The object storage of an instance. */
export interface ObjectStorage {
  /** Undefined for the data folder. */
  readonly objectStorage?: S3Address | undefined
  readonly objectStorageKeyFile?: string | undefined
  /** Whether clients transfer files with the storage themselves. */
  readonly objectStorageDirect?: boolean | undefined
}

/** In a data folder that uses an object storage: the id that its bucket has. */
const ID_FILE = 'object-storage'

/** The parts of uploads that are being sent. */
const SPOOL_FOLDER = 'incoming'

/** What the stores need besides the storage. */
interface StorageParts {
  /** Absolute path of the data folder. */
  readonly folder: string
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly count?: CountRequest
  /** The number of this server; 0 if it is alone, null for a command. */
  readonly serverId: () => number | null
}

/** The stores of a process, until they are closed. */
interface OpenStores {
  readonly stores: ObjectStores
  close(): Promise<void>
}

/**
 * Opens the stores of an instance. An object storage is probed, and its bucket belongs to the instance
 * afterwards.
 *
 * @throws Error with a sentence for the operator.
 */
export async function openObjectStores(
  storage: ObjectStorage,
  { folder, db, clock, log, serverId, count = () => {} }: StorageParts,
): Promise<OpenStores> {
  const { objectStorage: address, objectStorageKeyFile: keyFile } = storage
  const disk = createFolderStore(folder, DATA_FOLDER_LAYOUT)
  if (address === undefined) return { stores: objectStores([disk]), close: async () => {} }
  if (keyFile === undefined) throw new Error('--object-storage needs --object-storage-key-file')
  // A signature has the time of day, also where a test moves the clock of the server.
  const client = new S3Client({ address, keys: keysOfFile(keyFile), log, now: Date.now, count })
  try {
    await claimBucket(client, await storageId(folder))
    const { refusesWrongChecksums } = await probeBucket(client)
    const isDirect = storage.objectStorageDirect === true
    if (isDirect && !refusesWrongChecksums) log.warn(NO_DIRECT_UPLOADS)
    const direct = isDirect ? { uploads: refusesWrongChecksums } : undefined
    const journal = uploadJournal(db, clock, serverId)
    const s3 = new S3Store({ client, journal, direct, spoolFolder: join(folder, SPOOL_FOLDER) })
    return { stores: objectStores([disk, s3]), close: () => client.close() }
  } catch (error) {
    await client.close()
    throw error
  }
}

/** The storage of a restore, until it is closed. */
interface OpenRestoredContents {
  /** Undefined for the data folder. */
  readonly contents: RestoredContents | undefined
  close(): Promise<void>
}

/**
 * Opens the object storage for the attachments of a backup. Its bucket belongs to no instance before.
 *
 * @param folder absolute path of the data folder.
 * @throws Error with a sentence for the operator.
 */
export async function openRestoredContents(
  { objectStorage: address, objectStorageKeyFile: keyFile }: ObjectStorage,
  folder: string,
  log: Logger,
): Promise<OpenRestoredContents> {
  if (address === undefined) return { contents: undefined, close: async () => {} }
  if (keyFile === undefined) throw new Error('--object-storage needs --object-storage-key-file')
  const count = () => {}
  const client = new S3Client({ address, keys: keysOfFile(keyFile), log, now: Date.now, count })
  try {
    await checkUnclaimed(client)
    await probeBucket(client)
  } catch (error) {
    await client.close()
    throw error
  }
  // The server finds the parts of a restore that was killed in the list of the storage.
  const journal = { begin: async () => 0, end: async () => {} }
  const spoolFolder = join(`${folder}.restoring`, SPOOL_FOLDER)
  const store = new S3Store({ client, journal, spoolFolder })
  const claim = async (draft: string) => claimBucket(client, await storageId(draft))
  return { contents: { store, claim }, close: () => client.close() }
}

const NO_DIRECT_UPLOADS =
  'the object storage takes contents that differ from their checksum: clients upload to the server'

/** Returns the id of a data folder, and gives a folder without one an id. */
async function storageId(folder: string): Promise<string> {
  const path = join(folder, ID_FILE)
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, randomUUID(), { flush: true, mode: 0o600 })
  try {
    // When several servers do so at once, one of their ids is that of the folder.
    await link(draft, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(draft)
  }
  return readFile(path, 'utf8')
}
