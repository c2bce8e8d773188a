import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('.', import.meta.url).pathname,
    include: ['**/*.test.ts'],
    // Real servers, compilers and browsers start inside tests: a hang is a failure, a slow machine
    // is not.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
