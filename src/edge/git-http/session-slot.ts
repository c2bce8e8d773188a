import type { SlotRequest } from '../../platform/concurrency/fair-slots.ts'
import { accountHolder, type Holder, peerHolder } from '../../platform/concurrency/holders.ts'
import { Pace } from '../../platform/concurrency/pace.ts'
import type { GitGrant, GitService } from './git-access.ts'

/** One Git request that holds a slot. */
export class SessionSlot implements SlotRequest {
  readonly holder: Holder
  readonly #pace = new Pace()
  readonly #service: GitService
  #onEvicted = () => {}

  constructor({ user, network }: GitGrant, service: GitService) {
    this.holder = user === undefined ? peerHolder(network) : accountHolder(user)
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

  readonly isTooSlow = (): boolean =>
    // A push may have begun to move refs. A slow reader of its output must not end it.
    this.#service === 'git-upload-pack' && this.#pace.isTooSlow()

  readonly evict = (): void => this.#onEvicted()
}
