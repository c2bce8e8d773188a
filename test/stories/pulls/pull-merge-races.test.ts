import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { pullMerges } from '../../support/pull-merges.ts'
import { PASSWORD, startTestServer, type TestServer } from '../../support/server.ts'

/** Times that each race is run. Which of the two comes first differs. */
const ROUNDS = 4

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let merges: ReturnType<typeof pullMerges>
let client: GitClient

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  merges = pullMerges(server)
  client = await openGitClient()
})
afterAll(async () => {
  for (const { id } of await server.app.db.selectFrom('repositories').select('id').execute()) {
    await client.git('.', '-C', repositoryPath(server.app.git, id), 'fsck', '--full', '--strict')
  }
  // Whoever lost a race was told so.
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
  await client.remove()
})

let names = 0

/** A pull request of bob's, and a clone of its repository. */
async function proposed() {
  names += 1
  const name = `race${names}`
  const { path, pulls } = await forge.repository(users.bob, name)
  const head = await forge.change(users.bob, path, 'topic')
  await forge.change(users.bob, path, 'release')
  await forge.ask(users.bob, 'POST', pulls, { head: 'topic', base: 'main', title: 'Topic' })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  const tip = async (branch = 'main') =>
    (await forge.ask(users.bob, 'GET', `${path}/branches/${branch}`)).commit.id
  const read = () => forge.ask(users.bob, 'GET', `${pulls}/1`)
  /** Whether a branch leads to a commit. */
  const leadsTo = async (commit: string, branch = 'main') => {
    await git('fetch', '-q', 'origin')
    return git('merge-base', '--is-ancestor', commit, `origin/${branch}`).then(
      () => true,
      () => false,
    )
  }
  return { path, pulls, pull: `${pulls}/1`, git, head, tip, read, leadsTo, name }
}

const rounds = Array.from({ length: ROUNDS }, (_, round) => round)

describe('of two concurrent operations', () => {
  it('one merges the pull request, and the other reports that it is merged', async () => {
    const { pull, git, head } = await proposed()
    const answers = await Promise.all([
      merges.merge(users.bob, pull, { Do: 'merge' }),
      merges.merge(users.ada, pull, { Do: 'squash' }),
      merges.merge(users.bob, pull, { Do: 'rebase' }),
      merges.merge(users.bob, pull, { Do: 'manually-merged', MergeCommitID: head }),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 405, 405, 405])
    await git('fetch', '-q', 'origin')
    expect((await git('rev-list', '--first-parent', 'origin/main')).split('\n')).toHaveLength(2)
  })

  it('merges of different pull requests into one branch both happen', async () => {
    const { path, pulls, git } = await proposed()
    const numbers = [1]
    for (const branch of ['b', 'c', 'd']) {
      await forge.change(users.bob, path, branch)
      numbers.push(
        (await forge.ask(users.bob, 'POST', pulls, { head: branch, base: 'main', title: branch }))
          .number,
      )
    }
    const answers = await Promise.all(
      numbers.map((number) => merges.merge(users.bob, `${pulls}/${number}`)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await git('fetch', '-q', 'origin')
    expect(await git('ls-tree', '--name-only', 'origin/main')).toContain('b.txt\nc.txt\nd.txt')
  })

  it.each(rounds)('a merge and a push to its base lose nothing (%i)', async () => {
    const { pull, git, head, leadsTo, name, read } = await proposed()
    const pushed = await client.commit(name, 'pushed')
    const push = git('push', '-q', 'origin', 'HEAD:main').then(
      () => true,
      () => false,
    )
    const [{ status, body }, isPushed] = await Promise.all([merges.merge(users.bob, pull), push])
    expect([200, 409]).toContain(status)
    if (status === 409) expect(body.message).toBe('merge push out of date')
    expect(status === 200 || isPushed).toBe(true)
    expect(await leadsTo(pushed)).toBe(isPushed)
    expect(await leadsTo(head)).toBe(status === 200)
    expect((await read()).merged).toBe(status === 200)
  })

  it.each(rounds)('a merge and a push to its head lose nothing (%i)', async () => {
    const { pull, git, head, leadsTo, name, read } = await proposed()
    await git('checkout', '-q', 'topic')
    const pushed = await client.commit(name, 'pushed')
    const [{ status }] = await Promise.all([
      merges.merge(users.bob, pull, { delete_branch_after_merge: true }),
      git('push', '-q', 'origin', 'topic').catch(() => {}),
    ])
    const { merged, head: now } = await read()
    expect(merged).toBe(status === 200)
    expect(await leadsTo(head)).toBe(status === 200)
    // What was merged is what it says, and what came too late is on the branch still.
    await git('fetch', '-q', '--prune', 'origin')
    const branch = await git('rev-parse', '-q', '--verify', 'origin/topic').catch(() => '')
    if (merged && (await leadsTo(pushed))) expect(now.sha).toBe(pushed)
    else expect(['', pushed]).toContain(branch)
    if (branch === '') expect(merged).toBe(true)
  })

  it.each(rounds)(
    'a merge and a change of the base end with one of the two (%i)',
    async (round) => {
      const { pull, head, leadsTo, read } = await proposed()
      const retarget = () => forge.rest(users.bob, 'PATCH', pull, { base: 'release' })
      const merge = () => merges.merge(users.bob, pull, { Do: 'merge' })
      const [merged, moved] =
        round % 2 === 0
          ? await Promise.all([merge(), retarget()])
          : await Promise.all([retarget(), merge()]).then(
              ([second, first]) => [first, second] as const,
            )
      expect(merged.status).toBe(200)
      expect([201, 409]).toContain(moved.status)
      const base = moved.status === 201 ? 'release' : 'main'
      expect(await read()).toMatchObject({ merged: true, base: { ref: base } })
      expect([await leadsTo(head, 'main'), await leadsTo(head, 'release')]).toEqual([
        base === 'main',
        base === 'release',
      ])
    },
  )

  it.each(rounds)('a merge and closing end with one of the two (%i)', async (round) => {
    const { pull, head, leadsTo, read } = await proposed()
    const close = () => forge.rest(users.bob, 'PATCH', pull, { state: 'closed' })
    const merge = () => merges.merge(users.bob, pull)
    const [merged, closed] =
      round % 2 === 0
        ? await Promise.all([merge(), close()])
        : await Promise.all([close(), merge()]).then(([second, first]) => [first, second] as const)
    expect([
      [200, 412],
      [404, 201],
    ]).toContainEqual([merged.status, closed.status])
    expect(await read()).toMatchObject({ merged: merged.status === 200, state: 'closed' })
    expect(await leadsTo(head)).toBe(merged.status === 200)
  })

  it.each(rounds)(
    'a merge and a rule against it: the merge is complete or absent (%i)',
    async () => {
      const { pull, path, head, leadsTo, read } = await proposed()
      const [{ status }] = await Promise.all([
        merges.merge(users.bob, pull),
        forge.ask(users.bob, 'POST', `${path}/branch_protections`, {
          rule_name: 'main',
          required_approvals: 1,
        }),
      ])
      expect([200, 405, 409]).toContain(status)
      expect((await read()).merged).toBe(status === 200)
      expect(await leadsTo(head)).toBe(status === 200)
      if (status !== 200) expect((await merges.merge(users.bob, pull)).status).toBe(405)
    },
  )

  it.each(rounds)('a merge and the deletion of its repository', async () => {
    const { pull, path } = await proposed()
    const [{ status }, deleted] = await Promise.all([
      merges.merge(users.bob, pull),
      forge.rest(users.bob, 'DELETE', path),
    ])
    expect(deleted.status).toBe(204)
    expect([200, 404, 405, 409]).toContain(status)
  })
})
