import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract } from 'tar-stream'
import { isRefName } from '../../platform/git/refs/refs.ts'
import { DomainError } from '../core/errors.ts'
import type { ReposApp } from '../repositories/ports.ts'
import {
  ARCHIVE_FORMAT,
  ARCHIVE_VERSION,
  ASSETS,
  ATTACHMENTS,
  BUNDLE,
  LISTS,
  type ListName,
  listEntry,
  MANIFEST,
} from './archive-format.ts'
import { linesOf } from './archive-lines.ts'
import { SourceObject, type SourceValue } from './sources/source-values.ts'

/** An archive whose entries are files of a folder, with the names that they have in the archive. */
export interface UnpackedArchive {
  readonly folder: string
  readonly manifest: Manifest
  /** The number of lines of each list. */
  readonly counts: Readonly<Record<ListName, number>>
}

/** What an archive says of the repository. */
export interface Manifest {
  readonly description: string
  readonly website: string
  readonly isPrivate: boolean
  /** Undefined if it is not valid. */
  readonly defaultBranch: string | undefined
}

const MAX_MANIFEST_BYTES = 64 * 1024

/** The order of their numbers is in memory while the archive is checked. */
const MAX_CONVERSATIONS = 1_000_000

/** Each file of a release or a text costs an inode for as long as the archive is imported. */
const MAX_FILES = 50_000

const FILE = /^(?:assets|attachments)\/[1-9]\d{0,8}$/

const PARTS: ReadonlySet<string> = new Set([MANIFEST, BUNDLE, ...LISTS.map(listEntry)])

/** The rules of an upload as a form, whose file has a limit of its own. */
export function archiveRules({ settings }: ReposApp) {
  return {
    maxBytes: Number.POSITIVE_INFINITY,
    allowsEmpty: false,
    tooLarge: () =>
      new DomainError('ARCHIVE_OVER_LIMIT', { max_bytes: String(settings.maxPushBytes) }),
    noFile: () => invalidArchive('the request has no archive'),
  }
}

/**
 * Writes the entries of an archive into a folder, and checks what does not need a repository.
 *
 * @param folder an empty folder.
 * @throws INVALID_PROJECT_ARCHIVE, ARCHIVE_OVER_LIMIT, ASSET_TOO_LARGE, DISK_FULL; what the content
 *   throws.
 */
export async function unpackArchive(
  app: ReposApp,
  folder: string,
  content: AsyncIterable<Uint8Array>,
): Promise<UnpackedArchive> {
  for (const name of [ASSETS, ATTACHMENTS]) await mkdir(join(folder, name), { mode: 0o700 })
  const names = await unpack(app, folder, content)
  for (const name of PARTS) if (!names.has(name)) throw invalidArchive(`it has no ${name}`)
  const manifest = await readManifest(join(folder, MANIFEST))
  return { folder, manifest, counts: await checkLists(folder) }
}

/** @returns the names of the entries. */
async function unpack(
  app: ReposApp,
  folder: string,
  content: AsyncIterable<Uint8Array>,
): Promise<Set<string>> {
  const names = new Set<string>()
  const entries = extract()
  let failure: unknown
  const source = async function* () {
    try {
      yield* content
    } catch (error) {
      failure = error
      throw error
    }
  }
  // A failure of the content ends the loop below.
  const read = pipeline(Readable.from(source()), entries).catch(() => {})
  let left = app.settings.maxPushBytes
  try {
    for await (const entry of entries) {
      const { type, size = 0 } = entry.header
      const name = entry.header.name.replace(/^\.\//, '')
      if (type === 'directory') {
        entry.resume()
        continue
      }
      checkEntry(name, type, names)
      if (name === MANIFEST && size > MAX_MANIFEST_BYTES)
        throw invalidArchive(`${MANIFEST} is too large`)
      if (FILE.test(name)) checkFile(app, size)
      else left -= size
      if (left < 0)
        throw new DomainError('ARCHIVE_OVER_LIMIT', {
          max_bytes: String(app.settings.maxPushBytes),
        })
      if (!(await app.disk.hasRoom(size))) throw new DomainError('DISK_FULL')
      // The end of the archive may have ended the entry. Node would wait for its end for ever, since
      // the entry is no stream of Node.
      if (entry.destroyed) throw invalidArchive(CUT)
      const file = createWriteStream(join(folder, name), { flags: 'wx', mode: 0o600 })
      await pipeline(chunksOf(entry as AsyncIterable<Buffer>), file)
    }
  } catch (error) {
    if (error instanceof DomainError) throw error
    if (failure !== undefined) throw failure
    const isOfSystem = error instanceof Error && 'syscall' in error
    throw isOfSystem ? error : invalidArchive(CUT)
  } finally {
    entries.destroy()
    await read
  }
  return names
}

const CUT = 'it is no tar archive, or is cut'

async function* chunksOf(entry: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield* entry
}

function checkEntry(name: string, type: string | null | undefined, names: Set<string>): void {
  const isKnown = PARTS.has(name) || FILE.test(name)
  if (!isKnown || (type !== 'file' && type !== null && type !== undefined))
    throw invalidArchive(`the entry ${name.slice(0, 100)} is not part of a project`)
  if (names.has(name)) throw invalidArchive(`it has ${name} twice`)
  names.add(name)
  if (names.size > MAX_FILES + PARTS.size)
    throw invalidArchive(`it has more than ${MAX_FILES} files`)
}

/** An attachment that is larger than attachments may be is left out later. */
function checkFile({ settings }: ReposApp, size: number): void {
  const maxBytes = Math.max(settings.maxAssetBytes, settings.maxAttachmentBytes)
  if (size > maxBytes) throw new DomainError('ASSET_TOO_LARGE', { max_bytes: String(maxBytes) })
}

async function readManifest(file: string): Promise<Manifest> {
  const manifest = SourceObject.of(parse(await readFile(file, 'utf8')))
  if (manifest.text('format') !== ARCHIVE_FORMAT)
    throw invalidArchive(`${MANIFEST} does not describe a project`)
  const version = manifest.number('version')
  if (version === 0 || version > ARCHIVE_VERSION)
    throw invalidArchive(`version ${version} of the format is not known`)
  const repository = manifest.part('repository')
  const branch = repository.text('default_branch')
  return {
    description: repository.text('description'),
    website: repository.text('website'),
    // Without the property, nobody else sees the project.
    isPrivate: !repository.has('private') || repository.flag('private'),
    defaultBranch: isRefName(branch) ? branch : undefined,
  }
}

function parse(text: string): SourceValue | undefined {
  try {
    return JSON.parse(text) as SourceValue
  } catch {
    return undefined
  }
}

/**
 * Checks that the lists have objects, and that comments and reviews have the order of what they are
 * about: an import reads them side by side.
 */
async function checkLists(folder: string): Promise<Record<ListName, number>> {
  const counts = { ...NO_LINES }
  const order = new Map<number, number>()
  for (const list of ['issues', 'pull_requests'] as const)
    counts[list] = await eachLine(folder, list, (line, fail) => {
      const number = line.number('number')
      if (number === 0 || order.has(number)) throw fail('the number is missing, or used twice')
      if (order.size >= MAX_CONVERSATIONS)
        throw fail(`there are more than ${MAX_CONVERSATIONS} issues and pull requests`)
      order.set(number, order.size)
    })
  for (const list of ['comments', 'reviews'] as const) {
    let last = 0
    counts[list] = await eachLine(folder, list, (line, fail) => {
      const place = order.get(line.number('number'))
      if (place === undefined || place < last)
        throw fail('the number is of nothing in the archive, or not in the order of the numbers')
      last = place
    })
  }
  for (const list of ['labels', 'milestones', 'releases'] as const)
    counts[list] = await eachLine(folder, list, () => {})
  return counts
}

const NO_LINES: Readonly<Record<ListName, number>> = {
  labels: 0,
  milestones: 0,
  issues: 0,
  pull_requests: 0,
  reviews: 0,
  comments: 0,
  releases: 0,
}

/** @returns the number of lines. */
async function eachLine(
  folder: string,
  list: ListName,
  check: (line: SourceObject, fail: (cause: string) => DomainError) => void,
): Promise<number> {
  const name = listEntry(list)
  let count = 0
  const fail = (cause: string) => invalidArchive(`line ${count} of ${name}: ${cause}`)
  for await (const text of linesOf(createReadStream(join(folder, name)))) {
    count += 1
    if (text === undefined) throw fail('the line is too long')
    const value = parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw fail('the line is no JSON object')
    check(SourceObject.of(value), fail)
  }
  return count
}

/** Returns the error of an archive that is no project. */
export function invalidArchive(cause: string): DomainError {
  return new DomainError('INVALID_PROJECT_ARCHIVE', { cause })
}
