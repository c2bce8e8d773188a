import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pullsBehind } from '../../../src/forge/pulls/heads/pull-heads.rows.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { pullForge } from '../../support/pull-forge.ts'
import { createTestUsers, startTestServer, type TestServer } from '../../support/server.ts'

/** More than were left out of a look for the next one. */
const FAILING = 600

let server: TestServer
beforeAll(async () => {
  // Its time stands still: nothing is due to be tried again, however long the test takes.
  const now = Date.now()
  server = await startTestServer({ clock: { now: () => now } })
})
afterAll(() => server.stop())

it('refs of many pull requests that cannot be updated are tried once each, then again later', {
  timeout: 120_000,
}, async () => {
  const { bob } = await createTestUsers(server.url)
  const forge = pullForge(server)
  const { id, path, pulls } = await forge.repository(bob, 'heads')
  await forge.change(bob, path, 'topic')
  await forge.ask(bob, 'POST', pulls, { head: 'topic', base: 'main', title: 'one' })
  const { db } = server.app
  await rm(repositoryPath(server.app.git, id), { recursive: true })
  // Others like it, in a repository that is broken.
  const { id: _, ...one } = await db.selectFrom('issues').selectAll().executeTakeFirstOrThrow()
  const others = Array.from({ length: FAILING }, (_, i) => ({
    ...one,
    number: one.number + i + 1,
    state: 'CLOSED' as const,
    head_commit: (i + 1).toString(16).padStart(40, '0'),
    head_ref_commit: null,
  }))
  // A statement of SQLite has 32,766 parameters at most.
  for (const some of chunks(others, 100)) {
    await db.insertInto('issues').values(some).execute()
  }
  server.app.signals.pullHeads.notify()
  const failures = () =>
    server.logged.flatMap(({ msg, pullRequest }) =>
      msg === 'the ref of a pull request could not be brought up to date' ? [pullRequest] : [],
    )
  while (new Set(failures()).size < FAILING) await pause(20)
  // Whoever asks now is answered, and nothing is tried again before its time.
  server.app.signals.pullHeads.notify()
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  await server.app.background.settled()
  expect(failures()).toHaveLength(FAILING)
})

it('issues have no refs to update, whatever their columns of pull requests hold', async () => {
  const { db, signals } = server.app
  const { id: _, ...one } = await db.selectFrom('issues').selectAll().executeTakeFirstOrThrow()
  const issue = { ...one, number: 9_000, is_pull: 0, state: 'CLOSED' as const }
  await db
    .insertInto('issues')
    .values({ ...issue, head_ref_commit: null })
    .execute()
  const behind = await pullsBehind(db, issue.repository_id, 2 * FAILING)
  expect(behind.filter(({ is_pull }) => is_pull === 0)).toEqual([])
  signals.pullHeads.notify()
  const seen = signals.pullHeads.count
  for (let i = 0; i < 20; i += 1) await fetch(`${server.url}/healthz`)
  // Each end of an update notifies the worker.
  expect(signals.pullHeads.count).toBeLessThanOrEqual(seen + 1)
})

function chunks<T>(values: readonly T[], size: number): T[][] {
  const starts = Array.from({ length: Math.ceil(values.length / size) }, (_, i) => i * size)
  return starts.map((start) => values.slice(start, start + size))
}
