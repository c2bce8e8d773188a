import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WEB_FOLDER } from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'

/** What a browser sends with a navigation. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

describe('the addresses of text below the page of a repository', () => {
  let forge: Forge
  let sha: string

  beforeAll(async () => {
    forge = await startForge({ webFolder: WEB_FOLDER })
    const { ask, users } = forge
    for (const [name, isPrivate] of [
      ['secret', true],
      ['tools', false],
    ] as const) {
      await ask(users.bob, 'POST', '/user/repos', { name, private: isPrivate, auto_init: true })
      const write = (path: string, text: string, branch: string, from: string) =>
        ask(users.bob, 'POST', `/repos/bob/${name}/contents/${encodeURIComponent(path)}`, {
          content: Buffer.from(text).toString('base64'),
          message: 'Add a file',
          branch: from,
          ...(branch !== from && { new_branch: branch }),
        })
      await write('a.txt', 'of main\n', 'main', 'main')
      const { commit } = await write('docs/b.txt', 'of topic\n', 'feature/topic', 'main')
      sha = commit.sha
      // A branch and a tag of one name.
      await write('c.txt', 'of the branch\n', 'v1', 'main')
      await write('c.txt', 'of the tag\n', 'other', 'main')
      const tag = { tag_name: 'v1', target: 'other' }
      await ask(users.bob, 'POST', `/repos/bob/${name}/tags`, tag)
      const request = { title: 'Topic', head: 'feature/topic', base: 'main' }
      await ask(users.bob, 'POST', `/repos/bob/${name}/pulls`, request)
    }
  })
  afterAll(() => forge?.stop())

  const get = async (path: string, authorization?: string) => {
    const headers = { accept: BROWSER, ...(authorization !== undefined && { authorization }) }
    const answer = await fetch(forge.server.url + path, { headers })
    return { answer, text: await answer.text() }
  }

  it.each([
    ['/raw/branch/main/a.txt', 'of main\n'],
    ['/raw/branch/feature/topic/docs/b.txt', 'of topic\n'],
    ['/raw/branch/feature%2Ftopic/docs/b.txt', 'of topic\n'],
    ['/raw/branch/v1/c.txt', 'of the branch\n'],
    ['/raw/tag/v1/c.txt', 'of the tag\n'],
  ])('give files to browsers and programs: %s', async (path, content) => {
    const { answer, text } = await get(`/bob/tools${path}`)
    expect([answer.status, text]).toEqual([200, content])
    expect(answer.headers.get('content-type')).toContain('text/plain')
    expect(answer.headers.get('content-security-policy')).toContain('sandbox')
    const owner = forge.users.bob.authorization
    expect((await get(`/bob/secret${path}`, owner)).text).toBe(content)
    expect((await get(`/bob/secret${path}`)).answer.status).toBe(404)
    expect((await get(`/bob/secret${path}`, forge.users.carol.authorization)).answer.status).toBe(
      404,
    )
  })

  it.each([
    // Of the default branch, or of another kind.
    '/raw/branch/a.txt',
    '/raw/branch/nothing/a.txt',
    '/raw/tag/main/a.txt',
    '/raw/branch/main/nothing.txt',
    '/pulls/99.diff',
    '/commit/0000000000000000000000000000000000000000.patch',
  ])('are 404 without the page of the repository: %s', async (path) => {
    const { answer, text } = await get(`/bob/tools${path}`)
    expect(answer.status).toBe(404)
    expect(text).not.toContain('<html')
  })

  it('give the changes of pull requests and commits, as `diff_url` says', async () => {
    const pull = await forge.ask(undefined, 'GET', '/repos/bob/tools/pulls/1')
    for (const url of [pull.diff_url, pull.patch_url]) {
      const { answer, text } = await get(new URL(url).pathname)
      expect([answer.status, url]).toEqual([200, url])
      expect(answer.headers.get('content-type')).toContain('text/plain')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(text).toContain('+of topic')
    }
    for (const format of ['diff', 'patch'])
      expect((await get(`/bob/tools/commit/${sha}.${format}`)).text).toContain('+of topic')
    expect((await get('/bob/secret/pulls/1.diff')).answer.status).toBe(404)
  })

  it('are pages without the ending', async () => {
    for (const path of ['/pulls/1', '/pulls/1/files', `/commit/${sha}`, '/compare/main...v1.diff'])
      expect((await get(`/bob/tools${path}`)).text).toContain('<html')
  })
})
