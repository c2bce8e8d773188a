import { GitError } from '../core/errors.ts'
import { spawnGit } from '../processes/child-process.ts'
import type { GitProcess } from '../processes/running-git.ts'
import { processOptions, type Repositories } from '../repositories/repositories.ts'

/** Output of Git when all refs have been updated and flushed (git-update-ref(1)). */
const DONE = 'commit: ok\n'

/** Time limit of one transaction. Git writes and flushes 100,000 refs one by one. */
const COMMIT_TIMEOUT_MS = 10 * 60_000

/** Age up to which a process is reused, and the limit of its total time. */
const MAX_AGE_MS = 10 * 60_000
const MAX_LIFE_MS = MAX_AGE_MS + COMMIT_TIMEOUT_MS + 60_000

/** A Git process that runs transactions of refs one after the other. */
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
   * Runs instructions in one transaction. Calls must not overlap. After a failure, the process has
   * ended and must not be used again.
   *
   * @param instructions in the format of git-update-ref(1) with `-z`.
   * @returns undefined on success, or the message of Git when nothing has changed.
   * @throws GitError NO_REPOSITORY, TIMEOUT
   */
  async commit(instructions: string): Promise<string | undefined> {
    // A single write: Git changes nothing before it reads `commit`.
    this.#git.stdin.write(`start\0${instructions}commit\0`)
    let isOverdue = false
    const deadline = setTimeout(() => {
      isOverdue = true
      this.#git.stop()
    }, COMMIT_TIMEOUT_MS)
    try {
      for (let answer = ''; !answer.endsWith(DONE); ) {
        const { value, done } = await this.#output.next()
        if (done && isOverdue)
          throw new GitError('TIMEOUT', 'a transaction of refs exceeded its time limit')
        if (done) return (await this.#git.exited).stderr
        answer += value
      }
      return undefined
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Whether the process may run another transaction. */
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
