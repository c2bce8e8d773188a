import { Pace } from '../../platform/concurrency/pace.ts'
import type { GitGrant, GitService } from './git-access.ts'
import type { SlotHolder } from './limits.ts'

/** One Git request that holds a slot. */
export class SessionSlot implements SlotHolder {
  readonly key: string
  readonly #pace = new Pace()
  readonly #service: GitService
  #onEvicted = () => {}

  constructor({ user, network }: GitGrant, service: GitService) {
    this.key = user === undefined ? `peer ${network}` : `account ${user}`
    this.#service = service
  }

  /** Passes output on to the client, and measures how fast the client reads it. */
  follow(output: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    return this.#pace.follow(output)
  }

  /** Sets the function that ends the request when it loses its slot. */
  onEvicted(end: () => void): void {
    this.#onEvicted = end
  }

  isTooSlow(): boolean {
    // A push may have begun to move refs. A slow reader of its output must not end it.
    return this.#service === 'git-upload-pack' && this.#pace.isTooSlow()
  }

  evict(): void {
    this.#onEvicted()
  }
}
