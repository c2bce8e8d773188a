import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, describe, expect, it } from 'vitest'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { tokenOf } from '../../support/callers.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type Actor, PASSWORD } from '../../support/server.ts'

const forge = await openForge({ settings: { gitHooks: true } })
const { server, users, rest, client } = forge
afterAll(forge.checkObjects)

/**
 * Makes a repository of bob with a first commit and a fork of carol, and clones of both, called
 * `<name>-parent` and `<name>-fork`.
 */
async function forked(name: string) {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'read' })
  const { body: fork } = await rest(users.carol, 'POST', `/repos/bob/${name}/forks`, {})
  const [parent, own] = [`${name}-parent`, `${name}-fork`]
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), parent)
  await client.git(
    '.',
    'clone',
    '-q',
    remoteOf(server.url, `carol/${name}`, 'carol', PASSWORD),
    own,
  )
  const path = `/repos/carol/${name}`
  return {
    path,
    id: Number(fork.id),
    parentId: Number(fork.parent.id),
    inParent: (file: string, content: string) => change(parent, file, content),
    inFork: (file: string, content: string) => change(own, file, content),
    parentGit: (...args: string[]) => client.git(parent, ...args),
    forkGit: (...args: string[]) => client.git(own, ...args),
    merge: (body: object, who: Pick<Actor, 'authorization'> | undefined = users.carol) =>
      rest(who, 'POST', `${path}/merge-upstream`, body),
    /** The same over gRPC: what it did, or what it is refused with. */
    async mergeByGrpc(branch: string, ffOnly = false, who = users.carol) {
      const forks = forge.grpc(ForkService, who)
      try {
        return (await forks.mergeUpstream({ owner: 'carol', repo: name, branch, ffOnly })).mergeType
      } catch (thrown) {
        const error = ConnectError.from(thrown)
        const [info] = error.findDetails(ErrorInfoSchema)
        return [Code[error.code], error.rawMessage, info?.reason, info?.metadata]
      }
    },
  }
}

/** Commits a file in a clone, pushes the branch and returns the id. */
async function change(folder: string, file: string, content: string): Promise<string> {
  await writeFile(join(client.home, folder, file), content)
  await client.git(folder, 'add', '--', file)
  const id = await client.commit(folder, file)
  await client.git(folder, 'push', '-q', 'origin', 'HEAD')
  return id
}

const headOf = async (path: string, branch = 'main') =>
  (await rest(users.carol, 'GET', `${path}/branches/${branch}`)).body.commit.id

describe('a merge from upstream', () => {
  it('is up to date, a fast-forward, or a merge commit of the caller', async () => {
    const { path, inParent, inFork, merge, forkGit, parentGit, mergeByGrpc } =
      await forked('engine')
    const nothing = await merge({ branch: 'main' })
    expect([nothing.status, nothing.body]).toEqual([200, { merge_type: 'up-to-date' }])
    const first = await inParent('a', 'a\n')
    const forwarded = await merge({ branch: 'main', ff_only: true })
    expect([forwarded.status, forwarded.body]).toEqual([200, { merge_type: 'fast-forward' }])
    expect(await headOf(path)).toBe(first)
    expect(await mergeByGrpc('main')).toBe('up-to-date')
    await forkGit('pull', '-q')
    const own = await inFork('mine', 'mine\n')
    // What is only in the fork is nothing to merge.
    expect((await merge({ branch: 'main', ff_only: true })).body).toEqual({
      merge_type: 'up-to-date',
    })
    const second = await inParent('b', 'b\n')
    const merged = await merge({ branch: 'main', ff_only: false })
    expect([merged.status, merged.body]).toEqual([200, { merge_type: 'merge' }])
    await forkGit('pull', '-q')
    const shown = await forkGit('log', '-1', '--format=%P|%an <%ae>|%cn <%ce>|%B')
    const carol = 'carol <carol@example.org>'
    expect(shown).toBe(`${own} ${second}|${carol}|${carol}|merge upstream`)
    expect(await headOf(path)).toBe(await forkGit('rev-parse', 'HEAD'))
    // The same tree as by Git itself.
    await parentGit('fetch', '-q', remoteOf(server.url, 'carol/engine'), own)
    await parentGit('merge', '-q', '--no-edit', 'FETCH_HEAD')
    expect(await forkGit('rev-parse', 'HEAD^{tree}')).toBe(
      await parentGit('rev-parse', 'HEAD^{tree}'),
    )
    // And on from there.
    await parentGit('reset', '-q', '--hard', 'HEAD~1')
    await inParent('c', 'c\n')
    expect(await mergeByGrpc('main')).toBe('merge')
  })

  it('merges the branch of the same name, or the default branch of the parent', async () => {
    const { path, inParent, parentGit, forkGit, merge } = await forked('names')
    await forkGit('push', '-q', 'origin', 'main:feature/x', 'main:own')
    await parentGit('checkout', '-q', '-b', 'feature/x')
    const feature = await inParent('feature', 'x\n')
    await parentGit('checkout', '-q', 'main')
    const main = await inParent('main', 'x\n')
    expect((await merge({ branch: 'feature/x' })).body).toEqual({ merge_type: 'fast-forward' })
    expect((await merge({ branch: 'own' })).body).toEqual({ merge_type: 'fast-forward' })
    const heads = [await headOf(path, 'feature/x'), await headOf(path, 'own'), await headOf(path)]
    expect(heads).toEqual([feature, main, await forkGit('rev-parse', 'main')])
    // Only what was asked for has come.
    expect(await forkGit('ls-remote', 'origin', 'refs/*')).not.toContain('FETCH')
  })

  it('fetches long histories, with dates before those of their parents', async () => {
    const { path, id, parentGit, merge } = await forked('long')
    const script = Array.from(
      { length: 300 },
      (_, i) =>
        `commit refs/heads/main\ncommitter A <a@example.org> ${1_770_000_000 + i} +0000\ndata 1\nx\n${
          i === 0 ? 'from refs/heads/main^0\n' : ''
        }M 100644 inline f${i}\ndata ${String(i).length}\n${i}\n`,
    )
    await writeFile(join(client.home, 'long-parent', 'script'), script.join(''))
    await parentGit('-c', 'alias.import=!git fast-import --quiet < script', 'import')
    await parentGit('push', '-q', 'origin', 'main')
    expect((await merge({ branch: 'main' })).body).toEqual({ merge_type: 'fast-forward' })
    expect(await headOf(path)).toBe(await parentGit('rev-parse', 'main'))
    const refs = await client.git(
      '.',
      '-C',
      repositoryPath(server.app.git, id),
      'for-each-ref',
      '--format=%(refname)',
    )
    expect(refs).toBe('refs/heads/main')
  })

  it('is refused on a conflict or when a fast-forward is impossible, and changes nothing', async () => {
    const { path, inParent, inFork, merge, mergeByGrpc } = await forked('apart')
    await inParent('a', 'theirs\n')
    const own = await inFork('a', 'ours\n')
    const impossible = 'fast-forward merge not possible: branch has diverged'
    const forward = await merge({ branch: 'main', ff_only: true })
    expect([forward.status, forward.body]).toEqual([
      400,
      { message: impossible, url: '/openapi.json' },
    ])
    const refusal = ['FailedPrecondition', impossible, 'FAST_FORWARD_IMPOSSIBLE', {}]
    expect(await mergeByGrpc('main', true)).toEqual(refusal)
    const conflict = await merge({ branch: 'main' })
    const text = 'CONFLICT (add/add): Merge conflict in a\n'
    const message = 'merge failed due to conflicts'
    expect([conflict.status, conflict.body]).toEqual([
      409,
      { Style: 'merge', StdOut: text, StdErr: '', Err: {}, message },
    ])
    const facts = { style: 'merge', paths: '["a"]', text }
    expect(await mergeByGrpc('main')).toEqual([
      'FailedPrecondition',
      message,
      'MERGE_CONFLICT',
      facts,
    ])
    expect(await headOf(path)).toBe(own)
  })

  it('is refused for unrelated histories', async () => {
    const { parentGit, merge, mergeByGrpc } = await forked('strangers')
    await parentGit('checkout', '-q', '--orphan', 'new')
    await client.commit('strangers-parent', 'anew')
    await parentGit('push', '-q', '--force', 'origin', 'new:main')
    const { status, body } = await merge({ branch: 'main' })
    expect([status, body]).toEqual([
      409,
      {
        Style: 'merge',
        StdOut: 'refusing to merge unrelated histories',
        StdErr: '',
        Err: {},
        message: 'the branches have no common ancestor',
      },
    ])
    expect(await mergeByGrpc('main')).toMatchObject({
      0: 'FailedPrecondition',
      2: 'MERGE_CONFLICT',
    })
  })

  it('is refused without the branch, without a parent, and without access to the parent', async () => {
    const { path, id, parentId, parentGit, merge, mergeByGrpc } = await forked('refused')
    for (const branch of ['nothing', '', '../x', 'refs/heads/main']) {
      const message = `branch does not exist [repo_id: ${id} name: ${branch}]`
      const { status, body } = await merge({ branch })
      expect([status, body]).toEqual([404, { message, url: '/openapi.json' }])
      const metadata = { repository_id: String(id), branch }
      expect(await mergeByGrpc(branch)).toEqual([
        'NotFound',
        message,
        'UPSTREAM_BRANCH_NOT_FOUND',
        metadata,
      ])
    }
    await parentGit('push', '-q', 'origin', 'main:other')
    await rest(users.bob, 'PATCH', '/repos/bob/refused', { default_branch: 'other' })
    await parentGit('push', '-q', 'origin', ':main')
    await rest(users.bob, 'PATCH', '/repos/bob/refused', { private: true })
    expect((await merge({ branch: 'main' })).body).toEqual({ merge_type: 'up-to-date' })
    await rest(users.bob, 'DELETE', '/repos/bob/refused/collaborators/carol')
    const message = `permission denied to read base repo ${parentId}`
    const denied = await merge({ branch: 'main' })
    expect([denied.status, denied.body]).toEqual([403, { message, url: '/openapi.json' }])
    const metadata = { repository_id: String(parentId) }
    expect(await mergeByGrpc('main')).toEqual([
      'PermissionDenied',
      message,
      'UPSTREAM_ACCESS_DENIED',
      metadata,
    ])
    await rest(users.bob, 'DELETE', '/repos/bob/refused')
    const orphan = await merge({ branch: 'main' })
    expect([orphan.status, orphan.body]).toEqual([
      400,
      { message: 'repo is not a fork', url: '/openapi.json' },
    ])
    expect(await mergeByGrpc('main')).toEqual([
      'FailedPrecondition',
      'repo is not a fork',
      'REPOSITORY_NOT_FORK',
      {},
    ])
    expect((await rest(users.carol, 'GET', path)).status).toBe(200)
  })

  it('is refused for a parent without commits', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'void' })
    const { body: fork } = await rest(users.carol, 'POST', '/repos/bob/void/forks', {})
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'carol/void', 'carol', PASSWORD),
      'void',
    )
    await client.git('void', 'checkout', '-q', '-b', 'main')
    await change('void', 'a', 'a\n')
    const { status, body } = await rest(users.carol, 'POST', '/repos/carol/void/merge-upstream', {
      branch: 'main',
    })
    const message = `branch does not exist [repo_id: ${fork.parent.id} name: main]`
    expect([status, body.message]).toEqual([404, message])
  })

  it('requires write access and scope, and a fork that is not archived', async () => {
    const { path, inParent, merge, mergeByGrpc } = await forked('guarded')
    await inParent('a', 'a\n')
    expect(
      (await rest(undefined, 'POST', `${path}/merge-upstream`, { branch: 'main' })).status,
    ).toBe(401)
    const denied = await merge({ branch: 'main' }, users.bob)
    expect([denied.status, denied.body.message]).toEqual([
      403,
      'user should have a permission to write to a repo',
    ])
    expect(await mergeByGrpc('main', false, users.bob)).toMatchObject({
      0: 'PermissionDenied',
      2: 'REPOSITORY_ACCESS_DENIED',
    })
    const reader = await tokenOf(server.url, users.carol, ['read:repository'])
    expect((await merge({ branch: 'main' }, reader)).status).toBe(403)
    await rest(users.carol, 'PATCH', path, { archived: true })
    const archived = await merge({ branch: 'main' })
    expect([archived.status, archived.body.message]).toEqual([423, 'repo is archived'])
    await rest(users.carol, 'PATCH', path, { archived: false, private: true })
    expect((await merge({ branch: 'main' }, users.bob)).status).toBe(404)
    expect(
      (await rest(users.bob, 'POST', '/repos/carol/none/merge-upstream', { branch: 'main' }))
        .status,
    ).toBe(404)
    const writer = await tokenOf(server.url, users.carol, ['write:repository'])
    expect((await merge({ branch: 'main' }, writer)).body).toEqual({ merge_type: 'fast-forward' })
  })

  it('is a push of the caller for the rules and hooks of the fork', async () => {
    const { path, inParent, merge, mergeByGrpc } = await forked('ruled')
    await rest(users.carol, 'PUT', `${path}/collaborators/bob`, { permission: 'write' })
    const before = await headOf(path)
    const head = await inParent('a', 'a\n')
    const rule = {
      rule_name: 'main',
      enable_push: true,
      enable_push_whitelist: true,
      push_whitelist_usernames: ['carol'],
    }
    expect((await rest(users.carol, 'POST', `${path}/branch_protections`, rule)).status).toBe(201)
    expect((await merge({ branch: 'main' }, users.bob)).status).toBe(403)
    expect(await mergeByGrpc('main', false, users.bob)).toMatchObject({
      0: 'PermissionDenied',
      2: 'BRANCH_PROTECTED',
    })
    const script =
      '#!/bin/sh\nread old new ref\necho "$ref by $GITEA_PUSHER_NAME is not welcome"\nexit 1\n'
    expect(
      (await rest(users.ada, 'PATCH', `${path}/hooks/git/pre-receive`, { content: script })).status,
    ).toBe(200)
    const refused = await merge({ branch: 'main' })
    expect(refused.status).toBe(403)
    expect(refused.body.message).toContain('refs/heads/main by')
    expect(await headOf(path)).toBe(before)
    await rest(users.ada, 'DELETE', `${path}/hooks/git/pre-receive`)
    expect((await merge({ branch: 'main' })).body).toEqual({ merge_type: 'fast-forward' })
    expect(await headOf(path)).toBe(head)
  })

  it('happens once for concurrent requests', async () => {
    const { inParent, inFork, forkGit, merge } = await forked('race')
    await inParent('a', 'a\n')
    await inFork('b', 'b\n')
    const answers = await Promise.all(Array.from({ length: 5 }, () => merge({ branch: 'main' })))
    expect(answers.filter(({ body }) => body.merge_type === 'merge')).toHaveLength(1)
    for (const { status } of answers) expect([200, 409]).toContain(status)
    await forkGit('pull', '-q')
    expect(await forkGit('rev-list', '--count', '--merges', 'HEAD')).toBe('1')
  })
})
