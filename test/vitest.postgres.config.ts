import { defineConfig } from 'vitest/config'
import { listDatabaseTests } from './support/database-files.ts'
import base from './vitest.config.ts'

const WITHOUT_NEED = [
  // They start the server to see that it starts.
  'scripts/**',
  // They start processes of Git.
  'platform/git/**',
  // It runs the commands of the README, which name no database.
  'readme.test.ts',
  // All their tests are skipped. Their servers would run on, since Vitest then calls no hooks.
  'bench/baseline.test.ts',
  'stories/memos/filter-cost.test.ts',
  // They are about processes, connections, memory and SSH, the same with each database.
  'fuzz/ssh-packets.long.test.ts',
  'stories/server/git-limits.test.ts',
  'stories/server/process-spawner.test.ts',
  'stories/server/slow-readers.test.ts',
  'stories/server/ssh-*.test.ts',
  'stories/server/start-and-stop.test.ts',
  'stories/server/start-stop.test.ts',
  // They measure memory, and store a few rows.
  'stories/repositories/large-files.test.ts',
  'stories/repositories/large-push.test.ts',
  // They open SQLite files: the connection for reads, and caches, which PostgreSQL has not.
  'forge/administration/restore.test.ts',
  'platform/database/database.test.ts',
  'platform/database/state-cache.test.ts',
  'forge/memos/repeated-lists.test.ts',
  'edge/authentication/repeated-calls.test.ts',
]

/** Runs the tests that use a database on PostgreSQL. The others would only repeat themselves. */
export default defineConfig({
  plugins: base.plugins ?? [],
  test: {
    ...base.test,
    include: listDatabaseTests(new URL('.', import.meta.url).pathname),
    exclude: WITHOUT_NEED,
    globalSetup: ['support/postgres-setup.ts'],
    // The hooks after a file run in the reverse order: a server ends before its database is given up.
    setupFiles: ['support/file-cost.ts', 'support/postgres-hooks.ts', 'support/running-hooks.ts'],
  },
})
