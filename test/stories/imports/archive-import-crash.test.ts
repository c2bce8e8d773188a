import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { archiveOf, entriesOf } from '../../support/project-archives.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, startTestServer } from '../../support/server.ts'

const TIMEOUT_MS = 300_000

const { data } = await openProcessStory()

/** So many that the import is still under way when the server is killed. */
const ISSUES = 2_000

const issue = (number: number) =>
  JSON.stringify({
    number,
    title: `Issue ${number}`,
    state: 'open',
    created_at: '2024-01-02T03:04:05Z',
  })

it(
  'an import of an archive whose server is killed leaves nothing',
  async () => {
    const server = await serveProcess(data)
    const { bob } = await createTestUsers(server.url)
    const rest = restAt(server.url)
    await rest(bob, 'POST', '/user/repos', { name: 'seed', auto_init: true })
    const headers = { authorization: bob.authorization }
    const seed = await fetch(`${server.url}/api/v1/repos/bob/seed/export`, { headers })
    const entries = await entriesOf(Buffer.from(await seed.arrayBuffer()))
    const issues = Array.from({ length: ISSUES }, (_, i) => issue(i + 1)).join('\n')
    entries.set('issues.ndjson', Buffer.from(issues))
    const answered = fetch(`${server.url}/api/v1/repos/import?repo_name=engine`, {
      method: 'POST',
      body: new Uint8Array(await archiveOf(entries)),
      headers: { ...headers, 'content-type': 'application/x-tar' },
    }).then(
      ({ status }) => status,
      () => 'cut',
    )
    for (;;) {
      const { body } = await rest(bob, 'GET', '/repos/bob/engine/import')
      if (body.progress?.issues.done > 0) break
      await sleep(10)
    }
    server.child.kill('SIGKILL')
    await server.exited
    expect(await answered).toBe('cut')

    const last = await startTestServer({ data })
    const state = async () => (await restAt(last.url)(bob, 'GET', '/repos/bob/engine')).status
    await expect.poll(state).toBe(404)
    const again = await restAt(last.url)(bob, 'POST', '/user/repos', { name: 'engine' })
    expect(again.status).toBe(201)
    await last.stop()
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
  },
  TIMEOUT_MS,
)
