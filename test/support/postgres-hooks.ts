import { afterAll, afterEach, beforeEach } from 'vitest'
import { listTestDatabases, releaseAllDatabases, releaseTestDatabases } from './database.ts'

// A test gives up the databases that it has opened, and its file the others. A server gives up its own
// when it stops (`server.ts`).
let kept: ReadonlySet<string>

beforeEach(() => {
  kept = new Set(listTestDatabases())
})

afterEach(() => releaseTestDatabases(listTestDatabases().filter((name) => !kept.has(name))))

afterAll(() => releaseAllDatabases())
