import { GitError } from '../core/errors.ts'
import { readObject } from '../objects/objects.ts'
import { orderOf, parseCommit, parseWork } from '../objects/raw-objects.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { type RepositoryResults, resultsOf } from '../repositories/repository-results.ts'

/** A commit in the graph of a history. */
export interface CommitNode {
  readonly parentIds: readonly string[]
  /** Result of `orderOf`. Clients can write any time. */
  readonly time: bigint
}

/** Memory of all cached commits, and of one parent. */
const MAX_NODES_BYTES = 16 * 1024 ** 2
const PARENT_BYTES = 64

/** Headers with thousands of parents. Git reads longer ones. */
const MAX_HEADER_BYTES = 256 * 1024

/** The commits of a repository, for one walk through its history. */
export class CommitNodes {
  readonly #repositories: Repositories
  readonly #id: number
  readonly #known: RepositoryResults<CommitNode | undefined>
  /** Commits that were not known yet. */
  reads = 0

  constructor(repositories: Repositories, id: number) {
    this.#repositories = repositories
    this.#id = id
    this.#known = resultsOf<CommitNode | undefined>(
      repositories,
      'commit nodes',
      MAX_NODES_BYTES,
      (node) => (node?.parentIds.length ?? 0) * PARENT_BYTES,
    )
  }

  /**
   * Returns a commit. Undefined when its headers are too long.
   *
   * @throws GitError NOT_FOUND when there is no such commit.
   */
  read(commitId: string): Promise<CommitNode | undefined> {
    return this.#known.get(this.#id, commitId, async () => {
      this.reads += 1
      const object = await readObject(this.#repositories, this.#id, commitId, MAX_HEADER_BYTES)
      if (object?.type !== 'commit')
        throw new GitError('NOT_FOUND', `there is no commit ${commitId}`)
      const { bytes, content } = object
      if (bytes > content.length && !content.includes('\n\n')) return undefined
      const budget = this.#repositories.readTurns.budget()
      return budget.run(() => {
        budget.note(parseWork(content))
        return { parentIds: parseCommit(commitId, content).parentIds, time: orderOf(content) }
      })
    })
  }
}
