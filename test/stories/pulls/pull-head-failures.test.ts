import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/git/repositories/repositories.ts'
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
  const columns = (
    await sql<{ name: string }>`select name from pragma_table_info('pull_requests')`.execute(db)
  ).rows
    .map(({ name }) => name)
    .filter((name) => !['id', 'number', 'state', 'head_commit', 'head_ref_commit'].includes(name))
  const others = sql.raw(columns.join(', '))
  await sql`
    with recursive counted(n) as (select 1 union all select n + 1 from counted where n < ${FAILING})
    insert into pull_requests (number, state, head_commit, head_ref_commit, ${others})
    select number + n, 'CLOSED', printf('%040x', n), null, ${others} from pull_requests, counted
  `.execute(db)
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
