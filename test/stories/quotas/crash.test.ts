import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createClient } from '@connectrpc/connect'
import { expect, it } from 'vitest'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { NO_QUOTAS } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import { processWith, serveProcess, waitingScript, withFolder } from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, startTestServer, transportTo } from '../../support/server.ts'

const MIB = 2 ** 20

it('a server that is killed after refs moved ends the reservation and measures', async () => {
  await withFolder(async (data) => {
    const client = await openGitClient()
    const options = ['--git-hooks', 'on', '--quota-account', `${5 * MIB}`]
    const first = await serveProcess(data, options)
    const { ada, bob } = await createTestUsers(first.url)
    await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'killed', auto_init: true })
    const remote = remoteOf(first.url, 'bob/killed', 'bob', PASSWORD)
    await client.git('.', 'clone', '-q', remote, 'mine')
    const store = async (bytes: number) => {
      await writeFile(`${client.home}/mine/file${bytes}`, randomBytes(bytes))
      await client.git('mine', 'add', '.')
      await client.git('mine', 'commit', '-q', '-m', 'more')
    }
    await store(2 * MIB)
    const hooks = createClient(
      GitHookService,
      transportTo(first.url, 'Connect JSON', ada.authorization),
    )
    const mark = `quota-of-${first.child.pid}`
    const hook = { owner: 'bob', repo: 'killed', id: 'post-receive' }
    await hooks.editGitHook({ ...hook, content: waitingScript(mark) })
    const pushed = client.git('mine', 'push', '-q').catch(() => 'failed')
    await processWith(mark, 'there')
    first.child.kill('SIGKILL')
    await pushed
    await processWith(mark, 'gone')

    const quotas = { ...NO_QUOTAS, account: 5 * MIB }
    const second = await startTestServer({ data, settings: { quotas } })
    const again = remoteOf(second.url, 'bob/killed', 'bob', PASSWORD)
    // The killed push has taken 2 MiB once.
    await store(2.5 * MIB)
    await client.git('mine', 'push', '-q', again, 'HEAD:main')
    await store(MIB)
    await expect(client.git('mine', 'push', '-q', again, 'HEAD:main')).rejects.toThrow(
      /uses 4\.\d\d MiB of 5\.00 MiB/,
    )
    await second.stop()
    expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
    await client.remove()
  })
})
