import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

async function withFile(name: string, text: string, fields: object = {}) {
  const { path } = await forge.repository(users.bob, name, fields)
  const content = Buffer.from(text).toString('base64')
  await forge.ask(users.bob, 'POST', `${path}/contents/docs/CODEOWNERS`, { content })
  return `${path}/codeowners/errors`
}

describe('the errors of a CODEOWNERS file', () => {
  it('are the lines and names that have no effect', async () => {
    const text = '# owners\n\n.*\\\\.go @bob @nobody\n*.md @bob\nsrc/.*\nx/.* bob/team carol\n'
    const path = await withFile('listed', text, { private: true })
    const { errors } = await forge.ask(users.bob, 'GET', path)
    expect(
      errors.map(({ line, column, kind }: Record<string, unknown>) => [line, column, kind]),
    ).toEqual([
      [3, 14, 'UNKNOWN_OWNER'],
      [4, 1, 'INVALID_PATTERN'],
      [5, 1, 'MISSING_OWNERS'],
      [6, 6, 'UNKNOWN_OWNER'],
      [6, 15, 'UNKNOWN_OWNER'],
    ])
    expect(errors[0]).toMatchObject({
      path: 'docs/CODEOWNERS',
      source: '.*\\\\.go @bob @nobody',
      message: 'nobody does not exist, or may not review.',
    })
  })

  it('say that a file is too large, or has too many rules', async () => {
    const large = await withFile('large', `.* @bob ${'#'.repeat(65_536)}\n`)
    expect((await forge.ask(users.bob, 'GET', large)).errors).toMatchObject([
      { kind: 'FILE_TOO_LARGE' },
    ])
    const many = await withFile('many', '.* @bob\n'.repeat(202))
    expect((await forge.ask(users.bob, 'GET', many)).errors).toMatchObject([
      { kind: 'TOO_MANY_RULES', line: 201 },
    ])
  })

  it('are for users who may write, of branches that have a file', async () => {
    const path = await withFile('guarded', '.* @bob\n')
    expect((await forge.ask(users.bob, 'GET', path)).errors).toEqual([])
    expect((await forge.rest(users.eve, 'GET', path)).status).toBe(403)
    expect((await forge.rest(undefined, 'GET', path)).status).toBe(401)
    expect((await forge.rest(users.bob, 'GET', `${path}?ref=missing`)).status).toBe(404)
    const repository = path.replace('/codeowners/errors', '')
    const content = Buffer.from('.* @nobody\n').toString('base64')
    const { sha } = await forge.ask(users.bob, 'GET', `${repository}/contents/docs/CODEOWNERS`)
    const change = { content, sha, new_branch: 'worse' }
    await forge.ask(users.bob, 'PUT', `${repository}/contents/docs/CODEOWNERS`, change)
    const { commit } = await forge.ask(users.bob, 'GET', `${repository}/branches/worse`)
    for (const ref of ['worse', 'refs/heads/worse', commit.id])
      expect((await forge.ask(users.bob, 'GET', `${path}?ref=${ref}`)).errors).toHaveLength(1)
    expect((await forge.ask(users.bob, 'GET', path)).errors).toEqual([])
  })
})
