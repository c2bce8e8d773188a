import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { openGitClient, remoteOf } from '../../support/git-client.ts'
import {
  branchline,
  processWith,
  serveProcess,
  waitingScript,
  withFolder,
} from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, PASSWORD, transportTo } from '../../support/server.ts'

describe('a server that is killed while a hook runs', () => {
  it.each(['pre-receive', 'update', 'post-receive'])(
    'leaves no script behind and has consistent refs: %s',
    async (hook) => {
      await withFolder(async (data) => {
        const client = await openGitClient()
        const first = await serveProcess(data, ['--git-hooks', 'on'])
        const { ada, bob } = await createTestUsers(first.url)
        await restAt(first.url)(bob, 'POST', '/user/repos', { name: 'killed', auto_init: true })
        await client.git(
          '.',
          'clone',
          '-q',
          remoteOf(first.url, 'bob/killed', 'bob', PASSWORD),
          'mine',
        )
        const before = await client.git('mine', 'rev-parse', 'HEAD')
        const after = await client.commit('mine', 'next')
        const hooks = createClient(
          GitHookService,
          transportTo(first.url, 'Connect JSON', ada.authorization),
        )
        const mark = `${hook}-of-${first.child.pid}`
        await hooks.editGitHook({
          owner: 'bob',
          repo: 'killed',
          id: hook,
          content: waitingScript(mark),
        })
        const pushed = client.git('mine', 'push', '-q').then(
          () => 'pushed',
          () => 'failed',
        )
        await processWith(mark, 'there')
        first.child.kill('SIGKILL')
        expect(await pushed).toBe('failed')
        await processWith(mark, 'gone')

        const second = await serveProcess(data)
        const { body } = await restAt(second.url)(bob, 'GET', '/repos/bob/killed/branches/main')
        expect(body.commit.id).toBe(hook === 'post-receive' ? after : before)
        second.child.kill('SIGTERM')
        expect(await second.exited).toBe(0)
        expect((await branchline(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
        await client.remove()
      })
    },
  )
})
