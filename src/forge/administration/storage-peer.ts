import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** What the second process does. The answer is a value that can be sent as JSON. */
export type PeerTask =
  | { readonly kind: 'create'; readonly paths: readonly string[]; readonly startMs: number }
  | { readonly kind: 'write'; readonly path: string; readonly text: string }
  | { readonly kind: 'lock'; readonly folder: string }
  | {
      readonly kind: 'replace'
      readonly path: string
      readonly times: number
      readonly bytes: number
    }

/** A second process that uses the same folder. */
export class StoragePeer {
  readonly #child: ChildProcess

  /** @param program path of the bundled `storage-peer-program.ts`. */
  constructor(program: string) {
    this.#child = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  }

  /** Does a task, and returns its answer. One task at a time. */
  async do(task: PeerTask): Promise<unknown> {
    const stop = new AbortController()
    const { signal } = stop
    const answered = once(this.#child, 'message', { signal })
    const ended = once(this.#child, 'exit', { signal })
    for (const event of [answered, ended]) event.catch(() => {})
    try {
      this.#child.send(task)
      const answer = await Promise.race([answered, ended.then(() => undefined)])
      if (answer) return answer[0]
      throw new Error('the second process has ended')
    } finally {
      stop.abort()
    }
  }

  /** Ends the process as a failure would: it cannot release anything. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}
