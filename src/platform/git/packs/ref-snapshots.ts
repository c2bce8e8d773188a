import { GitError } from '../core/errors.ts'
import { readPlainHead } from '../refs/plain-repositories.ts'
import { areUnchanged, type RefFiles, readRefFiles } from '../refs/ref-files.ts'
import {
  type Repositories,
  repositoryCacheOf,
  repositoryPath,
} from '../repositories/repositories.ts'
import { readUploadPack } from './pack-services.ts'
import { DELIMITER, FLUSH, packetLine } from './packet-lines.ts'
import { RefList } from './ref-list.ts'

/** The refs of one repository, as the server read them. */
interface Snapshot {
  readonly kind: 'snapshot'
  readonly refs: RefList
  /** Full name of the branch that HEAD points to, in Latin-1. */
  readonly head: string
  readonly files: RefFiles
  readonly bytes: number
}

/** A repository whose requests all go to Git for a while, which is always right. */
interface Unknown {
  readonly kind: 'unknown'
  readonly untilMs: number
  readonly bytes: number
}

/** Refs that are being read. Many clients ask at once after a push, and share one Git process. */
interface Loading {
  readonly kind: 'loading'
  readonly refs: Promise<RefList | undefined>
  readonly bytes: number
}

/** Memory of all snapshots together. */
const MAX_BYTES = 16 * 1024 ** 2

/** Longest list of refs of one repository: some 15,000 refs, which take milliseconds to read. */
const MAX_LIST_BYTES = 1024 ** 2

/**
 * Age from which a change of a file is surely visible in its time. Two changes of a file may have
 * the same time: the kernel advances the clock of the file system only every few milliseconds, and
 * some file systems keep whole seconds, FAT every second one. A file that was older than this when
 * the refs were read has another time after each later change.
 */
const SETTLED_MS = 2_500

/** Time after which a repository that only Git understands is examined again. */
const UNUSUAL_MS = 60_000

const ALL_REFS = Buffer.concat([
  packetLine('command=ls-refs\n'),
  DELIMITER,
  ...['peel\n', 'symrefs\n', 'unborn\n'].map(packetLine),
  FLUSH,
])

const snapshotsOf = (repositories: Repositories) =>
  repositoryCacheOf<Snapshot | Unknown | Loading>(repositories, 'ref snapshots', MAX_BYTES)

/**
 * Returns the refs that `git upload-pack` lists at the time of the call or later.
 *
 * Refs in the cache are compared with the files at each call, so that a change by any program shows
 * at the next one. Refs that are not in the cache are read by one Git process, once their files
 * are older than `SETTLED_MS`.
 *
 * @returns undefined when only Git can tell, or when Git has to be asked at the moment.
 */
export async function currentRefs(
  repositories: Repositories,
  id: number,
): Promise<RefList | undefined> {
  const known = snapshotsOf(repositories).get(id)
  // Its last step compares the refs with the files.
  if (known?.kind === 'loading') return known.refs.catch(() => undefined)
  if (known?.kind === 'unknown' && Date.now() < known.untilMs) return undefined
  if (known?.kind === 'snapshot' && (await isCurrent(repositories, id, known))) return known.refs
  return load(repositories, id)
}

async function isCurrent(
  repositories: Repositories,
  id: number,
  { head, files }: Pick<Snapshot, 'head' | 'files'>,
): Promise<boolean> {
  return readPlainHead(repositoryPath(repositories, id)) === head && (await areUnchanged(files))
}

function load(repositories: Repositories, id: number): Promise<RefList | undefined> {
  const snapshots = snapshotsOf(repositories)
  const refs = Promise.resolve().then(() => loadNow(repositories, id))
  snapshots.set(id, { kind: 'loading', refs, bytes: 64 })
  refs.catch(() => {
    snapshots.set(id, { kind: 'unknown', untilMs: Date.now() + UNUSUAL_MS, bytes: 64 })
  })
  return refs
}

/** Reads the refs, and remembers them in place of the promise of them. */
async function loadNow(repositories: Repositories, id: number): Promise<RefList | undefined> {
  const snapshots = snapshotsOf(repositories)
  const remember = (untilMs: number) => {
    snapshots.set(id, { kind: 'unknown', untilMs, bytes: 64 })
    return undefined
  }
  const path = repositoryPath(repositories, id)
  const startMs = Date.now()
  const head = readPlainHead(path)
  const files = head === undefined ? undefined : await readRefFiles(path)
  if (head === undefined || files === undefined) return remember(startMs + UNUSUAL_MS)
  const settledMs = files.latestChangeMs + SETTLED_MS
  if (settledMs >= startMs) return remember(Math.min(settledMs, startMs + UNUSUAL_MS))
  const answer = await listByGit(repositories, id)
  const refs = answer && RefList.read(answer, head)
  // Git leaves out broken refs, which may become whole by changes that these files do not show.
  if (!refs?.hasAll(files.looseNames)) return remember(startMs + UNUSUAL_MS)
  const snapshot: Snapshot = {
    kind: 'snapshot',
    refs,
    head,
    files,
    bytes: refs.bytes + files.bytes + 64,
  }
  // The files have changed while Git read them. The next request reads them again.
  if (!(await isCurrent(repositories, id, snapshot))) return remember(0)
  snapshots.set(id, snapshot)
  return refs
}

/** Returns the answer of Git to a request for all refs. Undefined when it fails or is too long. */
async function listByGit(repositories: Repositories, id: number): Promise<Buffer | undefined> {
  const request = { advertise: false, protocol: 'version=2', isLarge: false }
  try {
    return await readUploadPack(repositories, id, request, ALL_REFS, MAX_LIST_BYTES)
  } catch (error) {
    // The process that answers the request reports the same.
    if (error instanceof GitError) return undefined
    throw error
  }
}
