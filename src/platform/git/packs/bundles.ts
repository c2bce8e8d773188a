import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { feed } from '../../concurrency/feed.ts'
import { strictFaults } from '../core/accepted-faults.ts'
import { IMPORT_REFS, type Ref } from '../core/ref-names.ts'
import { findLargeObject } from '../objects/large-texts.ts'
import { runGit, spawnGit } from '../processes/child-process.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { SHARED_REFS } from './forks.ts'

/** Why a bundle cannot be read. The message is for users. */
export class BundleError extends Error {
  override readonly name = 'BundleError'
}

/** A bundle has a line for each ref. */
const MAX_HEADER_BYTES = 32 * 1024 * 1024

const READ_BYTES = 1024 * 1024

/** As for a fetch. */
const TIMEOUT_MS = 2 * 60 * 60_000

/** Enough to create hundreds of thousands of refs. */
const UPDATE_TIMEOUT_MS = 10 * 60_000

const SIGNATURE = '# v2 git bundle\n'

/** Refs of pull requests, which are not for the repository itself. */
const PULL_REFS = 'refs/pull/'

/** `git fetch` checks no objects of bundles before Git 2.46. The checks are those of a push. */
const INDEX_PACK = [
  ...['core.protectHFS=true', 'core.protectNTFS=true', 'core.fsync=objects'].flatMap((entry) => [
    '-c',
    entry,
  ]),
  'index-pack',
  '--stdin',
  `--strict=${strictFaults()}`,
]

/**
 * Reads a bundle of a whole history (gitformat-bundle(5), version 2) into a new draft: the branches, the
 * tags, and the refs below `refs/pull/`, which become refs below `IMPORT_REFS`. All objects are checked,
 * and that none is missing.
 *
 * @param file path of the bundle.
 * @param signal ends the Git processes.
 * @throws BundleError
 */
export async function readBundle(
  repositories: Repositories,
  draft: string,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const { refs, packStart } = await readHeader(file)
  if (refs.length === 0) return
  await storePack(repositories, draft, { file, start: packStart }, signal)
  const large = await findLargeObject(repositories.processes, draft, `${draft}/objects`)
  if (large) throw new BundleError(`the object ${large.id} is too large`)
  const lines = refs.flatMap(({ name, id }) => {
    const own = name.startsWith(PULL_REFS) ? IMPORT_REFS + name.slice(PULL_REFS.length) : name
    return isRead(name) ? `create ${own}\0${id}\0` : []
  })
  // The refs are written again later, all at once, and flushed then.
  const { code } = await runGit(
    ['-c', 'core.fsync=objects', 'update-ref', '--stdin', '-z'],
    { processes: repositories.processes, repository: draft, timeoutMs: UPDATE_TIMEOUT_MS },
    lines.join(''),
  )
  if (code !== 0) throw new BundleError('the refs of the bundle cannot be created')
}

function isRead(name: string): boolean {
  return [...SHARED_REFS, PULL_REFS].some((prefix) => name.startsWith(prefix))
}

/** Where a pack is in a file. */
interface PackPlace {
  readonly file: string
  readonly start: number
}

/** @throws BundleError */
async function storePack(
  { processes }: Repositories,
  draft: string,
  { file, start }: PackPlace,
  signal: AbortSignal,
): Promise<void> {
  const git = spawnGit(INDEX_PACK, {
    processes,
    repository: draft,
    timeoutMs: TIMEOUT_MS,
    maxMemoryBytes: processes.maxMemoryBytes,
    priority: 'transfer',
  })
  const stop = () => git.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  git.stdout.resume()
  try {
    await feed(createReadStream(file, { start }), git.stdin)
    const { code, stderr } = await git.exited
    signal.throwIfAborted()
    if (code === 0) return
    const fault = /object [0-9a-f]{40}: ([A-Za-z]+):/.exec(stderr)?.[1]
    throw new BundleError(
      fault ? `the bundle has a malformed object (${fault})` : 'the bundle is damaged',
    )
  } finally {
    signal.removeEventListener('abort', stop)
    git.stop()
  }
}

/** @throws BundleError */
async function readHeader(file: string): Promise<{ refs: Ref[]; packStart: number }> {
  const opened = await open(file)
  let header: Buffer = Buffer.alloc(0)
  try {
    const stream = opened.createReadStream({ autoClose: false, highWaterMark: READ_BYTES })
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      // The end may be across two chunks.
      const searched = Math.max(header.length - 1, 0)
      header = Buffer.concat([header, chunk])
      const end = header.indexOf('\n\n', searched)
      if (end >= 0) return { refs: refsIn(header.toString('utf8', 0, end)), packStart: end + 2 }
      if (header.length > MAX_HEADER_BYTES) break
    }
  } finally {
    await opened.close()
  }
  throw new BundleError('the file is no bundle')
}

function refsIn(header: string): Ref[] {
  if (!`${header}\n`.startsWith(SIGNATURE)) throw new BundleError('the file is no bundle')
  const lines = header.slice(SIGNATURE.length).split('\n')
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const { id, name } = /^(?<id>[0-9a-f]{40}) (?<name>[^\0]+)$/.exec(line)?.groups ?? {}
      // A line that begins with a dash names a commit that the reader must have.
      if (!id || !name) throw new BundleError('the bundle is not complete in itself')
      return { id, name }
    })
}
