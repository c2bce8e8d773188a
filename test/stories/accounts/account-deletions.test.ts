import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { withRepositoryLock } from '../../../src/platform/git/repositories/repositories.ts'
import {
  createPullTestUsers,
  type PullTestUsers,
  pullForge,
  refusalOf,
} from '../../support/pull-forge.ts'
import {
  type Actor,
  PASSWORD,
  RPC_PROTOCOLS,
  signIn,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

const usersAs = (who: Actor, protocol: (typeof RPC_PROTOCOLS)[number] = 'gRPC') =>
  createClient(UserService, transportTo(server.url, protocol, who.authorization))

/** Creates an account. */
async function invite(username: string): Promise<Actor> {
  await usersAs(users.ada).createUser({
    user: { username, password: PASSWORD, role: User_Role.USER },
  })
  return signIn(server.url, username)
}

describe('an account cannot be deleted without force', () => {
  const makers: [string, (who: Actor, path: string) => Promise<unknown>][] = [
    [
      'a pull request',
      async (who, path) => {
        await forge.change(who, path, `of-${who.username}`)
        await forge.ask(who, 'POST', `${path}/pulls`, {
          title: 'x',
          head: `of-${who.username}`,
          base: 'main',
        })
      },
    ],
    [
      'a comment on one',
      (who, path) => forge.ask(who, 'POST', `${path}/issues/1/comments`, { body: 'well done' }),
    ],
    [
      'a review',
      (who, path) =>
        forge.ask(who, 'POST', `${path}/pulls/1/reviews`, { event: 'COMMENT', body: 'fine' }),
    ],
    [
      'a comment on a line',
      (who, path) =>
        forge.ask(who, 'POST', `${path}/pulls/1/reviews`, {
          event: 'COMMENT',
          comments: [{ path: 'topic.txt', new_position: 1, body: 'why?' }],
        }),
    ],
    [
      'a release',
      (who, path) =>
        forge.ask(who, 'POST', `${path}/releases`, {
          tag_name: `by-${who.username}`,
          target_commitish: 'main',
        }),
    ],
    ['a repository', (who) => forge.repository(who, 'own')],
    ['a memo', (who) => forge.ask(who, 'POST', '/memos', { content: 'remember' })],
  ]

  it.each(makers.map(([what, make], i) => [what, make, `author${i}`] as const))(
    'if it is the author of %s',
    async (what, make, name) => {
      const { path } = await forge.repository(users.bob, `shared-${name}`)
      await forge.change(users.bob, path, 'topic')
      await forge.ask(users.bob, 'POST', `${path}/pulls`, {
        title: 'topic',
        head: 'topic',
        base: 'main',
      })
      const author = await invite(name)
      await forge.ask(users.bob, 'PUT', `${path}/collaborators/${name}`, { permission: 'write' })
      await make(author, path)

      for (const protocol of RPC_PROTOCOLS) {
        const { reason } = await refusalOf(
          usersAs(users.ada, protocol).deleteUser({ name: `users/${name}` }),
        )
        expect(reason).toBe('HAS_ASSOCIATED_DATA')
      }
      expect((await forge.rest(users.ada, 'DELETE', `/users/${name}`)).status).toBe(400)
      // Gitea's own call for administrators leaves what is in repositories of others without author.
      if (what === 'a repository' || what === 'a memo')
        expect((await forge.rest(users.ada, 'DELETE', `/admin/users/${name}`)).status).toBe(422)
      expect((await forge.rest(author, 'GET', '/user')).status).toBe(200)
      await usersAs(users.ada).deleteUser({ name: `users/${name}`, force: true })
      expect((await forge.rest(users.ada, 'GET', `/users/${name}`)).status).toBe(404)
    },
  )

  it('unless none of its content matters to others', async () => {
    const { path } = await forge.repository(users.bob, 'shared')
    await forge.change(users.bob, path, 'topic')
    await forge.ask(users.bob, 'POST', `${path}/pulls`, {
      title: 'topic',
      head: 'topic',
      base: 'main',
    })
    const reader = await invite('reader')
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/reader`, { permission: 'write' })
    await forge.ask(users.bob, 'POST', `${path}/pulls/1/requested_reviewers`, {
      reviewers: ['reader'],
    })
    await forge.ask(reader, 'POST', `${path}/pulls/1/reviews`, {
      body: 'not yet sent',
      comments: [{ path: 'topic.txt', new_position: 1, body: 'draft' }],
    })
    await usersAs(users.ada).deleteUser({ name: 'users/reader' })
    expect((await forge.rest(users.ada, 'GET', '/users/reader')).status).toBe(404)
  })
})

describe('the repositories of a deleted account', () => {
  it('are deleted once running operations have ended', async () => {
    const leaver = await invite('leaver')
    const { id } = await forge.repository(leaver, 'own')
    let finish = () => {}
    const isDone = new Promise<void>((resolve) => {
      finish = resolve
    })
    const work = withRepositoryLock(server.app.git, id, () => isDone)
    const deleted = forge.rest(users.ada, 'DELETE', '/users/leaver?force=true')
    // More than enough for a deletion that does not wait.
    for (let i = 0; i < 50; i += 1) {
      expect((await forge.rest(users.ada, 'GET', '/repos/leaver/own')).status).toBe(200)
    }
    finish()
    await work
    expect((await deleted).status).toBe(200)
    expect((await forge.rest(users.ada, 'GET', '/repos/leaver/own')).status).toBe(404)
  })

  it.each([0, 2, 4])(
    'leave the heads of other people’s pull requests behind (after %i pushes)',
    async (pushes) => {
      const { path } = await forge.repository(users.bob, `base-${pushes}`)
      const leaver = await invite(`leaver${pushes}`)
      const fork = await forge.fork(leaver, path)
      const known = [await forge.change(leaver, fork.path, 'topic')]
      const head = `${leaver.username}:topic`
      const { number } = await forge.ask(users.bob, 'POST', `${path}/pulls`, {
        title: 'x',
        head,
        base: 'main',
      })

      // Until the repository is gone. One iteration also starts the deletion.
      let deleted: Promise<unknown> | undefined
      for (let i = 0; i < 500; i += 1) {
        const content = Buffer.from(`${i}`).toString('base64')
        const file = { content, branch: 'topic' }
        const { status, body } = await forge.rest(
          leaver,
          'POST',
          `${fork.path}/contents/${i}.txt`,
          file,
        )
        if (status !== 201) break
        known.push(body.commit.sha)
        if (i === pushes)
          deleted = forge.rest(users.ada, 'DELETE', `/users/${leaver.username}?force=true`)
      }
      await deleted
      const pull = await forge.ask(users.bob, 'GET', `${path}/pulls/${number}`)
      expect(known.indexOf(pull.head.sha)).toBeGreaterThan(pushes)
      await forge.ask(users.bob, 'GET', `${path}/git/commits/${pull.head.sha}`)
      expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
    },
  )
})
