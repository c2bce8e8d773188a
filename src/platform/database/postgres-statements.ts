import type pg from 'pg'
import { isEndOfConnection } from './postgres-failures.ts'
import { getTypeParser, type SentValue } from './postgres-values.ts'

/** A statement with its name on each connection. Without a name, each run prepares it. */
export interface NamedStatement {
  readonly name: string
  readonly text: string
}

/** A run of a statement. */
export interface Execution {
  readonly statement: NamedStatement
  readonly values: readonly SentValue[]
}

/** What a statement returns. */
export interface StatementResult {
  readonly command: string
  readonly rowCount: number
  readonly rows: Record<string, unknown>[]
}

/** How executions ended that were sent together. */
export interface Outcome {
  /** The results of the first executions: of all, unless one failed. */
  readonly results: readonly StatementResult[]
  /** The failure of the next one. PostgreSQL has skipped those after it. */
  readonly error?: unknown
}

/** A connection, with what it has prepared. */
export class PreparingConnection {
  readonly client: pg.PoolClient
  readonly #preparations: Preparations = new Map()
  /** What is sent after the answer to the executions in progress. */
  readonly #next: (() => void)[] = []
  #isBusy = false
  #hasEnded = false

  constructor(client: pg.PoolClient) {
    this.client = client
  }

  /**
   * Sends executions together, and PostgreSQL answers them together. They are one transaction, or a
   * part of the current one.
   *
   * `pg` would describe the columns at each run, and create an emitter of events and a copy of the
   * settings, which takes longer than to read a row.
   *
   * @param before what runs first, without a result. When one fails, PostgreSQL skips the others.
   */
  execute(executions: readonly Execution[], before: readonly Execution[] = []): Promise<Outcome> {
    const all = [...before, ...executions]
    return new Promise((resolve) => {
      const send = () => {
        this.#isBusy = true
        this.client.query(
          new Batch(this.#preparations, all, before.length, (outcome) => {
            this.#isBusy = false
            if (outcome.error !== undefined) this.#hasEnded ||= isEndOfConnection(outcome.error)
            this.#next.shift()?.()
            resolve(outcome)
          }),
        )
      }
      // `pg` has no queue of its own from its version 9 on.
      if (this.#isBusy) this.#next.push(send)
      else send()
    })
  }

  /** Returns the connection to the pool, which drops one that PostgreSQL is about to end. */
  release(): void {
    this.client.release(this.#hasEnded)
  }
}

/** The columns of a statement. */
interface Columns {
  readonly names: readonly string[]
  readonly parsers: readonly ((text: string) => unknown)[]
}

/** A statement that a connection has prepared. */
interface Preparation {
  columns: Columns
  /** Whether PostgreSQL has confirmed the statement. */
  isConfirmed: boolean
}

const NO_COLUMNS: Columns = { names: [], parsers: [] }

/** The statements of a connection, by name. */
type Preparations = Map<string, Preparation>

interface RowDescription {
  readonly fields: readonly {
    readonly name: string
    readonly dataTypeID: number
    readonly format: 'text' | 'binary'
  }[]
}

/**
 * Executions as the queue of `pg` takes them
 * (https://www.postgresql.org/docs/15/protocol-flow.html#PROTOCOL-FLOW-PIPELINING).
 */
class Batch implements pg.Submittable {
  readonly #known: Preparations
  readonly #executions: readonly Execution[]
  readonly #hidden: number
  readonly #resolve: (outcome: Outcome) => void
  /** The preparation of each execution. */
  readonly #prepared: Preparation[] = []
  readonly #results: StatementResult[] = []
  #rows: Record<string, unknown>[] = []

  /**
   * @param known the statements of the connection.
   * @param hidden the number of the first executions whose results are not returned.
   */
  constructor(
    known: Preparations,
    executions: readonly Execution[],
    hidden: number,
    resolve: (outcome: Outcome) => void,
  ) {
    this.#known = known
    this.#executions = executions
    this.#hidden = hidden
    this.#resolve = resolve
  }

  submit(connection: pg.Connection): void {
    // One write takes a fraction of the time of several.
    connection.stream.cork()
    for (const execution of this.#executions) this.#send(connection, execution)
    connection.sync()
    connection.stream.uncork()
  }

  #send(connection: pg.Connection, { statement, values }: Execution): void {
    const { name, text } = statement
    const earlier = this.#known.get(name)
    const isNew = earlier === undefined
    const preparation = earlier ?? { columns: NO_COLUMNS, isConfirmed: false }
    if (isNew) {
      // A run that failed may have left the statement. It is no error if there is none.
      connection.close({ type: 'S', name }, true)
      connection.parse({ name, text, types: [] }, true)
      if (name !== '') this.#known.set(name, preparation)
    }
    connection.bind({ statement: name, values: values as SentValue[] }, true)
    if (isNew) connection.describe({ type: 'P', name: '' }, true)
    connection.execute({}, true)
    this.#prepared.push(preparation)
  }

  handleRowDescription({ fields }: RowDescription): void {
    const preparation = this.#prepared[this.#results.length]
    if (!preparation) return
    preparation.columns = {
      names: fields.map(({ name }) => name),
      parsers: fields.map(({ dataTypeID, format }) => getTypeParser(dataTypeID, format)),
    }
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { names, parsers } = this.#prepared[this.#results.length]?.columns ?? NO_COLUMNS
    const row: Record<string, unknown> = {}
    for (let i = 0; i < fields.length; i++) {
      const text = fields[i] ?? null
      row[names[i] as string] = text === null ? null : parsers[i]?.(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const words = text.split(' ')
    const rowCount = Number(words.at(-1))
    const command = words[0] ?? ''
    this.#results.push({ command, rowCount: rowCount || 0, rows: this.#rows })
    this.#rows = []
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' })
  }

  /** The transaction of the executions has been committed, unless it is a part of a longer one. */
  handleReadyForQuery(): void {
    for (const preparation of this.#prepared) preparation.isConfirmed = true
    this.#resolve({ results: this.#results.slice(this.#hidden) })
  }

  handleError(error: unknown): void {
    for (const [i, { statement }] of this.#executions.entries())
      if (this.#prepared[i]?.isConfirmed === false) this.#known.delete(statement.name)
    this.#resolve({ results: this.#results.slice(this.#hidden), error })
  }
}
