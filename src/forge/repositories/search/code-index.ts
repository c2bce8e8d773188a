import { setImmediate } from 'node:timers/promises'
import { TrigramReader } from '../../../platform/database/code-trigrams.ts'
import { transaction } from '../../../platform/database/database.ts'
import type { Db } from '../../../platform/database/schema.ts'
import { parseLfsPointer } from '../../../platform/git/objects/lfs-pointers.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import { listFiles, type TreeEntry } from '../../../platform/git/objects/trees.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import { findCommitId } from '../content/git-reading.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import * as rows from './code-index.rows.ts'
import type { CodeFile, CodeIndex } from './schema.ts'

/**
 * The index of the files of the default branches, as docs/decisions/code-search.md describes it. A look
 * compares the rows of a repository with its files, so that a look which was cut short is repeated
 * from where it stopped.
 */

/** Larger files are generated ones. */
const MAX_FILE_BYTES = 256 * 1024

/** Limits of one repository. */
const MAX_FILES = 20_000
const MAX_REPOSITORY_BYTES = 64 * 1024 ** 2

/** Files with more are data, such as numbers or other writing systems without spaces. */
const MAX_TRIGRAMS = 10_000

/**
 * Trigrams of one transaction. SQLite takes about 3 us for each, in which the server does nothing else,
 * and others that write wait.
 */
const BATCH_TRIGRAMS = MAX_TRIGRAMS
const BATCH_FILES = 100

/** Units of a text between two turns of the event loop, about a millisecond. */
const SLICE_UNITS = 8 * 1024

/** Git tells text from binary files by these first bytes (buffer_is_binary in xdiff-interface.c). */
const SNIFFED_BYTES = 8000

/** The pause after a failure. A damaged repository fails each time. */
const RETRY_MS = 5 * 60_000

/** The pause before the next look at a repository that has changed during a look. */
const AGAIN_MS = 10_000

const FAILURE = 'the index of the code of a repository failed'

/** Starts the worker that follows the default branches. */
export async function startCodeIndex(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, rows.wakeMissingIndexes)
  return startDueWork(app, codeIndexWork(app))
}

function codeIndexWork(app: ReposApp): DueWork {
  const indexed = new IndexedBytes(app.db)
  return {
    failure: FAILURE,
    maxRunning: 1,
    maxRunningPerOwner: 1,
    // A moved branch is such an event.
    signal: app.signals.repositoryEvents,
    ...rows.codeIndexQueue(app.db),
    run: (id, until) => look(app, id, indexed, until),
  }
}

/**
 * The bytes of the indexes of all repositories. The rows are the source of truth. They are added up
 * when something may not fit, and otherwise once, since only this worker changes them: a sum of all
 * rows for each look would make the looks at N repositories cost N * N rows.
 */
class IndexedBytes {
  readonly #db: Db
  #bytes: number | undefined

  constructor(db: Db) {
    this.#db = db
  }

  /**
   * Returns the bytes of all rows.
   *
   * @param added bytes that are to be added.
   * @param max the limit of the sum.
   */
  async read(added: number, max: number): Promise<number> {
    if (this.#bytes === undefined || this.#bytes + added > max)
      this.#bytes = await rows.bytesOfAll(this.#db)
    return this.#bytes
  }

  /** Counts the change of one row. */
  add(bytes: number): void {
    if (this.#bytes !== undefined) this.#bytes += bytes
  }

  /** Lets the rows be added up again, after a change that may have failed. */
  forget(): void {
    this.#bytes = undefined
  }
}

async function look(
  app: ReposApp,
  id: number,
  indexed: IndexedBytes,
  until: AbortSignal,
): Promise<void> {
  const index = await rows.findCodeIndex(app.db, id)
  if (!index) return
  try {
    const repository = await findRepositoryById(app.db, id)
    if (repository) await update(app, { repository, index, indexed, until })
    else await remove(app, id, until)
    if (!repository) indexed.add(-index.bytes)
  } catch (err) {
    indexed.forget()
    if (until.aborted) return
    app.log.warn({ err, repository: id }, FAILURE)
    await transaction(app.db, (tx) => rows.restCodeIndex(tx, id, app.clock.now() + RETRY_MS))
  }
}

/** Deletes the index of a repository that exists no more. */
async function remove(app: ReposApp, id: number, until: AbortSignal): Promise<void> {
  await deleteFiles(app, await rows.listCodeFiles(app.db, id), until)
  await transaction(app.db, (tx) => rows.deleteCodeIndex(tx, id))
}

async function deleteFiles(
  app: ReposApp,
  files: readonly CodeFile[],
  until: AbortSignal,
): Promise<void> {
  for (let start = 0; start < files.length; start += BATCH_FILES) {
    const ids = files.slice(start, start + BATCH_FILES).map((file) => file.id)
    await transaction(app.db, (tx) => rows.deleteCodeFiles(tx, ids))
    until.throwIfAborted()
    await setImmediate()
  }
}

/** What an index lacks, and what it has no more. */
interface Difference {
  readonly stale: readonly CodeFile[]
  readonly missing: readonly TreeEntry[]
  readonly kept: readonly CodeFile[]
  readonly isCut: boolean
}

interface Look {
  readonly repository: Repository
  readonly index: CodeIndex
  readonly indexed: IndexedBytes
  readonly until: AbortSignal
}

async function update(app: ReposApp, { repository, index, indexed, until }: Look): Promise<void> {
  // A search finds the files of a fork in its parent.
  const isLeftOut = repository.parent_id !== null || app.settings.codeIndexBytes === 0
  const commitId = isLeftOut ? undefined : await findCommitId(app, repository, '')
  const { repository_id, wake_count } = index
  const finish = async (found: Pick<CodeIndex, 'commit_id' | 'bytes' | 'is_partial'>) => {
    await transaction(app.db, (tx) =>
      rows.finishCodeIndex(tx, { repository_id, wake_count, ...found }, app.clock.now() + AGAIN_MS),
    )
    indexed.add(found.bytes - index.bytes)
  }
  if (commitId !== undefined && commitId === index.commit_id && index.is_partial === 0)
    return finish({ commit_id: commitId, bytes: index.bytes, is_partial: 0 })
  const difference = await compare(app, repository, commitId)
  await deleteFiles(app, difference.stale, until)
  const keptBytes = difference.kept.reduce((sum, { bytes }) => sum + bytes, 0)
  const { codeIndexBytes } = app.settings
  const missingBytes = difference.missing.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)
  const others = (await indexed.read(missingBytes, codeIndexBytes)) - index.bytes
  const maxBytes = Math.min(MAX_REPOSITORY_BYTES, codeIndexBytes - others) - keptBytes
  const added = await addFiles(app, repository, difference.missing, { maxBytes, until })
  const isPartial = difference.isCut || added.isCut
  await finish({
    commit_id: commitId ?? null,
    bytes: keptBytes + added.bytes,
    is_partial: isPartial ? 1 : 0,
  })
}

/** Compares the rows of a repository with the files of a commit; undefined for no files. */
async function compare(
  app: ReposApp,
  { id }: Repository,
  commitId: string | undefined,
): Promise<Difference> {
  const stale = new Map((await rows.listCodeFiles(app.db, id)).map((file) => [file.path, file]))
  const missing: TreeEntry[] = []
  const kept: CodeFile[] = []
  let isCut = false
  for await (const entry of commitId === undefined ? [] : listFiles(app.git, id, commitId)) {
    if (entry.kind !== 'file' || (entry.bytes ?? 0) > MAX_FILE_BYTES) continue
    isCut = kept.length + missing.length >= MAX_FILES
    if (isCut) break
    const file = stale.get(entry.path)
    if (file?.blob_id === entry.id) {
      kept.push(file)
      stale.delete(entry.path)
    } else missing.push(entry)
  }
  return { stale: [...stale.values()], missing, kept, isCut }
}

/** A file that is read and not stored. */
interface ReadFile {
  readonly file: Omit<CodeFile, 'id'>
  readonly trigrams: readonly string[]
}

async function addFiles(
  app: ReposApp,
  { id }: Repository,
  missing: readonly TreeEntry[],
  { maxBytes, until }: { maxBytes: number; until: AbortSignal },
): Promise<{ bytes: number; isCut: boolean }> {
  let bytes = 0
  let isCut = false
  let batch: ReadFile[] = []
  const store = async () => {
    if (batch.length === 0) return
    const files = batch
    batch = []
    await transaction(app.db, async (tx) => {
      for (const { file, trigrams } of files) await rows.insertCodeFile(tx, file, trigrams)
    })
    until.throwIfAborted()
    await setImmediate()
  }
  for (const entry of missing) {
    const read = await readFile(app, id, entry)
    isCut = bytes + read.file.bytes > maxBytes
    if (isCut) break
    bytes += read.file.bytes
    const trigrams = batch.reduce((sum, { trigrams }) => sum + trigrams.length, 0)
    if (trigrams + read.trigrams.length > BATCH_TRIGRAMS || batch.length === BATCH_FILES)
      await store()
    batch.push(read)
  }
  await store()
  return { bytes, isCut }
}

/** Reads a file. One without a text has a row too, so that it is not read again. */
async function readFile(app: ReposApp, id: number, entry: TreeEntry): Promise<ReadFile> {
  const blob = await readObject(app.git, id, entry.id, MAX_FILE_BYTES)
  const content = blob?.content ?? Buffer.alloc(0)
  const isText = !content.subarray(0, SNIFFED_BYTES).includes(0) && !parseLfsPointer(content)
  const trigrams = isText ? await readTrigrams(content.toString()) : undefined
  return {
    file: {
      repository_id: id,
      path: entry.path,
      blob_id: entry.id,
      bytes: trigrams ? content.length : 0,
    },
    trigrams: trigrams ?? [],
  }
}

/** Returns the trigrams of a text; undefined for too many. Lets other work go on meanwhile. */
async function readTrigrams(text: string): Promise<readonly string[] | undefined> {
  const reader = new TrigramReader(text)
  while (reader.read(SLICE_UNITS) && reader.count <= MAX_TRIGRAMS) await setImmediate()
  return reader.count <= MAX_TRIGRAMS ? reader.tokens() : undefined
}
