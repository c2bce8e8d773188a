import type { StatementTrigger } from './triggers.ts'

/** Numbers in one row, each of which is a sum over the rows of another table that name it. */
export interface Counting {
  readonly table: string
  /** The column that names the row with the numbers. */
  readonly key: string
  /** What a row adds to each number, an integer. */
  readonly amounts: readonly string[]
  /** Adds the changes `counted.n1`, `counted.n2` and so on to the numbers of the row `counted.key`. */
  readonly add: string
  /** Whether statements change what many rows add. */
  readonly isChanged?: boolean
}

/** Returns the statement that adds changes to numbers of a table. */
export function adding(table: string, ...columns: readonly string[]): string {
  const changes = columns.map((column, i) => `${column} = ${column} + counted.n${i + 1}`)
  return `update ${table} set ${changes.join(', ')}
    where id = counted.key;`
}

/** Returns the triggers of PostgreSQL that count once for each statement. */
export function countingTriggers(counting: Counting): StatementTrigger[] {
  const events = ['insert', 'delete', ...(counting.isChanged ? ['update'] : [])] as const
  return events.map((event): StatementTrigger => {
    const { table, key } = counting
    const name = `${table}_of_${key.replace('_id', '')}_on_${event}`
    return { name, event: event as StatementTrigger['event'], table, body: bodyOf(counting, event) }
  })
}

/**
 * Returns the function of a trigger. The rows with the numbers are changed one by one: one statement
 * for all would keep its first plan, which reads the whole table if many rows are changed at first.
 */
function bodyOf({ key, amounts, add }: Counting, event: string): string {
  const rowsOf = (name: string, sign: string) =>
    `select ${key} as key, ${amounts.map((amount, i) => `${sign}${amount} as n${i + 1}`).join(', ')} from ${name}`
  const rows = [
    ...(event === 'insert' ? [] : [rowsOf('old_rows', '-')]),
    ...(event === 'delete' ? [] : [rowsOf('new_rows', '')]),
  ].join(' union all ')
  const sums = amounts.map((_, i) => `sum(n${i + 1})::integer as n${i + 1}`).join(', ')
  const isChange = amounts.map((_, i) => `sum(n${i + 1}) <> 0`).join(' or ')
  // In one order, so that two transactions do not wait for each other.
  return `declare counted record;
    begin
      for counted in select key, ${sums} from (${rows}) as changed
        where key is not null group by key having ${isChange} order by key
      loop ${add} end loop;
      return null;
    end`
}
