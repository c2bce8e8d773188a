import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Code, ConnectError, createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { askBy } from '../../support/forge.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { GROUP_KINDS } from '../../support/group-kinds.ts'
import {
  askToken,
  authorize,
  CALLBACK,
  type Client,
  register,
  tokensOf,
} from '../../support/oauth-clients.ts'
import { restAt } from '../../support/rest.ts'
import {
  type Actor,
  createTestUsers,
  createToken,
  PASSWORD,
  RPC_PROTOCOLS,
  signIn,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'
import type { GroupServer, ServerGroup } from '../../support/server-group.ts'
import { isLongTier } from '../../support/tier.ts'
import { watchRepository } from '../../support/watch.ts'

/** The numbers of servers that race. */
const COUNTS = isLongTier ? [2, 4] : [3]
const MERGES = isLongTier ? 20 : 6
/** Times that each race is run. Which of the two comes first differs. */
const ROUNDS = isLongTier ? 4 : 2
/** Of an account. */
const MAX_WEBHOOKS = 100

const TIMEOUT_MS = 240_000

describe.each(GROUP_KINDS)('races across $title', { timeout: TIMEOUT_MS }, ({ missing, start }) => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let group: ServerGroup<GroupServer>
  let users: TestUsers
  let client: GitClient

  beforeAll(async () => {
    group = await start(Math.max(...COUNTS), ['--webhook-allowed-hosts', '127.0.0.1'])
    users = await createTestUsers(group.url())
    client = await openGitClient()
  }, TIMEOUT_MS)

  afterAll(async () => {
    for (const path of await repositoryFolders(group.data))
      await client.git('.', '-C', path, 'fsck', '--full', '--strict')
    expect(await group.doctor()).toBe('nothing is wrong\n')
    await group.stop()
    await client.remove()
  }, TIMEOUT_MS)

  describe.each(COUNTS)('with %i servers', (count) => {
    /** Returns the URL of one of the servers, by a number that may be larger. */
    const url = (number: number) => group.servers[number % count]?.url ?? ''
    const servers = Array.from({ length: count }, (_, index) => index)
    const rest = (number: number) => restAt(url(number))
    const created = async (...request: Parameters<ReturnType<typeof restAt>>) => {
      const { status, body } = await rest(0)(...request)
      expect({ status, body }).toMatchObject({ status: 201 })
      return body
    }
    const named = (name: string) => `${name}${count}`
    const remote = (number: number, path: string) => remoteOf(url(number), path, 'bob', PASSWORD)

    /** Creates a repository of bob and a clone of it with some branches, each with a commit. */
    const repository = async (name: string, branches: readonly string[] = []) => {
      await created(users.bob, 'POST', '/user/repos', { name, auto_init: true })
      await client.git('.', 'clone', '-q', remote(0, `bob/${name}`), name)
      const git = (...args: string[]) => client.git(name, ...args)
      for (const branch of branches) {
        await git('checkout', '-q', '-b', branch, 'origin/main')
        await client.commit(name, branch)
      }
      await git('checkout', '-q', 'main')
      if (branches.length > 0) await git('push', '-q', 'origin', ...branches)
      /** Pushes the commit of the clone by a server. Returns whether the server has accepted it. */
      const push = (number: number, to: string, path = `bob/${name}`) =>
        git('push', '-q', remote(number, path), `HEAD:refs/heads/${to}`).then(
          () => true,
          () => false,
        )
      const contains = async (ref: string, commit: string, path = `bob/${name}`) => {
        await git('fetch', '-q', remote(0, path), ref)
        return git('merge-base', '--is-ancestor', commit, 'FETCH_HEAD').then(
          () => true,
          () => false,
        )
      }
      return { path: `/repos/bob/${name}`, git, push, contains, name }
    }

    it(`${MERGES} pull requests are merged into one branch, each once`, async () => {
      const branches = Array.from({ length: MERGES }, (_, index) => `topic${index}`)
      const { path, git } = await repository(named('merges'), branches)
      for (const head of branches)
        await created(users.bob, 'POST', `${path}/pulls`, { title: head, head, base: 'main' })
      const merge = async (server: number, number: number) => {
        const body = { Do: 'merge' }
        return (await rest(server)(users.bob, 'POST', `${path}/pulls/${number}/merge`, body)).status
      }
      // Two servers are asked for each merge.
      const statuses = await Promise.all(
        branches.map(async (_, index) =>
          (await Promise.all([merge(index, index + 1), merge(index + 1, index + 1)])).sort(),
        ),
      )
      expect(statuses).toEqual(branches.map(() => [200, 405]))
      await git('fetch', '-q', 'origin')
      const log = await git('log', '--first-parent', '--format=%s', 'origin/main')
      expect(log.split('\n')).toHaveLength(MERGES + 1)
      for (const head of branches)
        await git('merge-base', '--is-ancestor', `origin/${head}`, 'origin/main')
    })

    it('a push and a merge both happen, or one of them is refused', async () => {
      const heads = Array.from({ length: ROUNDS }, (_, index) => `head${index}`)
      const { path, git, push, contains, name } = await repository(named('pushes'), heads)
      for (const [index, head] of heads.entries()) {
        await created(users.bob, 'POST', `${path}/pulls`, { title: head, head, base: 'main' })
        await git('fetch', '-q', 'origin')
        await git('reset', '-q', '--hard', 'origin/main')
        const pushed = await client.commit(name, `push ${index}`)
        const [isPushed, merged] = await Promise.all([
          push(index, 'main'),
          rest(index + 1)(users.bob, 'POST', `${path}/pulls/${index + 1}/merge`, { Do: 'merge' }),
        ])
        expect([200, 405, 409]).toContain(merged.status)
        const proposed = await git('rev-parse', `origin/${head}`)
        expect(await contains('main', pushed)).toBe(isPushed)
        expect(await contains('main', proposed)).toBe(merged.status === 200)
        const { body } = await rest(index + 2)(users.bob, 'GET', `${path}/pulls/${index + 1}`)
        expect(body.merged).toBe(merged.status === 200)
      }
    })

    it('a pushed commit is on the branch under its old or its new name', async () => {
      const { path, git, push, contains, name } = await repository(named('renames'), ['name0'])
      await git('checkout', '-q', 'name0')
      for (let round = 0; round < ROUNDS; round++) {
        const [from, to] = [`name${round}`, `name${round + 1}`]
        const commit = await client.commit(name, `round ${round}`)
        const [isPushed, renamed] = await Promise.all([
          push(round, from),
          rest(round + 1)(users.bob, 'PATCH', `${path}/branches/${from}`, { name: to }),
        ])
        const { body } = await rest(round + 2)(users.bob, 'GET', `${path}/branches`)
        const present = body.map((branch: { name: string }) => branch.name).sort()
        const holders = []
        for (const branch of present) if (await contains(branch, commit)) holders.push(branch)
        expect(holders.length > 0).toBe(isPushed)
        // Git has created the old name again, or the rename was refused.
        if (renamed.status !== 204 || !present.includes(to)) {
          expect(present).toContain(from)
          await git('push', '-q', 'origin', `HEAD:refs/heads/${to}`)
        }
      }
    })

    it('a push to a repository that is renamed, transferred or deleted is lost only with it', async () => {
      const { path, push, contains, name } = await repository(named('moved'))
      const renamed = named('renamed')
      const first = await client.commit(name, 'before the rename')
      const [isFirst] = await Promise.all([
        push(0, 'main'),
        rest(1)(users.bob, 'PATCH', path, { name: renamed }),
      ])
      expect(await contains('main', first, `bob/${renamed}`)).toBe(isFirst)

      const org = named('acme')
      await created(users.bob, 'POST', '/orgs', { username: org })
      const second = await client.commit(name, 'before the transfer')
      const [isSecond, transferred] = await Promise.all([
        push(0, 'main', `bob/${renamed}`),
        rest(1)(users.bob, 'POST', `/repos/bob/${renamed}/transfer`, { new_owner: org }),
      ])
      expect(transferred.status).toBe(202)
      expect(await contains('main', second, `${org}/${renamed}`)).toBe(isSecond)

      await client.commit(name, 'before the deletion')
      const [, deleted] = await Promise.all([
        push(0, 'main', `${org}/${renamed}`),
        rest(1)(users.bob, 'DELETE', `/repos/${org}/${renamed}`),
      ])
      expect(deleted.status).toBe(204)
      for (const number of servers) {
        const answer = await rest(number)(users.bob, 'GET', `/repos/${org}/${renamed}`)
        expect(answer.status).toBe(404)
        expect(await push(number, 'main', `${org}/${renamed}`)).toBe(false)
      }
      await created(users.bob, 'POST', `/orgs/${org}/repos`, { name: renamed })
      const { body } = await rest(1)(users.bob, 'GET', `/repos/${org}/${renamed}/branches`)
      expect(body).toEqual([])
    })

    it('a name belongs to one account, and to one organisation', async () => {
      const accounts = await Promise.all(
        servers.map((number) =>
          rest(number)(users.ada, 'POST', '/admin/users', {
            username: named('erin'),
            email: `${named('erin')}-${number}@example.org`,
            password: PASSWORD,
          }),
        ),
      )
      const organizations = await Promise.all(
        servers.map((number) =>
          rest(number)(users.bob, 'POST', '/orgs', { username: named('gears') }),
        ),
      )
      for (const answers of [accounts, organizations]) {
        const statuses = answers.map(({ status }) => status).sort()
        expect(statuses).toEqual([201, ...servers.slice(1).map(() => 422)])
      }
    })

    it('webhooks are created up to the limit of an account', async () => {
      const as = (number: number) =>
        createClient(UserService, transportTo(url(number), 'gRPC', users.carol.authorization))
      const request = { parent: 'users/carol', webhook: { url: 'http://127.0.0.1:9/' } }
      const { webhooks } = await as(0).listUserWebhooks({ parent: 'users/carol' })
      for (let number = webhooks.length; number < MAX_WEBHOOKS - 1; number++)
        await as(number).createUserWebhook(request)
      const results = await Promise.allSettled(
        servers.map((number) => as(number).createUserWebhook(request)),
      )
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const [last] = results.flatMap((result) =>
        result.status === 'fulfilled' ? [result.value] : [],
      )
      await as(1).deleteUserWebhook({ name: last?.name ?? '' })
    })

    it('one administrator is left when all demote each other at once', async () => {
      const as = (number: number, { authorization }: Actor) =>
        createClient(UserService, transportTo(url(number), 'gRPC', authorization))
      const setRole = (number: number, who: Actor, whom: string, role: User_Role) =>
        as(number, who).updateUser({
          user: { name: `users/${whom}`, role },
          updateMask: { paths: ['role'] },
        })
      for (let round = 0; round < ROUNDS; round++) {
        await setRole(0, users.ada, 'bob', User_Role.ADMIN)
        const results = await Promise.allSettled([
          setRole(round, users.ada, 'ada', User_Role.USER),
          setRole(round + 1, users.bob, 'bob', User_Role.USER),
        ])
        expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
        if (results[0]?.status === 'fulfilled') {
          await setRole(2, users.bob, 'ada', User_Role.ADMIN)
          await setRole(3, users.ada, 'bob', User_Role.USER)
        }
      }
    })

    it('a branch rule of one server applies to the next push to any other', async () => {
      const { path, push, name } = await repository(named('ruled'))
      for (const number of servers) {
        const rule = { rule_name: 'main', enable_push: false }
        await client.commit(name, `allowed ${number}`)
        expect(await push(number, 'main')).toBe(true)
        expect(
          (await rest(number)(users.bob, 'POST', `${path}/branch_protections`, rule)).status,
        ).toBe(201)
        await client.commit(name, `refused ${number}`)
        for (const other of servers) expect(await push(other, 'main')).toBe(false)
        const removed = await rest(number + 1)(
          users.bob,
          'DELETE',
          `${path}/branch_protections/main`,
        )
        expect(removed.status).toBe(204)
      }
    })

    /** Who a credential of carol's is for, on all servers: by each protocol, and by Git. */
    const answersTo = async (authorization: string, repo: string) => {
      const basic = Buffer.from(authorization.replace(/^Bearer /, 'carol:')).toString('base64')
      const asked = servers.flatMap((number) => [
        rest(number)({ authorization }, 'GET', `/repos/bob/${repo}`).then(
          ({ status }) => status === 200,
        ),
        fetch(`${url(number)}/bob/${repo}.git/info/refs?service=git-upload-pack`, {
          headers: { authorization: `Basic ${basic}` },
        }).then(({ status }) => status === 200),
        ...RPC_PROTOCOLS.map((protocol) =>
          createClient(RepositoryService, transportTo(url(number), protocol, authorization))
            .getRepository({ owner: 'bob', repo })
            .then(
              () => true,
              (error: unknown) => {
                const codes = [Code.Unauthenticated, Code.NotFound, Code.PermissionDenied]
                expect(codes).toContain(ConnectError.from(error).code)
                return false
              },
            ),
        ),
      ])
      return new Set(await Promise.all(asked))
    }

    it('a right that was taken on one server is gone on all others at the next call', async () => {
      const { path, name } = await repository(named('secret'))
      await rest(0)(users.bob, 'PATCH', path, { private: true })
      const asCarol = (number: number, authorization = users.carol.authorization) =>
        createClient(UserService, transportTo(url(number), 'gRPC', authorization))
      const asAda = createClient(UserService, transportTo(url(1), 'gRPC', users.ada.authorization))
      const collaborate = (method: string) =>
        rest(1)(users.bob, method, `${path}/collaborators/carol`, { permission: 'write' })
      const token = async () => createToken(url(0), await signIn(url(0), 'carol'), ['all'])
      const setState = (state: number) =>
        asAda.updateUser({ user: { name: 'users/carol', state }, updateMask: { paths: ['state'] } })
      const setPassword = (password: string, currentPassword: string, who: Actor) =>
        asCarol(1, who.authorization).updateUser({
          user: { name: 'users/carol', password, currentPassword },
          updateMask: { paths: ['password'] },
        })

      await collaborate('PUT')
      const first = `Bearer ${await token()}`
      expect(await answersTo(first, name)).toEqual(new Set([true]))
      await collaborate('DELETE')
      expect(await answersTo(first, name)).toEqual(new Set([false]))
      await collaborate('PUT')
      expect(await answersTo(first, name)).toEqual(new Set([true]))

      const { personalAccessTokens } = await asCarol(0).listPersonalAccessTokens({
        parent: 'users/carol',
      })
      for (const { name: tokenName } of personalAccessTokens)
        await asCarol(1).deletePersonalAccessToken({ name: tokenName })
      expect(await answersTo(first, name)).toEqual(new Set([false]))

      const second = `Bearer ${await token()}`
      expect(await answersTo(second, name)).toEqual(new Set([true]))
      await setState(2)
      expect(await answersTo(second, name)).toEqual(new Set([false]))
      await setState(1)

      const session = await signIn(url(0), 'carol')
      const gitByPassword = () =>
        Promise.all(
          servers.map(async (number) => {
            const basic = Buffer.from(`carol:${PASSWORD}`).toString('base64')
            const refs = `${url(number)}/bob/${name}.git/info/refs?service=git-upload-pack`
            return (await fetch(refs, { headers: { authorization: `Basic ${basic}` } })).status
          }),
        )
      expect(new Set(await gitByPassword())).toEqual(new Set([200]))
      await setPassword('another horse battery', PASSWORD, session)
      expect(new Set(await gitByPassword())).toEqual(new Set([401]))
      for (const number of servers) {
        const auth = createClient(AuthService, transportTo(url(number), 'gRPC'))
        await expect(
          auth.signIn({
            credentials: {
              case: 'passwordCredentials',
              value: { username: 'carol', password: PASSWORD },
            },
          }),
        ).rejects.toThrow('unauthenticated')
      }
      users = { ...users, carol: await signIn(url(0), 'carol', 'another horse battery') }
      await setPassword(PASSWORD, 'another horse battery', users.carol)
      users = { ...users, carol: await signIn(url(0), 'carol') }
    })

    it('a watcher that goes on at another server sees every event once', async () => {
      const { path, name } = await repository(named('watched'))
      const request = { owner: 'bob', repo: name }
      let cursor = ''
      const written: string[] = []
      const seen: string[] = []
      for (const number of [...servers, ...servers]) {
        const watcher = watchRepository(url(number), 'gRPC', users.bob.authorization, {
          ...request,
          cursor,
        })
        // The cursor of a stream that begins.
        if (cursor === '') cursor = (await watcher.next()).cursor
        const changes = servers.map((other) =>
          rest(other)(users.bob, 'POST', `${path}/contents/${number}-${written.length}-${other}`, {
            content: '',
            new_branch: `b${written.length}-${other}`,
          }),
        )
        for (const { status, body } of await Promise.all(changes)) {
          expect(status).toBe(201)
          written.push(body.commit.sha)
        }
        // Leaves in the middle: the rest comes from the next server.
        while (seen.length < written.length - 1) {
          const answer = await watcher.next()
          cursor = answer.cursor
          if (answer.event?.subject.case === 'refs')
            seen.push(...answer.event.subject.value.refs.map(({ newId }) => newId))
        }
        watcher.leave()
      }
      expect(new Set(seen).size).toBe(seen.length)
      expect(written).toEqual(expect.arrayContaining(seen))
      expect(seen).toHaveLength(written.length - 1)
    })
  })

  describe('OAuth 2.0', () => {
    let client: Client
    let left: string
    let right: string

    beforeAll(async () => {
      ;[left = '', right = ''] = group.servers.map(({ url }) => url)
      client = await register({ ask: askBy(restAt(left)) }, users.ada)
    })

    const codeAt = async (url: string) => {
      const asked = { client_id: client.client_id, redirect_uri: CALLBACK, state: 's' }
      return (await authorize(url, 'bob', asked)).get('code') ?? ''
    }
    const redeem = (url: string, code: string) =>
      askToken(url, client, { grant_type: 'authorization_code', code, redirect_uri: CALLBACK })
    const refresh = (url: string, refresh_token: string) =>
      askToken(url, client, { grant_type: 'refresh_token', refresh_token })
    const statusAt = async (url: string, token: string) =>
      (await restAt(url)({ authorization: `Bearer ${token}` }, 'GET', '/user')).status

    it('a code of one server is redeemed at the other, and its tokens work at both', async () => {
      const { status, body } = await redeem(right, await codeAt(left))
      expect(status).toBe(200)
      expect(await statusAt(left, body.access_token)).toBe(200)
      expect(await statusAt(right, body.access_token)).toBe(200)
    })

    it('the second use of a code at the other server ends the tokens of the first at both', async () => {
      const code = await codeAt(right)
      const { body } = await redeem(left, code)
      expect(await statusAt(left, body.access_token)).toBe(200)
      expect((await redeem(right, code)).body.error).toBe('invalid_grant')
      expect(await statusAt(left, body.access_token)).toBe(401)
      expect(await statusAt(right, body.access_token)).toBe(401)
      expect((await refresh(left, body.refresh_token)).body.error).toBe('invalid_grant')
    })

    it('a code that both servers redeem at the same time gives tokens once, which are ended', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const code = await codeAt(left)
        const answers = await Promise.all([redeem(left, code), redeem(right, code)])
        expect(answers.map(({ status }) => status).sort()).not.toEqual([200, 200])
        for (const { status, body } of answers) {
          if (status === 200) expect(await statusAt(right, body.access_token)).toBe(401)
          else expect([status, body.error]).toEqual([400, 'invalid_grant'])
        }
      }
    })

    it('a refresh token that both servers exchange at the same time has one successor', async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const { refresh_token } = await tokensOf(left, 'bob', client)
        const answers = await Promise.all([
          refresh(left, refresh_token),
          refresh(right, refresh_token),
        ])
        expect(answers.map(({ status }) => status)).toEqual([200, 200])
        expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1)
        for (const { body } of answers) expect(await statusAt(left, body.access_token)).toBe(200)
      }
    })

    it('the use of an old refresh token at the other server ends everything at both', async () => {
      const first = await tokensOf(left, 'bob', client)
      const { body: second } = await refresh(right, first.refresh_token)
      const { body: third } = await refresh(left, second.refresh_token)
      expect(await statusAt(right, third.access_token)).toBe(200)
      expect((await refresh(right, first.refresh_token)).body.error).toBe('invalid_grant')
      expect(await statusAt(left, third.access_token)).toBe(401)
      expect(await statusAt(right, third.access_token)).toBe(401)
      expect((await refresh(left, third.refresh_token)).body.error).toBe('invalid_grant')
    })

    it('a grant that its user ends at one server is ended at the other', async () => {
      const { access_token } = await tokensOf(left, 'bob', client)
      const rest = restAt(right)
      const { body: grants } = await rest(users.bob, 'GET', '/user/grants/oauth2')
      expect(grants.length).toBeGreaterThan(0)
      for (const { id } of grants) await rest(users.bob, 'DELETE', `/user/grants/oauth2/${id}`)
      expect(await statusAt(left, access_token)).toBe(401)
      expect(await statusAt(right, access_token)).toBe(401)
    })
  })
})

/** Returns the folders of all repositories in a data folder. */
async function repositoryFolders(data: string): Promise<string[]> {
  const root = join(data, 'repositories')
  const shards = (await readdir(root)).filter((name) => /^[0-9a-f]{2}$/.test(name))
  const names = shards.map(async (shard) =>
    (await readdir(join(root, shard))).map((name) => join(root, shard, name)),
  )
  return (await Promise.all(names)).flat()
}
