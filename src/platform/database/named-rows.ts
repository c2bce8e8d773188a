import type { Statement } from './sqlite.ts'

/** The rows of a statement, read with its parameters. */
export interface NamedRows<Row> {
  all(parameters: readonly unknown[]): Row[]
  /** Returns the first row. */
  get(parameters: readonly unknown[]): Row | undefined
}

/**
 * Reads the rows of a statement as arrays and names the columns here. The driver would create the
 * names of the columns for each row again, which takes twice the time.
 *
 * @param statement has the same columns as long as the schema does not change.
 */
export function namedRows<Row>(statement: Statement): NamedRows<Row> {
  const raw = statement.raw()
  const names = statement.columns().map(({ name }) => name)
  const nameRow = (values: unknown) => {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < names.length; i++)
      row[names[i] as string] = (values as readonly unknown[])[i]
    return row as Row
  }
  return {
    all: (parameters) => raw.all(parameters).map(nameRow),
    get(parameters) {
      const values = raw.get(parameters)
      return values === undefined ? undefined : nameRow(values)
    },
  }
}
