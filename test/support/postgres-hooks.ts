import { afterAll, afterEach, beforeEach } from 'vitest'
import { dropPostgres, listTestDatabases } from './database.ts'

// Thousands of databases would fill the disk and slow PostgreSQL down. A test drops those that it
// has opened, and its file the others. A server drops its own when it stops (`server.ts`).
let kept: ReadonlySet<string>

beforeEach(() => {
  kept = new Set(listTestDatabases())
})

afterEach(() => dropPostgres(listTestDatabases().filter((name) => !kept.has(name))))

afterAll(() => dropPostgres())
