import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers } from '../../support/pull-forge.ts'
import { type ReviewedPull, reviewForge } from '../../support/review-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof reviewForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = reviewForge(server, users)
})
afterAll(() => server.stop())

const marksOf = async (who: Actor, { pull }: ReviewedPull): Promise<string[]> => {
  const files: { path: string; state: string }[] = await forge.ask(
    who,
    'GET',
    `${pull}/viewed_files`,
  )
  return files.map(({ path, state }) => `${path} ${state}`)
}

const mark = (who: Actor, { pull }: ReviewedPull, paths: readonly string[], more: object = {}) =>
  forge.rest(who, 'PUT', `${pull}/viewed_files`, { paths, ...more })

const unmark = (who: Actor, { pull }: ReviewedPull, paths: readonly string[]) =>
  forge.rest(who, 'DELETE', `${pull}/viewed_files`, { paths })

/** A pull request that adds `topic.txt` and `b.txt`, and deletes the README. */
async function pullOf(name: string): Promise<ReviewedPull> {
  const pull = await forge.pull(name)
  await forge.change(users.carol, pull.path, 'topic', 'main', 'b.txt')
  await change(pull, 'DELETE', 'README.md')
  const { head } = await forge.ask(users.carol, 'GET', pull.pull)
  return { ...pull, head: head.sha }
}

/** Changes or deletes a file of the head branch. */
async function change({ path }: ReviewedPull, verb: 'PUT' | 'DELETE', file: string, text = '') {
  const { sha } = await forge.ask(users.carol, 'GET', `${path}/contents/${file}?ref=topic`)
  const content = Buffer.from(text).toString('base64')
  await forge.ask(users.carol, verb, `${path}/contents/${file}`, { sha, content, branch: 'topic' })
}

describe('a file marked as viewed', () => {
  it('stays so until a push changes it, and for its viewer only', async () => {
    const pull = await pullOf('stays')
    expect((await mark(users.eve, pull, ['topic.txt', 'b.txt', 'README.md'])).status).toBe(204)
    expect(await marksOf(users.bob, pull)).toEqual([])
    await change(pull, 'PUT', 'b.txt', 'changed\n')
    expect(await marksOf(users.eve, pull)).toEqual([
      'README.md VIEWED',
      'b.txt CHANGED',
      'topic.txt VIEWED',
    ])
    await change(pull, 'PUT', 'b.txt', 'one\nof topic\n')
    expect(await marksOf(users.eve, pull)).toContain('b.txt VIEWED')
    await change(pull, 'DELETE', 'b.txt')
    expect(await marksOf(users.eve, pull)).toContain('b.txt CHANGED')
    expect((await unmark(users.eve, pull, ['b.txt', 'other.txt'])).status).toBe(204)
    expect(await marksOf(users.eve, pull)).toEqual(['README.md VIEWED', 'topic.txt VIEWED'])
  })

  it('is marked in the version that the viewer has seen', async () => {
    const pull = await pullOf('seen')
    await change(pull, 'PUT', 'topic.txt', 'changed\n')
    await mark(users.eve, pull, ['topic.txt', 'b.txt'], { commit_id: pull.head })
    expect(await marksOf(users.eve, pull)).toEqual(['b.txt VIEWED', 'topic.txt CHANGED'])
    await mark(users.eve, pull, ['topic.txt'])
    expect(await marksOf(users.eve, pull)).toEqual(['b.txt VIEWED', 'topic.txt VIEWED'])
  })

  it('has to exist, and the commit has to belong to the pull request', async () => {
    const pull = await pullOf('exists')
    const refused = async (paths: readonly string[], more: object = {}) =>
      (await mark(users.eve, pull, paths, more)).status
    expect(await refused(['nothing.txt'])).toBe(404)
    expect(await refused(['../x'])).toBe(404)
    expect(await refused([])).toBe(422)
    expect(await refused(['b.txt'], { commit_id: 'f'.repeat(40) })).toBe(422)
    expect(await marksOf(users.eve, pull)).toEqual([])
  })
})
