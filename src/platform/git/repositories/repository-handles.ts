import { existsSync } from 'node:fs'
import type { Repository } from 'nodegit'
import { explained, GitError } from '../core/errors.ts'
import { configuredLibgit2 } from '../core/libgit2.ts'

/** Open repositories. Each holds file descriptors and mappings of the packs that it has read. */
const MAX_OPEN = 64

interface Handle {
  readonly repository: Promise<Repository>
  users: number
  /** Whether the handle has left the cache. Its last user closes the repository. */
  dropped: boolean
}

/**
 * An LRU cache of open repositories by path. Opening a repository takes as long as several reads. A
 * repository in use stays open after its handle has left the cache.
 */
export class RepositoryHandles {
  readonly #handles = new Map<string, Handle>()
  readonly #maxOpen: number

  constructor(maxOpen = MAX_OPEN) {
    this.#maxOpen = maxOpen
  }

  /**
   * Runs work on the repository of a path. The work must not use the repository after its end.
   *
   * @throws GitError NO_REPOSITORY
   */
  async use<T>(path: string, work: (repository: Repository) => Promise<T>): Promise<T> {
    const handle = this.#take(path)
    handle.users += 1
    try {
      return await work(await handle.repository)
    } catch (error) {
      // A failure to open must not be cached. After any other failure, opening again costs little.
      if (this.#handles.get(path) === handle) this.drop(path)
      throw existsSync(path) ? error : missing(error)
    } finally {
      handle.users -= 1
      closeUnused(handle)
    }
  }

  /** Closes the repository of a path after its current users. Later users open it again. */
  drop(path: string): void {
    const handle = this.#handles.get(path)
    if (!handle) return
    this.#handles.delete(path)
    handle.dropped = true
    closeUnused(handle)
  }

  /** Closes all repositories after their current users. */
  dropAll(): void {
    for (const path of [...this.#handles.keys()]) this.drop(path)
  }

  #take(path: string): Handle {
    let handle = this.#handles.get(path)
    if (handle) {
      this.#handles.delete(path)
    } else {
      handle = { repository: openBare(path), users: 0, dropped: false }
    }
    // A Map has the order of insertion, so the least recently used handle comes first.
    this.#handles.set(path, handle)
    if (this.#handles.size > this.#maxOpen) {
      const [oldest = path] = this.#handles.keys()
      this.drop(oldest)
    }
    return handle
  }
}

async function openBare(path: string): Promise<Repository> {
  try {
    return await explained(configuredLibgit2().Repository.openBare(path))
  } catch (cause) {
    const isMissing = cause instanceof GitError && cause.kind === 'NOT_FOUND'
    throw isMissing ? missing(cause) : cause
  }
}

/**
 * Creates the error of a deleted repository. When the repository is deleted during work, libgit2
 * fails with a message of the system.
 */
function missing(cause: unknown): GitError {
  return new GitError('NO_REPOSITORY', cause instanceof Error ? cause.message : String(cause), {
    cause,
  })
}

/** Closes an unused repository at once. nodegit would wait for the garbage collector. */
function closeUnused(handle: Handle): void {
  if (!handle.dropped || handle.users > 0) return
  // When the repository could not be opened, its user gets the error.
  handle.repository.then((repository) => repository.cleanup()).catch(() => {})
}
