import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { accountHolder } from '../../../src/platform/concurrency/holders.ts'
import { readAs } from '../../../src/platform/git/processes/readers.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { backUp, restoreTo } from '../../support/backups.ts'
import { databaseOf } from '../../support/database.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { restAt } from '../../support/rest.ts'
import { createTestUsers, createToken, PASSWORD, startTestServer } from '../../support/server.ts'

import { createSshKey, hasSsh, sshOptions } from '../../support/ssh-client.ts'

/**
 * Scripts run in the tightest way that the machine has. What is the same in all ways is in
 * `test/platform/git/hooks/hook-runner.test.ts`.
 */
const forge = await openForge({
  settings: { gitHooks: true, hookTimeoutMs: 20_000 },
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
})
const { server, users, client, rest } = forge
afterAll(forge.checkObjects)

const hooksOf = (name: string) => `/repos/bob/${name}/hooks/git`

/** Makes a repository of bob with a first commit, and returns what works in his clone. */
async function repository(name: string, settings: object = {}) {
  const { body } = await rest(users.bob, 'POST', '/user/repos', {
    name,
    auto_init: true,
    ...settings,
  })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  return {
    id: body.id as number,
    git,
    commit: (message: string) => client.commit(name, message),
    /** What the client of git shows, whether it fails or not. */
    async push(...args: string[]): Promise<{ ok: boolean; shown: string }> {
      const { stderr, code } = await new Promise<{ stderr: string; code: number }>((resolve) => {
        git(
          '-c',
          'alias.p=!f() { git push origin "$@" 2>&1; echo "exit $?"; }; f',
          'p',
          ...args,
        ).then((text) => resolve({ stderr: text, code: Number(/exit (\d+)$/.exec(text)?.[1]) }))
      })
      return { ok: code === 0, shown: stderr }
    },
    async hook(hook: string, content: string) {
      expect((await rest(users.ada, 'PATCH', `${hooksOf(name)}/${hook}`, { content })).status).toBe(
        200,
      )
    },
    refs: () => git('ls-remote', 'origin', 'refs/*'),
  }
}

describe('the hooks of a repository', () => {
  it('are three, without a script at first', async () => {
    await repository('empty')
    const { status, body } = await rest(users.ada, 'GET', hooksOf('empty'))
    expect([status, body]).toEqual([
      200,
      ['pre-receive', 'update', 'post-receive'].map((name) => ({ name, is_active: false })),
    ])
    expect((await rest(users.ada, 'GET', `${hooksOf('empty')}/update`)).body).toEqual({
      name: 'update',
      is_active: false,
    })
  })

  it.each([
    ['is kept without carriage returns', '#!/bin/sh\r\necho hi\r\n', '#!/bin/sh\necho hi\n'],
    ['of nothing but white space removes it', ' \r\n\t\n', undefined],
    ['of nothing removes it', '', undefined],
    ['that is absent changes nothing', undefined, 'exit 0\n'],
    ['that is null changes nothing', null, 'exit 0\n'],
    ['of 256 KiB is taken', `#${'x'.repeat(256 * 1024 - 1)}`, `#${'x'.repeat(256 * 1024 - 1)}`],
  ])('accept a script that %s', async (_, content, stored) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'edited' })
    const path = `${hooksOf('edited')}/pre-receive`
    await rest(users.ada, 'PATCH', path, { content: 'exit 0\n' })
    const { status, body } = await rest(users.ada, 'PATCH', path, { content })
    const expected = {
      name: 'pre-receive',
      is_active: stored !== undefined,
      ...(stored && { content: stored }),
    }
    expect([status, body]).toEqual([200, expected])
    expect((await rest(users.ada, 'GET', path)).body).toEqual(expected)
    expect((await rest(users.ada, 'GET', hooksOf('edited'))).body[0]).toEqual(expected)
  })

  it('remain without their script', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'cleared' })
    const path = `${hooksOf('cleared')}/post-receive`
    await rest(users.ada, 'PATCH', path, { content: 'exit 0\n' })
    for (const _ of ['active', 'inactive'])
      expect((await rest(users.ada, 'DELETE', path)).status).toBe(204)
    expect((await rest(users.ada, 'GET', path)).body).toEqual({
      name: 'post-receive',
      is_active: false,
    })
  })

  it.each([
    ['a script that is too long', 'pre-receive', 'x'.repeat(256 * 1024 + 1), 422, 'content'],
    ['a script that is no text', 'pre-receive', 'a\0b', 422, 'content'],
    ['an unknown hook', 'post-update', 'exit 0', 404, 'not found'],
    ['a hook by the name of a file', 'pre-receive.sample', 'exit 0', 404, 'not found'],
  ])('do not accept %s', async (_, hook, content, status, message) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'refusing' })
    const refused = await rest(users.ada, 'PATCH', `${hooksOf('refusing')}/${hook}`, { content })
    expect([refused.status, refused.body.message]).toEqual([
      status,
      expect.stringContaining(message),
    ])
    if (status === 404) {
      for (const method of ['GET', 'DELETE'])
        expect((await rest(users.ada, method, `${hooksOf('refusing')}/${hook}`)).status).toBe(404)
    }
  })

  it('are for administrators of the instance', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'guarded' })
    await rest(users.bob, 'PUT', '/repos/bob/guarded/collaborators/carol', { permission: 'write' })
    await rest(users.bob, 'POST', '/user/repos', { name: 'hidden', private: true })
    const bearer = async (who: 'ada' | 'bob', ...scopes: string[]) => ({
      authorization: `Bearer ${await createToken(server.url, users[who], scopes)}`,
    })
    const owner = 'must be allowed to edit Git hooks'
    const cases = [
      ['the administrator', users.ada, 'guarded', 200, 200, undefined],
      [
        'a token of the administrator',
        await bearer('ada', 'write:repository', 'write:admin'),
        'guarded',
        200,
        200,
        undefined,
      ],
      [
        'one that only reads',
        await bearer('ada', 'read:repository', 'read:admin'),
        'guarded',
        403,
        403,
        undefined,
      ],
      [
        'one without the powers of the administrator',
        await bearer('ada', 'write:repository'),
        'guarded',
        403,
        403,
        undefined,
      ],
      ['the owner', users.bob, 'guarded', 403, 403, owner],
      ['a token of the owner', await bearer('bob', 'all'), 'guarded', 403, 403, owner],
      ['a writer', users.carol, 'guarded', 403, 403, undefined],
      ['nobody', undefined, 'guarded', 401, 401, undefined],
      ['a stranger to what is hidden', users.carol, 'hidden', 404, 404, 'not found'],
    ] as const
    for (const [who, caller, name, reads, writes, message] of cases) {
      const path = hooksOf(name)
      const answers = [
        await rest(caller, 'GET', path),
        await rest(caller, 'GET', `${path}/update`),
        await rest(caller, 'PATCH', `${path}/update`, { content: '' }),
        await rest(caller, 'DELETE', `${path}/update`),
      ]
      expect([who, answers.map(({ status }) => status)]).toEqual([
        who,
        [reads, reads, writes, writes === 200 ? 204 : writes],
      ])
      if (message !== undefined)
        expect(answers.map(({ body }) => body.message)).toEqual(Array(4).fill(message))
    }
  })

  it('cannot be changed while the repository is archived', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'archived' })
    await rest(users.bob, 'PATCH', '/repos/bob/archived', { archived: true })
    const path = `${hooksOf('archived')}/update`
    expect((await rest(users.ada, 'GET', path)).status).toBe(200)
    expect((await rest(users.ada, 'PATCH', path, { content: 'exit 1' })).status).toBe(423)
    expect((await rest(users.ada, 'DELETE', path)).status).toBe(423)
  })

  it('are available over gRPC, with reasons', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'grpc' })
    const named = { owner: 'bob', repo: 'grpc' }
    const hooks = forge.grpc(GitHookService, users.ada)
    const edited = await hooks.editGitHook({ ...named, id: 'update', content: 'exit 0' })
    expect(edited).toMatchObject({ name: 'update', isActive: true, content: 'exit 0' })
    expect((await hooks.getGitHook({ ...named, id: 'update' })).content).toBe('exit 0')
    await hooks.deleteGitHook({ ...named, id: 'update' })
    const { gitHooks } = await hooks.listGitHooks(named)
    expect(gitHooks.map(({ name, isActive, content }) => [name, isActive, content])).toEqual([
      ['pre-receive', false, undefined],
      ['update', false, undefined],
      ['post-receive', false, undefined],
    ])
    await expect(hooks.getGitHook({ ...named, id: 'x' })).rejects.toThrow('[not_found]')
    const asBob = forge.grpc(GitHookService, users.bob)
    await expect(asBob.listGitHooks(named)).rejects.toThrow(
      '[permission_denied] must be allowed to edit Git hooks',
    )
  })

  it('do not apply to forks, and remain after a transfer or a rename', async () => {
    const { hook } = await repository('parent')
    await hook('pre-receive', 'echo no; exit 1')
    await rest(users.carol, 'POST', '/repos/bob/parent/forks', {})
    expect((await rest(users.ada, 'GET', '/repos/carol/parent/hooks/git')).body[0].is_active).toBe(
      false,
    )
    await rest(users.bob, 'PATCH', '/repos/bob/parent', { name: 'renamed' })
    expect((await rest(users.ada, 'GET', `${hooksOf('renamed')}/pre-receive`)).body.content).toBe(
      'echo no; exit 1',
    )
  })
})

describe('an instance without hooks', () => {
  it('neither runs them nor lets anyone edit them', async () => {
    const { git, hook, commit } = await repository('switched')
    await hook('pre-receive', 'exit 1')
    await commit('next')
    const restored = join(client.home, 'restored')
    await restoreTo(restored, await backUp(server.app), await databaseOf(restored))
    // The same data with the switch off, and on again.
    for (const gitHooks of [false, true]) {
      const other = await startTestServer({ data: restored, settings: { gitHooks } })
      const { status, body } = await restAt(other.url)(
        users.ada,
        'GET',
        `${hooksOf('switched')}/pre-receive`,
      )
      const pushed = git(
        'push',
        '-q',
        remoteOf(other.url, 'bob/switched', 'bob', PASSWORD),
        `main:on-${gitHooks}`,
      )
      if (gitHooks) {
        expect([status, body.content]).toEqual([200, 'exit 1'])
        await expect(pushed).rejects.toThrow('pre-receive hook declined')
      } else {
        expect([status, body.message]).toEqual([403, 'must be allowed to edit Git hooks'])
        await pushed
      }
      await other.stop()
    }
  })
})

const SHOW = `
echo "\${0##*/} $*"
env | grep -E '^(GITEA|GIT_(AUTHOR|COMMITTER|PUSH)|SSH_)' | sort
cat
echo "$GIT_DIR" "$(git rev-parse --is-bare-repository)"
`

describe('hooks of a push', () => {
  it.skipIf(!hasSsh)('learn the key of a push over SSH', async () => {
    const { git, commit, hook } = await repository('by-key')
    await hook('pre-receive', SHOW)
    const port = server.sshAddress?.split(':').at(-1)
    for (const [path, keyed] of [
      ['/user/keys', 'GITEA_KEY_ID'],
      ['/repos/bob/by-key/keys', 'GITEA_DEPLOY_KEY_ID'],
    ] as const) {
      const key = await createSshKey(client.home, keyed)
      const { body } = await rest(users.bob, 'POST', path, { title: 'key', key, read_only: false })
      await commit(`by ${keyed}`)
      const ssh = ['ssh', ...sshOptions(client.home, keyed)].join(' ')
      const url = `ssh://git@127.0.0.1:${port}/bob/by-key.git`
      const push = ['-c', `core.sshCommand=${ssh}`, 'push', url, 'HEAD:main']
      const shown = await git('-c', `alias.p=!f() { git "$@" 2>&1; }; f`, 'p', ...push)
      const other = keyed === 'GITEA_KEY_ID' ? 'GITEA_DEPLOY_KEY_ID' : 'GITEA_KEY_ID'
      expect(shown).toMatch(new RegExp(`${keyed}=${body.id} *$`, 'm'))
      expect(shown).toMatch(new RegExp(`${other}=0 *$`, 'm'))
      expect(shown).toMatch(/SSH_ORIGINAL_COMMAND=git-receive-pack *$/m)
      expect(shown).toMatch(/GITEA_PUSHER_NAME=bob *$/m)
    }
  })

  it('run in the order of Git, with its input and the variables of compatible systems', async () => {
    const { id, git, commit, hook, push } = await repository('order')
    for (const name of ['pre-receive', 'update', 'post-receive']) await hook(name, SHOW)
    const from = await git('rev-parse', 'HEAD')
    const to = await commit('second')
    const { body: bob } = await rest(users.bob, 'GET', '/user')
    const { ok, shown } = await push(
      'main',
      'main:refs/tags/v1',
      '-o',
      'ci.skip',
      '-o',
      'title=a b',
    )
    expect(ok).toBe(true)
    const zeros = '0'.repeat(40)
    const environment = [
      'GITEA_DEPLOY_KEY_ID=0',
      'GITEA_INTERNAL_PUSH=false',
      'GITEA_KEY_ID=0',
      'GITEA_PR_ID=0',
      'GITEA_PUSHER_EMAIL=bob@example.org',
      `GITEA_PUSHER_ID=${bob.id}`,
      'GITEA_PUSHER_NAME=bob',
      `GITEA_REPO_ID=${id}`,
      'GITEA_REPO_IS_WIKI=false',
      'GITEA_REPO_NAME=order',
      'GITEA_REPO_USER_NAME=bob',
      `GITEA_ROOT_URL=${server.url}/`,
      'SSH_ORIGINAL_COMMAND=git-receive-pack',
    ]
    const updates = [`${from} ${to} refs/heads/main`, `${zeros} ${to} refs/tags/v1`]
    // Git tells the hooks of the whole push alone.
    const said = [
      'GIT_PUSH_OPTION_0=ci.skip',
      'GIT_PUSH_OPTION_1=title=a b',
      'GIT_PUSH_OPTION_COUNT=2',
    ]
    const ofAll = [
      ...environment.slice(0, -1),
      ...said,
      ...environment.slice(-1),
      ...updates,
      'repository true',
    ]
    const [main, tag] = [`refs/heads/main ${from} ${to}`, `refs/tags/v1 ${zeros} ${to}`]
    const lines = shown.split('\n').flatMap((line) => /^remote: (.*?) *$/.exec(line)?.[1] ?? [])
    expect(lines.map((line) => line.replace(/^\S+1?\.git true/, 'repository true'))).toEqual([
      ...['pre-receive', ...ofAll],
      ...[`update ${main}`, ...environment, 'repository true'],
      ...[`update ${tag}`, ...environment, 'repository true'],
      ...['post-receive', ...ofAll],
    ])
    expect(shown).not.toContain(server.data)
  })

  it('see the objects in quarantine, which are deleted when they refuse', async () => {
    const { id, git, commit, hook, push, refs } = await repository('quarantine')
    await hook(
      'pre-receive',
      'read old new ref; git log --format=%s $old..$new; git for-each-ref; exit 1',
    )
    const before = await refs()
    const refused = await commit('not let in')
    const { ok, shown } = await push('main')
    expect(ok).toBe(false)
    expect(shown).toContain('remote: not let in')
    expect(shown).toContain('! [remote rejected] main -> main (pre-receive hook declined)')
    expect(shown).not.toContain('remote: error')
    expect(await refs()).toBe(before)
    const inside = client.git(
      '.',
      '-C',
      repositoryPath(server.app.git, id),
      'cat-file',
      '-t',
      refused,
    )
    await expect(inside).rejects.toThrow()
    await hook('pre-receive', '')
    expect((await push('main')).ok).toBe(true)
    expect(await git('rev-parse', 'origin/main')).toBe(refused)
  })

  it('can refuse a whole push or one ref', async () => {
    const { hook, push, refs, commit } = await repository('fates')
    await hook(
      'pre-receive',
      'while read old new ref; do [ $ref = refs/heads/none ] && echo none && exit 1; done; exit 0',
    )
    await hook('update', 'case $1 in *no*) echo "not $1"; exit 1;; esac')
    await hook('post-receive', 'while read old new ref; do echo "now $ref"; done; exit 1')
    await commit('next')
    const whole = await push('main', 'main:a', 'main:none')
    expect([whole.ok, whole.shown]).toEqual([false, expect.stringContaining('remote: none')])
    expect((await refs()).split('\n')).toHaveLength(1)
    const { ok, shown } = await push(
      'main',
      'main:a',
      'main:no-1',
      'main:refs/tags/v1',
      'main:refs/tags/no-2',
    )
    expect(ok).toBe(false)
    for (const ref of ['heads/main', 'heads/a', 'tags/v1'])
      expect(shown).toMatch(new RegExp(`remote: now refs/${ref} *$`, 'm'))
    for (const ref of ['heads/no-1', 'tags/no-2'])
      expect(shown).toMatch(new RegExp(`remote: not refs/${ref} *$`, 'm'))
    expect(shown).not.toMatch(/now .*no-/)
    expect(shown.match(/\(hook declined\)/g)).toHaveLength(2)
    const names = (await refs()).split('\n').map((line) => line.split('\t')[1])
    expect(names).toEqual(['refs/heads/a', 'refs/heads/main', 'refs/tags/v1'])
    const rows = await rest(users.bob, 'GET', '/repos/bob/fates/branches')
    expect(rows.body.map(({ name }: { name: string }) => name).sort()).toEqual(['a', 'main'])
    const atomic = await push('--atomic', 'main:b', 'main:no-3')
    expect([atomic.ok, (await refs()).includes('heads/b')]).toEqual([false, false])
  })

  it('run only if the server accepts the push', async () => {
    const { hook, push } = await repository('server-first')
    await hook('pre-receive', 'echo asked')
    const { shown } = await push(':main')
    expect(shown).toContain(
      'remote: error: branch main is the default branch and cannot be deleted',
    )
    expect(shown).not.toContain('asked')
  })

  it('find the rows of moved refs', async () => {
    const { hook, commit, push, id } = await repository('told')
    let seen: string | undefined
    await hook('post-receive', 'echo done')
    const second = await commit('second')
    // Recorded before the script runs, not only before the push ends.
    const { run } = server.app.git.hooks
    server.app.git.hooks.run = async (order) => {
      const row = await server.app.db
        .selectFrom('branches')
        .selectAll()
        .where('repository_id', '=', id)
        .executeTakeFirst()
      seen = row?.commit_id
      return run.call(server.app.git.hooks, order)
    }
    const { ok } = await push('main')
    server.app.git.hooks.run = run
    expect([ok, seen]).toEqual([true, second])
  })

  it('are stopped after their timeout, and the push fails', async () => {
    const slow = await startTestServer({ settings: { gitHooks: true, hookTimeoutMs: 1_000 } })
    const others = await createTestUsers(slow.url)
    const send = restAt(slow.url)
    await send(others.bob, 'POST', '/user/repos', { name: 'slow', auto_init: true })
    await client.git('.', 'clone', '-q', remoteOf(slow.url, 'bob/slow', 'bob', PASSWORD), 'slow')
    await client.commit('slow', 'next')
    for (const hook of ['pre-receive', 'update']) {
      await send(others.ada, 'PATCH', `${hooksOf('slow')}/${hook}`, {
        content: 'echo begun; sleep 1000',
      })
      const pushed = client.git('slow', 'push', '-q')
      await expect(pushed).rejects.toThrow(
        `remote: error: the ${hook} hook was stopped: it took longer than 1 s`,
      )
      await send(others.ada, 'DELETE', `${hooksOf('slow')}/${hook}`)
    }
    // Nothing that is told can hold up for ever what has happened.
    await send(others.ada, 'PATCH', `${hooksOf('slow')}/post-receive`, { content: 'sleep 1000' })
    await client.git('slow', 'push', '-q')
    await slow.stop()
  })

  it('have a time limit for all refs of a push, and the other refs can be pushed again', async () => {
    const hasty = await startTestServer({ settings: { gitHooks: true, hookTimeoutMs: 20 } })
    const others = await createTestUsers(hasty.url)
    await restAt(hasty.url)(others.bob, 'POST', '/user/repos', { name: 'hasty', auto_init: true })
    await restAt(hasty.url)(others.ada, 'PATCH', `${hooksOf('hasty')}/update`, {
      content: 'sleep 1000',
    })
    await client.git('.', 'clone', '-q', remoteOf(hasty.url, 'bob/hasty', 'bob', PASSWORD), 'hasty')
    const refs = Array.from({ length: 30 }, (_, i) => `main:refs/heads/b${i}`)
    const shown = await client
      .git('hasty', 'push', '-q', 'origin', ...refs)
      .catch(({ stderr }) => String(stderr))
    expect(shown).toContain('it took longer than 0.02 s')
    expect(shown).toContain(
      'the update hooks of this push have taken too long: push the other refs again',
    )
    await hasty.stop()
  })
})

describe('hooks of a change over the API', () => {
  const file = { content: Buffer.from('x').toString('base64'), message: 'over the API' }

  it.each([
    [
      'pre-receive',
      'echo "error: no files today"; printf "\\033[31mreally\\033[0m\\n\\n" >&2; exit 1',
      'no files today\nreally',
    ],
    ['pre-receive', 'exit 1', 'push is rejected'],
    ['update', 'echo "$1 stays"; exit 7', 'refs/heads/main stays'],
    ['update', `head -c 5000 /dev/zero | tr "\\0" x; exit 1`, 'x'.repeat(2000)],
    ['update', 'ls "$GIT_DIR/nowhere" "$0.x" >&2; exit 1', 'nowhere'],
  ])('can refuse the change by %s: %s', async (hook, script, message) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'api', auto_init: true })
    await rest(users.ada, 'PATCH', `${hooksOf('api')}/${hook}`, { content: script })
    const before = await rest(users.bob, 'GET', '/repos/bob/api/branches/main')
    const refused = await rest(users.bob, 'POST', '/repos/bob/api/contents/x.txt', file)
    await rest(users.ada, 'DELETE', `${hooksOf('api')}/${hook}`)
    expect(refused.status).toBe(403)
    if (message === 'nowhere') expect(refused.body.message).not.toContain(server.data)
    else expect(refused.body.message).toBe(message)
    expect((await rest(users.bob, 'GET', '/repos/bob/api/branches/main')).body).toEqual(before.body)
  })

  it('have the same reason over gRPC', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'api-grpc', auto_init: true })
    await rest(users.ada, 'PATCH', `${hooksOf('api-grpc')}/pre-receive`, {
      content: 'echo nö | tr a-z A-Z; exit 1',
    })
    const tags = forge.grpc(TagService, users.bob)
    const refused = tags.createTag({ owner: 'bob', repo: 'api-grpc', tagName: 'v1' })
    await expect(refused).rejects.toMatchObject({ code: 7, rawMessage: 'Nö' })
  })

  it('run before and after the change, as for a push without a quarantine', async () => {
    const { id, git, hook } = await repository('api-order')
    const from = await git('rev-parse', 'HEAD')
    const printed: string[] = []
    const { run } = server.app.git.hooks
    server.app.git.hooks.run = async (order) => {
      const result = await run.call(server.app.git.hooks, order)
      printed.push(result.output)
      return result
    }
    for (const name of ['pre-receive', 'update', 'post-receive'])
      await hook(name, `${SHOW}\nenv | grep -c QUARANTINE`)
    // A refusal by its exit status would hide what follows.
    for (const name of ['pre-receive', 'update'])
      await hook(name, `${SHOW}\ngit log -1 --format=%s main; exit 0`)
    const made = await rest(users.bob, 'POST', '/repos/bob/api-order/contents/x.txt', file)
    server.app.git.hooks.run = run
    expect(made.status).toBe(201)
    const to = made.body.commit.sha
    expect(printed.map((text) => text.split('\n')[0]?.trim())).toEqual([
      'pre-receive',
      `update refs/heads/main ${from} ${to}`,
      'post-receive',
    ])
    for (const text of printed) {
      expect(text).toContain(`GITEA_REPO_ID=${id}\n`)
      expect(text).toContain('GIT_COMMITTER_EMAIL=bob@example.org\n')
      expect(text).toContain('SSH_ORIGINAL_COMMAND=gitea-internal\n')
    }
    expect(printed[0]).toContain(`${from} ${to} refs/heads/main\n`)
    expect(printed[1]).toContain('Initial commit')
    expect(printed[2]).toMatch(/\n0\n$/)
  })

  it('wait for a free slot, or are refused when too many of the account wait', async () => {
    const { hook, push, commit, id } = await repository('busy')
    const bob = await rest(users.bob, 'GET', '/user')
    const holder = accountHolder(bob.body.id)
    await hook('pre-receive', 'exit 0')
    const gone = new AbortController()
    // Those beyond the share of the account are refused.
    const busy = Promise.allSettled(
      Array.from({ length: 8 + 64 }, () =>
        readAs({ holder, admit: () => {} }, () =>
          server.app.git.hooks.run({
            hook: 'update',
            script: 'sleep 1000',
            args: [],
            input: '',
            repository: repositoryPath(server.app.git, id),
            quarantine: undefined,
            env: {},
            timeoutMs: 600_000,
            signal: gone.signal,
          }),
        ),
      ),
    )
    const { status, body } = await rest(users.bob, 'POST', '/repos/bob/busy/contents/x.txt', file)
    expect([status, body.message]).toEqual([503, 'too many hooks are running; try again soon'])
    await commit('next')
    const refused = await push('main')
    expect([refused.ok, refused.shown]).toEqual([
      false,
      expect.stringContaining('error: too many hooks are running'),
    ])
    gone.abort()
    await busy
    expect((await push('main')).ok).toBe(true)
  })

  it('do not run for updates by the server itself', async () => {
    const { hook, id } = await repository('own-account')
    await hook('pre-receive', 'exit 1')
    await rest(users.carol, 'POST', '/repos/bob/own-account/forks', { name: 'forked' })
    expect((await rest(users.carol, 'GET', '/repos/carol/forked')).status).toBe(200)
    await rest(users.bob, 'DELETE', '/repos/bob/own-account')
    expect(
      await server.app.db
        .selectFrom('git_hooks')
        .selectAll()
        .where('repository_id', '=', id)
        .execute(),
    ).toEqual([])
  })
})
