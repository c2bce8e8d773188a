import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let milestone: number

const PATH = '/repos/planners/work'

/**
 * A private repository whose milestone has an open and a closed issue and two open pull requests.
 * carol reads its issues, and eve its pull requests.
 */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  await forge.ask(users.bob, 'POST', '/orgs', { username: 'planners' })
  const fields = { name: 'work', auto_init: true, private: true }
  await forge.ask(users.bob, 'POST', '/orgs/planners/repos', fields)
  milestone = (await forge.ask(users.bob, 'POST', `${PATH}/milestones`, { title: 'v1' })).id
  for (const closed of [false, true])
    await forge.ask(users.bob, 'POST', `${PATH}/issues`, { title: 'a', milestone, closed })
  for (const branch of ['one', 'two']) {
    await forge.change(users.bob, PATH, branch)
    const draft = { title: branch, head: branch, base: 'main', milestone }
    await forge.ask(users.bob, 'POST', `${PATH}/pulls`, draft)
  }
  const units = { carol: ['repo.issues'], eve: ['repo.code', 'repo.pulls'] }
  for (const [name, readable] of Object.entries(units)) {
    const team = await forge.ask(users.bob, 'POST', '/orgs/planners/teams', {
      name: `of-${name}`,
      permission: 'read',
      includes_all_repositories: true,
      units_map: Object.fromEntries(readable.map((unit) => [unit, 'read'])),
    })
    await forge.ask(users.bob, 'PUT', `/teams/${team.id}/members/${name}`)
  }
})
afterAll(() => server.stop())

interface Counted {
  readonly open_issues: number
  readonly closed_issues: number
}

const counts = ({ open_issues, closed_issues }: Counted) => [open_issues, closed_issues]

/** The counters of the milestone, wherever somebody sees them. */
async function seenBy(who: Actor, number: number): Promise<unknown[]> {
  const [listed] = await forge.ask(who, 'GET', `${PATH}/milestones`)
  const conversation = await forge.ask(who, 'GET', `${PATH}/issues/${number}`)
  const [inList] = await forge.ask(who, 'GET', `${PATH}/issues?state=all`)
  const timeline = await forge.ask(who, 'GET', `${PATH}/issues/${number}/timeline`)
  const entry = timeline.find(({ type }: { type: string }) => type === 'milestone')
  return [
    listed,
    await forge.ask(who, 'GET', `${PATH}/milestones/${milestone}`),
    await forge.ask(who, 'GET', `${PATH}/milestones/v1`),
    conversation.milestone,
    inList.milestone,
    entry.milestone,
  ].map(counts)
}

describe('the counters of a milestone', () => {
  const everywhere = (...pair: number[]) => Array.from({ length: 6 }, () => pair)

  it('have the kinds that the caller may read', async () => {
    expect(await seenBy(users.bob, 1)).toEqual(everywhere(3, 1))
    expect(await seenBy(users.carol, 1)).toEqual(everywhere(1, 1))
    expect(await seenBy(users.eve, 3)).toEqual(everywhere(2, 0))
    const pull = await forge.ask(users.eve, 'GET', `${PATH}/pulls/3`)
    expect(counts(pull.milestone)).toEqual([2, 0])
  })

  it('leave out what the repository has switched off', async () => {
    await forge.ask(users.bob, 'PATCH', PATH, { has_issues: false })
    expect(await seenBy(users.bob, 3)).toEqual(everywhere(2, 0))
    const edit = { description: 'first' }
    const edited = await forge.ask(users.bob, 'PATCH', `${PATH}/milestones/${milestone}`, edit)
    expect(counts(edited)).toEqual([2, 0])
    await forge.ask(users.bob, 'PATCH', PATH, { has_issues: true, has_pull_requests: false })
    expect(await seenBy(users.bob, 1)).toEqual(everywhere(1, 1))
  })
})
