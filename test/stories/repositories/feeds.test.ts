import { expect, it } from 'vitest'
import { FeedService } from '#gen/branchline/v1/feed_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { createToken } from '../../support/server.ts'

const forge = await openForge()
const { users, ask } = forge
const { url } = forge.server

const TITLE = 'v1 <script>alert("1")</script> & more ]]>'

async function feed(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${path}`, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Returns the texts of an element, without escapes. */
const textsOf = (xml: string, element: string) =>
  [...xml.matchAll(new RegExp(`<${element}[^>]*>(?<text>[^<]*)</${element}>`, 'g'))].map((found) =>
    (found.groups?.text ?? '')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&#13;', '\r')
      .replaceAll('&amp;', '&'),
  )

/** Commits a file, and returns the id of the commit. */
async function commit(repo: string, path: string, message: string, branch = '') {
  const { commit: made } = await ask(users.bob, 'POST', `/repos/bob/${repo}/contents/${path}`, {
    content: 'YQ==',
    message,
    ...(branch !== '' && { new_branch: branch }),
  })
  return made.sha as string
}

it('an empty repository has feeds without entries', async () => {
  await ask(users.bob, 'POST', '/user/repos', { name: 'shop' })
  const { status, headers, text } = await feed('/bob/shop.atom')
  expect([status, headers.get('content-type')]).toEqual([
    200,
    'application/atom+xml; charset=utf-8',
  ])
  expect(headers.get('content-security-policy')).toContain('sandbox')
  expect(text).not.toContain('<entry>')
  expect(textsOf(text, 'id')).toEqual([`${url}/bob/shop.atom`])
  expect(textsOf(text, 'updated')[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  expect((await feed('/bob/shop/releases.atom')).status).toBe(200)
  expect((await feed('/bob/shop/atom/branch/main')).status).toBe(409)
})

it('the feed of a branch has its commits, latest first', async () => {
  const first = await commit('shop', 'a.txt', 'Add <a>\n\nWith a \u0001 body & more')
  const second = await commit('shop', 'b.txt', 'Add b', 'topics/b')
  const { text, headers } = await feed('/bob/shop/atom/branch/topics/b')
  expect(textsOf(text, 'id')).toEqual([
    `${url}/bob/shop/atom/branch/topics/b`,
    `${url}/bob/shop/commit/${second}`,
    `${url}/bob/shop/commit/${first}`,
  ])
  expect(textsOf(text, 'title').slice(1)).toEqual(['Add b', 'Add <a>'])
  expect(textsOf(text, 'content')[1]).toBe('Add <a>\n\nWith a \ufffd body & more\n')
  expect(textsOf(text, 'name')).toEqual(['bob', 'bob'])
  expect(text).not.toContain('@')
  const again = await feed('/bob/shop/atom/branch/topics/b', {
    'if-none-match': headers.get('etag') ?? '',
  })
  expect([again.status, again.text]).toEqual([304, ''])
  expect((await feed('/bob/shop/atom/branch/none')).status).toBe(404)
})

it('the feed of releases has no drafts', async () => {
  const release = (tag_name: string, more: object) =>
    ask(users.bob, 'POST', '/repos/bob/shop/releases', { tag_name, ...more })
  await release('v0', { name: 'hidden', draft: true })
  await release('v1/beta', { name: TITLE, body: 'What is *new*', prerelease: true })
  const { text } = await feed('/bob/shop/releases.atom')
  expect(textsOf(text, 'title')).toEqual(['Releases of bob/shop', TITLE])
  expect(textsOf(text, 'content')).toEqual(['What is *new*'])
  expect(text).toContain(`href="${url}/bob/shop/releases/tag/v1%2Fbeta"`)
  expect(text).not.toContain('hidden')
  expect(text).not.toContain('<script')
})

it('the feed of a repository has what happened, as far as the reader may see it', async () => {
  await ask(users.bob, 'POST', '/repos/bob/shop/issues', { title: 'An issue' })
  await ask(users.bob, 'POST', '/repos/bob/shop/pulls', {
    title: 'A pull request',
    head: 'topics/b',
    base: 'main',
  })
  await forge.server.app.background.settled()
  const titles = async () => textsOf((await feed('/bob/shop.atom')).text, 'title').slice(1)
  expect(await titles()).toEqual([
    'bob opened the pull request #2',
    'bob opened the issue #1',
    'bob published the release v1/beta',
    'bob created the tag v1/beta',
    'bob created the branch topics/b',
    'bob created the branch main',
  ])
  await ask(users.bob, 'PATCH', '/repos/bob/shop', { has_issues: false, has_releases: false })
  expect(await titles()).toEqual([
    'bob opened the pull request #2',
    'bob created the tag v1/beta',
    'bob created the branch topics/b',
    'bob created the branch main',
  ])
  expect((await feed('/bob/shop/releases.atom')).status).toBe(403)
})

it('the feeds of a private repository are hidden from strangers, and open to a token', async () => {
  await ask(users.bob, 'POST', '/user/repos', { name: 'secret', private: true })
  await commit('secret', 'a.txt', 'Secret')
  const token = await createToken(url, users.bob, ['read:repository'])
  const headers = { authorization: `Basic ${Buffer.from(`bob:${token}`).toString('base64')}` }
  for (const path of ['.atom', '/releases.atom', '/atom/branch/main']) {
    const asked = await feed(`/bob/secret${path}`)
    const missing = await feed(`/bob/missing${path}`)
    expect([path, asked.status]).toEqual([path, 404])
    expect(asked.text.replaceAll('secret', 'missing')).toBe(missing.text)
    expect([path, (await feed(`/bob/secret${path}`, headers)).status]).toEqual([path, 200])
  }
  const request = { owner: 'bob', repo: 'secret' }
  const stranger = forge.grpc(FeedService, users.carol).getActivityFeed(request)
  expect(await refusalOf(stranger)).toMatchObject({ reason: 'REPOSITORY_NOT_FOUND' })
  const own = await forge.grpc(FeedService, users.bob).getActivityFeed(request)
  expect(Buffer.from(own.data).toString()).toContain('bob created the branch main')
})
