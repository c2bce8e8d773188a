import { GitError } from '../core/errors.ts'
import { readObject } from '../objects/objects.ts'
import { orderOf, parseCommit } from '../objects/raw-objects.ts'
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

/** Headers with hundreds of parents. Longer ones are read in whole when they are this long. */
const MAX_HEADER_BYTES = 256 * 1024

/** The commits of a repository, for one walk through its history. */
export class CommitNodes {
  readonly #repositories: Repositories
  readonly #id: number
  readonly #known: RepositoryResults<CommitNode>
  /** Commits that were not known yet. */
  reads = 0

  constructor(repositories: Repositories, id: number) {
    this.#repositories = repositories
    this.#id = id
    this.#known = resultsOf<CommitNode>(
      repositories,
      'commit nodes',
      MAX_NODES_BYTES,
      ({ parentIds }) => parentIds.length * PARENT_BYTES,
    )
  }

  /** @throws GitError NOT_FOUND when there is no such commit. */
  read(commitId: string): Promise<CommitNode> {
    return this.#known.get(this.#id, commitId, async () => {
      this.reads += 1
      const object = await readObject(this.#repositories, this.#id, commitId, MAX_HEADER_BYTES)
      if (object?.type !== 'commit')
        throw new GitError('NOT_FOUND', `there is no commit ${commitId}`)
      const { parentIds } = parseCommit(commitId, object.content)
      return { parentIds, time: orderOf(object.content) }
    })
  }
}
