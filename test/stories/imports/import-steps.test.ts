import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { testClock } from '../../support/app.ts'
import { openForge } from '../../support/forge.ts'
import { type GitUpstream, startGitUpstream } from '../../support/git-upstream.ts'
import {
  type ApiAnswer,
  type ApiAnswers,
  apiOf,
  pageOf,
  settledImport,
} from '../../support/imports.ts'
import { startReceiver } from '../../support/receiver.ts'

const clock = testClock()
const { server, users, rest } = await openForge({
  clock,
  webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
})
let upstream: GitUpstream

beforeEach(async () => {
  upstream = await startGitUpstream()
  upstream.commit('main', 'first')
})
afterEach(() => upstream.stop())

const UMA = { id: 7, login: 'uma', full_name: 'Uma' }
const TIMES = { created_at: '2024-01-02T03:04:05Z', updated_at: '2024-01-03T03:04:05Z' }

const issue = (number: number) => ({
  id: 100 + number,
  number,
  title: `Issue ${number}`,
  body: '',
  state: 'open',
  user: UMA,
  comments: 0,
  ...TIMES,
})

/** The API of Gitea with some issues, and answers that replace those. */
function gitea(numbers: readonly number[], others: ApiAnswers = {}): void {
  upstream.intercept = apiOf('/api/v1', {
    '/repos/uma/engine': () => ({ body: { full_name: 'uma/engine' } }),
    '/repos/uma/engine/issues': (query) => pageOf(numbers.map(issue), query, 2),
    ...others,
  })
}

const start = (name: string, fields: object = {}) =>
  rest(users.bob, 'POST', '/repos/migrate', {
    clone_addr: upstream.url,
    repo_name: name,
    service: 'gitea',
    issues: true,
    auth_token: 'secret-token',
    ...fields,
  })

const settled = (name: string, states?: readonly string[]) =>
  settledImport(server.app, rest, users.bob, `/repos/bob/${name}`, states)

const numbersIn = async (name: string) =>
  (await rest(users.bob, 'GET', `/repos/bob/${name}/issues?state=all`)).body
    .map(({ number }: { number: number }) => number)
    .sort()

describe('an import', () => {
  it('reads all pages', async () => {
    gitea([1, 2, 3, 4, 5])
    expect((await start('pages')).status).toBe(201)
    expect(await settled('pages')).toMatchObject({ state: 'SUCCEEDED' })
    expect(await numbersIn('pages')).toEqual([1, 2, 3, 4, 5])
  })

  it('waits until the other server allows requests again, and refuses changes until then', async () => {
    let isLimited = true
    gitea([1, 2, 3], {
      '/repos/uma/engine/issues': (query): ApiAnswer =>
        isLimited && query.get('page') === '2'
          ? { status: 429, headers: { 'retry-after': '120' } }
          : pageOf([1, 2, 3].map(issue), query, 2),
    })
    await start('waits')
    const waiting = await settled('waits')
    expect(waiting.state).toBe('WAITING')
    expect(Date.parse(waiting.waiting_until)).toBe(clock.now() + 120_000)
    const path = '/repos/bob/waits'
    expect((await rest(users.bob, 'GET', path)).body.importing).toBe(true)
    const opened = await rest(users.bob, 'POST', `${path}/issues`, { title: 'No' })
    expect([opened.status, opened.body.message]).toEqual([
      409,
      'the import of the repository is not complete',
    ])
    expect((await rest(users.bob, 'PATCH', path, { description: 'No' })).status).toBe(409)
    isLimited = false
    clock.advance(121)
    server.app.signals.imports.notify()
    await settled('waits', ['SUCCEEDED'])
    expect(await numbersIn('waits')).toEqual([1, 2, 3])
  })

  it.each([
    ['an issue', 2],
    ['a release', 4],
  ])('goes on with the files of %s after a pause', async (_, pausedAt) => {
    let isLimited = true
    const contentOf = (number: number): ApiAnswer =>
      isLimited && number === pausedAt
        ? { status: 429, headers: { 'retry-after': '120' } }
        : { body: `content ${number}` }
    const file = (number: number) => ({
      id: number,
      name: `${number}.txt`,
      uuid: `00000000-0000-4000-8000-00000000000${number}`,
      browser_download_url: new URL(`/api/v1/files/${number}`, upstream.url).href,
    })
    const release = { id: 9, tag_name: 'v1', draft: false, author: UMA, ...TIMES }
    const contents = [1, 2, 3, 4].map((number) => [`/files/${number}`, () => contentOf(number)])
    gitea([], {
      '/repos/uma/engine/issues': (query) =>
        pageOf([{ ...issue(1), assets: [file(1), file(2)] }], query, 2),
      '/repos/uma/engine/releases': (query) =>
        pageOf([{ ...release, assets: [file(3), file(4)] }], query, 2),
      ...Object.fromEntries(contents),
    })
    upstream.git('tag', 'v1', 'main')
    const name = `files-${pausedAt}`
    await start(name, { releases: true })
    expect((await settled(name)).state).toBe('WAITING')
    isLimited = false
    clock.advance(121)
    server.app.signals.imports.notify()
    const done = await settled(name, ['SUCCEEDED'])
    expect(done).toMatchObject({ errors: [], progress: { attachments: { done: 2 } } })
    const filesOf = async (path: string) =>
      (await rest(users.bob, 'GET', `/repos/bob/${name}${path}`)).body.assets.map(
        (asset: { name: string }) => asset.name,
      )
    expect(await filesOf('/issues/1')).toEqual(['1.txt', '2.txt'])
    expect(await filesOf('/releases/tags/v1')).toEqual(['3.txt', '4.txt'])
  })

  it('names what could not be imported, and goes on', async () => {
    gitea([1, 1, 2])
    await start('errors')
    const done = await settled('errors')
    expect(done.state).toBe('SUCCEEDED')
    expect(await numbersIn('errors')).toEqual([1, 2])
  })

  it('can be cancelled, and keeps what is there', async () => {
    gitea([1, 2, 3], {
      '/repos/uma/engine/issues': (query): ApiAnswer =>
        query.get('page') === '2'
          ? { status: 429, headers: { 'retry-after': '3600' } }
          : pageOf([1, 2, 3].map(issue), query, 2),
    })
    await start('cancelled')
    expect((await settled('cancelled')).state).toBe('WAITING')
    const path = '/repos/bob/cancelled'
    expect((await rest(users.bob, 'DELETE', `${path}/import`)).status).toBe(204)
    expect((await settled('cancelled')).state).toBe('CANCELLED')
    expect(await numbersIn('cancelled')).toEqual([1, 2])
    expect((await rest(users.bob, 'POST', `${path}/issues`, { title: 'Yes' })).status).toBe(201)
  })

  it('is told to webhooks once, at the end', async () => {
    const receiver = await startReceiver()
    const { body: hook } = await rest(users.bob, 'POST', '/user/hooks', {
      type: 'gitea',
      config: { url: receiver.url, content_type: 'json' },
      events: ['create', 'push', 'repository', 'issues'],
      active: true,
    })
    try {
      gitea([1, 2, 3])
      await start('silent')
      await settled('silent', ['SUCCEEDED'])
      const heard = await receiver.next()
      expect(heard.headers['x-gitea-event']).toBe('repository')
      expect(JSON.parse(heard.body)).toMatchObject({
        action: 'created',
        repository: { full_name: 'bob/silent', importing: false },
      })
      await rest(users.bob, 'POST', '/repos/bob/silent/issues', { title: 'Next' })
      expect((await receiver.next()).headers['x-gitea-event']).toBe('issues')
    } finally {
      await rest(users.bob, 'DELETE', `/user/hooks/${hook.id}`)
      await receiver.stop()
    }
  })

  it('fails when the token is refused later', async () => {
    gitea([1], { '/repos/uma/engine/issues': () => ({ status: 401 }) })
    await start('refused')
    expect(await settled('refused')).toMatchObject({
      state: 'FAILED',
      message: 'the other server refuses the token',
    })
  })

  it('never sends the token to another origin', async () => {
    const other = await startGitUpstream()
    try {
      gitea([1], {
        '/repos/uma/engine/issues': (query) => ({
          ...pageOf([issue(1)], query, 2),
          headers: { link: `<${other.url}>; rel="next"`, 'x-total-count': '1' },
        }),
      })
      await start('origins')
      expect(await settled('origins')).toMatchObject({ state: 'SUCCEEDED' })
      expect(other.asked).toEqual([])
    } finally {
      await other.stop()
    }
  })
})
