import { get as httpGet, type IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { WEB_FOLDER } from '../../support/chromium.ts'
import { openForge, startForge } from '../../support/forge.ts'
import { signIn, startTestServer } from '../../support/server.ts'

/** What browsers send for a navigation. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const { server, users, ask } = await openForge({ webFolder: WEB_FOLDER })

for (const [name, fields] of [
  ['open', { description: 'Tools <script>alert(1)</script> & "more"' }],
  ['secret', { private: true, description: 'Nobody knows' }],
] as const)
  await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true, ...fields })

/** Asks as a stranger, without following redirects. */
async function get(path: string, headers: Record<string, string> = { accept: BROWSER }) {
  const response = await fetch(server.url + path, { headers, redirect: 'manual' })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a navigation', () => {
  it('shows a stranger the title and description of a public repository', async () => {
    const { status, text, headers } = await get('/bob/open')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(text).toContain('<title>bob/open · Branchline</title>')
    expect(text).toContain('<meta property="og:title" content="bob/open">')
    expect(text).toContain(
      '<meta name="description" content="Tools &lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;">',
    )
    expect(text).not.toContain('<script>alert')
  })

  it('names the feeds of a public repository, and none of a repository without releases', async () => {
    const { text } = await get('/bob/open/issues')
    for (const [href, title] of [
      ['/bob/open.atom', 'Activity of bob/open'],
      ['/bob/open/releases.atom', 'Releases of bob/open'],
      ['/bob/open/atom/branch/main', 'Commits of main in bob/open'],
    ] as const) {
      const link = `<link rel="alternate" type="application/atom+xml" title="${title}" href="${href}">`
      expect(text).toContain(link)
      expect((await get(href, { accept: 'application/atom+xml' })).status).toBe(200)
    }
    await ask(users.bob, 'PATCH', '/repos/bob/open', { has_releases: false })
    expect((await get('/bob/open')).text).not.toContain('releases.atom')
    await ask(users.bob, 'PATCH', '/repos/bob/open', { has_releases: true })
    expect((await get('/bob/secret')).text).not.toContain('.atom')
  })

  it.each([
    '/bob/open/src/branch/main/docs',
    '/bob/open/src/tag/v1',
    '/bob/open/commits/branch/main',
    '/bob/open/commit/0123456789',
    '/bob/open/branches',
    '/bob/open/tags',
    '/bob/open/releases',
    '/bob/open/pulls',
    '/bob/open/pulls/1/files',
    '/bob/open/compare/main...topic',
    '/bob/open/settings',
    '/bob/open/settings/hooks/1',
    '/bob/open/',
    '/BOB/Open',
  ])('finds the repository of %s', async (path) => {
    const { status, text } = await get(path)
    expect(status).toBe(200)
    expect(text).toContain('<title>bob/open · Branchline</title>')
  })

  it.each([
    ['/', 'Git repositories and pull requests · Branchline'],
    ['/explore', 'Explore · Branchline'],
    ['/user/login', 'Sign in · Branchline'],
    ['/user/settings', 'Settings · Branchline'],
    ['/-/admin', 'Administration · Branchline'],
    ['/-/import', 'Import a repository · Branchline'],
    ['/-/organizations/anything/teams', 'Organisations · Branchline'],
    ['/user/settings/tokens', 'Access tokens · Branchline'],
    ['/notifications', 'Notifications · Branchline'],
    ['/bob', 'bob · Branchline'],
  ])('finds %s', async (path, title) => {
    const { status, text } = await get(path)
    expect(status).toBe(200)
    expect(text).toContain(`<title>${title}</title>`)
  })

  it.each([
    ['the default', {}, 'en', 'Explore'],
    ['a region', { 'accept-language': 'de-CH,de;q=0.9,en;q=0.8' }, 'de', 'Entdecken'],
    [
      'the first one that pages have',
      { 'accept-language': 'pt-BR,fr;q=0.5,en;q=0.4' },
      'fr',
      'Explorer',
    ],
    ['none that pages have', { 'accept-language': 'pt-BR' }, 'en', 'Explore'],
    ['one that is refused', { 'accept-language': 'de;q=0,en;q=0.1' }, 'en', 'Explore'],
    ['nonsense', { 'accept-language': `;;,${'x'.repeat(500)}` }, 'en', 'Explore'],
    [
      'the choice of the reader',
      { cookie: 'branchline-language=fr', 'accept-language': 'de' },
      'fr',
      'Explorer',
    ],
    [
      'no language as a choice',
      { cookie: 'branchline-language=%22%3E', 'accept-language': 'de' },
      'de',
      'Entdecken',
    ],
  ])('is in the language of %s', async (_, asked, language, title) => {
    const { text, headers } = await get('/explore', { accept: BROWSER, ...asked })
    expect(text).toContain(`<html lang="${language}"`)
    expect(text).toContain(`<title>${title} · Branchline</title>`)
    expect(headers.get('content-language')).toBe(language)
    expect(headers.get('vary')).toContain('Accept-Language')
    const catalogue = /modulepreload" href="[^"]*(german|french)-/.exec(text)?.[1]
    expect(catalogue).toBe({ de: 'german', fr: 'french' }[language])
  })

  it('does not tell a private repository from a missing one', async () => {
    const paths = ['/bob/secret', '/bob/missing', '/nobody/missing', '/nobody/missing/src']
    const answers = await Promise.all(paths.map((path) => get(path)))
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 404))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.text).toContain('<title>Branchline</title>')
    const fixed = (headers: Headers) =>
      [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name))
    expect(fixed(answers[0]?.headers ?? new Headers())).toEqual(
      fixed(answers[1]?.headers ?? new Headers()),
    )
  })

  it.each(['/nobody', '/bob/open/unknown', '/-/unknown'])('does not find %s', async (path) => {
    const { status, text } = await get(path)
    expect([status, /<title>(.*)<\/title>/.exec(text)?.[1]]).toEqual([404, 'Branchline'])
  })

  it('is the same for the owner of the cookie, which is no credential', async () => {
    const cookie = 'branchline_refresh=anything'
    const { status, text } = await get('/bob/secret', { accept: BROWSER, cookie })
    expect(status).toBe(404)
    expect(text).toBe((await get('/bob/missing', { accept: BROWSER, cookie })).text)
    expect(text).toContain('data-session="maybe"')
    expect((await get('/bob/secret')).text).toContain('data-session="none"')
  })

  it('runs no script but those of the server, and asks no other server for anything', async () => {
    const { headers, text } = await get('/bob/open')
    const policy = headers.get('content-security-policy')?.split('; ')
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
      ]),
    )
    expect(policy?.join()).not.toContain('unsafe')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
    expect([...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url)).toEqual(
      expect.not.arrayContaining([
        expect.stringMatching(/^(?!\/-\/assets\/|\/explore|\/bob\/open|data:image\/svg\+xml;)/),
      ]),
    )
  })

  it('follows a renamed repository, and drops the ending that Git uses', async () => {
    await ask(users.bob, 'POST', '/user/repos', { name: 'before', auto_init: true })
    await ask(users.bob, 'PATCH', '/repos/bob/before', { name: 'after' })
    const moved = await get('/bob/before/pulls?state=all')
    expect([moved.status, moved.headers.get('location')]).toEqual([
      302,
      '/bob/after/pulls?state=all',
    ])
    const git = await get('/bob/secret.git')
    expect([git.status, git.headers.get('location')]).toEqual([302, '/bob/secret'])
  })

  it.each(['/\\evil.example/x.git', '/\\evil.example/x.git/tree/main', '/%5cevil.example/x.git'])(
    'does not lead to another host: %s',
    async (path) => {
      const { hostname, port } = new URL(server.url)
      const { headers, statusCode } = await new Promise<IncomingMessage>((resolve, reject) => {
        const options = { hostname, port, path, headers: { accept: BROWSER }, agent: false }
        httpGet(options, (answer) => resolve(answer.resume())).once('error', reject)
      })
      const target = new URL(headers.location ?? '/', server.url)
      expect([target.origin, statusCode === 302 || statusCode === 404]).toEqual([server.url, true])
    },
  )

  it.each(['/%', '/bob/%00', '/bob//open', '//evil.example', '/bob/open%2Fx'])(
    'of nonsense is not found: %s',
    async (path) => {
      expect((await get(path)).status).toBe(404)
    },
  )

  it('of HEAD has the headers alone', async () => {
    const response = await fetch(`${server.url}/bob/open`, {
      method: 'HEAD',
      headers: { accept: BROWSER },
    })
    expect(response.status).toBe(200)
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(500)
    expect(await response.text()).toBe('')
  })
})

describe('programs', () => {
  it.each([['*/*'], ['application/json'], ['application/json, text/html;q=0.9']])(
    'that accept %s get JSON for an address that has a page',
    async (accept) => {
      for (const path of ['/bob/open', '/', '/bob/missing']) {
        const { status, headers } = await get(path, { accept })
        expect([path, status, headers.get('content-type')]).toEqual([
          path,
          404,
          expect.stringContaining('application/json'),
        ])
      }
    },
  )

  it.each([
    ['/api/v1/version', 200],
    ['/api/v1/nothing', 404],
    ['/api/v1/repos/bob/secret', 404],
    ['/attachments/nothing', 404],
    ['/openapi.json', 200],
    ['/healthz', 200],
    ['/.well-known/openid-configuration', 200],
    ['/bob/open/raw/commit/main/README.md', 200],
    ['/bob/open/archive/main.tar.gz', 200],
  ])('reach %s with a header of browsers, as before', async (path, status) => {
    const answer = await get(path)
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain('/-/assets/')
  })

  it('fetch by Git, and by the Go toolchain, as before', async () => {
    const refs = await get('/bob/open.git/info/refs?service=git-upload-pack')
    expect(refs.headers.get('content-type')).toBe('application/x-git-upload-pack-advertisement')
    expect((await get('/bob/open/tool?go-get=1')).text).toContain('<meta name="go-import"')
  })

  it('cannot write to a page', async () => {
    const response = await fetch(`${server.url}/bob/open`, {
      method: 'POST',
      headers: { accept: BROWSER },
    })
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toContain('application/json')
  })
})

describe('the files of the pages', () => {
  const preloaded = async (path: string) => {
    const links = (await get(path)).text.matchAll(/<link rel="modulepreload" href="([^"]+)">/g)
    return [...links].map(([, url]) => url ?? '')
  }

  it.each([
    ['/', 'home'],
    ['/explore', 'explore'],
    ['/bob', 'account'],
    ['/bob/open', 'code'],
    ['/bob/secret/src/branch/main', 'code'],
    ['/bob/open/pulls', 'pulls'],
    ['/bob/open/pulls/7', 'pull'],
    ['/bob/open/pulls/7/commits', 'pull-commits'],
    ['/bob/open/pulls/7/files', 'pull-files'],
    ['/bob/open/settings/hooks', 'repository-webhooks'],
    ['/-/organizations/anything/hooks', 'organization-webhooks'],
    ['/-/api/repos', 'api'],
  ])('that %s needs are loaded together with the script', async (path, name) => {
    const links = await preloaded(path)
    expect(links.filter((url) => url.includes('.page-'))).toEqual([
      expect.stringMatching(new RegExp(`^/-/assets/${name}\\.page-[A-Z0-9]{8}\\.js$`)),
    ])
    // Whatever they import statically is loaded with them.
    const scripts = new Set([await script(), ...links])
    for (const url of scripts) {
      const source = (await get(url, { accept: '*/*' })).text
      const imports = [...source.matchAll(/(?:^|;|\})import(?:[^"(]*from)?"\.\/([^"]+)"/g)]
      for (const [, file] of imports) expect(scripts).toContain(`/-/assets/${file}`)
    }
    expect(scripts.size).toBe(links.length + 1)
  })

  it('are none but the script of every page where an address has none', async () => {
    expect(await preloaded('/-/unknown')).toEqual([])
  })

  const script = async () =>
    /<script type="module" src="([^"]+)">/.exec((await get('/explore')).text)?.[1] ?? ''

  it('are stored by browsers forever, under a name with a hash', async () => {
    const path = await script()
    expect(path).toMatch(/^\/-\/assets\/[a-z]+-[A-Z0-9]{8}\.js$/)
    const first = await get(path, {})
    expect(first.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(first.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(first.headers.get('x-content-type-options')).toBe('nosniff')
    const again = await get(path, { 'if-none-match': first.headers.get('etag') ?? '' })
    expect(again.status).toBe(304)
  })

  it('are sent as Brotli that was compressed in advance', async () => {
    const path = /href="([^"]+\.css)"/.exec((await get('/explore')).text)?.[1] ?? ''
    const plain = await get(path, { 'accept-encoding': 'identity' })
    const sent = await get(path, { 'accept-encoding': 'gzip, br' })
    expect(sent.headers.get('content-encoding')).toBe('br')
    expect(sent.text).toBe(plain.text)
    expect(Number(sent.headers.get('content-length'))).toBeLessThan(plain.text.length / 2)
  })

  it('that do not exist are not found', async () => {
    expect((await get('/-/assets/main.js', {})).status).toBe(404)
    expect((await get('/-/assets/../manifest.json', {})).status).toBe(404)
    expect((await get('/-/assets/manifest.json', {})).status).toBe(404)
  })
})

it('an account keeps working whose name has become the address of a page', async () => {
  const { db } = server.app
  const { id } = await db
    .selectFrom('users')
    .select('id')
    .where('username', '=', 'carol')
    .executeTakeFirstOrThrow()
  await db.updateTable('users').set({ username: 'explore' }).where('id', '=', id).execute()
  await db
    .updateTable('account_names')
    .set({ name_key: 'explore' })
    .where('account_id', '=', id)
    .execute()
  const explore = await signIn(server.url, 'explore')
  await ask(explore, 'PATCH', '/users/explore', { displayName: 'Carol' })
  await ask(explore, 'POST', '/user/repos', { name: 'tools', auto_init: true })
  expect((await get('/explore/tools.git/info/refs?service=git-upload-pack')).status).toBe(200)
  expect((await get('/explore/tools')).text).toContain('<title>explore/tools · Branchline</title>')
  expect((await get('/explore')).text).toContain('<title>Explore · Branchline</title>')
})

it('--web off serves none of it', async () => {
  const plain = await startTestServer()
  for (const path of ['/', '/explore', await assetPath()]) {
    const response = await fetch(plain.url + path, { headers: { accept: BROWSER } })
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toContain('application/json')
  }
  await plain.stop()
})

it('a server without the bundled pages says how to start', async () => {
  await expect(startTestServer({ webFolder: `${WEB_FOLDER}-missing` })).rejects.toThrow(
    /npm run build.*--web off/,
  )
})

it('a private instance shows a stranger the first page and the sign-in only', async () => {
  const closed = await startForge({
    webFolder: WEB_FOLDER,
    settings: { privateInstance: true },
  })
  const { bob } = closed.users
  await closed.ask(bob, 'POST', '/user/repos', { name: 'open' })
  const status = async (path: string) =>
    (await fetch(closed.server.url + path, { headers: { accept: BROWSER } })).status
  expect(await status('/')).toBe(200)
  expect(await status('/user/login')).toBe(200)
  expect(await status('/bob')).toBe(404)
  expect(await status('/bob/open')).toBe(404)
  await closed.stop()
})

const assetPath = async () => /\/-\/assets\/[^"]+/.exec((await get('/explore')).text)?.[0] ?? ''
