import { readFile } from 'node:fs/promises'
import {
  type BinaryOperationNode,
  type ColumnDefinitionNode,
  type DataTypeNode,
  OperatorNode,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  PostgresQueryCompiler,
  PrimitiveValueListNode,
  RawNode,
  sql,
} from 'kysely'
import pg from 'pg'
import { parse, toClientConfig } from 'pg-connection-string'
import { postgresNode } from './dialects/dialects.ts'
import { asUnavailable, DatabaseUnavailableError, unavailable } from './postgres-failures.ts'
import { type ConnectionSource, PostgresReads } from './postgres-reads.ts'
import { type Execution, PreparingConnection, type StatementResult } from './postgres-statements.ts'
import {
  isLostLock,
  PostgresHandle,
  statementAlone,
  WAITS_FOR_NEXT,
} from './postgres-transactions.ts'
import { encodeValue, getTypeParser, sentValues } from './postgres-values.ts'
import type { Db } from './schema.ts'

/** The address of a PostgreSQL database. */
export interface PostgresAddress {
  /** A `postgres://` URI (https://www.postgresql.org/docs/15/libpq-connect.html). */
  readonly url: string
  /** File with the password, which is read at each connection. */
  readonly passwordFile?: string | undefined
}

/** Settings of the connections to PostgreSQL. */
interface PostgresOptions extends PostgresAddress {
  /** Called with failures of idle connections. The pool replaces such connections. */
  readonly onError: (error: Error) => void
  /** The session of this server, if others use the database, too. */
  readonly session?: SessionOfServer | undefined
  /** The maximum number of connections. */
  readonly maxConnections?: number
}

/** The part of the session that the connections of a server need. */
interface SessionOfServer {
  /** Calls a function when the session has ended, or PostgreSQL no longer answers. */
  onLoss(listener: () => void): unknown
}

/**
 * The time for which a transaction of a server may wait for its next statement. A transaction checks
 * its locks before it commits, and the lock of a process that is stopped in between may be lost.
 */
const MAX_IDLE_IN_TRANSACTION_MS = 5_000

const DEFAULT_MAX_CONNECTIONS = 10
const CONNECT_TIMEOUT_MS = 5_000
/** The longest time for which a query waits while all connections are in use. */
const MAX_WAIT_MS = 15_000
/** Less than the time after which firewalls usually forget a connection. */
const IDLE_TIMEOUT_MS = 60_000

/** Opens a pool of connections. The first query connects. */
export function openPostgres(options: PostgresOptions): Db {
  const { onError, maxConnections, session, ...address } = options
  const pool = new pg.Pool({
    ...connectionSettings(address),
    Client,
    connectionTimeoutMillis: MAX_WAIT_MS,
    ...(session && { idle_in_transaction_session_timeout: MAX_IDLE_IN_TRANSACTION_MS }),
    onConnect: prepareConnection,
    max: maxConnections ?? DEFAULT_MAX_CONNECTIONS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    types: { getTypeParser },
  })
  pool.on('error', onError)
  if (session) endWithSession(pool, session)
  const connections = new Connections(pool)
  return new PostgresHandle(new Dialect(connections), new PostgresReads(connections))
}

/** A connection of the pool, whose time limit would otherwise be that of the wait for one. */
class Client extends pg.Client {
  constructor(settings: pg.ClientConfig = {}) {
    // The pool hides the password from copies.
    const { password } = settings
    super({ ...settings, password, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  }
}

/**
 * Prepares a connection.
 *
 * Refuses a standby, which would answer with rows that the primary has changed since. After a
 * failover, the address can lead to a standby for a moment.
 *
 * Switches off the compilation of queries, which PostgreSQL would repeat at each run of those that
 * it takes for expensive, such as lists with filters. It takes longer than a page of any list
 * (https://www.postgresql.org/docs/15/jit-decision.html).
 */
async function prepareConnection(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ isStandby: number }>(
    `select pg_is_in_recovery() as "isStandby", set_config('jit', 'off', false)`,
  )
  if (rows[0]?.isStandby !== 0) throw new Error('the server is a standby, which takes no writes')
}

/**
 * Ends all connections when the session of this server has ended: they may lead to a server that
 * does not answer or is no longer the primary, and their transactions may rely on lost locks. The
 * next calls connect again.
 */
function endWithSession(pool: pg.Pool, session: SessionOfServer): void {
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', (client) => clients.add(client))
  pool.on('remove', (client) => clients.delete(client))
  session.onLoss(() => {
    for (const client of clients) client.connection.stream.destroy()
  })
}

/**
 * Returns the settings of a connection. What the URI leaves out comes from the environment and the
 * password file of libpq (PGUSER, PGPASSFILE and others,
 * https://www.postgresql.org/docs/15/libpq-envars.html).
 */
export function connectionSettings({ url, passwordFile }: PostgresAddress): pg.ClientConfig {
  // `sslmode` means what it means to libpq.
  const { password, ...parsed } = toClientConfig(parse(url, { useLibpqCompat: true }))
  const settings = {
    ...parsed,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'branchline',
  }
  if (passwordFile !== undefined) {
    const readPassword = async () => (await readFile(passwordFile, 'utf8')).replace(/\r?\n$/, '')
    return { ...settings, password: readPassword }
  }
  return password ? { ...settings, password } : settings
}

/** A PostgreSQL database that this program cannot use. The message is for the operator. */
export class UnsuitableDatabaseError extends Error {
  override readonly name = 'UnsuitableDatabaseError'

  /** Returns the error for a database that does not respond. */
  static because(cause: unknown): UnsuitableDatabaseError {
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : String(cause)
    return new UnsuitableDatabaseError(`the PostgreSQL database cannot be used: ${reason}`, {
      cause,
    })
  }
}

/** The oldest version that the tests run on. */
const MIN_VERSION = 15

/**
 * Checks that a database can be used.
 *
 * @throws UnsuitableDatabaseError when the database is unreachable, a standby, too old, or not in
 *   UTF-8.
 */
export async function checkPostgres(db: Db): Promise<void> {
  const { version, encoding } = await readFacts(db).catch((error: unknown) => {
    throw UnsuitableDatabaseError.because(
      error instanceof DatabaseUnavailableError ? error.cause : error,
    )
  })
  if (version < MIN_VERSION * 10_000) {
    throw new UnsuitableDatabaseError(
      `PostgreSQL ${Math.floor(version / 10_000)} is too old: Branchline needs ${MIN_VERSION} or later`,
    )
  }
  if (encoding !== 'UTF8') {
    throw new UnsuitableDatabaseError(
      `the PostgreSQL database has the encoding ${encoding}: create one with "encoding 'UTF8' template template0"`,
    )
  }
}

interface Facts {
  readonly version: number
  readonly encoding: string
}

async function readFacts(db: Db): Promise<Facts> {
  const { rows } = await sql<Facts>`select
    current_setting('server_version_num')::bigint as version,
    current_setting('server_encoding') as encoding`.execute(db)
  const [facts] = rows
  if (!facts) throw new Error('no row')
  return facts
}

class Dialect extends PostgresDialect {
  constructor(connections: Connections) {
    super({ pool: poolOf(connections) })
  }

  override createQueryCompiler(): PostgresCompiler {
    return new PostgresCompiler()
  }
}

/** The statements by which Kysely begins and ends transactions. */
const BEGINS_TRANSACTION = /^(?:begin|start transaction)\b/i
const ENDS_TRANSACTION = /^(?:commit|rollback)$/i

/** The maximum number of prepared statements of a connection, each of which takes its memory. */
const MAX_PREPARED_STATEMENTS = 512

/** The first word of a statement that PostgreSQL can prepare. */
const CAN_BE_PREPARED = /^\s*(?:select|insert|update|delete|with|start|begin|commit|rollback)\b/i
/** The first word of a statement that changes the schema. */
const CHANGES_SCHEMA = /^\s*(?:alter|create|drop)\b/i

/** The connections of a pool, each of which plans a statement once. */
class Connections implements ConnectionSource {
  readonly #pool: pg.Pool
  readonly #names = new Map<string, string>()
  readonly #known = new WeakMap<pg.PoolClient, PreparingConnection>()
  #schemaChanges = 0

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    if (CHANGES_SCHEMA.test(text)) {
      // A statement with an earlier plan would fail when its columns have changed.
      this.#schemaChanges++
      this.#names.clear()
    }
    if (this.#names.size >= MAX_PREPARED_STATEMENTS || !CAN_BE_PREPARED.test(text)) return undefined
    const name = `${this.#schemaChanges}.${this.#names.size}`
    this.#names.set(text, name)
    return name
  }

  async connect(): Promise<PreparingConnection> {
    const client = await this.#pool.connect().catch(asUnavailable)
    const known = this.#known.get(client)
    if (known) return known
    const connection = new PreparingConnection(client)
    this.#known.set(client, connection)
    // The query in progress fails too, and the pool drops the connection when it is released.
    client.on('error', () => {})
    return connection
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

/** Returns the pool that Kysely uses. */
function poolOf(connections: Connections): PostgresPool {
  const clients = new WeakMap<PreparingConnection, PostgresPoolClient>()
  return {
    async connect() {
      const connection = await connections.connect()
      const known = clients.get(connection)
      if (known) return known
      const statements = new Statements(connections, connection)
      const named: PostgresPoolClient = {
        // Kysely passes a text, or a cursor when a query is streamed, which no query is.
        query: ((text: string, values: readonly unknown[]) =>
          statements.run(text, values)) as unknown as PostgresPoolClient['query'],
        release: () => connection.release(),
      }
      clients.set(connection, named)
      return named
    },
    end: () => connections.end(),
  }
}

/** A statement and its parameters. */
interface Text {
  readonly text: string
  readonly values: readonly unknown[]
}

const NOTHING: StatementResult = { command: '', rowCount: 0, rows: [] }

/** The statements that Kysely runs on a connection. */
class Statements {
  readonly #connections: Connections
  readonly #connection: PreparingConnection
  #isInTransaction = false
  /** Whether a statement of the transaction was sent, beside those that wait for it. */
  #hasBegun = false
  /** What is sent with the next statement, such as the one that begins the transaction. */
  #waiting: Text[] = []

  constructor(connections: Connections, connection: PreparingConnection) {
    this.#connections = connections
    this.#connection = connection
  }

  async run(text: string, values: readonly unknown[]): Promise<StatementResult> {
    if (BEGINS_TRANSACTION.test(text)) {
      this.#isInTransaction = true
      this.#hasBegun = false
      this.#waiting = [{ text, values: [] }]
      return NOTHING
    }
    if (ENDS_TRANSACTION.test(text)) return this.#end(text)
    if (!this.#isInTransaction) return statementAlone(() => this.#send(text, values))
    if (WAITS_FOR_NEXT.has(text)) {
      this.#waiting.push({ text, values })
      return NOTHING
    }
    this.#hasBegun = true
    return this.#send(text, values)
  }

  async #end(text: string): Promise<StatementResult> {
    this.#isInTransaction = false
    const isCommit = /^commit$/i.test(text)
    const hasChecks = isCommit && this.#waiting.length > (this.#hasBegun ? 0 : 1)
    if (!hasChecks) this.#waiting = []
    // A transaction without statements was not begun.
    if (!this.#hasBegun && !hasChecks) return NOTHING
    this.#hasBegun = true
    try {
      return await this.#send(text, [])
    } catch (error) {
      throw isCommit && isLostLock(error) ? unavailable('a lock of this server was lost') : error
    }
  }

  async #send(text: string, values: readonly unknown[]): Promise<StatementResult> {
    const waiting = this.#waiting
    this.#waiting = []
    const executions = [...waiting, { text, values }].map((each) => this.#prepared(each))
    const [last] = executions.splice(-1)
    if (!last || !areComplete(executions)) {
      for (const each of waiting) await this.#sendAlone(each.text, each.values)
      return this.#sendAlone(text, values)
    }
    const { results, error } = await this.#connection.execute([last], executions)
    if (error === undefined && results[0]) return results[0]
    return asUnavailable(error)
  }

  /** Returns a statement as it is sent by its name; undefined for one that cannot be prepared. */
  #prepared({ text, values }: Text): Execution | undefined {
    const name = this.#connections.nameOf(text)
    const sent = name === undefined ? undefined : sentValues(values)
    return name !== undefined && sent ? { statement: { name, text }, values: sent } : undefined
  }

  /** Sends a statement that cannot be prepared. */
  #sendAlone(text: string, values: readonly unknown[]): Promise<StatementResult> {
    return this.#connection.client
      .query({ name: undefined, text, values: values.map(encodeValue) })
      .catch(asUnavailable)
      .then(({ command, rowCount, rows }) => ({ command, rowCount: rowCount ?? 0, rows }))
  }
}

function areComplete(executions: readonly (Execution | undefined)[]): executions is Execution[] {
  return executions.every((execution) => execution !== undefined)
}

/**
 * The types of SQLite and those of PostgreSQL that hold the same values. Texts have the order of
 * their bytes, as in SQLite, and `lower` changes ASCII letters only
 * (https://www.postgresql.org/docs/15/collation.html).
 */
const COLUMN_TYPES: Readonly<Record<string, string>> = {
  integer: 'bigint',
  text: 'text collate "C"',
  blob: 'bytea',
}

/** Compiles queries and definitions of tables, which are written for SQLite, for PostgreSQL. */
class PostgresCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    const own = postgresNode(node)
    if (own) this.visitNode(own)
    else super.visitRaw(node)
  }

  /** SQLite accepts an empty list. */
  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { operator, rightOperand: list } = node
    const isEmpty = PrimitiveValueListNode.is(list) && list.values.length === 0
    if (isEmpty && OperatorNode.is(operator)) this.append(String(operator.operator === 'not in'))
    else super.visitBinaryOperation(node)
  }

  protected override visitColumnDefinition(node: ColumnDefinitionNode): void {
    super.visitColumnDefinition({ ...node, dataType: columnType(node.dataType) })
  }

  /** An explicit id is allowed, because `users` and `organizations` take the ids of accounts. */
  protected override getAutoIncrement(): string {
    return 'generated by default as identity'
  }
}

function columnType(type: ColumnDefinitionNode['dataType']): ColumnDefinitionNode['dataType'] {
  const name = (type as DataTypeNode).dataType
  const postgresName = typeof name === 'string' ? COLUMN_TYPES[name] : undefined
  return postgresName === undefined ? type : RawNode.createWithSql(postgresName)
}
