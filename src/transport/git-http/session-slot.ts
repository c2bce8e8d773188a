import type { Readable } from 'node:stream'
import { Pace } from '../../concurrency/pace.ts'
import type { GitGrant, GitService } from './git-access.ts'
import type { PlaceHolder } from './limits.ts'

/** One request of Git's at its place. */
export class Turn implements PlaceHolder {
  readonly key: string
  readonly #pace = new Pace()
  readonly #service: GitService
  #onEvicted = () => {}

  constructor({ user, network }: GitGrant, service: GitService) {
    this.key = user === undefined ? `peer ${network}` : `account ${user}`
    this.#service = service
  }

  /** Passes on what is printed for the client, and watches how fast it is taken. */
  follow(output: Readable): AsyncIterable<Buffer> {
    return this.#pace.follow(output)
  }

  /** Says what ends the request. */
  onEvicted(end: () => void): void {
    this.#onEvicted = end
  }

  isTooSlow(): boolean {
    // A push that has begun to move refs must not die of an answer that nobody takes.
    return this.#service === 'git-upload-pack' && this.#pace.isTooSlow()
  }

  evict(): void {
    this.#onEvicted()
  }
}
