import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { remoteOf } from '../../support/git-client.ts'
import { serveProcess } from '../../support/process.ts'
import { openProcessStory } from '../../support/process-story.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

/** Enough that a copy takes longer than a look at it. */
const FILES = 20
const BYTES_OF_FILE = 150_000

/** Times between the appearance of a repository and the end of its server. */
const DELAYS_MS = isLongTier ? [0, 0, 5, 50, 400] : [0, 0, 5]

const TIMEOUT_MS = 300_000

const { data, client } = await openProcessStory()

describe('a server that is killed while it creates a repository from a template', () => {
  it(
    'leaves nothing or a whole repository, and the name is free again',
    async () => {
      const first = await startTestServer({ data })
      const { bob, carol } = await createTestUsers(first.url)
      await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'starter', template: true })
      await pushTemplate(first.url)
      await first.stop()

      const killed = new Set<'nothing' | 'whole'>()
      for (const [i, delayMs] of DELAYS_MS.entries()) {
        const name = `plot${i}`
        const path = `/repos/carol/${name}`
        const server = await serveProcess(data)
        const rest = restAt(server.url)
        const generate = (url: string) =>
          restAt(url)(carol, 'POST', '/repos/bob/starter/generate', { name, git_content: true })
        const made = generate(server.url).then(
          ({ status }) => status,
          () => 'no answer',
        )
        while ((await rest(carol, 'GET', path)).status !== 200) await sleep(1)
        await sleep(delayMs)
        server.child.kill('SIGKILL')
        await server.exited
        const answer = await made

        const next = await startTestServer({ data })
        const { status } = await restAt(next.url)(carol, 'GET', path)
        killed.add(status === 200 ? 'whole' : 'nothing')
        if (answer === 201) expect(status).toBe(200)
        if (status === 404) expect(await generate(next.url)).toMatchObject({ status: 201 })
        const { body: files } = await restAt(next.url)(carol, 'GET', `${path}/contents`)
        expect(files).toHaveLength(FILES)
        const { body: commits } = await restAt(next.url)(carol, 'GET', `${path}/commits`)
        expect(commits).toHaveLength(1)
        await next.stop()
      }
      // Otherwise the story does not end a server in the middle.
      expect(killed).toContain('nothing')
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    },
    TIMEOUT_MS,
  )
})

/** Pushes files that no compression makes small. */
async function pushTemplate(url: string): Promise<void> {
  await client.git('.', 'init', '-q', '-b', 'main', 'starter')
  for (let i = 0; i < FILES; i++) {
    const content = randomBytes(BYTES_OF_FILE).toString('base64')
    await writeFile(join(client.home, 'starter', `file${i}.txt`), content)
  }
  await client.git('starter', 'add', '.')
  await client.git('starter', 'commit', '-q', '-m', 'first')
  await client.git('starter', 'push', '-q', remoteOf(url, 'bob/starter', 'bob', PASSWORD), 'main')
}
