import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { type Commit, readCommit } from '../objects/commits.ts'
import { takeObjects } from '../objects/loose-objects.ts'
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

/** The result of merging two commits. */
export type Merge =
  /** The id of the merged tree, which is stored. No commit is created. */
  | { readonly outcome: 'clean'; readonly treeId: string }
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
  if (!isObjectId(ours) || !isObjectId(theirs))
    throw new Error(`no ids of commits: ${ours}, ${theirs}`)
  return cacheOf<Merge>(repositories, 'merges', MAX_MERGES).get(
    `${id} ${ours} ${theirs}`,
    async () => {
      const commit = await readCommit(repositories, id, ours)
      if (!commit) throw new GitError('NOT_FOUND', `there is no commit ${ours}`)
      const idle = mergeProcesses(repositories).take(id)
      try {
        if (idle) return await mergeBy(repositories, id, idle, commit, theirs)
      } catch (error) {
        // The idle process may have been ended. For any other reason, a new process fails too.
        if (idle?.isOverdue) throw error
      }
      return mergeBy(repositories, id, new Merges(repositories, id, {}), commit, theirs)
    },
  )
}

async function mergeBy(
  repositories: Repositories,
  id: number,
  merges: Merges,
  ours: Commit,
  theirs: string,
): Promise<Merge> {
  let isReusable = false
  try {
    const merge = await merges.merge(ours, theirs)
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

/** Message about files whose merge exceeds the memory limit of a Git process. */
const TOO_LARGE_TEXT =
  'CONFLICT (too large): files that both sides have changed are too large to be merged by the server\n'

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
   * @throws GitError BUSY, TIMEOUT; the reason of the signal; Error with Git's message when the
   *   commits cannot be merged.
   */
  async merge(ours: Pick<Commit, 'id' | 'treeId'>, theirs: string): Promise<RelatedMerge> {
    this.#releaseSlot ??= await this.#repositories.readers.acquire({ holder: currentHolder() })
    const reason = new GitError('TIMEOUT', 'a merge exceeded its time limit')
    const timeout = setTimeout(
      () => this.#timeout.abort(reason),
      this.#options.timeoutMs ?? MERGE_TIMEOUT_MS,
    )
    try {
      return await this.#mergeByAttributes(ours, theirs)
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

  async #mergeByAttributes(
    ours: Pick<Commit, 'id' | 'treeId'>,
    theirs: string,
  ): Promise<RelatedMerge> {
    const directories = new Set(['', ...[...this.#attributes.keys()].flatMap(directoriesAbove)])
    const read = () => readMergeAttributes(this.#repositories, this.#id, ours.treeId, directories)
    for (let attributes = await read(); ; ) {
      const process = await this.#processWith(attributes)
      const verdict = await process.merge(ours.id, theirs).catch(tooLarge)
      if (!verdict) {
        await this.#endProcess()
        return { outcome: 'conflict', paths: [], text: TOO_LARGE_TEXT }
      }
      for (const directory of [...verdict.touched].flatMap(directoriesAbove)) {
        if (directories.size < MAX_DIRECTORIES) directories.add(directory)
      }
      // Now it is known whose attributes affect the merge. If they differ from the assumed ones,
      // the merge is repeated.
      const found = verdict.touched.size > 0 ? await read() : attributes
      if (areSameAttributes(attributes, found)) return this.#conclude(ours.id, verdict)
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
  ): Promise<RelatedMerge> {
    if (isClean) {
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
