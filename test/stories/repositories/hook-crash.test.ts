import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { runCommand } from '../../support/commands.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import {
  processWith,
  type ServerProcess,
  serveProcess,
  waitingScript,
  withFolder,
} from '../../support/process.ts'
import { restAt } from '../../support/rest.ts'
import {
  createTestUsers,
  PASSWORD,
  startTestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

const HOOKS = ['pre-receive', 'update', 'post-receive']

describe('a server that is killed while hooks run', () => {
  it('leaves no script behind and has consistent refs', async () => {
    await withFolder(async (data) => {
      const client = await openGitClient()
      const first = await serveProcess(data, ['--git-hooks', 'on'])
      const users = await createTestUsers(first.url)
      const pushes = []
      for (const hook of HOOKS) pushes.push(await pushIntoHook(hook, first, users, client))
      first.child.kill('SIGKILL')
      for (const { pushed, mark } of pushes) {
        expect(await pushed).toBe('failed')
        await processWith(mark, 'gone')
      }

      const second = await startTestServer({ data })
      for (const { hook, before, after } of pushes) {
        const path = `/repos/bob/${hook}/branches/main`
        const { body } = await restAt(second.url)(users.bob, 'GET', path)
        expect([hook, body.commit.id]).toEqual([hook, hook === 'post-receive' ? after : before])
      }
      await second.stop()
      expect((await runCommand(['doctor', '--data', data])).stdout).toBe('nothing is wrong\n')
      await client.remove()
    })
  })
})

/** Pushes to a new repository. Resolves when the push waits for its hook, which never ends. */
async function pushIntoHook(
  hook: string,
  { url, child }: ServerProcess,
  { ada, bob }: TestUsers,
  client: GitClient,
) {
  await restAt(url)(bob, 'POST', '/user/repos', { name: hook, auto_init: true })
  await client.git('.', 'clone', '-q', remoteOf(url, `bob/${hook}`, 'bob', PASSWORD), hook)
  const before = await client.git(hook, 'rev-parse', 'HEAD')
  const after = await client.commit(hook, 'next')
  const hooks = createClient(GitHookService, transportTo(url, 'Connect JSON', ada.authorization))
  const mark = `${hook}-of-${child.pid}`
  await hooks.editGitHook({ owner: 'bob', repo: hook, id: hook, content: waitingScript(mark) })
  const pushed = client.git(hook, 'push', '-q').then(
    () => 'pushed',
    () => 'failed',
  )
  await processWith(mark, 'there')
  return { hook, before, after, mark, pushed }
}
