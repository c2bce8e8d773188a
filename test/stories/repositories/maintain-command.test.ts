import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../../support/commands.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import { branchline, withFolder } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer } from '../../support/server.ts'

const TWO_DAYS_MS = 2 * 24 * 60 * 60_000

/** Makes all objects of a repository look as if they were written two days ago. */
function age(repository: string): void {
  const time = new Date(Date.now() - TWO_DAYS_MS)
  const objects = join(repository, 'objects')
  for (const folder of readdirSync(objects)) {
    for (const name of readdirSync(join(objects, folder)))
      if (/^[0-9a-f]{38}$|^pack-/.test(name)) utimesSync(join(objects, folder, name), time, time)
  }
}

describe('`maintain` and `limbo`', { timeout: 120_000 }, () => {
  it('work beside a running server and without one', async () => {
    await withFolder(async (data) => {
      const client = await openGitClient()
      onTestFinished(() => client.remove())
      const server = await startTestServer({ data, settings: { maintenance: true } })
      const { bob } = await createTestUsers(server.url)
      const ask = restAt(server.url)
      await ask(bob, 'POST', '/user/repos', { name: 'tools', auto_init: true })
      await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/tools', 'bob', PASSWORD), 'c')
      const gone = await client.commit('c', 'to be removed')
      await client.git('c', 'push', '-q', 'origin', 'HEAD:refs/heads/gone')
      await client.git('c', 'push', '-q', 'origin', ':refs/heads/gone')
      const maintain = (...args: string[]) => runCommand(['maintain', '--data', data, ...args])

      const both = ['--step', 'refs', '--step', 'geometric']
      expect(await branchline(['maintain', 'bob/tools', '--data', data, ...both])).toMatchObject({
        code: 0,
        stdout: 'bob/tools: geometric, refs\n',
      })
      const { body } = await ask(bob, 'GET', '/repos/bob/tools/maintenance')
      expect(body.steps.map(({ name }: { name: string }) => name).sort()).toEqual([
        'geometric',
        'refs',
      ])
      expect((await maintain('bob/tools', '--step', 'nothing')).stderr).toContain(
        'there is no step nothing',
      )
      expect((await maintain('bob/other')).stderr).toContain('there is no repository bob/other')
      expect((await maintain()).stderr).toContain('name one repository')

      await server.stop()
      expect(await maintain('--all')).toMatchObject({
        code: 0,
        stdout: 'bob/tools: geometric, bitmap, commit-graph, refs\n',
      })
      const repository = `${data}/repositories/01/1.git`
      age(repository)
      expect(await maintain('1', '--step', 'prune', '--prune-after', '1d')).toMatchObject({
        code: 0,
        stdout: 'bob/tools: prune\n',
      })
      const has = () => client.git('.', '-C', repository, 'cat-file', '-e', gone)
      await expect(has()).rejects.toThrow()
      const limbo = (...args: string[]) => runCommand(['limbo', ...args, '--data', data])
      expect((await limbo('list')).stdout).toMatch(/^bob\/tools \d{4}-\d\d-\d\dT\S+Z \d+ \d+\n$/)
      expect((await limbo('restore', 'bob/tools')).stdout).toMatch(
        /^brought \d+ objects of bob\/tools back\n$/,
      )
      await has()
      expect((await limbo('list')).stdout).toBe('')
      expect((await limbo('restore', 'bob/tools')).stderr).toContain('can be brought back')
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    })
  })
})
