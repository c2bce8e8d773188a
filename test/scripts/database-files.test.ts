import { expect, it } from 'vitest'
import { listDatabaseTests } from '../support/database-files.ts'

it('the tests that use a database, through any other module, run on PostgreSQL too', () => {
  const files = listDatabaseTests(new URL('..', import.meta.url).pathname)
  expect(files).toContain('forge/accounts/keys/keys.test.ts')
  // By `forge.ts` and `server.ts`.
  expect(files).toContain('stories/repositories/releases.test.ts')
  expect(files).not.toContain('scripts/database-files.test.ts')
  expect(files.filter((file) => file.startsWith('platform/rpc/rest/'))).toEqual([])
})
