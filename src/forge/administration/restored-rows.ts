import { summarize } from '../../platform/database/row-copy/row-copy.ts'
import { RowsRefusedError } from '../../platform/database/row-copy/row-text.ts'
import type { RowLoader, RowTable } from '../../platform/database/row-copy/rows.ts'
import type { Complete, Progress } from './archive.ts'
import { jsonOf } from './archive-json.ts'
import { type ArchiveEntry, RestoreError } from './archive-reader.ts'

/** A group of rows has about a mebibyte, but a single row can be larger. */
const MAX_ROWS_BYTES = 512 * 1024 * 1024

/** The rows of an instance that is restored. */
export class RestoredRows {
  readonly #loader: RowLoader
  readonly #tables: ReadonlyMap<string, RowTable>

  private constructor(loader: RowLoader, tables: readonly RowTable[]) {
    this.#loader = loader
    this.#tables = new Map(tables.map((table) => [table.name, table]))
  }

  static async of(loader: RowLoader): Promise<RestoredRows> {
    return new RestoredRows(loader, await loader.tables())
  }

  /** Inserts the rows of an entry of the archive, and returns their number. */
  async insert(entry: ArchiveEntry, name: string): Promise<number> {
    const content = await entry.content(MAX_ROWS_BYTES)
    const [head = '', ...rows] = content.toString('utf8').split('\n')
    // The last line ends in a newline.
    if (rows.pop() !== '') throw new RestoreError(`the rows of ${name} are truncated`)
    await this.#loader.insert(this.#table(name, jsonOf(Buffer.from(head))), rows)
    return rows.length
  }

  /**
   * Reads all rows back from the database, and compares them with those that the backup read.
   *
   * @throws RowsRefusedError
   */
  async check({ tables }: Complete, progress: Progress): Promise<void> {
    for (const name of new Set([...this.#tables.keys(), ...Object.keys(tables)])) {
      const archived = tables[name]
      const found = await summarize(this.#loader, this.#table(name, archived?.columns), (count) => {
        progress.checkedRows += count
      })
      if (archived?.rows === found.rows && archived.sum === found.sum) continue
      throw new RowsRefusedError(
        `the ${found.rows} restored rows of ${name} differ from the ${archived?.rows} rows of the backup`,
      )
    }
  }

  /** Returns a table with its columns in the order of the archive. */
  #table(name: string, columns: unknown): RowTable {
    const known = this.#tables.get(name)
    if (known && Array.isArray(columns) && sorted(columns) === sorted(known.columns))
      return { name, columns }
    throw new RestoreError(`the archive has other columns of ${name} than the database`)
  }
}

function sorted(columns: readonly unknown[]): string {
  return JSON.stringify([...columns].sort())
}
