import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { link, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { type Extract, extract } from 'tar-stream'
import { migrations } from '../../storage/migrations/index.ts'
import {
  ABOUT_ENTRY,
  type About,
  ATTACHMENTS_ENTRY,
  BACKUP_FORMAT,
  COMPLETE_ENTRY,
  DATABASE_ENTRY,
  REPOSITORIES_ENTRY,
} from './archive.ts'

/** The reason why an archive cannot be restored: a sentence for the operator. */
class RestoreError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RestoreError'
  }
}

/** A file of the archive, which must be read before the next one. */
type Entry = Extract extends AsyncIterable<infer Source> ? Source : never

/** `about.json` and `complete.json` are much smaller. */
const MAX_JSON_BYTES = 64 * 1024

/**
 * Creates a data folder from a backup, completely or not at all.
 *
 * @param folder the absolute path of a folder that is empty or does not exist.
 * @returns the time and the version of the backup.
 * @throws RestoreError
 */
export async function restoreBackup(input: Readable, folder: string): Promise<About> {
  if (!(await isVacant(folder)))
    throw new RestoreError(`${folder} is not empty: name an empty folder`)
  await mkdir(dirname(folder), { recursive: true })
  const draft = `${folder}.${randomUUID()}`
  try {
    await mkdir(draft, { mode: 0o700 })
    const about = await unpack(input, draft)
    // rename(2) replaces an empty folder.
    await rename(draft, folder)
    return about
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
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

async function unpack(input: Readable, folder: string): Promise<About> {
  const archive = extract()
  const read = pipeline(input, archive)
  // A failure also fails the loop below.
  read.catch(() => {})
  let about: About | undefined
  let isComplete = false
  try {
    for await (const entry of archive) {
      if (about === undefined) about = await readAbout(entry)
      else if (entry.header.name === COMPLETE_ENTRY)
        isComplete = (await readJson(entry)) !== undefined
      else await extractFile(entry, folder)
    }
    await read
  } catch (error) {
    if (error instanceof RestoreError) throw error
    throw new RestoreError(
      `the archive cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
  if (about === undefined || !isComplete)
    throw new RestoreError('the archive is truncated: it is not a complete backup')
  return about
}

async function readAbout(entry: Entry): Promise<About> {
  if (entry.header.name !== ABOUT_ENTRY)
    throw new RestoreError('this is not a backup of Branchline')
  const about = (await readJson(entry)) as About
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

async function readJson(entry: Entry): Promise<unknown> {
  if ((entry.header.size ?? 0) > MAX_JSON_BYTES)
    throw new RestoreError('this is not a backup of Branchline')
  return JSON.parse((await buffer(entry)).toString('utf8'))
}

async function extractFile(entry: Entry, folder: string): Promise<void> {
  const { name, type, linkname } = entry.header
  const path = join(folder, pathOf(name))
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  if (type === 'link') {
    entry.resume()
    await link(join(folder, pathOf(linkname ?? '')), path)
  } else if (type === 'directory') {
    entry.resume()
    await mkdir(path, { recursive: true, mode: 0o700 })
  } else if (type === 'file') {
    await pipeline(entry, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
  } else {
    throw new RestoreError(`the archive contains an unexpected entry: ${name}`)
  }
}

/** Returns the path of an entry in the data folder, never outside of it. */
function pathOf(name: string): string {
  if (name === DATABASE_ENTRY) return name
  const isInside = name.split('/').every((component) => component !== '..' && component !== '')
  // tar-stream leaves the slash at the end of a folder out.
  const isKnown = [REPOSITORIES_ENTRY, ATTACHMENTS_ENTRY].some((folder) => name.startsWith(folder))
  if (!isKnown || !isInside) {
    throw new RestoreError(`the archive contains an unexpected entry: ${name}`)
  }
  return name
}
