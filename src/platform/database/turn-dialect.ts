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
import type { Turns } from './coordination/ports.ts'

/** The first word of a raw statement that writes nothing. */
const READS = /^\s*(?:select|pragma|explain)\b/i

/**
 * SQLite in one of several processes. A transaction, and a statement outside of transactions that
 * writes, waits for the turn of this process with its connection: other queries of the process wait
 * behind it, as they wait for its end.
 */
export class TurnDialect extends SqliteDialect {
  readonly #turns: Turns

  constructor(config: SqliteDialectConfig, turns: Turns) {
    super(config)
    this.#turns = turns
  }

  override createDriver(): Driver {
    return new TurnDriver(super.createDriver(), this.#turns)
  }
}

class TurnDriver implements Driver {
  readonly #driver: Driver
  readonly #turns: Turns
  #connection: TurnConnection | undefined

  constructor(driver: Driver, turns: Turns) {
    this.#driver = driver
    this.#turns = turns
  }

  init(): Promise<void> {
    return this.#driver.init()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await this.#driver.acquireConnection()
    this.#connection ??= new TurnConnection(connection, this.#turns)
    return this.#connection
  }

  async beginTransaction(connection: TurnConnection, settings: TransactionSettings): Promise<void> {
    await this.#turns.begin()
    try {
      await this.#driver.beginTransaction(connection.inner, settings)
      connection.isInTransaction = true
    } catch (error) {
      this.#turns.end()
      throw error
    }
  }

  /** After a failure, the transaction is rolled back. */
  async commitTransaction(connection: TurnConnection): Promise<void> {
    await this.#driver.commitTransaction(connection.inner)
    this.#endTransaction(connection)
  }

  async rollbackTransaction(connection: TurnConnection): Promise<void> {
    try {
      await this.#driver.rollbackTransaction(connection.inner)
    } finally {
      this.#endTransaction(connection)
    }
  }

  releaseConnection(connection: TurnConnection): Promise<void> {
    return this.#driver.releaseConnection(connection.inner)
  }

  destroy(): Promise<void> {
    return this.#driver.destroy()
  }

  #endTransaction(connection: TurnConnection): void {
    connection.isInTransaction = false
    this.#turns.end()
  }
}

class TurnConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection
  readonly #turns: Turns
  isInTransaction = false

  constructor(inner: DatabaseConnection, turns: Turns) {
    this.inner = inner
    this.#turns = turns
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.isInTransaction || isRead(query)) return this.inner.executeQuery<Row>(query)
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
