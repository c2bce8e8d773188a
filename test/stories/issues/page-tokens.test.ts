import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>
let path: string

const SORTS = [
  'latest',
  'oldest',
  'recentupdate',
  'leastupdate',
  'mostcomment',
  'leastcomment',
  'nearduedate',
  'farduedate',
  'recentclose',
  'leastclose',
  'mostreaction',
  'leastreaction',
  'relevance',
]

/** Lists whose pages tokens lead through: one of a repository, and searches. */
const lists = (): readonly string[] => [
  `${path}/issues?state=all`,
  `${path}/issues?state=open&type=issues`,
  `${path}/issues?state=all&q=pump`,
  '/repos/issues/search?state=all',
  '/repos/issues/search?state=all&q=pump',
]

/** Issues that several orders have at the same place, and a pull request. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
  path = (await forge.repository(users.bob, 'open')).path
  const other = await forge.repository(users.bob, 'other')
  const milestones = [{ title: 'due', due_on: '2031-01-01T00:00:00Z' }, { title: 'not due' }]
  const ids: number[] = []
  for (const milestone of milestones)
    ids.push((await forge.ask(users.bob, 'POST', `${path}/milestones`, milestone)).id)
  for (let n = 0; n < 9; n += 1) {
    const title = n % 2 === 0 ? 'pump' : 'gate'
    const due_date = n % 4 === 1 ? `203${n % 3}-05-31T10:00:00Z` : undefined
    const body = n % 3 === 0 ? 'a pump' : ''
    const fields = { title, body, due_date, milestone: ids[n % 3], closed: n % 4 === 0 }
    const { number } = await forge.ask(users.bob, 'POST', `${path}/issues`, fields)
    if (n % 3 !== 1) continue
    const issue = `${path}/issues/${number}`
    await forge.ask(users.eve, 'POST', `${issue}/comments`, { body: 'The pump again' })
    await forge.ask(users.eve, 'POST', `${issue}/reactions`, { content: 'heart' })
  }
  await forge.change(users.bob, path, 'feature')
  const pull = { title: 'A pump', base: 'main', head: 'feature' }
  await forge.ask(users.bob, 'POST', `${path}/pulls`, pull)
  await forge.ask(users.bob, 'POST', `${other.path}/issues`, { title: 'pump' })
  const { db } = server.app
  const times = { create_time: 1_600_000_000, update_time: 1_600_000_000 }
  await db.updateTable('issues').set(times).where('number', 'in', [2, 3, 4, 7]).execute()
})
afterAll(() => server.stop())

interface ListPage {
  readonly items: readonly { readonly id: number }[]
  readonly next_page_token: string
}

const pageOf = (list: string): Promise<ListPage> =>
  forge.ask(users.bob, 'GET', `${list}&facets=states`)

const idsOf = ({ items }: ListPage) => items.map(({ id }) => id)

/** Returns the ids of a list, read in pages of three. */
async function walk(list: string): Promise<number[]> {
  const found: number[] = []
  let token = ''
  do {
    const page = await pageOf(`${list}&limit=3&page_token=${token}`)
    found.push(...idsOf(page))
    token = page.next_page_token
  } while (token !== '')
  return found
}

describe('tokens of the next page', () => {
  it('lead through a list in each order', async () => {
    for (const list of lists())
      for (const sort of SORTS) {
        const whole = idsOf(await pageOf(`${list}&sort=${sort}`))
        expect(whole.length, list).toBeGreaterThan(3)
        expect(await walk(`${list}&sort=${sort}`), `${list} ${sort}`).toEqual(whole)
      }
  })

  it('keep the conversations of one repository first in a search', async () => {
    const { repository } = await forge.ask(users.bob, 'GET', `${path}/issues/1`)
    const list = `/repos/issues/search?state=all&sort=leastcomment&priority_repo_id=${repository.id}`
    expect(await walk(list)).toEqual(idsOf(await pageOf(list)))
  })

  it('repeat and skip nothing when conversations come and go', async () => {
    const list = `${path}/issues?state=all`
    const before = idsOf(await pageOf(list))
    const { items, next_page_token: token } = await pageOf(`${list}&limit=3`)
    await forge.ask(users.bob, 'POST', `${path}/issues`, { title: 'New' })
    const second = await pageOf(`${list}&limit=3&page_token=${token}`)
    expect([...items.map(({ id }) => id), ...idsOf(second)]).toEqual(before.slice(0, 6))
  })

  it('belong to their list', async () => {
    const { next_page_token: token } = await pageOf(`${path}/issues?state=all&limit=3`)
    for (const list of [
      `${path}/issues?state=open`,
      `${path}/issues?state=all&sort=oldest`,
      '/repos/issues/search?state=all',
      '/repos/bob/other/issues?state=all',
    ]) {
      const answer = await forge.rest(users.bob, 'GET', `${list}&page_token=${token}`)
      expect([answer.status, list]).toEqual([422, list])
    }
    const larger = `${path}/issues?state=all&limit=5&page_token=${token}`
    expect((await pageOf(larger)).items).toHaveLength(5)
  })
})
