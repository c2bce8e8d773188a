import { defineConfig } from 'vitest/config'

/** A hang is a failure. A slow machine, or the creation of a database on it, is not. */
const TIMEOUT_MS = 120_000

export default defineConfig({
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
  },
})
