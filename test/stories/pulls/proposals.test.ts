import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startReceiver } from '../../support/receiver.ts'
import { type Actor, PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer({
    settings: { gitHooks: true },
    webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
  })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient('Eve')
})
afterAll(async () => {
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
  await client.remove()
})

/** A repository of bob's and a clone, in which eve, who may only read, has made commits. */
async function withClone(name: string, fields: object = {}) {
  const { path, pulls } = await forge.repository(users.bob, name, fields)
  const remote = (who: Actor) => remoteOf(server.url, `bob/${name}`, who.username, PASSWORD)
  await client.git('.', 'clone', '-q', remote(users.bob), name)
  const git = (...args: string[]) => client.git(name, ...args)
  await git('checkout', '-q', '-b', 'work')
  /** Pushes, and returns the verdict of each ref. Fails with everything that Git printed. */
  const push = (who: Actor, ...args: string[]) =>
    git('push', '--porcelain', ...args.slice(0, -1), remote(who), args.at(-1) ?? '').catch(
      ({ stdout, stderr }) => {
        throw new Error(`${stdout}${stderr}`)
      },
    )
  return {
    path,
    pulls,
    git,
    remote,
    push,
    commit: (message: string) => client.commit(name, message),
    pull: (number: number) => forge.ask(users.bob, 'GET', `${pulls}/${number}`),
  }
}

describe('a push to refs/for/', () => {
  it('opens a pull request of a reader, and updates it', async () => {
    const repo = await withClone('opened')
    const head = await repo.commit('Add a thing\n\nBecause it is missing.')
    const out = await repo.push(users.eve, '-o', 'topic=thing', 'HEAD:refs/for/main')
    expect(out).toContain('refs/pull/1/head')
    expect(await repo.pull(1)).toMatchObject({
      title: 'Add a thing',
      body: 'Because it is missing.',
      user: { login: 'eve' },
      flow: 1,
      agit_topic: 'eve/thing',
      draft: false,
      allow_maintainer_edit: false,
      base: { ref: 'main' },
      head: { label: '', ref: 'refs/pull/1/head', sha: head, repo: { full_name: 'bob/opened' } },
    })
    await repo.git('fetch', '-q', 'origin', 'refs/pull/1/head')
    expect(await repo.git('rev-parse', 'FETCH_HEAD')).toBe(head)
    const same = repo.push(users.eve, 'HEAD:refs/for/main/thing')
    await expect(same).rejects.toThrow('new commit is same with old commit')
    const next = await repo.commit('More')
    await repo.push(users.eve, '-o', 'title=Ignored', 'HEAD:refs/for/main/eve/thing')
    expect(await repo.pull(1)).toMatchObject({ title: 'Add a thing', head: { sha: next } })
    // Another topic, and another user of the same topic, have pull requests of their own.
    await repo.push(users.eve, 'HEAD:refs/for/main/other')
    await repo.push(users.carol, 'HEAD:refs/for/main/thing')
    const all = await forge.ask(users.bob, 'GET', repo.pulls)
    expect(all.map((pull: { agit_topic: string }) => pull.agit_topic)).toEqual([
      'carol/thing',
      'eve/other',
      'eve/thing',
    ])
    const branches = await forge.ask(users.bob, 'GET', `${repo.path}/branches`)
    expect(branches.map(({ name }: { name: string }) => name)).toEqual(['main'])
  })

  it('replaces commits with force-push only', async () => {
    const repo = await withClone('forced')
    await repo.commit('One')
    await repo.push(users.eve, 'HEAD:refs/for/main/x')
    await repo.git('commit', '-q', '--amend', '--allow-empty', '-m', 'Another')
    const refused = repo.push(users.eve, 'HEAD:refs/for/main/x')
    await expect(refused).rejects.toThrow('not a fast-forward')
    const out = await repo.push(users.eve, '-o', 'force-push', 'HEAD:refs/for/main/x')
    expect(out).toContain('forced update')
    expect((await repo.pull(1)).head.sha).toBe(await repo.git('rev-parse', 'HEAD'))
    await repo.git('reset', '-q', '--hard', 'origin/main')
    await repo.commit('Third')
    await repo.push(users.eve, '-o', 'force-push=true', 'HEAD:refs/for-review/1')
    expect((await repo.pull(1)).head.sha).toBe(await repo.git('rev-parse', 'HEAD'))
    await repo.commit('Fourth')
    const stranger = repo.push(users.carol, 'HEAD:refs/for-review/1')
    await expect(stranger).rejects.toThrow('User permission denied for writing.')
    await repo.push(users.bob, 'HEAD:refs/for-review/1')
    await expect(repo.push(users.bob, 'HEAD:refs/for-review/7')).rejects.toThrow('does not exist')
  })

  it('takes the base and the topic from the path, and texts from options', async () => {
    const repo = await withClone('texts')
    await forge.change(users.bob, repo.path, 'release/1')
    await repo.commit('Subject')
    const title = `{base64}${Buffer.from('Grüße\nund so').toString('base64')}`
    const description = `{base64}${Buffer.from('one\ntwo').toString('base64')}`
    const options = ['-o', `title=${title}`, '-o', `description=${description}`, '-o', 'unknown']
    await repo.push(users.eve, ...options, 'HEAD:refs/for/release/1/a/b')
    expect(await repo.pull(1)).toMatchObject({
      title: 'Grüße und so',
      body: 'one\ntwo',
      base: { ref: 'release/1' },
      agit_topic: 'eve/a/b',
    })
    await repo.push(users.eve, '-o', 'topic=t', 'HEAD:refs/drafts/main')
    expect(await repo.pull(2)).toMatchObject({
      title: 'WIP: Subject',
      body: 'Subject',
      draft: true,
    })
    await repo.push(users.eve, 'HEAD:refs/draft/main/u')
    expect((await repo.pull(3)).draft).toBe(true)
  })

  it.each([
    ['HEAD:refs/for/nowhere/x', 'base-branch does not exist'],
    ['HEAD:refs/for/main', 'the push needs a topic'],
    ['HEAD~1:refs/for/main/x', 'nothing to merge'],
    [':refs/for/main/x', 'a push cannot delete a pull request'],
    ['HEAD:refs/for-review/x', 'needs the number'],
    ['HEAD:refs/heads/branch', 'User permission denied for writing.'],
    ['HEAD:refs/tags/v1', 'User permission denied for writing.'],
    ['HEAD:refs/pull/1/head', 'User permission denied for writing.'],
  ])('is refused: %s', async (refspec, text) => {
    const repo = await withClone(`no${text.length}-${refspec.replaceAll(/\W/g, '-')}`)
    await repo.commit('Something')
    await expect(repo.push(users.eve, refspec)).rejects.toThrow(text)
    expect(await forge.ask(users.bob, 'GET', `${repo.pulls}?state=all`)).toEqual([])
  })

  it('is refused whole with a branch of a reader, and none is opened with --atomic', async () => {
    const repo = await withClone('whole')
    await repo.commit('Something')
    const to = repo.remote(users.eve)
    const both = ['HEAD:refs/for/main/x', 'HEAD:refs/heads/x']
    await expect(repo.git('push', to, ...both)).rejects.toThrow(
      'User permission denied for writing.',
    )
    const pair = ['HEAD:refs/for/main/x', 'HEAD:refs/for/nowhere/y']
    await expect(repo.git('push', '--atomic', to, ...pair)).rejects.toThrow('base-branch')
    expect(await forge.ask(users.bob, 'GET', repo.pulls)).toEqual([])
    await expect(repo.git('push', to, ...pair)).rejects.toThrow('base-branch does not exist')
    await repo.git('push', to, 'HEAD:refs/for/main/y', 'HEAD:refs/for/main/z')
    expect(await forge.ask(users.bob, 'GET', repo.pulls)).toHaveLength(3)
    // A writer pushes a branch and a proposal at once.
    await repo.git('push', repo.remote(users.bob), 'HEAD:refs/heads/x', 'HEAD:refs/for/main/w')
    expect(await forge.ask(users.bob, 'GET', repo.pulls)).toHaveLength(4)
  })

  it('is not offered without pull requests, in archives and to who may not read', async () => {
    const closed = await withClone('closed')
    await forge.ask(users.bob, 'PATCH', closed.path, { has_pull_requests: false })
    const secret = await withClone('secret', { private: true })
    const old = await withClone('old')
    await forge.ask(users.bob, 'PATCH', old.path, { archived: true })
    const advertised = async (name: string, who: Actor) => {
      const url = `${server.url}/bob/${name}.git/info/refs?service=git-receive-pack`
      return (await fetch(url, { headers: { authorization: who.authorization } })).status
    }
    expect(await advertised('closed', users.eve)).toBe(403)
    expect(await advertised('secret', users.eve)).toBe(404)
    expect(await advertised('old', users.eve)).toBe(403)
    expect(await advertised('opened', users.eve)).toBe(200)
    await secret.commit('Something')
    await expect(secret.push(users.eve, 'HEAD:refs/for/main/x')).rejects.toThrow('not found')
  })

  it('opens what has no branch: updates and maintainer edits are refused, and closing is not final', async () => {
    const repo = await withClone('branchless')
    await repo.commit('Something')
    await repo.push(users.eve, 'HEAD:refs/for/main/x')
    await forge.change(users.bob, repo.path, 'main', 'main', 'base.txt')
    const update = await forge.rest(users.bob, 'POST', `${repo.pulls}/1/update`)
    expect(update.status).toBe(403)
    const edit = await forge.rest(users.eve, 'PATCH', `${repo.pulls}/1`, {
      allow_maintainer_edit: true,
    })
    expect(edit.status).toBe(403)
    await forge.ask(users.eve, 'PATCH', `${repo.pulls}/1`, { state: 'closed' })
    await repo.commit('More')
    await repo.push(users.eve, 'HEAD:refs/for/main/x')
    expect((await repo.pull(2)).state).toBe('open')
    const reopen = () => forge.rest(users.eve, 'PATCH', `${repo.pulls}/1`, { state: 'open' })
    expect((await reopen()).status).toBe(409)
    const merge = { Do: 'merge', delete_branch_after_merge: true }
    await forge.ask(users.bob, 'POST', `${repo.pulls}/2/merge`, merge)
    expect((await reopen()).status).toBe(201)
    await repo.git('fetch', '-q', 'origin')
    expect(await repo.git('log', '-1', '--format=%s', 'origin/main')).toBe(
      "Merge pull request 'More' (#2) from eve/x into main",
    )
  })

  it('follows the name of the user, and makes approvals stale', async () => {
    const repo = await withClone('followed')
    await repo.commit('Something')
    await repo.push(users.carol, 'HEAD:refs/for/main/x')
    const review = { event: 'APPROVED', body: 'ok' }
    const { id } = await forge.ask(users.bob, 'POST', `${repo.pulls}/1/reviews`, review)
    await client.git('followed', 'checkout', '-q', 'work')
    const content = Buffer.from('x').toString('base64')
    await forge.ask(users.bob, 'POST', `${repo.path}/contents/other.txt`, { content })
    await repo.git('fetch', '-q', 'origin')
    await repo.git('merge', '-q', '--no-ff', '--no-edit', 'origin/main')
    await repo.push(users.carol, 'HEAD:refs/for/main/x')
    expect((await repo.pull(1)).head.sha).toBe(await repo.git('rev-parse', 'HEAD'))
    expect((await forge.ask(users.bob, 'GET', `${repo.pulls}/1/reviews/${id}`)).state).toBe(
      'APPROVED',
    )
    await forge.ask(users.ada, 'POST', '/admin/users/carol/rename', { new_username: 'caro' })
    expect((await repo.pull(1)).agit_topic).toBe('caro/x')
  })

  it('runs hooks with the refs before and after, and tells webhooks of the pull request only', async () => {
    const repo = await withClone('hooked')
    for (const hook of ['pre-receive', 'post-receive'])
      await forge.ask(users.ada, 'PATCH', `${repo.path}/hooks/git/${hook}`, {
        content: `#!/bin/sh\nwhile read -r from to name; do echo "${hook} $name"; done\n`,
      })
    const receiver = await startReceiver()
    await forge.ask(users.bob, 'POST', `${repo.path}/hooks`, {
      type: 'gitea',
      active: true,
      events: ['push', 'create', 'pull_request'],
      config: { url: receiver.url, content_type: 'json' },
    })
    await repo.commit('One')
    await repo.git('config', 'push.default', 'nothing')
    const output = async () => {
      const args = ['-c', 'alias.said=!git push 2>&1', 'said', repo.remote(users.eve)]
      return repo.git(...args, 'HEAD:refs/for/main/x')
    }
    const first = await output()
    expect(first).toContain('remote: pre-receive refs/for/main/x')
    expect(first).toContain('remote: post-receive refs/pull/1/head')
    expect(first).toContain(`${server.url}/bob/hooked/pulls/1`)
    await repo.commit('Two')
    await output()
    const events = []
    for (let count = 0; count < 2; count += 1) {
      const { headers, body } = await receiver.next()
      events.push(`${headers['x-gitea-event']} ${JSON.parse(body).action}`)
    }
    await receiver.stop()
    expect(events).toEqual(['pull_request opened', 'pull_request synchronized'])
    const script = { content: '#!/bin/sh\necho not today\nexit 1\n' }
    await forge.ask(users.ada, 'PATCH', `${repo.path}/hooks/git/pre-receive`, script)
    await repo.commit('Three')
    await expect(output()).rejects.toThrow()
    expect((await repo.pull(1)).head.sha).toBe(await repo.git('rev-parse', 'HEAD~1'))
  })
})
