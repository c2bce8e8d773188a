import { existsSync, statfsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { compiledSource } from './support/compiled-source.ts'

/** A hang is a failure. A slow machine, or the creation of a database on it, is not. */
const TIMEOUT_MS = 120_000

/** A file system in memory, where a commit of a database or of Git does not wait for a disk. */
const MEMORY = '/dev/shm'
const MIN_MEMORY_BYTES = 4 * 1024 ** 3
if (process.env.TMPDIR === undefined && hasRoom(MEMORY)) process.env.TMPDIR = MEMORY

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= MIN_MEMORY_BYTES
}

/** A run that waits for changes of the source needs to see what each test imports. */
const isWatching = !process.argv.includes('run')

export default defineConfig({
  plugins: isWatching ? [] : [compiledSource()],
  test: {
    root: new URL('.', import.meta.url).pathname,
    include: ['**/*.test.ts'],
    testTimeout: TIMEOUT_MS,
    hookTimeout: TIMEOUT_MS,
    // Polling ends as soon as a promise holds. With the default of one second, a slow machine fails.
    expect: { poll: { timeout: TIMEOUT_MS / 2 } },
    // A test often waits for a server, a compiler or a browser that it has started, so that two cores
    // have time for two tests.
    maxWorkers: 2,
    // The files of a worker share its modules, which takes less than half the time. A file therefore
    // restores what it changes in the process.
    isolate: false,
    setupFiles: ['support/file-cost.ts', 'support/running-hooks.ts'],
    // Each commit, merge and fetch of a client would start one more process, which finds nothing to do.
    env: {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'maintenance.auto',
      GIT_CONFIG_VALUE_0: 'false',
    },
    server: { deps: { external: [/\/dist\/compiled\//] } },
  },
})
