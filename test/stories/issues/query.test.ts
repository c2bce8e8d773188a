import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IssueQueryService } from '#gen/branchline/v1/issue_query_service_pb.ts'
import { openConversations } from '../../../src/forge/conversations/conversation-readers.ts'
import { numbersOfQuery } from '../../../src/forge/issues/issue-lists.ts'
import { ANYBODY } from '../../support/forge-rows.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import {
  type Actor,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  transportTo,
} from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
/** A public repository of bob's, in which carol writes. */
let path: string
/** A private repository of bob's. */
let hidden: string

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  path = (await forge.repository(users.bob, 'open')).path
  hidden = (await forge.repository(users.bob, 'hidden', { private: true })).path
  await tell(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  for (const name of ['bug', 'good first', 'kind/one'])
    await tell(users.bob, 'POST', `${path}/labels`, { name, color: '#00aabb' })
  const { id } = await tell(users.bob, 'POST', `${path}/milestones`, { title: 'v1' })
  await open(users.carol, {
    title: 'Broken pump',
    body: 'It leaks.',
    labels: ['bug'],
    assignees: ['carol'],
    milestone: id,
    due_date: '2030-05-31T10:00:00Z',
  })
  await open(users.bob, { title: 'Second', labels: ['bug', 'good first'] })
  await open(users.eve, { title: 'Third', body: 'see @carol' })
  await open(users.bob, { title: 'Fourth', labels: ['kind/one'], closed: true })
  await forge.change(users.bob, path, 'feature')
  await tell(users.bob, 'POST', `${path}/pulls`, {
    title: 'WIP: Fifth',
    body: 'Closes #3',
    base: 'main',
    head: 'feature',
  })
  await tell(users.eve, 'POST', `${path}/issues/2/comments`, { body: 'The pump again' })
  await tell(users.eve, 'POST', `${path}/issues/2/reactions`, { content: 'heart' })
  await tell(users.bob, 'PUT', `${path}/issues/4/lock`, {})
  await tell(users.bob, 'POST', `${path}/issues/3/pin`)
  await tell(users.bob, 'POST', `${path}/issues/1/dependencies`, { index: 3 })
  await tell(users.bob, 'POST', `${hidden}/issues`, { title: 'Hidden pump' })
  await tell(users.bob, 'POST', `${path}/issues/2/dependencies`, {
    index: 1,
    owner: 'bob',
    repo: 'hidden',
  })
})
afterAll(() => server.stop())

const tell: typeof forge.ask = (...call) => forge.ask(...call)

const open = (who: Actor, fields: object) => tell(who, 'POST', `${path}/issues`, fields)

/** Returns the numbers that a query finds in the public repository, ascending unless it is sorted. */
async function found(query: string, who: Actor | undefined = users.eve): Promise<number[]> {
  const answer = await forge.rest(who, 'GET', `${path}/issues?query=${encodeURIComponent(query)}`)
  expect(answer.status, query).toBe(200)
  const numbers = answer.body.map(({ number }: { number: number }) => number)
  expect(answer.headers.get('x-total-count')).toBe(String(numbers.length))
  return query.includes('sort:') ? numbers : numbers.sort()
}

describe('the query of a list', () => {
  it.each([
    ['', [1, 2, 3, 5]],
    ['is:open', [1, 2, 3, 5]],
    ['is:closed', [4]],
    ['state:open,closed', [1, 2, 3, 4, 5]],
    ['is:issue label:bug -label:"good first"', [1]],
    ['is:issue label:bug -label:"good first" author:@me sort:updated-asc', []],
    ['label:kind/*', [4]],
    ['label:none', [3, 5]],
    ['no:label', [3, 5]],
    ['label:any', [1, 2, 4]],
    ['label:BUG', []],
    ['-label:unknown', [1, 2, 3, 4, 5]],
    ['milestone:v1', [1]],
    ['milestone:none type:issue', [2, 3, 4]],
    ['author:carol', [1]],
    ['author:CAROL OR author:eve', [1, 3]],
    ['author:@me', [3]],
    ['author:nobody', []],
    ['-author:nobody', [1, 2, 3, 4, 5]],
    ['assignee:carol', [1]],
    ['assignee:none is:issue', [2, 3, 4]],
    ['mentions:carol', [3]],
    ['commenter:@me', [2]],
    ['involves:carol', [1, 3]],
    ['is:pr', [5]],
    ['is:draft', [5]],
    ['review:none checks:none', [5]],
    ['-review:requested,approved -checks:failure', [1, 2, 3, 4, 5]],
    ['is:merged', []],
    ['is:locked', [4]],
    ['is:pinned', [3]],
    ['is:public', [1, 2, 3, 4, 5]],
    ['is:private', []],
    ['is:archived', []],
    ['is:blocked', [1]],
    ['is:blocking', [3]],
    ['has:dependency', [1]],
    ['blocks:#1', [3]],
    ['blocked-by:bob/open#3', [1]],
    ['blocked-by:bob/hidden#1', []],
    ['has:linked-pr', [3]],
    ['has:due', [1]],
    ['due:2030-05-31', [1]],
    ['due:>2030-05-31', []],
    ['-due:<2030-01-01', [1, 2, 3, 4, 5]],
    ['created:<7d', [1, 2, 3, 4, 5]],
    ['created:>7d', []],
    ['closed:<1d', [4]],
    ['comments:>0', [2]],
    ['reactions:1', [2]],
    ['number:2..3,5', [2, 3, 5]],
    ['head:feature base:main', [5]],
    ['repo:bob/open', [1, 2, 3, 4, 5]],
    ['repo:bob/hidden', []],
    ['owner:bob', [1, 2, 3, 4, 5]],
    ['team:guild/none', []],
    ['pump', [1, 2]],
    ['in:title pump', [1]],
    ['pump in:comments', [2]],
    ['pump leaks', [1]],
    ['pump -leaks', [2]],
    ['(pump label:"good first") OR is:pr', [2, 5]],
    ['reason:completed', []],
    ['parent:#1', []],
    ['sort:created-asc', [1, 2, 3, 4, 5]],
    ['sort:comments label:bug', [2, 1]],
    ['sort:reactions-asc label:bug', [1, 2]],
    ['sort:due -is:closed', [1, 5, 3, 2]],
    ['sort:closed', [4, 5, 3, 2, 1]],
  ])('%s finds %j', async (query, numbers) => {
    expect(await found(query)).toEqual(numbers)
  })

  it('is combined with all other filters', async () => {
    const list = async (filters: string) => {
      const answer: { number: number }[] = await tell(users.eve, 'GET', `${path}/issues?${filters}`)
      return answer.map(({ number }) => number).sort()
    }
    expect(await list('query=label:any')).toEqual([1, 2, 4])
    expect(await list('query=label:any&state=open')).toEqual([1, 2])
    expect(await list('query=label:any&state=closed&type=issues')).toEqual([4])
    expect(await list('query=label:any&labels=bug&created_by=bob')).toEqual([2])
    expect(await list('query=')).toEqual([1, 2, 3, 5])
  })

  it('tells only of what the caller may read', async () => {
    expect(await found('is:blocked', users.bob)).toEqual([1, 2])
    expect(await found('blocked-by:bob/hidden#1', users.bob)).toEqual([2])
    const search = async (who: Actor | undefined, query: string) => {
      const answer = await forge.rest(
        who,
        'GET',
        `/repos/issues/search?query=${encodeURIComponent(query)}`,
      )
      return [answer.body.length, answer.headers.get('x-total-count')]
    }
    expect(await search(users.eve, 'in:title pump')).toEqual([1, '1'])
    expect(await search(undefined, 'in:title pump')).toEqual([1, '1'])
    expect(await search(users.bob, 'in:title pump')).toEqual([2, '2'])
    expect(await search(users.bob, 'is:private')).toEqual([1, '1'])
    expect(await search(users.eve, 'repo:bob/hidden')).toEqual([0, '0'])
    expect(await search(undefined, 'author:@me')).toEqual([0, '0'])
    expect(await search(undefined, 'is:unread')).toEqual([0, '0'])
  })

  it('is refused with the place of the error', async () => {
    const answer = await forge.rest(users.eve, 'GET', `${path}/issues?query=is:open+foo:bar`)
    expect(answer.status).toBe(422)
    expect(answer.body.message).toMatch(/at character 8, "foo:": expected one of is, /)
    expect((await forge.rest(users.eve, 'GET', `/repos/issues/search?query="`)).status).toBe(422)
  })
})

describe('facets', () => {
  it('count the result of the query, by the labels and people that the caller may see', async () => {
    const facets = 'facets=labels,milestones,assignees,states'
    const body = await tell(users.eve, 'GET', `${path}/issues?state=all&limit=2&${facets}`)
    expect(Object.keys(body).sort()).toEqual(['facets', 'items', 'next_page_token'])
    expect(body.items).toHaveLength(2)
    expect(body.facets).toEqual({
      labels: [
        { name: 'bug', count: 2 },
        { name: 'good first', count: 1 },
        { name: 'kind/one', count: 1 },
      ],
      milestones: [{ name: 'v1', count: 1 }],
      assignees: [{ name: 'carol', count: 1 }],
      states: [
        { name: 'open', count: 4 },
        { name: 'closed', count: 1 },
      ],
      is_capped: false,
    })
    const some = await tell(users.eve, 'GET', `${path}/issues?query=author:eve&facets=states`)
    expect(some.facets).toMatchObject({ labels: [], states: [{ name: 'open', count: 1 }] })
    const search = '/repos/issues/search?query=pump&facets=states'
    expect((await tell(users.eve, 'GET', search)).facets.states[0].count).toBe(2)
    expect((await tell(users.bob, 'GET', search)).facets.states[0].count).toBe(3)
    expect((await forge.rest(users.eve, 'GET', `${path}/issues?facets=x`)).status).toBe(422)
  })
})

describe('QueryIssues', () => {
  it('leads from page to page by tokens, on every protocol', async () => {
    for (const protocol of RPC_PROTOCOLS) {
      const client = createClient(
        IssueQueryService,
        transportTo(server.url, protocol, users.eve.authorization),
      )
      const numbers: bigint[] = []
      let pageToken = ''
      do {
        const page = await client.queryIssues({
          owner: 'bob',
          repo: 'open',
          query: 'sort:created-asc',
          limit: 2,
          pageToken,
        })
        expect(page.total).toBe(5n)
        numbers.push(...page.items.map(({ number }) => number))
        pageToken = page.nextPageToken
      } while (pageToken !== '')
      expect(numbers).toEqual([1n, 2n, 3n, 4n, 5n])
      const everywhere = await client.queryIssues({ query: 'pump in:title' })
      expect(everywhere.items.map(({ title }) => title)).toEqual(['Broken pump'])
    }
  })

  it('refuses tokens of nothing', async () => {
    const answer = await forge.rest(users.eve, 'GET', `${path}/issues?page_token=x`)
    expect(answer.status).toBe(422)
  })
})

describe('ExplainIssueQuery', () => {
  const explain = (query: string, position?: number) =>
    forge.rest(
      users.eve,
      'GET',
      `${path}/issue_query?query=${encodeURIComponent(query)}${position === undefined ? '' : `&position=${position}`}`,
    )
  const completions = async (query: string) =>
    (await explain(query, query.length)).body.completions.map(({ text }: { text: string }) => text)

  it('has the tree, the canonical text and the order', async () => {
    const { status, body } = await explain('broken AND (IS:open OR NOT label:a,"b c") sort:due')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      canonical: 'broken (is:open OR -label:a,"b c") sort:due-desc',
      sort: 'due-desc',
      completions: [],
      error: null,
      tree: {
        kind: 'and',
        items: [
          { kind: 'words', values: ['broken'], parts: ['title', 'body', 'comments'] },
          {
            kind: 'or',
            items: [
              { kind: 'term', qualifier: 'is', values: ['open'] },
              { kind: 'not', items: [{ qualifier: 'label', values: ['a', '"b c"'] }] },
            ],
          },
        ],
      },
    })
  })

  it('completes qualifiers and their values', async () => {
    expect(await completions('re')).toEqual([
      'reason:',
      'reviewer:',
      'review-requested:',
      'review:',
      'repo:',
      'reactions:',
    ])
    expect(await completions('is:open is:p')).toEqual(['pr', 'pinned', 'public', 'private'])
    expect(await completions('review:a')).toEqual(['approved'])
    expect(await completions('-label:g')).toEqual(['"good first"'])
    expect(await completions('label:"good f')).toEqual(['"good first"'])
    expect(await completions('label:bug,k')).toEqual(['kind/one'])
    expect(await completions('milestone:v')).toEqual(['v1'])
    expect(await completions('author:@')).toEqual(['@me'])
    expect(await completions('sort:up')).toEqual(['updated-desc', 'updated-asc'])
    const { body } = await explain('(is:op label:bug', 6)
    expect(body.completions).toEqual([{ text: 'open', from: 4, to: 6 }])
    expect(body.error).toMatchObject({ position: 4, token: 'is:op' })
    expect(body.tree).toBeNull()
  })

  it('refuses a query that is not understood, unless it is to be completed', async () => {
    expect((await explain('is:op')).status).toBe(422)
    expect((await explain('is:op', 5)).status).toBe(200)
    const hiddenPath = `${hidden}/issue_query?query=is:open`
    expect((await forge.rest(users.eve, 'GET', hiddenPath)).status).toBe(404)
  })
})

it('numbersOfQuery has the numbers of the oldest conversations that the caller may read', async () => {
  const { app } = server
  const open = await openConversations(app, ANYBODY, { owner: 'bob', repo: 'open' })
  const numbers = (query: string, limit: number) => numbersOfQuery(app, ANYBODY, open, query, limit)
  expect(await numbers('', 200)).toEqual([1, 2, 3, 4, 5])
  expect(await numbers('is:issue -is:pinned sort:comments', 3)).toEqual([1, 2, 4])
})
