import { startPostgres } from './postgres-server.ts'

/** Tests need no durability. Each has a small database of its own, with a pool of connections. */
const SETTINGS = [
  'full_page_writes=off',
  'synchronous_commit=off',
  'autovacuum=off',
  'jit=off',
  'max_connections=500',
]

/**
 * Starts a PostgreSQL server for all test files, unless BRANCHLINE_TEST_POSTGRES names one
 * (https://vitest.dev/config/globalsetup.html).
 */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.BRANCHLINE_TEST_POSTGRES) return undefined
  const server = await startPostgres({ settings: SETTINGS })
  const url = new URL(server.url('postgres'))
  url.password = server.password
  process.env.BRANCHLINE_TEST_POSTGRES = url.href
  return () => server.remove()
}
