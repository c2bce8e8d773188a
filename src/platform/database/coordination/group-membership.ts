import { type Lease, withLease } from '../../concurrency/leases.ts'
import { DatabaseUnavailableError } from '../postgres-failures.ts'
import type { MessageOfHost, MessageOfMember } from './group-messages.ts'
import type {
  GuessCounter,
  GuessEnding,
  Locks,
  Membership,
  SharedGuesses,
  SharedLock,
} from './ports.ts'

/** The channel of a worker process to its primary process, which keeps the order of messages. */
export interface GroupChannel {
  /** The number of the group of the worker processes of one primary process. */
  readonly groupId: number
  /** The number of this server. */
  readonly serverId: number
  /** Sends a message. Does nothing after the end of the primary process. */
  send(message: MessageOfMember): void
  /** Calls a function with the messages of the primary process. */
  onMessage(listener: (message: MessageOfHost) => void): void
  /** Calls a function when the primary process has ended. */
  onEnd(listener: () => void): void
}

/** The time between two beats. */
const BEAT_MS = 5_000

/** An answer of the host to a request with a number. */
type Answer = Extract<MessageOfHost, { id: number }>

/** A request that waits for its answer. */
interface Asking {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/**
 * The membership of a worker process in the group of worker processes of one SQLite database.
 *
 * The primary process has the locks. When the primary process ends, no process gets a lock any more,
 * and nobody else can open the data before all worker processes have ended (`group-lock.ts`). So work
 * that holds its locks already can finish, and other work fails.
 */
export class GroupMembership implements Membership {
  readonly #channel: GroupChannel
  readonly #asking = new Map<number, Asking>()
  readonly #listeners = new Set<(message: string) => void>()
  readonly #beats = new Set<() => void>()
  readonly #losses = new Set<() => void>()
  readonly #heartbeat: NodeJS.Timeout
  #lastId = 0
  #isLost = false

  constructor(channel: GroupChannel) {
    this.#channel = channel
    channel.onMessage((message) => this.#receive(message))
    channel.onEnd(() => this.#lose())
    this.#heartbeat = setInterval(() => {
      for (const beat of [...this.#beats]) beat()
    }, BEAT_MS).unref()
  }

  get serverId(): number {
    return this.#channel.serverId
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Lets the host end this process from now on if the process stops to answer. */
  beginWatch(): void {
    this.#channel.send({ kind: 'alive' })
  }

  /** A primary process that has ended is not replaced. */
  async ready(): Promise<void> {}

  lease(): Lease & { release(): void } {
    let holder: number | undefined = this.serverId
    return {
      get holder() {
        return holder
      },
      // A process keeps its locks to its end.
      check() {},
      release() {
        holder = undefined
      },
    }
  }

  /** Without the primary process, all servers count as running: their work is left alone. */
  async running(serverIds: readonly number[]): Promise<ReadonlySet<number>> {
    if (serverIds.length === 0 || this.#isLost) return new Set(serverIds)
    const answer = await this.ask((id) => ({ kind: 'running', id, serverIds }))
    return new Set(answer.kind === 'running' ? answer.serverIds : [])
  }

  tell(text: string): void {
    this.#channel.send({ kind: 'tell', text })
  }

  onMessage(listener: (message: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onBeat(listener: () => void): () => void {
    this.#beats.add(listener)
    return () => this.#beats.delete(listener)
  }

  onLoss(listener: () => void): () => void {
    this.#losses.add(listener)
    return () => this.#losses.delete(listener)
  }

  /** A membership is never replaced. */
  onRenewal(): () => void {
    return () => {}
  }

  /** Sends a message that has no answer. */
  send(message: MessageOfMember): void {
    this.#channel.send(message)
  }

  /**
   * Sends a request and waits for its answer.
   *
   * @param request creates the message with a number.
   * @throws DatabaseUnavailableError when the primary process has ended.
   */
  ask(request: (id: number) => MessageOfMember): Promise<Answer> {
    if (this.#isLost) return Promise.reject(primaryEnded())
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      this.#asking.set(id, { resolve, reject })
      this.#channel.send(request(id))
    })
  }

  /** Ends the beats. */
  end(): void {
    clearInterval(this.#heartbeat)
  }

  #receive(message: MessageOfHost): void {
    switch (message.kind) {
      case 'ping':
        this.#channel.send({ kind: 'alive' })
        break
      case 'told':
        for (const listen of [...this.#listeners]) listen(message.text)
        break
      case 'taken':
      case 'running':
      case 'guess':
        this.#asking.get(message.id)?.resolve(message)
        this.#asking.delete(message.id)
        break
      // `WriteTurns` handles the turn.
      case 'turn':
        break
    }
  }

  #lose(): void {
    this.#isLost = true
    for (const { reject } of this.#asking.values()) reject(primaryEnded())
    this.#asking.clear()
    for (const lose of [...this.#losses]) lose()
  }
}

function primaryEnded(): DatabaseUnavailableError {
  return new DatabaseUnavailableError('the primary process of this server has ended')
}

/** The locks of a group of worker processes. */
export class GroupLocks implements Locks {
  readonly #membership: GroupMembership

  constructor(membership: GroupMembership) {
    this.#membership = membership
  }

  tryTake(key: string): Promise<SharedLock | undefined> {
    return this.#ask(key, false)
  }

  async take(key: string): Promise<SharedLock> {
    const lock = await this.#ask(key, true)
    if (!lock) throw new Error(`the primary process refused the lock ${key}`)
    return lock
  }

  /** Waits for the end of the present holder. */
  async standBy(key: string, until: AbortSignal): Promise<SharedLock | undefined> {
    if (until.aborted) return undefined
    const taking = this.take(key)
    const aborted = new Promise<undefined>((resolve) =>
      until.addEventListener('abort', () => resolve(undefined), { once: true }),
    )
    const lock = await Promise.race([taking, aborted])
    // A process whose worker stops is about to end.
    if (!lock)
      taking.then(
        (late) => late.release(),
        () => {},
      )
    return lock
  }

  async exclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    const lock = await this.take(key)
    try {
      return await withLease(lock.lease, work)
    } finally {
      lock.release()
    }
  }

  async #ask(key: string, waits: boolean): Promise<SharedLock | undefined> {
    const answer = await this.#membership.ask((id) => ({ kind: 'take', id, key, waits }))
    if (answer.kind !== 'taken' || !answer.isTaken) return undefined
    const { id } = answer
    const lease = this.#membership.lease()
    return {
      lease,
      release: () => {
        lease.release()
        this.#membership.send({ kind: 'release', id })
      },
    }
  }
}

/** The wrong guesses of a group of worker processes, which the primary process counts. */
export class HostedGuesses implements SharedGuesses {
  readonly #membership: GroupMembership

  constructor(membership: GroupMembership) {
    this.#membership = membership
  }

  async counted<T>(
    counters: readonly GuessCounter[],
    check: () => Promise<T | undefined>,
    refuse: (waitMs: number) => Error,
  ): Promise<T | undefined> {
    const answer = await this.#membership.ask((id) => ({ kind: 'begin guess', id, counters }))
    if (answer.kind !== 'guess' || answer.waitMs > 0)
      throw refuse(answer.kind === 'guess' ? answer.waitMs : 0)
    let ending: GuessEnding = 'unknown'
    try {
      const result = await check()
      ending = result === undefined ? 'wrong' : 'right'
      return result
    } finally {
      this.#membership.send({ kind: 'end guess', id: answer.id, ending })
    }
  }
}
