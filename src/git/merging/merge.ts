import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import { type Commit, readCommit } from '../objects/commits.ts'
import { takeObjects } from '../objects/loose-objects.ts'
import { currentReader } from '../processes/readers.ts'
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

/** Cached merges: up to a hundred kilobytes each, and mostly an id. */
const MAX_MERGES = 500

const mergeProcesses = (repositories: Repositories) => poolOf<Merges>(repositories, 'merge-tree')

/** What becomes of two commits when Git merges them. */
export type Merge =
  /** The tree with what both have changed. It is stored; no commit is made of it. */
  | { readonly outcome: 'clean'; readonly treeId: string }
  /**
   * The files in which they do not go together, and what Git says about that, a line for each
   * thing.
   */
  | { readonly outcome: 'conflict'; readonly paths: readonly string[]; readonly text: string }
  /** No commit leads to both. */
  | { readonly outcome: 'unrelated' }

/**
 * Merges two commits as `git merge` does, without a work tree: renames are followed, of several
 * merge bases one is made, and attributes are those of our side.
 *
 * Costs as much as there are changes, however large the trees. The answer stays true for ever, so
 * the latest ones are kept; the process is, too, for the next merge in the repository.
 *
 * @param ours, theirs ids of commits in full.
 * @throws GitError BUSY, TIMEOUT; NOT_FOUND when there is no such commit on our side
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
      const kept = mergeProcesses(repositories).take(id)
      try {
        if (kept) return await mergeBy(repositories, id, kept, commit, theirs)
      } catch (error) {
        // It may have been ended while it waited; where it was not, another one fails in the same
        // way.
        if (kept?.isOverdue) throw error
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
  let isOfUse = false
  try {
    const merge = await merges.merge(ours, theirs)
    // What it has stored of one that is in conflict nobody needs.
    isOfUse = merge.outcome === 'clean' && merges.rest()
    return merge
  } catch (error) {
    // Git says so by dying (builtin/merge-tree.c of Git 2.39; `LC_ALL` is C).
    if (error instanceof Error && error.message.includes('unrelated histories'))
      return { outcome: 'unrelated' }
    throw error
  } finally {
    if (isOfUse) mergeProcesses(repositories).add(id, merges)
    else await merges.end()
  }
}

/** What one merge may take. */
const MERGE_TIMEOUT_MS = 20_000

/** After which a process is not kept any more, so that none is there for as long as none may. */
const MAX_AGE_MS = MAX_CONVERSATION_MS / 2

/** Looked into for attributes: more than have files that anybody changes on both sides. */
const MAX_DIRECTORIES = 10_000

/**
 * What is said about files that both sides have changed and that take more memory to merge than a
 * git may have.
 */
const TOO_LARGE_TEXT =
  'CONFLICT (too large): files that both sides have changed are too large to be merged by the server\n'

/** @returns undefined where that is why a merge failed. */
function tooLarge(error: unknown): undefined {
  if (error instanceof GitError && error.kind === 'OUT_OF_MEMORY') return undefined
  throw error
}

/** What becomes of two commits that have something in common. */
export type RelatedMerge = Exclude<Merge, { readonly outcome: 'unrelated' }>

/** How long to work at it, until when, and what else there is. */
export type MergesOptions = Pick<ReadOptions, 'signal' | 'timeoutMs' | 'quarantine'>

/**
 * Merges that follow each other, by one process as long as the attributes that they are made by
 * stay the same.
 */
export class Merges {
  readonly #repositories: Repositories
  readonly #id: number
  readonly #options: MergesOptions
  /** Has what Git stores, and the attributes that it goes by, while a process is there. */
  readonly #scratch: string
  readonly #timeout = new AbortController()
  #process: MergeProcess | undefined
  #startedMs = 0
  #attributes: MergeAttributes = new Map()
  /** Gives back the place among those who read. */
  #leave: (() => void) | undefined

  constructor(repositories: Repositories, id: number, options: MergesOptions) {
    this.#repositories = repositories
    this.#id = id
    this.#options = options
    this.#scratch = scratchPath(repositories)
  }

  /**
   * Merges two commits, whose history has something in common. Not to be called before the last
   * call has ended, nor after one that failed.
   *
   * @throws GitError BUSY, TIMEOUT; the reason of the signal; Error with what Git says when there
   *   is nothing to merge.
   */
  async merge(ours: Pick<Commit, 'id' | 'treeId'>, theirs: string): Promise<RelatedMerge> {
    this.#leave ??= await this.#repositories.readers.acquire({ holder: currentReader()?.holder })
    const reason = new GitError('TIMEOUT', 'a merge took more than it may')
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
   * Gives back the place that others wait for, until the next merge.
   *
   * @returns whether the process may stay for that.
   */
  rest(): boolean {
    this.#leave?.()
    this.#leave = undefined
    return this.#process !== undefined && performance.now() - this.#startedMs < MAX_AGE_MS
  }

  /** Whether a merge took more than it may. */
  get isOverdue(): boolean {
    return this.#timeout.signal.aborted
  }

  /** Ends the process, if there is one. */
  async end(): Promise<void> {
    this.rest()
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
      // Whose attributes count is known now. Where there are others than those that Git had, it was
      // in vain.
      const found = verdict.touched.size > 0 ? await read() : attributes
      if (areSameAttributes(attributes, found)) return this.#conclude(ours.id, verdict)
      attributes = found
    }
  }

  async #endProcess(): Promise<void> {
    await this.#process?.end()
    this.#process = undefined
    // A git that was stopped in the middle of its work may write for a moment still.
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
    // In the names of files that make room, and to whom it may concern, our side is called as `git
    // merge` calls it.
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
