import { existsSync } from 'node:fs'
import nodegit, { type Repository } from 'nodegit'
import { explained, GitError } from '../core/errors.ts'

// Whether a folder belongs to the user that the server runs as says nothing about it: the data
// folder may come from another user's backup, or be a volume of a container. Nobody but the
// operator writes there (see safe.directory in git-config(1)).
nodegit.Libgit2.opts(nodegit.Libgit2.OPT.SET_OWNER_VALIDATION, 0)

// What a caller was told is stored must be there after a power cut too.
nodegit.Libgit2.opts(nodegit.Libgit2.OPT.ENABLE_FSYNC_GITDIR, 1)

/**
 * Repositories kept open. Each holds the file descriptors and mappings of the packs it has read.
 */
const MAX_OPEN = 64

interface Handle {
  readonly repository: Promise<Repository>
  users: number
  /** No longer in the cache: the last user closes it. */
  dropped: boolean
}

/**
 * Open repositories by path, the latest used of them kept: opening one costs as much as several
 * reads.
 */
export class RepositoryHandles {
  readonly #handles = new Map<string, Handle>()
  readonly #maxOpen: number

  constructor(maxOpen = MAX_OPEN) {
    this.#maxOpen = maxOpen
  }

  /**
   * Runs `work` on the repository of a path. What it is given is good for the time of the work
   * only.
   *
   * @throws GitError NO_REPOSITORY
   */
  async use<T>(path: string, work: (repository: Repository) => Promise<T>): Promise<T> {
    const handle = this.#take(path)
    handle.users += 1
    try {
      return await work(await handle.repository)
    } catch (error) {
      // A failure to open must not be remembered. After any other one, opening anew costs little.
      if (this.#handles.get(path) === handle) this.drop(path)
      throw error instanceof GitError || existsSync(path) ? error : missing(error)
    } finally {
      handle.users -= 1
      closeUnused(handle)
    }
  }

  /**
   * Closes the repository of a path as soon as nobody uses it; whoever asks for it later opens it
   * anew.
   */
  drop(path: string): void {
    const handle = this.#handles.get(path)
    if (!handle) return
    this.#handles.delete(path)
    handle.dropped = true
    closeUnused(handle)
  }

  /** Closes all repositories as soon as nobody uses them. */
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
    // A Map keeps the order of insertion: the one used longest ago comes first.
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
    return await explained(nodegit.Repository.openBare(path))
  } catch (cause) {
    const isMissing = cause instanceof GitError && cause.kind === 'NOT_FOUND'
    throw isMissing ? missing(cause) : cause
  }
}

/**
 * The repository was deleted, maybe while somebody worked in it: then libgit2 fails in the words of
 * the system.
 */
function missing(cause: unknown): GitError {
  return new GitError('NO_REPOSITORY', cause instanceof Error ? cause.message : String(cause), {
    cause,
  })
}

/** Unmaps and closes files now: nodegit itself would wait for the garbage collector. */
function closeUnused(handle: Handle): void {
  if (!handle.dropped || handle.users > 0) return
  // A repository that could not be opened has nothing to close, and its user knows why.
  handle.repository.then((repository) => repository.cleanup()).catch(() => {})
}
