import { readdir, readlink, realpath } from 'node:fs/promises'
import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { STEPS } from '../../../src/platform/git/maintenance/steps.ts'
import { runCommand } from '../../support/commands.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { serveProcess, withFolder } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer, transportTo } from '../../support/server.ts'
import { isLongTier } from '../../support/tier.ts'

const COMMITS = 1_500
/** Steps that are interrupted, and how often. */
const KILLED_STEPS: readonly (typeof STEPS)[number][] = isLongTier ? STEPS : ['geometric', 'prune']
const KILLS = isLongTier ? 30 : 1
const WAIT = { timeout: 60_000, interval: 20 }

const history = (branch: string) =>
  Array.from({ length: COMMITS }, (_, i) => ({
    on: `refs/heads/${branch}`,
    files: { [`${branch}/${i % 50}.txt`]: `${branch} ${i}\n` },
    message: `${i}`,
  }))

/** Returns whether a process works in a folder. */
async function isProcessIn(folder: string): Promise<boolean> {
  const path = await realpath(folder)
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const folders = pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => ''))
  return (await Promise.all(folders)).includes(path)
}

describe('a server that is killed in a step', { timeout: 300_000 }, () => {
  it('leaves a whole repository and no process, and the step runs again', async () => {
    await withFolder(async (data) => {
      const client = await openGitClient()
      const first = await startTestServer({ data })
      const { ada, bob } = await createTestUsers(first.url)
      await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'killed' })
      const repository = `${data}/repositories/01/1.git`
      await client.git('.', 'init', '-q', 'mine')
      for (const branch of ['one', 'two']) {
        importHistory(`${client.home}/mine`, history(branch))
        const remote = remoteOf(first.url, 'bob/killed', 'bob', PASSWORD)
        await client.git('mine', 'push', '-q', remote, branch)
      }
      await first.stop()
      const refs = await client.git('.', '-C', repository, 'for-each-ref')
      for (const step of KILLED_STEPS.flatMap((name) => Array<typeof name>(KILLS).fill(name))) {
        const request = { owner: 'bob', repo: 'killed', steps: [step] }
        const killed = await serveProcess(data)
        const transport = transportTo(killed.url, 'Connect JSON', ada.authorization)
        const maintenance = createClient(MaintenanceService, transport)
        await maintenance.requestRepositoryMaintenance(request)
        // A step may have ended before it is seen, which is a moment to be killed in, too.
        const hasBegun = async () =>
          (await isProcessIn(repository)) ||
          (await maintenance.getRepositoryMaintenance(request)).requested.length === 0
        if (step === 'geometric') await expect.poll(hasBegun, WAIT).toBe(true)
        killed.child.kill('SIGKILL')
        await killed.exited
        await expect.poll(() => isProcessIn(repository), WAIT).toBe(false)
        await client.git('.', '-C', repository, 'fsck', '--full', '--strict', '--no-dangling')
        const next = await startTestServer({ data, settings: { maintenance: true } })
        const again = createClient(
          MaintenanceService,
          transportTo(next.url, 'Connect JSON', bob.authorization),
        )
        await expect
          .poll(async () => {
            const { requested, steps } = await again.getRepositoryMaintenance(request)
            return { requested, ran: steps.map(({ name, error }) => name + error) }
          }, WAIT)
          .toEqual({ requested: [], ran: expect.arrayContaining([step]) })
        await next.stop()
      }
      expect(await client.git('.', '-C', repository, 'for-each-ref')).toBe(refs)
      await client.git('.', '-C', repository, 'fsck', '--full', '--strict', '--no-dangling')
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
      await client.remove()
    })
  })
})
