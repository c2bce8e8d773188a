import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { PASSWORD } from '../../support/server.ts'

const { server, users, rest, ask } = await openForge()
let clone: GitClient

/** A subject that looks like the output of Git, of which a commit has no such line. */
const HOSTILE = `x\r${'a'.repeat(40)} 1 1 3`

const BOB = 'Bob <bob@example.org>'
const CAROL = 'Carol <carol@example.org>'

/** More lines than the server compares. */
const MANY_LINES = 'x\n'.repeat(10_001)

beforeAll(async () => {
  await ask(users.bob, 'POST', '/user/repos', { name: 'tower' })
  clone = await openGitClient()
  await clone.git('.', 'init', '-q', '-b', 'main', 'tower')
  importHistory(`${clone.home}/tower`, [
    { author: BOB, message: 'Begin', files: { 'plan.txt': 'one\ntwo\nthree\n', empty: '' } },
    { author: CAROL, message: HOSTILE, files: { 'plan.txt': 'one\n2\nthree\nfour\n' } },
    {
      author: BOB,
      message: 'Rename and extend',
      files: {
        'plan.txt': null,
        'docs/plan #1.txt': 'zero\none\n2\nthree\nfour\n',
        'many.txt': MANY_LINES,
        'large.bin': Buffer.alloc(1024 * 1024 + 1),
        link: { mode: '120000', content: 'empty' },
      },
    },
  ])
  const remote = remoteOf(server.url, 'bob/tower', 'bob', PASSWORD)
  await clone.git('tower', 'push', '-q', remote, 'main')
})
afterAll(() => clone.remove())

const get = (path: string, who = users.bob) => rest(who, 'GET', `/repos/bob/tower/blame/${path}`)

describe('the blame of a file', () => {
  it('names the commit of each line, as Git does, also across a rename', async () => {
    const { status, body } = await get('docs/plan%20%231.txt')
    expect(status).toBe(200)
    const blame = await clone.git(
      'tower',
      'blame',
      '-l',
      '-s',
      '--root',
      'main',
      '--',
      'docs/plan #1.txt',
    )
    const shown = body.ranges.flatMap((range: { sha: string; line_count: number }) =>
      Array(range.line_count).fill(range.sha),
    )
    expect(shown).toEqual(blame.split('\n').map((line) => line.slice(0, 40)))
    expect(body.ranges.map((range: { start_line: number }) => range.start_line)).toEqual([
      1, 2, 3, 4, 5,
    ])
    const [first, begin, second] = body.commits
    expect([first.subject, begin.subject, second.subject]).toEqual([
      'Rename and extend',
      'Begin',
      HOSTILE,
    ])
    expect(begin).toMatchObject({
      author: { name: 'Bob', email: 'bob@example.org' },
      html_url: `${server.url}/bob/tower/commit/${begin.sha}`,
    })
  })

  it('is that of another revision on request', async () => {
    const { body } = await get('plan.txt?ref=main~1')
    expect(body.ranges.map((range: { start_line: number }) => range.start_line)).toEqual([
      1, 2, 3, 4,
    ])
    expect((await get('plan.txt')).status).toBe(404)
  })

  it('is empty for an empty file', async () => {
    expect((await get('empty')).body).toMatchObject({ ranges: [], commits: [] })
  })

  it('says whether it passed over commits', async () => {
    const folder = `${clone.home}/tower`
    const indented = { 'f.c': '  return 0;\n' }
    importHistory(folder, [
      { on: 'refs/heads/form', message: 'Return', files: { 'f.c': 'return 0;\n' } },
      { on: 'refs/heads/form', message: 'Format', files: indented },
    ])
    const format = await clone.git('tower', 'rev-parse', 'form')
    const listing = (branch: string, list: string) => ({
      on: `refs/heads/${branch}`,
      message: 'Ignore',
      files: { '.git-blame-ignore-revs': list },
      parents: [format],
    })
    importHistory(folder, [listing('good', `# Spaces\n${format}\n`), listing('bad', 'HEAD\n')])
    const remote = remoteOf(server.url, 'bob/tower', 'bob', PASSWORD)
    await clone.git('tower', 'push', '-q', remote, 'form', 'good', 'bad')
    const blameOf = async (ref: string) => {
      const { body } = await get(`f.c?ref=${ref}`)
      const { commits, uses_ignore_revs: uses, faulty_ignore_revs: isFaulty } = body
      return [commits[0].subject, uses, isFaulty]
    }
    expect(await blameOf('form')).toEqual(['Format', false, false])
    expect(await blameOf('bad')).toEqual(['Format', false, true])
    expect(await blameOf('good')).toEqual(['Return', true, false])
    expect(await blameOf('good&bypass_ignore_revs=true')).toEqual(['Format', false, false])
  })

  it.each([
    ['nothing', 404, 'not found'],
    ['docs', 404, 'not found'],
    ['link', 404, 'not found'],
    ['--contents=..%2fx', 404, 'not found'],
    ['%EF%BF%BD', 404, 'not found'],
    ['empty?ref=nothing', 404, 'not found'],
    ['empty?ref=--all', 404, 'not found'],
    ['many.txt', 422, 'more than 10000 lines'],
    ['large.bin', 422, 'more than 10000 lines'],
  ])('is refused for %s', async (path, status, message) => {
    const refused = await get(path)
    expect([refused.status, refused.body.message]).toEqual([
      status,
      expect.stringContaining(message),
    ])
  })

  it('of a private repository is hidden from others', async () => {
    await ask(users.bob, 'PATCH', '/repos/bob/tower', { private: true })
    expect((await get('empty', users.carol)).status).toBe(404)
    expect((await get('empty')).status).toBe(200)
  })
})
