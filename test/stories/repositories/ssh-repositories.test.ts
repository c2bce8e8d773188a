import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import { PASSWORD } from '../../support/server.ts'
import { createSshKey, hasSsh, sshOptions } from '../../support/ssh-client.ts'

const { ask, client, server, users } = await openForge({
  ssh: { listen: { host: '127.0.0.1', port: 0 }, public: {}, user: 'git', hostKeyFiles: [] },
  webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
})

let upstream: GitUpstream

const port = Number(server.sshAddress?.split(':').at(-1))

type Verb = 'fetch' | 'push'

/** Asks for the refs of a repository, or pushes a commit to a new branch. @returns the refusal, if any. */
async function attempt(url: string, verb: Verb, ...options: string[]): Promise<string | undefined> {
  const git = (...args: string[]) => client.git('local', ...options, ...args)
  try {
    if (verb === 'fetch') await git('ls-remote', '-q', url)
    else await git('push', '-q', url, 'HEAD:refs/heads/new')
  } catch (error) {
    if (!(error instanceof Error && 'stderr' in error)) throw error
    return String(error.stderr)
  }
  if (verb === 'push') await git('push', '-q', url, ':refs/heads/new')
  return undefined
}

/** Carol's requests over SSH and over HTTP. */
const overSsh = (path: string, verb: Verb) => {
  const command = ['ssh', ...sshOptions(client.home, 'carol')].join(' ')
  const url = `ssh://git@127.0.0.1:${port}/${path}.git`
  return attempt(url, verb, '-c', `core.sshCommand=${command}`)
}
const overHttp = (path: string, verb: Verb) =>
  attempt(remoteOf(server.url, path, 'carol', PASSWORD), verb)

/** Creates a repository of bob's. @param permission what carol may do there. */
async function create(name: string, fields: object = {}, permission?: string): Promise<string> {
  await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true, ...fields })
  const path = `bob/${name}`
  if (permission) await ask(users.bob, 'PUT', `/repos/${path}/collaborators/carol`, { permission })
  return path
}

/** A repository, under the path by which carol asks for it, and why she is refused. */
interface State {
  readonly create: () => Promise<string>
  readonly fetch?: string
  readonly push?: string
}

const NOT_FOUND = 'Repository not found'
const READ_ONLY = 'This repo is archived.'

const STATES: Readonly<Record<string, State>> = {
  missing: { create: async () => 'bob/missing', fetch: NOT_FOUND, push: NOT_FOUND },
  private: {
    create: () => create('private', { private: true }),
    fetch: NOT_FOUND,
    push: NOT_FOUND,
  },
  'for readers': { create: () => create('public'), push: 'permission' },
  'for writers': { create: () => create('written', {}, 'write') },
  archived: {
    async create() {
      const path = await create('archived', {}, 'write')
      await ask(users.bob, 'PATCH', `/repos/${path}`, { archived: true })
      return path
    },
    push: READ_ONLY,
  },
  // Carol reads the issues of this one.
  'without code': {
    async create() {
      await ask(users.bob, 'POST', '/orgs', { username: 'press' })
      await ask(users.bob, 'POST', '/orgs/press/repos', { name: 'paper', private: true })
      const team = { name: 'readers', units_map: { 'repo.issues': 'read' } }
      const { id } = await ask(users.bob, 'POST', '/orgs/press/teams', team)
      await ask(users.bob, 'PUT', `/teams/${id}/members/carol`)
      await ask(users.bob, 'PUT', `/teams/${id}/repos/press/paper`)
      return 'press/paper'
    },
    fetch: 'is disabled|specific read permission',
    push: 'permission',
  },
  renamed: {
    async create() {
      const path = await create('former', {}, 'write')
      await ask(users.bob, 'PATCH', `/repos/${path}`, { name: 'latter' })
      return path
    },
  },
  transferred: {
    async create() {
      const path = await create('given')
      await ask(users.bob, 'POST', `/repos/${path}/transfer`, { new_owner: 'carol' })
      await ask(users.carol, 'POST', `/repos/${path}/transfer/accept`)
      return path
    },
  },
  'a mirror': {
    async create() {
      const fields = { clone_addr: upstream.url, repo_name: 'mirror', mirror: true }
      await ask(users.bob, 'POST', '/repos/migrate', fields)
      await ask(users.bob, 'PUT', '/repos/bob/mirror/collaborators/carol', { permission: 'write' })
      return 'bob/mirror'
    },
    push: 'mirror repository is read-only',
  },
  // The last one, since a block ends what bob has granted.
  'of a blocker': {
    async create() {
      const path = await create('blocked', {}, 'write')
      await ask(users.bob, 'PUT', '/user/blocks/carol')
      return path
    },
    push: 'permission',
  },
}

beforeAll(async () => {
  upstream = await startGitUpstream()
  upstream.commit('main', 'first')
  const key = await createSshKey(client.home, 'carol')
  await ask(users.carol, 'POST', '/user/keys', { title: 'own', key })
  await client.git('.', 'init', '-q', 'local')
  await client.commit('local', 'A commit')
})
afterAll(() => upstream?.stop())

describe.skipIf(!hasSsh)('repositories over SSH (skipped where ssh is not installed)', () => {
  it.each(Object.keys(STATES))('has one %s for the same requests as over HTTP', async (name) => {
    const { create: make, ...refusals } = STATES[name] ?? expect.fail('no such state')
    const path = await make()
    for (const verb of ['fetch', 'push'] as const)
      for (const ask of [overSsh, overHttp]) {
        const refusal = await ask(path, verb)
        const expected = refusals[verb]
        const what = `${verb} ${ask.name}`
        if (expected === undefined) expect(refusal, what).toBeUndefined()
        else expect(refusal, what).toMatch(new RegExp(expected, 'i'))
      }
  })
})
