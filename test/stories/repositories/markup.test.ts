import { describe, expect, it } from 'vitest'
import { MarkupService } from '#gen/branchline/v1/markup_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'

const forge = await openForge()
const { bob } = forge.users

async function post(
  path: string,
  body: string,
  type = 'application/json',
  who = bob.authorization,
) {
  const response = await fetch(`${forge.server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: who, 'content-type': type },
    body,
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const render = async (Text: string, options = {}) =>
  (await post('/markdown', JSON.stringify({ Text, ...options }))).text

describe('Markdown', () => {
  it('is rendered with tables, tasks, strikethrough and bare links', async () => {
    expect(await render('# Hi *there*')).toBe('<h1>Hi <em>there</em></h1>\n')
    expect(await render('|a|\n|-|\n|b|')).toContain('<td>b</td>')
    expect(await render('- [x] done\n- [ ] open')).toContain(
      '<li><input type="checkbox" checked disabled /> done</li>',
    )
    expect(await render('~~old~~')).toContain('<s>old</s>')
    expect(await render('see https://example.org/a')).toContain('href="https://example.org/a"')
    expect(await render('```go\nx\n```')).toContain('<code class="language-go">')
  })

  it('keeps line breaks where comments do', async () => {
    expect(await render('a\nb')).toBe('<p>a\nb</p>\n')
    expect(await render('a\nb', { Mode: 'gfm' })).toBe('<p>a<br />\nb</p>\n')
  })

  it('resolves relative links from the context', async () => {
    const html = await render('[a](b.md) ![c](/d.png) [e](#f)', { Context: '/bob/garden/src' })
    const { url } = forge.server
    expect(html).toContain(`href="${url}/bob/garden/src/b.md"`)
    expect(html).toContain(`src="${url}/d.png"`)
    expect(html).toContain('href="#f"')
  })

  it('may be the whole body, or a file with its path', async () => {
    const raw = await post('/markdown/raw', '**a**', 'text/plain')
    expect(raw).toMatchObject({ status: 200, text: '<p><strong>a</strong></p>\n' })
    expect(raw.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(raw.headers.get('content-security-policy')).toContain('sandbox')
    const file = { Text: '*a*', Mode: 'file', FilePath: 'docs/README.md' }
    expect((await post('/markup', JSON.stringify(file))).text).toBe('<p><em>a</em></p>\n')
    const other = await post('/markup', JSON.stringify({ ...file, FilePath: 'a.rst' }))
    expect(other.status).toBe(422)
  })

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[a](javascript:alert(1))',
    '<a href="JaVaScRiPt:alert(1)">a</a>',
    '<a href="java\nscript:alert(1)">a</a>',
    '[a](data:text/html;base64,PHNjcmlwdD4=)',
    '<svg><script>alert(1)</script></svg>',
    '<math><mtext></table><img src onerror=alert(1)></mtext></math>',
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    '<p style="position:fixed" id="app" class="x" name="y">a</p>',
    '<form action="https://evil.example"><button formaction=javascript:alert(1)>',
    '<details ontoggle=alert(1) open>',
    '<![CDATA[<script>alert(1)</script>]]>',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<input type="text" autofocus onfocus=alert(1)>',
    '<base href="https://evil.example/"><meta http-equiv=refresh content=0>',
  ])('%s comes out without a script', async (text) => {
    const html = await render(text)
    expect(html).not.toMatch(/<(script|svg|math|iframe|form|button|base|meta|style|noscript)/i)
    expect(html).not.toMatch(/<[^>]* (on\w+|style|id|class|name|srcdoc|formaction)=/i)
    expect(html).not.toMatch(/(href|src)="\s*(javascript|data|vbscript)/i)
    expect(html).not.toContain('type="text"')
  })
})

describe('an expensive text', () => {
  const size = 512 * 1024
  const fill = (part: string) => part.repeat(Math.floor(size / part.length))

  it.each(['[', '![', '*a_', '*a**b', '`a', '> ', '<a ', '<div>', '[a](', '_a ', '|a|\n', '\\'])(
    'of many %j is answered',
    async (part) => {
      const { status } = await post('/markdown', JSON.stringify({ Text: fill(part) }))
      expect([200, 422]).toContain(status)
    },
  )

  it('that would become gigabytes is refused while others are served', async () => {
    const bomb = `[r]: https://example.org/${'a'.repeat(size / 2)}\n\n${'[r]'.repeat(size / 8)}`
    const finished: string[] = []
    const note = (name: string) => () => void finished.push(name)
    const refused = post('/markdown', JSON.stringify({ Text: bomb }))
    await Promise.all([
      refused.then(note('bomb')),
      forge.rest(undefined, 'GET', '/version').then(note('version')),
    ])
    expect(finished).toEqual(['version', 'bomb'])
    expect((await refused).status).toBe(422)
    expect(await render('still *here*')).toBe('<p>still <em>here</em></p>\n')
  })

  it('waits for its turn among the accounts, however many one account sends', async () => {
    const text = JSON.stringify({ Text: '*a_ '.repeat(size / 64) })
    const finished: string[] = []
    const send = async (name: string, who: string) => {
      const { status } = await post('/markdown', text, 'application/json', who)
      finished.push(`${name} ${status}`)
      if (status === 503) isFull()
    }
    let isFull = () => {}
    const full = new Promise<void>((resolve) => {
      isFull = resolve
    })
    const flood = Array.from({ length: 60 }, () => send('bob', bob.authorization))
    // From then on, no place to wait is left for the account.
    await full
    await send('carol', forge.users.carol.authorization)
    const before = finished.filter((name) => name === 'bob 200').length
    expect(finished.at(-1)).toBe('carol 200')
    await Promise.all(flood)
    expect(finished.filter((name) => name === 'bob 200').length - before).toBeGreaterThan(5)
  })

  it('above the limit is refused, and an unknown mode too', async () => {
    const long = await post('/markdown', JSON.stringify({ Text: `${fill('a')}a` }))
    expect(long.status).toBe(422)
    const client = forge.grpc(MarkupService, bob)
    expect(await refusalOf(client.renderMarkdown({ text: 'a', mode: 'x' }))).toMatchObject({
      reason: 'INVALID_FIELD',
      metadata: { field: 'mode' },
    })
  })

  it('is not taken from strangers', async () => {
    expect((await forge.rest(undefined, 'POST', '/markdown', { Text: 'a' })).status).toBe(401)
  })
})
