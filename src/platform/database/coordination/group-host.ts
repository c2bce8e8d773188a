import { GroupGuesses } from './group-guesses.ts'
import type { MessageOfHost, MessageOfMember } from './group-messages.ts'

/** The time between two signs of life of a member. */
const PING_MS = 5_000

/**
 * Signs of life in a row that a member may leave out: a member that does not answer for 20 seconds
 * is ended. The host counts pings rather than time, since all processes stop when the machine does.
 */
const MAX_MISSED_PINGS = 4

/** A process of the group, as the host sees it. */
export interface HostedProcess {
  /** The number of its server, which no other process has or had. */
  readonly serverId: number
  send(message: MessageOfHost): void
  /** Ends the process at once. */
  kill(): void
}

/** A request for a lock. */
interface Request {
  readonly member: HostedProcess
  readonly id: number
}

/** What the host knows of a member. */
interface Known {
  /** The keys of the locks that the member holds or waits for, by the number of the request. */
  readonly keys: Map<number, string>
  /** Pings without an answer; undefined until the first sign of life. */
  missedPings: number | undefined
}

/**
 * The coordination of the worker processes of one SQLite database, in their primary process: locks,
 * messages to all, the turn to write, and the limits of wrong guesses. The primary process learns of
 * the end of a worker process from the operating system, so that nothing has to expire: what a
 * process holds is free when, and only when, the process has ended.
 *
 * A process that stops without an end is ended after a time.
 */
export class GroupHost {
  readonly #members = new Map<HostedProcess, Known>()
  /** The requests for each lock, the oldest first, which has the lock. */
  readonly #locks = new Map<string, Request[]>()
  /** The members that wait for the turn to write, the first one after its present holder. */
  readonly #wantingTurn: HostedProcess[] = []
  #turnHolder: HostedProcess | undefined
  readonly #guesses: GroupGuesses<HostedProcess>
  readonly #pings: NodeJS.Timeout

  constructor(now: () => number = Date.now) {
    this.#guesses = new GroupGuesses(now, (member, id, waitMs) =>
      member.send({ kind: 'guess', id, waitMs }),
    )
    this.#pings = setInterval(() => this.ping(), PING_MS).unref()
  }

  /** Adds a process that starts. */
  add(member: HostedProcess): void {
    this.#members.set(member, { keys: new Map(), missedPings: undefined })
  }

  /** Removes a process that has ended, and gives what it held to others. */
  remove(member: HostedProcess): void {
    const known = this.#members.get(member)
    if (!known) return
    this.#members.delete(member)
    for (const id of [...known.keys.keys()]) this.#release(member, known, id)
    const turn = this.#wantingTurn.indexOf(member)
    if (turn >= 0) this.#wantingTurn.splice(turn, 1)
    if (this.#turnHolder === member) this.#passTurn()
    this.#guesses.remove(member)
  }

  /** Handles a message of a member. */
  receive(member: HostedProcess, message: MessageOfMember): void {
    const known = this.#members.get(member)
    if (!known) return
    switch (message.kind) {
      case 'alive':
        known.missedPings = 0
        break
      case 'take':
        this.#take({ member, id: message.id }, known, message.key, message.waits)
        break
      case 'release':
        this.#release(member, known, message.id)
        break
      case 'running':
        this.#answerRunning(member, message.id, message.serverIds)
        break
      case 'tell':
        this.#tell(member, message.text)
        break
      case 'want turn':
        this.#wantTurn(member)
        break
      case 'leave turn':
        if (this.#turnHolder === member) this.#passTurn()
        break
      case 'begin guess':
        this.#guesses.begin(member, message.id, message.counters)
        break
      case 'end guess':
        this.#guesses.end(member, message.id, message.ending)
        break
    }
  }

  /** Asks all members for a sign of life, and ends those that have left out too many. */
  ping(): void {
    for (const [member, known] of this.#members) {
      if (known.missedPings === undefined) continue
      if (known.missedPings >= MAX_MISSED_PINGS) member.kill()
      known.missedPings += 1
      member.send({ kind: 'ping' })
    }
  }

  /** Ends the pings. */
  close(): void {
    clearInterval(this.#pings)
  }

  #take(request: Request, known: Known, key: string, waits: boolean): void {
    const { member, id } = request
    const requests = this.#locks.get(key) ?? []
    if (requests.length > 0 && !waits) {
      member.send({ kind: 'taken', id, isTaken: false })
      return
    }
    this.#locks.set(key, requests)
    known.keys.set(id, key)
    requests.push(request)
    if (requests.length === 1) grant(request)
  }

  /** Ends a request, whose lock the next one gets. */
  #release(member: HostedProcess, known: Known, id: number): void {
    const key = known.keys.get(id)
    const requests = key === undefined ? undefined : this.#locks.get(key)
    if (key === undefined || !requests) return
    known.keys.delete(id)
    const index = requests.findIndex((request) => request.member === member && request.id === id)
    requests.splice(index, 1)
    const [next] = requests
    if (!next) this.#locks.delete(key)
    else if (index === 0) grant(next)
  }

  #answerRunning(member: HostedProcess, id: number, asked: readonly number[]): void {
    const all = new Set([...this.#members.keys()].map(({ serverId }) => serverId))
    const serverIds = asked.filter((serverId) => all.has(serverId))
    member.send({ kind: 'running', id, serverIds })
  }

  #tell(from: HostedProcess, text: string): void {
    for (const member of this.#members.keys())
      if (member !== from) member.send({ kind: 'told', text })
  }

  #wantTurn(member: HostedProcess): void {
    this.#wantingTurn.push(member)
    if (!this.#turnHolder) this.#passTurn()
  }

  #passTurn(): void {
    this.#turnHolder = this.#wantingTurn.shift()
    this.#turnHolder?.send({ kind: 'turn' })
  }
}

/** Tells a process that it has the lock of a request. */
function grant({ member, id }: Request): void {
  member.send({ kind: 'taken', id, isTaken: true })
}
