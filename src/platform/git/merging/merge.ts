import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { type Commit, readCommit } from '../objects/commits.ts'
import { storeLooseObject, takeObjects } from '../objects/loose-objects.ts'
import { storeCommitContent } from '../objects/object-writes.ts'
import { currentHolder } from '../processes/readers.ts'
import { MAX_CONVERSATION_MS, type ReadOptions } from '../repositories/reading.ts'
import { cacheOf, poolOf, type Repositories, scratchPath } from '../repositories/repositories.ts'
import {
  areSameAttributes,
  directoriesAbove,
  type MergeAttributes,
  readMergeAttributes,
  writeMergeAttributes,
} from './merge-attributes.ts'
import { MergeProcess, type MergeVerdict } from './merge-process.ts'

/** Cached merges: an id each, or up to 100 KB for a conflict. */
const MAX_MERGES = 500

const mergeProcesses = (repositories: Repositories) => poolOf<Merges>(repositories, 'merge-tree')

/** The id of the merged tree, which is stored. */
interface CleanMerge {
  readonly outcome: 'clean'
  readonly treeId: string
}

/** The result of merging two commits. */
export type Merge =
  | CleanMerge
  /** The files with conflicts, and the messages of Git in lines. */
  | { readonly outcome: 'conflict'; readonly paths: readonly string[]; readonly text: string }
  /** The commits have no common ancestor. */
  | { readonly outcome: 'unrelated' }

/**
 * Merges two commits as `git merge` does, without a work tree. Git follows renames, merges several
 * merge bases into one, and uses the attributes of our side.
 *
 * The cost depends on the number of changes, not on the size of the trees. The result never changes
 * and is cached. The process returns to a pool for the next merge in the repository.
 *
 * @param ours, theirs full ids of commits.
 * @throws GitError BUSY, TIMEOUT; NOT_FOUND when `ours` names no commit
 */
export async function mergeCommits(
  repositories: Repositories,
  id: number,
  ours: string,
  theirs: string,
): Promise<Merge> {
  return mergeOnce(repositories, id, { ours, theirs })
}

/**
 * Merges two commits, as `mergeCommits` does, and stores a commit of the merged tree. The objects of a
 * new merge and the commit are flushed to the disk together.
 *
 * @param contentOf returns the content of the commit for the id of the tree.
 * @returns the merge, and the id of the commit if the merge is clean.
 * @throws as `mergeCommits`
 */
export async function mergeToCommit(
  repositories: Repositories,
  id: number,
  { ours, theirs }: Pair,
  contentOf: (treeId: string) => string,
): Promise<Exclude<Merge, CleanMerge> | (CleanMerge & { readonly commitId: string })> {
  let stored: string | undefined
  const storeCommit: AddObjects = async (folder, treeId) => {
    stored = await storeLooseObject(folder, 'commit', Buffer.from(contentOf(treeId)))
  }
  const merge = await mergeOnce(repositories, id, { ours, theirs }, storeCommit)
  if (merge.outcome !== 'clean') return merge
  // Others have merged the two before.
  const commitId = stored ?? (await storeCommitContent(repositories, id, contentOf(merge.treeId)))
  return { ...merge, commitId }
}

/** The full ids of two commits. */
interface Pair {
  readonly ours: string
  readonly theirs: string
}

/** Stores further objects beside those of a clean merge, in a folder of objects. */
type AddObjects = (folder: string, treeId: string) => Promise<void>

function mergeOnce(
  repositories: Repositories,
  id: number,
  { ours, theirs }: Pair,
  addObjects?: AddObjects,
): Promise<Merge> {
  if (!isObjectId(ours) || !isObjectId(theirs))
    return Promise.reject(new Error(`no ids of commits: ${ours}, ${theirs}`))
  return cacheOf<Merge>(repositories, 'merges', MAX_MERGES).get(
    `${id} ${ours} ${theirs}`,
    async () => {
      const commit = await readCommit(repositories, id, ours)
      if (!commit) throw new GitError('NOT_FOUND', `there is no commit ${ours}`)
      const mergeBy = (merges: Merges) =>
        mergeByProcess(repositories, id, merges, () => merges.merge(commit, theirs, addObjects))
      const idle = mergeProcesses(repositories).take(id)
      try {
        if (idle) return await mergeBy(idle)
      } catch (error) {
        // The idle process may have been ended. For any other reason, a new process fails too.
        if (idle?.isOverdue) throw error
      }
      return mergeBy(new Merges(repositories, id, {}))
    },
  )
}

/** Makes a merge by a process, which goes to the pool or ends. */
async function mergeByProcess(
  repositories: Repositories,
  id: number,
  merges: Merges,
  work: () => Promise<Merge>,
): Promise<Merge> {
  let isReusable = false
  try {
    const merge = await work()
    // After a conflict, the process is ended, which removes the stored objects.
    isReusable = merge.outcome === 'clean' && merges.release()
    return merge
  } catch (error) {
    // Git fails with this message (builtin/merge-tree.c of Git 2.39; `LC_ALL` is C).
    if (error instanceof Error && error.message.includes('unrelated histories'))
      return { outcome: 'unrelated' }
    throw error
  } finally {
    if (isReusable) mergeProcesses(repositories).add(id, merges)
    else await merges.end()
  }
}

/** Time limit of one merge. */
const MERGE_TIMEOUT_MS = 20_000

/** Age up to which a process is reused. */
const MAX_AGE_MS = MAX_CONVERSATION_MS / 2

/** Number of directories whose attributes are read. */
const MAX_DIRECTORIES = 10_000

/** The result for files whose merge exceeds the memory limit of a Git process. */
const TOO_LARGE = {
  outcome: 'conflict',
  paths: [],
  text: 'CONFLICT (too large): files that both sides have changed are too large to be merged by the server\n',
} as const

/** Returns undefined when a merge failed because files are too large. Throws any other error. */
function tooLarge(error: unknown): undefined {
  if (error instanceof GitError && error.kind === 'OUT_OF_MEMORY') return undefined
  throw error
}

/** The result of merging two commits that have a common ancestor. */
export type RelatedMerge = Exclude<Merge, { readonly outcome: 'unrelated' }>

/** Limits of each merge, and the location of unaccepted objects. */
export type MergesOptions = Pick<ReadOptions, 'signal' | 'timeoutMs' | 'quarantine'>

/** Runs successive merges. While their attributes are the same, one Git process runs them all. */
export class Merges {
  readonly #repositories: Repositories
  readonly #id: number
  readonly #options: MergesOptions
  /** Folder of the stored objects and the work tree of the process. */
  readonly #scratch: string
  readonly #timeout = new AbortController()
  #process: MergeProcess | undefined
  #startedMs = 0
  #attributes: MergeAttributes = new Map()
  /** Releases the slot of a reader. */
  #releaseSlot: (() => void) | undefined

  constructor(repositories: Repositories, id: number, options: MergesOptions) {
    this.#repositories = repositories
    this.#id = id
    this.#options = options
    this.#scratch = scratchPath(repositories)
  }

  /**
   * Merges two commits, which must have a common ancestor. Calls must not overlap. After a failure,
   * the object must not be used again.
   *
   * @param addObjects stores further objects after a clean merge.
   * @throws GitError BUSY, TIMEOUT; the reason of the signal; Error with Git's message when the
   *   commits cannot be merged.
   */
  async merge(
    ours: Pick<Commit, 'id' | 'treeId'>,
    theirs: string,
    addObjects?: AddObjects,
  ): Promise<RelatedMerge> {
    this.#releaseSlot ??= await this.#repositories.readers.acquire({ holder: currentHolder() })
    const reason = new GitError('TIMEOUT', 'a merge exceeded its time limit')
    const timeout = setTimeout(
      () => this.#timeout.abort(reason),
      this.#options.timeoutMs ?? MERGE_TIMEOUT_MS,
    )
    try {
      const verdict = await this.#mergeByAttributes(ours, theirs)
      return verdict ? await this.#conclude(ours.id, verdict, addObjects) : TOO_LARGE
    } finally {
      clearTimeout(timeout)
    }
  }

  /**
   * Releases the slot until the next merge.
   *
   * @returns whether the process may be reused.
   */
  release(): boolean {
    this.#releaseSlot?.()
    this.#releaseSlot = undefined
    return this.#process !== undefined && performance.now() - this.#startedMs < MAX_AGE_MS
  }

  /** Whether a merge has exceeded its time limit. */
  get isOverdue(): boolean {
    return this.#timeout.signal.aborted
  }

  /** Ends the process, if there is one. */
  async end(): Promise<void> {
    this.release()
    await this.#endProcess()
  }

  /** Returns undefined when files are too large. */
  async #mergeByAttributes(
    ours: Pick<Commit, 'id' | 'treeId'>,
    theirs: string,
  ): Promise<MergeVerdict | undefined> {
    const directories = new Set(['', ...[...this.#attributes.keys()].flatMap(directoriesAbove)])
    const read = () => readMergeAttributes(this.#repositories, this.#id, ours.treeId, directories)
    for (let attributes = await read(); ; ) {
      const process = await this.#processWith(attributes)
      const verdict = await process.merge(ours.id, theirs).catch(tooLarge)
      if (!verdict) {
        await this.#endProcess()
        return undefined
      }
      for (const directory of [...verdict.touched].flatMap(directoriesAbove)) {
        if (directories.size < MAX_DIRECTORIES) directories.add(directory)
      }
      // Now it is known whose attributes affect the merge. If they differ from the assumed ones,
      // the merge is repeated.
      const found = verdict.touched.size > 0 ? await read() : attributes
      if (areSameAttributes(attributes, found)) return verdict
      attributes = found
    }
  }

  async #endProcess(): Promise<void> {
    await this.#process?.end()
    this.#process = undefined
    // A stopped Git process may still write for a moment.
    await rm(this.#scratch, { recursive: true, force: true, maxRetries: 3 })
  }

  async #conclude(
    ours: string,
    { isClean, treeId, paths, texts }: MergeVerdict,
    addObjects: AddObjects | undefined,
  ): Promise<RelatedMerge> {
    if (isClean) {
      await addObjects?.(this.#objects, treeId)
      await takeObjects(this.#repositories, this.#id, this.#objects)
      return { outcome: 'clean', treeId }
    }
    // Paths and messages name our side by its id, where `git merge` writes `HEAD`.
    const named = [...paths, texts.join('')].map((text) => text.replaceAll(ours, 'HEAD'))
    return { outcome: 'conflict', paths: named.slice(0, -1), text: named.at(-1) ?? '' }
  }

  get #objects(): string {
    return join(this.#scratch, 'objects')
  }

  async #processWith(attributes: MergeAttributes): Promise<MergeProcess> {
    if (this.#process && areSameAttributes(this.#attributes, attributes)) return this.#process
    await this.#endProcess()
    await mkdir(this.#objects, { recursive: true })
    const workTree = join(this.#scratch, 'tree')
    if (attributes.size > 0) await writeMergeAttributes(workTree, attributes)
    this.#attributes = attributes
    this.#startedMs = performance.now()
    const { signal, quarantine } = this.#options
    this.#process = new MergeProcess(this.#repositories, this.#id, {
      signal: signal ? AbortSignal.any([signal, this.#timeout.signal]) : this.#timeout.signal,
      quarantine,
      scratch: this.#objects,
      ...(attributes.size > 0 && { workTree }),
    })
    return this.#process
  }
}
