import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { checkMergeability } from '../../../src/forge/pulls/merging/mergeability.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { tokenOf } from '../../support/callers.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { pullMerges } from '../../support/pull-merges.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let merges: ReturnType<typeof pullMerges>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer({ settings: { gitHooks: true } })
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  merges = pullMerges(server)
  client = await openGitClient()
})
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
  await server.stop()
  await client.remove()
})

let names = 0

/** A pull request of eve's from `topic` of her fork to bob's `main`, which has gone on since. */
async function proposed(fields: object = {}) {
  names += 1
  const name = `update${names}`
  const { path, pulls } = await forge.repository(users.bob, name)
  await forge.ask(users.bob, 'PATCH', path, fields)
  const fork = await forge.fork(users.eve, path)
  const head = await forge.change(users.eve, fork.path, 'topic')
  const open = (more: object = {}) =>
    forge.ask(users.eve, 'POST', pulls, {
      head: 'eve:topic',
      base: 'main',
      title: 'Topic',
      ...more,
    })
  const base = await forge.change(users.bob, path, 'main', 'main', 'base.txt')
  const tip = async () =>
    (await forge.ask(users.eve, 'GET', `${fork.path}/branches/topic`)).commit.id
  return { name, path, fork, pulls, pull: `${pulls}/1`, head, base, open, tip }
}

const update = (who: Pick<Actor, 'authorization'> | undefined, pull: string, style?: string) =>
  forge.rest(who, 'POST', `${pull}/update${style === undefined ? '' : `?style=${style}`}`)

/** What an update is refused with, over both. */
async function refusalOf(who: Pick<Actor, 'authorization'>, pull: string, style = '') {
  const { status, body } = await update(who, pull, style)
  const [, , owner = '', repo = '', , index = ''] = pull.split('/')
  const grpc = merges
    .grpcAs(who)
    .updatePullRequestHead({ owner, repo, index: BigInt(index), style })
  const error = ConnectError.from(
    await grpc.then(
      () => expect.fail('was not refused'),
      (thrown: unknown) => thrown,
    ),
  )
  const reason = error.findDetails(ErrorInfoSchema)[0]?.reason
  return { status, message: body.message, code: Code[error.code], reason }
}

describe('the head of a pull request can be updated', () => {
  it.each([undefined, 'merge', 'anything'])('by a merge of whoever asks: %s', async (style) => {
    const { pull, open, head, base, tip, name } = await proposed()
    await open()
    const answer = await update(users.eve, pull, style)
    expect([answer.status, answer.body]).toEqual([200, {}])
    await client.git('.', 'clone', '-q', '-b', 'topic', remoteOf(server.url, `eve/${name}`), name)
    const eve = 'eve <eve@example.org>'
    expect(await client.git(name, 'log', '-1', '--format=%P|%an <%ae>|%cn <%ce>|%B')).toBe(
      `${head} ${base}|${eve}|${eve}|Merge branch 'main' into topic`,
    )
    const merged = await client.git(name, 'rev-parse', 'HEAD^{tree}')
    await client.git(name, 'checkout', '-q', '--detach', head)
    await client.git(name, 'merge', '-q', '--no-edit', base)
    expect(merged).toBe(await client.git(name, 'rev-parse', 'HEAD^{tree}'))
    const now = await tip()
    const { id } = await forge.ask(users.bob, 'GET', pull)
    await checkMergeability(server.app, id)
    expect(await forge.ask(users.bob, 'GET', pull)).toMatchObject({
      head: { sha: now },
      merge_base: base,
    })
    // Nothing new is no failure.
    expect((await update(users.eve, pull, style)).status).toBe(200)
    expect(await tip()).toBe(now)
    expect((await merges.merge(users.bob, pull)).status).toBe(200)
  })

  it('by a rebase', async () => {
    const { pull, open, head, base, tip, name } = await proposed()
    await open()
    const [owner, repo, index, style] = ['bob', name, 1n, 'rebase']
    const grpc = merges.grpcAs(users.eve)
    expect(await grpc.updatePullRequestHead({ owner, repo, index, style })).toMatchObject({
      updated: true,
    })
    const rebased = await tip()
    expect(rebased).not.toBe(head)
    await client.git('.', 'clone', '-q', '-b', 'topic', remoteOf(server.url, `eve/${name}`), name)
    expect(await client.git(name, 'log', '-1', '--format=%P|%an|%cn|%s')).toBe(
      `${base}|eve|eve|Add topic.txt`,
    )
    expect((await forge.ask(users.bob, 'GET', pull)).head.sha).toBe(rebased)
    expect(await grpc.updatePullRequestHead({ owner, repo, index, style })).toMatchObject({
      updated: false,
    })
    expect((await update(users.eve, pull, 'rebase')).status).toBe(200)
    expect(await tip()).toBe(rebased)
  })

  it('by a maintainer whom the poster allows', async () => {
    const { pull, open, tip, head } = await proposed()
    await open({ allow_maintainer_edit: true })
    expect((await update(users.bob, pull)).status).toBe(200)
    expect(await tip()).not.toBe(head)
  })

  it('with the hooks of its repository', async () => {
    const { pull, open, fork } = await proposed()
    const { id } = await open()
    const content = '#!/bin/sh\nenv | grep -E "^GITEA_P[RU]" | sort\nexit 1\n'
    await forge.ask(users.ada, 'PATCH', `${fork.path}/hooks/git/pre-receive`, { content })
    const { status, body } = await update(users.eve, pull)
    expect(status).toBe(403)
    expect(body.message.split('\n')).toEqual(
      expect.arrayContaining([
        `GITEA_PR_ID=${id}`,
        'GITEA_PR_INDEX=1',
        'GITEA_PUSH_TRIGGER=pr-update-with-base',
      ]),
    )
  })
})

const DENIED = {
  status: 403,
  message: undefined,
  code: 'PermissionDenied',
  reason: 'PULL_REQUEST_UPDATE_DENIED',
}

describe('an update is refused', () => {
  it('for a merged pull request', async () => {
    const { pull, open } = await proposed()
    await open()
    await merges.merge(users.bob, pull)
    expect(await refusalOf(users.eve, pull)).toEqual({
      status: 422,
      message: 'pull request is already merged',
      code: 'FailedPrecondition',
      reason: 'PULL_REQUEST_MERGED',
    })
  })

  it('for a closed pull request', async () => {
    const { pull, open } = await proposed()
    await open()
    await forge.ask(users.eve, 'PATCH', pull, { state: 'closed' })
    expect(await refusalOf(users.carol, pull)).toEqual({
      status: 422,
      message: 'pull request is already closed',
      code: 'FailedPrecondition',
      reason: 'PULL_REQUEST_CLOSED',
    })
  })

  it('for a missing pull request', async () => {
    const { pull } = await proposed()
    expect(await refusalOf(users.eve, pull)).toMatchObject({
      status: 404,
      reason: 'PULL_REQUEST_NOT_FOUND',
    })
    expect((await update(undefined, pull)).status).toBe(401)
  })

  it('for a private head and a token that sees public data only', async () => {
    const { pull, open, fork, tip, head } = await proposed()
    await open()
    await forge.ask(users.eve, 'PATCH', fork.path, { private: true })
    const token = await tokenOf(server.url, users.eve, ['all', 'public-only'])
    const missing = {
      status: 404,
      message: 'not found',
      code: 'NotFound',
      reason: 'PULL_REQUEST_NOT_FOUND',
    }
    expect(await refusalOf(token, pull)).toEqual(missing)
    // Nobody else is told that there is such a repository.
    expect(await refusalOf(users.bob, pull)).toEqual(DENIED)
    expect(await tip()).toBe(head)
    expect((await update(users.eve, pull)).status).toBe(200)
  })

  it.each([
    ['merge', { allow_merge_update: false }, 'rebase'],
    ['rebase', { allow_rebase_update: false }, 'merge'],
  ])('for a style that the repository does not allow: %s', async (style, fields, other) => {
    const { pull, open } = await proposed(fields)
    await open()
    expect(await refusalOf(users.eve, pull, style)).toEqual(DENIED)
    expect((await update(users.eve, pull, other)).status).toBe(200)
  })

  it('for a user who may not push to the head', async () => {
    const { pull, open, fork } = await proposed()
    await open({ allow_maintainer_edit: false })
    expect(await refusalOf(users.bob, pull)).toEqual(DENIED)
    expect(await refusalOf(users.carol, pull)).toEqual(DENIED)
    await forge.ask(users.eve, 'POST', `${fork.path}/branch_protections`, {
      rule_name: 'topic',
      enable_push: true,
    })
    // Which loses commits.
    expect(await refusalOf(users.eve, pull, 'rebase')).toEqual(DENIED)
    expect((await update(users.eve, pull)).status).toBe(200)
    await forge.ask(users.eve, 'PATCH', `${fork.path}/branch_protections/topic`, {
      enable_push: false,
    })
    expect(await refusalOf(users.eve, pull)).toEqual(DENIED)
  })

  it.each([
    ['merge', 'MERGE_CONFLICT'],
    ['rebase', 'REBASE_CONFLICT'],
  ])('where Git cannot do it: %s', async (style, reason) => {
    const { path, pull, open, tip, head } = await proposed()
    await open()
    await forge.change(users.bob, path, 'main', 'main', 'topic.txt')
    expect(await refusalOf(users.eve, pull, style)).toEqual({
      status: 409,
      message: `${style} failed because of conflict`,
      code: 'FailedPrecondition',
      reason,
    })
    expect(await tip()).toBe(head)
  })

  it('in an archived repository, of either side', async () => {
    const { path, pull, open, fork } = await proposed()
    await open()
    const archived = { status: 423, reason: 'REPOSITORY_ARCHIVED' }
    await forge.ask(users.eve, 'PATCH', fork.path, { archived: true })
    expect(await refusalOf(users.eve, pull)).toMatchObject(archived)
    await forge.ask(users.eve, 'PATCH', fork.path, { archived: false })
    await forge.ask(users.bob, 'PATCH', path, { archived: true })
    expect(await refusalOf(users.eve, pull)).toMatchObject(archived)
  })

  it('for a head whose repository was deleted', async () => {
    const { pull, open, fork } = await proposed()
    await open()
    await forge.ask(users.eve, 'DELETE', fork.path)
    expect(await refusalOf(users.bob, pull)).toMatchObject({
      reason: expect.stringMatching('DENIED|CLOSED'),
    })
  })
})
