import { type DataPlace, migrateData } from '../../data-folder.ts'
import { print } from '../print.ts'

export interface MigrateFlags extends DataPlace {
  /** Undefined for the version of this program. */
  readonly to?: number
}

/** Migrates the database of a data folder. */
export async function migrate(flags: MigrateFlags): Promise<void> {
  const { from, to, ran } = await migrateData(flags, flags.to)
  print(
    ran.length === 0
      ? `the database is at version ${to}`
      : `version ${from} to ${to}: ${ran.join(', ')}`,
  )
}
