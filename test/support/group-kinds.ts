import { postgresPrograms } from '../../scripts/checks/postgres-programs.mjs'
import { isOnPostgres } from './database.ts'
import { type GroupServer, type ServerGroup, startServerGroup } from './server-group.ts'
import { startWorkerGroup } from './worker-group.ts'

/** A way in which several servers use one database. */
interface GroupKind {
  readonly title: string
  /** Why this kind cannot be tested here. */
  readonly missing: string | undefined
  /** Starts servers with options. */
  start(count: number, args?: readonly string[]): Promise<ServerGroup<GroupServer>>
}

/** Why several servers on one PostgreSQL database cannot be tested here. */
export const missingPostgres = postgresPrograms ? undefined : 'skipped without its programs'

/** Why servers on SQLite cannot be tested here. */
export const missingSqlite = isOnPostgres ? 'skipped on PostgreSQL' : undefined

/** All ways in which several servers use one database. */
export const GROUP_KINDS: readonly GroupKind[] = [
  {
    title: 'several servers on one PostgreSQL database',
    missing: missingPostgres,
    start: startServerGroup,
  },
  {
    title: 'the worker processes of one SQLite database',
    missing: missingSqlite,
    start: startWorkerGroup,
  },
]
