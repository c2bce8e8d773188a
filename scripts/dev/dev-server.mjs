import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { bundlePath } from '../setup/bundle.mjs'
import { Failure } from '../setup/progress.mjs'

/** How long calls in flight, such as open event streams of pages, may delay a restart. */
const DRAIN_MS = 500

/** A server in a process of its own, which starts again from a new bundle. */
export class DevServer {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child

  /** @param {readonly string[]} args of `serve` */
  constructor(args) {
    this.args = args
  }

  /**
   * Starts the bundled server. Throws a `Failure` if it ends before it is ready; its log says why.
   * @returns {Promise<string>} its address
   */
  async start() {
    const args = ['--enable-source-maps', bundlePath, 'serve', ...this.args]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    for await (const line of createInterface(child.stdout)) {
      const url = /^branchline listening on (\S+)$/.exec(line)?.[1]
      if (url === undefined) continue
      child.stdout.resume()
      return url
    }
    throw new Failure('The server ended before it was ready: read its log above.')
  }

  /** Stops the server, if it runs. A second signal ends what still drains. */
  async stop() {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const hurry = setTimeout(() => child.kill('SIGTERM'), DRAIN_MS)
    await exited
    clearTimeout(hurry)
  }
}
