import { GitError } from '../core/errors.ts'
import { spawnGit } from '../processes/child-process.ts'
import type { GitProcess } from '../processes/running-git.ts'
import { processOptions, type Repositories } from '../repositories/repositories.ts'

/**
 * What Git says when all refs hold what they are to hold, and will after a power cut too
 * (git-update-ref(1)).
 */
const DONE = 'commit: ok\n'

/** For one transaction: a hundred thousand refs are written and flushed one by one. */
const COMMIT_TIMEOUT_MS = 10 * 60_000

/**
 * For which a process is kept for one transaction after the other, and the longest that it is
 * there.
 */
const MAX_AGE_MS = 10 * 60_000
const MAX_LIFE_MS = MAX_AGE_MS + COMMIT_TIMEOUT_MS + 60_000

/** A git that moves refs, in one transaction after the other, each as soon as it is asked for. */
export class RefTransactions {
  readonly #git: GitProcess
  readonly #output: AsyncIterator<string>
  readonly #startedMs = performance.now()

  constructor(repositories: Repositories, id: number) {
    this.#git = spawnGit(['update-ref', '--stdin', '-z'], {
      ...processOptions(repositories, id),
      timeoutMs: MAX_LIFE_MS,
    })
    this.#output = this.#git.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  }

  /**
   * Does what some instructions say, all of it or nothing. Not to be called before the last call
   * has ended, nor after one that failed: the process is gone then.
   *
   * @param instructions as git-update-ref(1) has them with `-z`.
   * @returns what Git says when it has done nothing; undefined when it has done everything.
   * @throws GitError NO_REPOSITORY, TIMEOUT
   */
  async commit(instructions: string): Promise<string | undefined> {
    // In one piece: Git that is not told to commit does nothing.
    this.#git.stdin.write(`start\0${instructions}commit\0`)
    let isOverdue = false
    const deadline = setTimeout(() => {
      isOverdue = true
      this.#git.stop()
    }, COMMIT_TIMEOUT_MS)
    try {
      for (let answer = ''; !answer.endsWith(DONE); ) {
        const { value, done } = await this.#output.next()
        if (done && isOverdue) throw new GitError('TIMEOUT', 'moving refs took longer than it may')
        if (done) return (await this.#git.exited).stderr
        answer += value
      }
      return undefined
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Whether it may be kept for the next transaction. */
  get isFresh(): boolean {
    return performance.now() - this.#startedMs < MAX_AGE_MS
  }

  /** Ends the process. */
  async end(): Promise<void> {
    this.#git.stdin.end()
    this.#git.stop()
    await this.#output.return?.()
  }
}
