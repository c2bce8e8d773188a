import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  RawNode,
  SelectQueryNode,
  SqliteDialect,
  type SqliteDialectConfig,
  type TransactionSettings,
} from 'kysely'
import type { CommitLog } from './commit-log.ts'
import type { Turns } from './coordination/ports.ts'
import { isRepeatable } from './repeatable.ts'

/** The first word of a raw statement that writes nothing. */
const READS = /^\s*(?:select|pragma|explain)\b/i

/** What writing to a database needs besides the database. */
export interface Writing {
  /** The turns of several processes. Undefined for a process that is alone. */
  readonly turns?: Turns | undefined
  /** Undefined for a database that has no log, such as one in memory. */
  readonly log?: FlushedLog | undefined
}

/** The log of a connection. */
export interface FlushedLog extends Pick<CommitLog, 'flushed' | 'close'> {
  /** Returns whether the connection has changed rows since the last call. */
  hasChanged(): boolean
}

/**
 * SQLite with turns and a log.
 *
 * With several processes, a transaction, and a statement outside of transactions that writes, waits for
 * the turn of this process with its connection: other queries of the process wait behind it, as they
 * wait for its end.
 *
 * Who has written waits for the log after the connection and the turn have gone to the next one, so
 * that commits share a flush. Others may read a change before the change is on the disk. What they
 * write then is behind the change in the log.
 */
export class WritingDialect extends SqliteDialect {
  readonly #writing: Writing

  constructor(config: SqliteDialectConfig, writing: Writing) {
    super(config)
    this.#writing = writing
  }

  override createDriver(): Driver {
    return new WritingDriver(super.createDriver(), this.#writing)
  }
}

class WritingDriver implements Driver {
  readonly #driver: Driver
  readonly #turns: Turns | undefined
  readonly #log: FlushedLog | undefined
  #connection: WritingConnection | undefined

  constructor(driver: Driver, { turns, log }: Writing) {
    this.#driver = driver
    this.#turns = turns
    this.#log = log
  }

  init(): Promise<void> {
    return this.#driver.init()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await this.#driver.acquireConnection()
    this.#connection ??= new WritingConnection(connection, this.#turns)
    return this.#connection
  }

  async beginTransaction(
    connection: WritingConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    await this.#turns?.begin()
    try {
      await this.#driver.beginTransaction(connection.inner, settings)
      connection.isInTransaction = true
    } catch (error) {
      this.#turns?.end()
      throw error
    }
  }

  /** After a failure, the transaction is rolled back. */
  async commitTransaction(connection: WritingConnection): Promise<void> {
    await this.#driver.commitTransaction(connection.inner)
    this.#endTransaction(connection)
  }

  async rollbackTransaction(connection: WritingConnection): Promise<void> {
    try {
      await this.#driver.rollbackTransaction(connection.inner)
    } finally {
      this.#endTransaction(connection)
    }
  }

  async releaseConnection(connection: WritingConnection): Promise<void> {
    // The next one may write as soon as the connection is free.
    const hasChanged = this.#log?.hasChanged()
    await this.#driver.releaseConnection(connection.inner)
    if (!hasChanged) return
    const flushed = this.#log?.flushed()
    // Who flushes the log next learns of a failure.
    if (isRepeatable()) flushed?.catch(() => {})
    else await flushed
  }

  async destroy(): Promise<void> {
    await this.#log?.close()
    await this.#driver.destroy()
  }

  #endTransaction(connection: WritingConnection): void {
    connection.isInTransaction = false
    this.#turns?.end()
  }
}

class WritingConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection
  readonly #turns: Turns | undefined
  isInTransaction = false

  constructor(inner: DatabaseConnection, turns: Turns | undefined) {
    this.inner = inner
    this.#turns = turns
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (!this.#turns || this.isInTransaction || isRead(query))
      return this.inner.executeQuery<Row>(query)
    await this.#turns.begin()
    try {
      return await this.inner.executeQuery<Row>(query)
    } finally {
      this.#turns.end()
    }
  }

  streamQuery<Row>(
    query: CompiledQuery,
    chunkSize?: number,
  ): AsyncIterableIterator<QueryResult<Row>> {
    return this.inner.streamQuery<Row>(query, chunkSize)
  }
}

/** Returns whether a statement certainly writes nothing. */
function isRead({ query, sql }: CompiledQuery): boolean {
  return SelectQueryNode.is(query) || (RawNode.is(query) && READS.test(sql))
}
