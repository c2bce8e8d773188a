import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../support/forge.ts'
import { startTestServer } from '../support/server.ts'

const { server, users } = await openForge()
beforeAll(async () => {
  for (const body of [{ name: 'open' }, { name: 'hidden', private: true }]) {
    const answer = await fetch(`${server.url}/api/v1/user/repos`, {
      method: 'POST',
      headers: { authorization: users.bob.authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(answer.status).toBe(201)
  }
})

const ask = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(server.url + path, init)
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    text: await answer.text(),
  }
}

describe('the Go toolchain', () => {
  it.each(['/bob/open', '/bob/open.git', '/bob/open/', '/bob/open/sub/package'])(
    'finds the repository of %s',
    async (path) => {
      const { status, type, text } = await ask(`${path}?go-get=1`)
      expect([status, type]).toEqual([200, 'text/html; charset=utf-8'])
      const host = new URL(server.url).host
      expect(text).toContain(
        `<meta name="go-import" content="${host}/bob/open git ${server.url}/bob/open.git">`,
      )
    },
  )

  it('gets the same response for a private repository as for a missing one', async () => {
    const answers = await Promise.all(
      ['hidden', 'missing'].flatMap((name) => [
        ask(`/bob/${name}?go-get=1`),
        ask(`/bob/${name}?go-get=1`, { headers: { authorization: users.bob.authorization } }),
        ask(`/bob/${name}/pkg?go-get=1`),
        ask(`/nobody/${name}?go-get=1`),
      ]),
    )
    const normalised = answers.map((answer) => ({
      ...answer,
      text: answer.text.replaceAll(/(bob|nobody)\/(hidden|missing)/g, 'X'),
    }))
    for (const answer of normalised) expect(answer).toEqual(normalised[0])
  })

  it.each([
    ['/bob/open', 404],
    ['/bob/open?go-get=0', 404],
    ['/bob?go-get=1', 404],
    ['/bob/%22%3E%3Cscript%3E?go-get=1', 404],
    ['/api/v1/users/bob?go-get=1', 200],
  ])('is not recognised in a request for %s', async (path, status) => {
    const answer = await ask(path)
    expect([answer.status, answer.type]).toEqual([status, 'application/json'])
    expect(answer.text).not.toContain('go-import')
  })
})

describe.skipIf(process.getuid?.() !== 0)('a server on the port of the scheme (needs root)', () => {
  it('has no port in its own address', async () => {
    const other = await startTestServer({ listen: { host: '127.0.0.42', port: 80 } })
    try {
      expect(other.app.publicUrl()).toBe('http://127.0.0.42')
      const page = await (await fetch('http://127.0.0.42/bob/open?go-get=1')).text()
      expect(page).toContain('content="127.0.0.42/bob/open git http://127.0.0.42/bob/open.git"')
    } finally {
      await other.stop()
    }
  })
})
