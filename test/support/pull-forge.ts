import { createClient } from '@connectrpc/connect'
import { expect } from 'vitest'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { askBy, refusalOf as refused } from './forge.ts'
import { restAt } from './rest.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  signIn,
  type TestServer,
  type TestUsers,
  transportTo,
} from './server.ts'

/** The users, and eve, who has nothing to do with anybody. */
export type PullTestUsers = TestUsers & { readonly eve: Actor }

/** Makes the users of stories about pull requests. */
export async function createPullTestUsers(url: string): Promise<PullTestUsers> {
  const users = await createTestUsers(url)
  const eve = {
    username: 'eve',
    email: 'eve@example.org',
    password: PASSWORD,
    must_change_password: false,
  }
  expect((await restAt(url)(users.ada, 'POST', '/admin/users', eve)).status).toBe(201)
  return { ...users, eve: await signIn(url, 'eve') }
}

/** What stories about pull requests do with a server, over REST by way of what everybody may do. */
export function pullForge(server: Pick<TestServer, 'url'>) {
  const rest = restAt(server.url)
  const ask = askBy(rest)
  return {
    rest,
    ask,
    /** Makes a repository with a first commit. */
    async repository(who: Actor, name: string, fields: object = {}) {
      const { id } = await ask(who, 'POST', '/user/repos', { name, auto_init: true, ...fields })
      const path = `/repos/${who.username}/${name}`
      return { id: id as number, path, pulls: `${path}/pulls` }
    },
    /** Forks a repository. */
    async fork(who: Actor, path: string) {
      const { id, full_name } = await ask(who, 'POST', `${path}/forks`, {})
      return { id: id as number, path: `/repos/${full_name}` }
    },
    /** Makes a branch with a new file, or one more commit on it; returns the commit. */
    async change(
      who: Actor,
      path: string,
      branch: string,
      base = 'main',
      file = `${branch}.txt`,
    ): Promise<string> {
      const { status } = await rest(who, 'GET', `${path}/branches/${branch}`)
      const place = status === 200 ? { branch } : { branch: base, new_branch: branch }
      const content = Buffer.from(`one\nof ${branch}\n`).toString('base64')
      const { commit } = await ask(who, 'POST', `${path}/contents/${file}`, { content, ...place })
      return commit.sha
    },
    /** The pull requests of somebody by gRPC. */
    grpcAs: (who: Pick<Actor, 'authorization'> | undefined) =>
      createClient(PullRequestService, transportTo(server.url, 'gRPC', who?.authorization)),
  }
}

/** Code, reason and text of an RPC that fails. */
export async function refusalOf(made: Promise<unknown>) {
  const { code, reason, message: text } = await refused(made)
  return { code, reason, text }
}
