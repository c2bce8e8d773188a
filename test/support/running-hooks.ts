import { afterAll, expect } from 'vitest'
import { endRunning } from './running-servers.ts'

// A server that outlives its file works on, on PostgreSQL with the database of a later file: it takes
// jobs out of the queues there, for which the tests of that file then wait in vain.
afterAll(async () => {
  expect(await endRunning(), 'a file stops the servers that it starts').toEqual([])
})
