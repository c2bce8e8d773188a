import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueQueryService } from '#gen/branchline/v1/issue_query_service_pb.ts'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer, transportTo } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

/** What a list says that a pull request waits for: reviews and checks. The query language agrees. */
async function waits({ path }: ReviewedPull, who: Actor = users.bob): Promise<unknown[]> {
  const { status, body } = await forge.rest(
    who,
    'GET',
    `${path}/issues?type=pulls&state=all&pull_states=true`,
  )
  expect(status).toBe(200)
  const { review_state, checks_state } = body[0].pull_request
  const found = async (query: string) =>
    (await forge.ask(who, 'GET', `${path}/issues?query=${query}`)).length
  for (const state of ['none', 'requested', 'approved', 'changes_requested'])
    expect(await found(`review:${state}`)).toBe(Number(state === (review_state ?? 'none')))
  for (const state of ['none', 'pending', 'success', 'failure'])
    expect(await found(`checks:${state}`)).toBe(Number(state === (checks_state ?? 'none')))
  return [review_state, checks_state]
}

describe('a list of pull requests says what they wait for', () => {
  it('in the reviews: a request, an approval, a rejection', async () => {
    const pull = await forge.pull('reviewed')
    expect(await waits(pull)).toEqual([undefined, undefined])
    await forge.ask(users.carol, 'POST', pull.requested, { reviewers: ['bob'] })
    expect(await waits(pull)).toEqual(['requested', undefined])
    await forge.review(users.bob, pull, 'APPROVED')
    expect(await waits(pull)).toEqual(['approved', undefined])
    const { id } = await forge.review(users.bob, pull, 'REQUEST_CHANGES')
    expect(await waits(pull)).toEqual(['changes_requested', undefined])
    await forge.ask(users.bob, 'POST', `${pull.reviews}/${id}/dismissals`, { message: 'Old.' })
    expect(await waits(pull)).toEqual([undefined, undefined])
  })

  it('in the checks of the head, as the combined status says', async () => {
    const pull = await forge.pull('checked')
    const report = (context: string, state: string) =>
      forge.ask(users.bob, 'POST', `${pull.path}/statuses/${pull.head}`, { context, state })
    await report('build', 'pending')
    expect(await waits(pull)).toEqual([undefined, 'pending'])
    await report('build', 'success')
    expect(await waits(pull)).toEqual([undefined, 'success'])
    await report('docs', 'skipped')
    expect(await waits(pull)).toEqual([undefined, 'success'])
    await report('lint', 'error')
    expect(await waits(pull)).toEqual([undefined, 'failure'])
    const combined = await forge.rest(users.bob, 'GET', `${pull.path}/commits/${pull.head}/status`)
    expect(combined.body.state).toBe('failure')
  })

  it('only to those who ask, by lists, searches and queries', async () => {
    const pull = await forge.pull('asked')
    await forge.review(users.bob, pull, 'APPROVED')
    const without = await forge.rest(users.bob, 'GET', `${pull.path}/issues?type=pulls`)
    expect(without.body[0].pull_request).not.toHaveProperty('review_state')
    const found = await forge.rest(
      users.bob,
      'GET',
      '/repos/issues/search?type=pulls&query=repo:bob/asked&pull_states=true',
    )
    expect(found.body[0].pull_request).toMatchObject({
      review_state: 'approved',
      base_branch: 'main',
      head_branch: expect.stringMatching(/./),
    })
    expect(found.body[0].pull_request).not.toHaveProperty('merge_queue_position')
    const client = createClient(
      IssueQueryService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const { items } = await client.queryIssues({ owner: 'bob', repo: 'asked', pullStates: true })
    expect(items[0]?.pullRequest).toMatchObject({ reviewState: 'approved', checksState: '' })
  })
})
