import { unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { createToken, PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer({ settings: { gitHooks: true } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  client = await openGitClient()
})
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
  await server.stop()
  await client.remove()
})

/**
 * Bob's repository, which eve has forked and asks to pull `theirs` from, and which carol may write
 * to; with a clone of the fork.
 */
async function proposed(name: string, pull: object = { allow_maintainer_edit: true }) {
  const base = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PUT', `${base.path}/collaborators/carol`, { permission: 'write' })
  const fork = await forge.fork(users.eve, base.path)
  await forge.change(users.eve, fork.path, 'theirs')
  await forge.change(users.eve, fork.path, 'others')
  await forge.ask(users.eve, 'POST', base.pulls, {
    head: 'eve:theirs',
    base: 'main',
    title: 'Mend it',
    ...pull,
  })
  await client.git('.', 'clone', '-q', '-b', 'theirs', remoteOf(server.url, `eve/${name}`), name)
  const git = (...args: string[]) => client.git(name, ...args)
  return {
    ...base,
    fork,
    git,
    commit: () => client.commit(name, 'edited'),
    /** Pushes to the fork as somebody, and says what they are told. */
    async push(who: string, refspec = 'HEAD:theirs', password = PASSWORD) {
      const remote = remoteOf(server.url, `eve/${name}`, who, password)
      try {
        await git('push', '-q', '--force', remote, refspec)
        return 'ok'
      } catch (error) {
        const [, said] = /^remote: error: (\S.*?)\s*$/m.exec(String(error)) ?? []
        return said ?? /returned error: (\d+)/.exec(String(error))?.[1] ?? String(error)
      }
    },
  }
}

const DENIED = 'User permission denied for writing.'

describe('a user who may merge a pull request', () => {
  it('may push to its head branch in the fork, and to no other branch', async () => {
    const { commit, push, pulls, git } = await proposed('edited')
    const edited = await commit()
    expect(await push('carol')).toBe('ok')
    expect((await forge.ask(users.bob, 'GET', `${pulls}/1`)).head.sha).toBe(edited)
    await git('commit', '-q', '--amend', '--allow-empty', '-m', 'forced')
    expect(await push('bob')).toBe('ok')
    await commit()
    for (const refspec of [
      'HEAD:others',
      'HEAD:main',
      'HEAD:fresh',
      ':theirs',
      'HEAD:refs/tags/v1',
    ]) {
      expect([refspec, await push('carol', refspec)]).toEqual([refspec, DENIED])
    }
    // One ref that is refused refuses all.
    await expect(
      git(
        'push',
        '-q',
        remoteOf(server.url, 'eve/edited', 'carol', PASSWORD),
        'HEAD:theirs',
        'HEAD:fresh',
      ),
    ).rejects.toThrow(DENIED)
  })

  it('may change that branch over the API as well', async () => {
    const { fork } = await proposed('moved')
    const to = (await forge.ask(users.eve, 'GET', `${fork.path}/branches/others`)).commit.id
    const move = (branch: string) =>
      forge.rest(users.carol, 'PUT', `${fork.path}/branches/${branch}`, {
        new_commit_id: to,
        force: true,
      })
    expect((await move('theirs')).status).toBe(204)
    expect((await move('main')).status).toBe(403)
    expect((await forge.ask(users.eve, 'GET', `${fork.path}/branches/theirs`)).commit.id).toBe(to)
    expect((await forge.rest(users.carol, 'DELETE', `${fork.path}/branches/theirs`)).status).toBe(
      403,
    )
    expect(
      (await forge.rest(users.carol, 'PATCH', fork.path, { description: 'mine' })).status,
    ).toBe(403)
  })

  it('may do so only while all conditions hold', async () => {
    const { path, pulls, fork, commit, push } = await proposed('held')
    const outcome = async (who = 'carol') => {
      await commit()
      return push(who)
    }
    const pull = `${pulls}/1`
    expect(await outcome()).toBe('ok')
    // The poster lets nobody any more.
    await forge.ask(users.eve, 'PATCH', pull, { allow_maintainer_edit: false })
    expect(await outcome()).toBe(DENIED)
    await forge.ask(users.eve, 'PATCH', pull, { allow_maintainer_edit: true })
    // It is closed.
    await forge.ask(users.bob, 'PATCH', pull, { state: 'closed' })
    expect(await outcome()).toBe(DENIED)
    await forge.ask(users.bob, 'PATCH', pull, { state: 'open' })
    // Carol may not merge any more, or by a list of the rule alone.
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    expect(await outcome()).toBe(DENIED)
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const list = {
      rule_name: 'main',
      enable_merge_whitelist: true,
      merge_whitelist_usernames: ['carol'],
    }
    await forge.ask(users.bob, 'POST', `${path}/branch_protections`, list)
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
    expect([await outcome(), await outcome('bob')]).toEqual(['ok', DENIED])
    await forge.ask(users.bob, 'DELETE', `${path}/branch_protections/main`)
    // The base is archived, and so is the fork.
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    expect(await outcome()).toBe(DENIED)
    await forge.ask(users.bob, 'PATCH', path, { archived: false })
    await forge.ask(users.eve, 'PATCH', fork.path, { archived: true })
    expect(await outcome()).toBe('403')
    await forge.ask(users.eve, 'PATCH', fork.path, { archived: false })
    expect(await outcome()).toBe('ok')
    // Nobody pushes to what they cannot see, by a token of theirs either.
    const seeing = await createToken(server.url, users.carol, ['read:repository'])
    await commit()
    expect(await push('carol', 'HEAD:theirs', seeing)).toBe('403')
    await forge.ask(users.eve, 'PATCH', fork.path, { private: true })
    expect(await push('carol')).toMatch(/Repository not found|not found/)
  })

  it('may not do so after the poster has lost the right to push', async () => {
    const { pulls, fork, commit, push } = await proposed('lent', {})
    await forge.ask(users.eve, 'PUT', `${fork.path}/collaborators/ada`, { permission: 'write' })
    await forge.change(users.eve, fork.path, 'lent')
    const user = {
      username: 'finn',
      email: 'finn@example.org',
      password: PASSWORD,
      must_change_password: false,
    }
    await forge.ask(users.ada, 'POST', '/admin/users', user)
    const finn = { authorization: `Basic ${Buffer.from(`finn:${PASSWORD}`).toString('base64')}` }
    await forge.ask(users.eve, 'PUT', `${fork.path}/collaborators/finn`, { permission: 'write' })
    const draft = { head: 'eve:lent', base: 'main', title: 'x', allow_maintainer_edit: true }
    await forge.ask(finn, 'POST', pulls, draft)
    await commit()
    expect(await push('carol', 'HEAD:lent')).toBe('ok')
    await forge.ask(users.eve, 'DELETE', `${fork.path}/collaborators/finn`)
    await commit()
    expect(await push('carol', 'HEAD:lent')).toBe(DENIED)
  })

  it('gains no right in the parent of a fork that they maintain', async () => {
    const { path } = await forge.repository(users.bob, 'upstream')
    const fork = await forge.fork(users.carol, path)
    const second = await forge.fork(users.eve, fork.path)
    await forge.change(users.bob, path, 'next')
    for (const [who, down] of [
      [users.carol, fork],
      [users.eve, second],
    ] as const) {
      await forge.ask(who, 'PATCH', down.path, { default_allow_maintainer_edit: true })
      const draft = { head: 'bob/upstream:next', base: 'main', title: 'What is new' }
      const { allow_maintainer_edit } = await forge.ask(
        users.bob,
        'POST',
        `${down.path}/pulls`,
        draft,
      )
      expect(allow_maintainer_edit).toBe(true)
      const file = { content: '', branch: 'next' }
      expect((await forge.rest(who, 'POST', `${path}/contents/mine`, file)).status).toBe(403)
      const folder = `upstream-${who.username}`
      await client.git(
        '.',
        'clone',
        '-q',
        '-b',
        'next',
        remoteOf(server.url, 'bob/upstream'),
        folder,
      )
      await client.commit(folder, 'mine')
      const remote = remoteOf(server.url, 'bob/upstream', who.username, PASSWORD)
      await expect(client.git(folder, 'push', '-q', remote, 'HEAD:next')).rejects.toThrow(DENIED)
    }
  })

  it('is under the branch rules of the fork, like users with write access', async () => {
    const { fork, commit, push } = await proposed('ruled')
    const rule = `${fork.path}/branch_protections`
    await forge.ask(users.eve, 'POST', rule, { rule_name: 'theirs', enable_push: true })
    await commit()
    expect(await push('carol')).toBe('ok')
    await forge.ask(users.eve, 'PATCH', `${rule}/theirs`, { enable_push_whitelist: true })
    await commit()
    expect(await push('carol')).toBe('Not allowed to push to protected branch theirs')
  })

  it('gains no right from a pull request within one repository', async () => {
    const base = await forge.repository(users.bob, 'within')
    await forge.change(users.bob, base.path, 'own')
    await forge.ask(users.bob, 'PUT', `${base.path}/collaborators/carol`, { permission: 'write' })
    const draft = { head: 'own', base: 'main', title: 'x', allow_maintainer_edit: true }
    await forge.ask(users.bob, 'POST', base.pulls, draft)
    const list = {
      rule_name: 'main',
      enable_merge_whitelist: true,
      merge_whitelist_usernames: ['carol'],
    }
    await forge.ask(users.bob, 'POST', `${base.path}/branch_protections`, list)
    await forge.ask(users.bob, 'PUT', `${base.path}/collaborators/carol`, { permission: 'read' })
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/within'), 'within')
    const remote = remoteOf(server.url, 'bob/within', 'carol', PASSWORD)
    await expect(client.git('within', 'push', '-q', '--force', remote, 'HEAD:own')).rejects.toThrow(
      DENIED,
    )
  })
})

describe('a user who pushes', () => {
  /** What git shows of a push, without what it says itself. */
  async function saidTo(folder: string, ...args: string[]): Promise<string[]> {
    await client.git(folder, 'config', 'alias.told', '!f() { git push "$@" 2>&1; }; f')
    const output = await client.git(folder, 'told', ...args)
    return output.split('\n').flatMap((line) => /^remote: ?(.*?)\s*$/.exec(line)?.[1] || [])
  }

  it('sees the URL of the pull request of the branch, or the URL to open one', async () => {
    const { path, pulls, fork, git } = await proposed('told')
    const url = (rest: string) => `  ${server.url}/bob/told${rest}`
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/told', 'bob', PASSWORD),
      'told-base',
    )
    await client.commit('told-base', 'next')
    expect(await saidTo('told-base', 'origin', 'HEAD:main')).toEqual([])
    expect(await saidTo('told-base', 'origin', 'HEAD:new/one')).toEqual([
      "Create a new pull request for 'new/one':",
      url('/compare/main...new/one'),
    ])
    await client.commit('told-base', 'more')
    await forge.ask(users.bob, 'POST', pulls, { head: 'new/one', base: 'main', title: 'x' })
    await client.commit('told-base', 'even more')
    expect(await saidTo('told-base', 'origin', 'HEAD:new/one')).toEqual([
      'Visit the existing pull request:',
      url('/pulls/2'),
    ])
    expect(await saidTo('told-base', 'origin', ':new/one', 'HEAD:refs/tags/v1')).toEqual([])
    // From a fork to where it was forked from.
    await client.commit('told', 'next')
    const remote = remoteOf(server.url, 'eve/told', 'eve', PASSWORD)
    expect(await saidTo('told', remote, 'HEAD:theirs', 'HEAD:fresh')).toEqual([
      'Visit the existing pull request:',
      url('/pulls/1'),
      "Create a new pull request for 'eve:fresh':",
      url('/compare/main...eve:fresh'),
    ])
    await forge.ask(users.bob, 'PATCH', path, { has_pull_requests: false })
    expect(await saidTo('told-base', 'origin', 'HEAD:another')).toEqual([])
    await git('fetch', '-q')
    expect(fork.id).toBeGreaterThan(0)
  })

  it('sees it for branches that have moved, but not for one that Git could not move', async () => {
    const { id } = await forge.repository(users.bob, 'stuck')
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/stuck', 'bob', PASSWORD),
      'stuck',
    )
    await client.commit('stuck', 'next')
    const lock = join(repositoryPath(server.app.git, id), 'refs', 'heads', 'held.lock')
    await writeFile(lock, '')
    const said = await saidTo('stuck', 'origin', 'HEAD:held', 'HEAD:free', '--no-atomic').catch(
      ({ stdout }: { stdout: string }) =>
        stdout.split('\n').flatMap((line) => /^remote: ?(.*?)\s*$/.exec(line)?.[1] || []),
    )
    await unlink(lock)
    const { body } = await forge.rest(users.bob, 'GET', '/repos/bob/stuck/branches')
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['free', 'main'])
    expect(said.filter((line) => line.includes('pull request'))).toEqual([
      "Create a new pull request for 'free':",
    ])
  })

  it('sees it after the output of a hook', async () => {
    const { path } = await forge.repository(users.bob, 'hooked')
    for (const hook of ['pre-receive', 'post-receive']) {
      await forge.ask(users.ada, 'PATCH', `${path}/hooks/git/${hook}`, {
        content: `#!/bin/sh\necho ${hook} ran\n`,
      })
    }
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/hooked', 'bob', PASSWORD),
      'hooked',
    )
    await client.commit('hooked', 'next')
    expect(await saidTo('hooked', 'origin', 'HEAD:branch')).toEqual([
      'pre-receive ran',
      'post-receive ran',
      "Create a new pull request for 'branch':",
      `  ${server.url}/bob/hooked/compare/main...branch`,
    ])
  })
})
