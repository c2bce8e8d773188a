import pg from 'pg'
import type { Execution, NamedStatement, PreparingConnection } from './postgres-statements.ts'
import type { SentValue } from './postgres-values.ts'

/** The maximum number of connections that read. Others remain for transactions. */
const MAX_CONNECTIONS = 4

/** The maximum number of statements that are sent together. */
const MAX_TOGETHER = 16

/** A statement that took longer is sent alone the next time, so that no other one waits for it. */
const SLOW_MS = 20

/** The maximum number of statements that are known as slow. */
const MAX_SLOW = 512

type Row = Record<string, unknown>

/** A statement that waits for a connection. */
interface Read extends Execution {
  /** Whether the statement must be sent alone. */
  isAlone: boolean
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

/** What reads need of a pool. */
export interface ConnectionSource {
  /** Takes a connection, which `release` returns. @throws DatabaseUnavailableError */
  connect(): Promise<PreparingConnection>
  /** Returns the name of a statement for all connections. */
  nameOf(text: string): string | undefined
}

/**
 * The prepared queries outside of transactions. Those of one iteration of the event loop, of whatever
 * calls, go to PostgreSQL in one write, and their answers return in one: to send a statement and to
 * receive its answer takes several times as long as all else that the server does for it.
 */
export class PostgresReads {
  readonly #source: ConnectionSource
  readonly #waiting: Read[] = []
  /** The texts of statements that were slow. */
  readonly #slow = new Set<string>()
  /** Connections in use, of which some may have nothing to send. */
  #connections = 0
  /** Gives statements to the connections that have nothing to send. */
  readonly #idle: ((reads: readonly Read[]) => void)[] = []
  /** Whether the waiting statements will be sent in this iteration of the event loop. */
  #isScheduled = false

  constructor(source: ConnectionSource) {
    this.#source = source
  }

  /**
   * Returns the rows of a query that writes nothing and locks no rows.
   *
   * @throws DatabaseUnavailableError; the error of PostgreSQL.
   */
  read(text: string, values: readonly SentValue[]): Promise<Row[]> {
    const statement: NamedStatement = { name: this.#source.nameOf(text) ?? '', text }
    return new Promise((resolve, reject) => {
      const isAlone = this.#slow.has(text)
      this.#waiting.push({ statement, values, isAlone, resolve, reject })
      this.#schedule()
    })
  }

  /** Sends the waiting statements after the callbacks of this iteration, which may add others. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#waiting.length > 0) {
        const give = this.#idle.pop()
        if (give) give(this.#take())
        else if (this.#connections < MAX_CONNECTIONS) void this.#useConnection(this.#take())
        else break
      }
      for (const give of this.#idle.splice(0)) give([])
    })
  }

  /** Takes the statements that are sent next. */
  #take(): readonly Read[] {
    const aloneAt = this.#waiting.findIndex(({ isAlone }) => isAlone)
    if (aloneAt === 0) return this.#waiting.splice(0, 1)
    return this.#waiting.splice(0, aloneAt < 0 ? MAX_TOGETHER : Math.min(aloneAt, MAX_TOGETHER))
  }

  /** Waits for statements that the answers of this iteration lead to. Returns none if there are none. */
  #nextReads(): Promise<readonly Read[]> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.#schedule()
    })
  }

  /** Sends statements on one connection as long as there are any. */
  async #useConnection(first: readonly Read[]): Promise<void> {
    this.#connections += 1
    let reads = first
    try {
      const connection = await this.#source.connect()
      let isUsable = true
      while (isUsable && reads.length > 0) {
        isUsable = await this.#send(connection, reads)
        if (isUsable) reads = await this.#nextReads()
      }
      connection.release()
    } catch (error) {
      for (const read of reads) read.reject(error)
    } finally {
      this.#connections -= 1
      if (this.#waiting.length > 0) this.#schedule()
    }
  }

  /** Sends statements. Returns whether the connection can send others. */
  async #send(connection: PreparingConnection, reads: readonly Read[]): Promise<boolean> {
    const startMs = performance.now()
    const { results, error } = await connection.execute(reads)
    this.#learn(reads, performance.now() - startMs)
    for (const [i, { rows }] of results.entries()) reads[i]?.resolve(rows)
    if (error === undefined) return true
    const [failed, ...skipped] = reads.slice(results.length)
    failed?.reject(error)
    if (error instanceof pg.DatabaseError) {
      // They have not run, and another one may fail too.
      for (const read of skipped) read.isAlone = true
      this.#waiting.unshift(...skipped)
    } else {
      for (const read of skipped) read.reject(error)
    }
    return false
  }

  #learn(reads: readonly Read[], tookMs: number): void {
    if (this.#slow.size > MAX_SLOW) this.#slow.clear()
    for (const { statement } of reads) {
      if (tookMs > SLOW_MS) this.#slow.add(statement.text)
      else if (reads.length === 1) this.#slow.delete(statement.text)
    }
  }
}
