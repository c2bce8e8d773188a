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

const suggested = (...lines: string[]) =>
  ['Better so:', '', '```suggestion', ...lines, '```'].join('\n')

/** Writes a file of the head branch. */
async function write({ path }: ReviewedPull, file: string, text: string) {
  const { status, body } = await forge.rest(
    users.carol,
    'GET',
    `${path}/contents/${file}?ref=topic`,
  )
  await forge.ask(users.carol, 'PUT', `${path}/contents/${file}`, {
    content: Buffer.from(text).toString('base64'),
    branch: 'topic',
    ...(status === 200 && { sha: body.sha }),
  })
}

/** A pull request of carol's with files of some texts. */
async function pullOf(name: string, files: Readonly<Record<string, string>>) {
  const pull = await forge.pull(name)
  for (const [file, text] of Object.entries(files)) await write(pull, file, text)
  return pull
}

interface Comment {
  readonly path: string
  readonly body: string
  readonly new_position?: number
  readonly old_position?: number
}

/** Says something about lines in a review of its own; returns the comments. */
async function say(who: Actor, pull: ReviewedPull, ...comments: Comment[]) {
  const { id } = await forge.review(who, pull, 'COMMENT', '', { comments })
  return forge.ask(who, 'GET', `${pull.reviews}/${id}/comments`)
}

const apply = (
  who: Actor,
  { pull }: ReviewedPull,
  comments: readonly number[],
  more: object = {},
) => forge.rest(who, 'POST', `${pull}/suggestions`, { comments, ...more })

const textOf = async ({ path }: ReviewedPull, file: string) => {
  const { content } = await forge.ask(users.bob, 'GET', `${path}/contents/${file}?ref=topic`)
  return Buffer.from(content, 'base64').toString()
}

describe('a suggestion', () => {
  it('replaces its line by a commit that names its author, and is resolved', async () => {
    const pull = await pullOf('one', { 'a.txt': 'one\ntwo\nthree\n' })
    const [comment] = await say(users.eve, pull, {
      path: 'a.txt',
      new_position: 2,
      body: suggested('zwei', 'deux'),
    })
    expect(comment.suggestion).toEqual({ from_line: 2, to_line: 2, lines: ['zwei', 'deux'] })
    const { status, body } = await apply(users.carol, pull, [comment.id])
    expect(status).toBe(201)
    expect(await textOf(pull, 'a.txt')).toBe('one\nzwei\ndeux\nthree\n')
    const { commit } = await forge.ask(
      users.bob,
      'GET',
      `${pull.path}/git/commits/${body.commit_id}`,
    )
    expect(commit.author.name).toBe('carol')
    expect(commit.message).toMatch(
      /^Apply suggestion to a\.txt\n\nCo-authored-by: eve <\d+\+eve@noreply\.[^>]+>\n$/,
    )
    expect((await forge.ask(users.bob, 'GET', pull.pull)).head.sha).toBe(body.commit_id)
    const [after] = await forge.ask(
      users.eve,
      'GET',
      `${pull.reviews}/${comment.pull_request_review_id}/comments`,
    )
    expect(after.resolver.login).toBe('carol')
    expect((await apply(users.carol, pull, [comment.id])).body.message).toBe(
      `the lines of comment ${comment.id} have changed`,
    )
  })

  it('is applied together with others, of several files, and follows its line', async () => {
    const pull = await pullOf('several', { 'a.txt': 'one\ntwo\nthree\n', 'b.txt': 'x' })
    const [first, second] = await say(
      users.eve,
      pull,
      { path: 'a.txt', new_position: 3, body: suggested('3') },
      { path: 'b.txt', new_position: 1, body: suggested('y', 'z') },
    )
    const [own] = await say(users.carol, pull, {
      path: 'a.txt',
      new_position: 1,
      body: suggested(),
    })
    await write(pull, 'a.txt', 'zero\none\ntwo\nthree\n')
    const message = 'Take the advice\n\nReviewed-by: eve <eve@example.org>'
    const ids = [first.id, second.id, own.id, own.id]
    const { status, body } = await apply(users.carol, pull, ids, { message })
    expect(status).toBe(201)
    expect(await textOf(pull, 'a.txt')).toBe('zero\ntwo\n3\n')
    expect(await textOf(pull, 'b.txt')).toBe('y\nz')
    const { commit } = await forge.ask(
      users.bob,
      'GET',
      `${pull.path}/git/commits/${body.commit_id}`,
    )
    expect(commit.message).toMatch(
      /^Take the advice\n\nReviewed-by: eve <eve@example\.org>\nCo-authored-by: eve <[^>]+>\n$/,
    )
  })

  it('of several lines keeps their ends, and is outdated once one of them changes', async () => {
    const pull = await pullOf('range', { 'a.txt': 'one\r\ntwo\r\nthree\r\nfour\r\n' })
    const body = '~~~~ suggestion:-1+1\nboth\n```\n~~~~'
    const place = { path: 'a.txt', new_position: 3, body }
    const [first, second] = await say(users.eve, pull, place, place)
    expect(first.suggestion).toEqual({ from_line: 2, to_line: 4, lines: ['both', '```'] })
    expect((await apply(users.carol, pull, [first.id, second.id])).body.message).toBe(
      `comment ${second.id} replaces a line that another one replaces, too`,
    )
    await write(pull, 'a.txt', 'zero\r\none\r\ntwo\r\nthree\r\nfour\r\n')
    expect((await apply(users.carol, pull, [first.id])).status).toBe(201)
    expect(await textOf(pull, 'a.txt')).toBe('zero\r\none\r\nboth\r\n```\r\n')

    await write(pull, 'b.txt', 'one\ntwo\nthree\nfour\n')
    const [other] = await say(users.eve, pull, { ...place, path: 'b.txt' })
    await write(pull, 'b.txt', 'one\ntwo\nthree\nFOUR\n')
    expect((await apply(users.carol, pull, [other.id])).status).toBe(409)
    expect(await textOf(pull, 'b.txt')).toBe('one\ntwo\nthree\nFOUR\n')
  })

  it.each<[title: string, comment: Comment]>([
    ['without a block', { path: 'a.txt', new_position: 1, body: 'Hm.' }],
    ['whose block has no end', { path: 'a.txt', new_position: 1, body: '```suggestion\nx' }],
    [
      'whose block is inside another one',
      { path: 'a.txt', new_position: 1, body: '````\n```suggestion\nx\n```\n````' },
    ],
    ['about the whole file', { path: 'a.txt', body: suggested('x') }],
    ['about a line of the base', { path: 'README.md', old_position: 1, body: suggested('x') }],
  ])('is no comment %s', async (_, comment) => {
    plain ??= pullOf('plain', { 'a.txt': 'one\n' })
    const pull = await plain
    const [said] = await say(users.eve, pull, comment)
    expect(said).not.toHaveProperty('suggestion')
    const { status, body } = await apply(users.carol, pull, [said.id])
    expect({ status, message: body.message }).toEqual({
      status: 422,
      message: `comment ${said.id} has no suggestion that can be applied`,
    })
  })
  let plain: Promise<ReviewedPull> | undefined
})

describe('who applies suggestions', () => {
  it('may push to the head branch of an open pull request', async () => {
    const pull = await pullOf('rights', { 'a.txt': 'one\n' })
    const [{ id }] = await say(users.eve, pull, {
      path: 'a.txt',
      new_position: 1,
      body: suggested('1'),
    })
    expect((await apply(users.eve, pull, [id])).status).toBe(403)
    expect((await apply(users.carol, pull, [])).status).toBe(422)
    expect((await apply(users.carol, pull, [999_999])).status).toBe(404)
    expect((await apply(users.carol, pull, [id], { head_commit_id: pull.head })).status).toBe(409)
    await forge.ask(users.carol, 'PATCH', pull.pull, { state: 'closed' })
    expect((await apply(users.carol, pull, [id])).status).toBe(422)
  })

  it('may be a maintainer of the base of a fork who may edit its head', async () => {
    const { path, pulls } = await forge.repository(users.bob, 'maintained')
    const fork = await forge.fork(users.eve, path)
    await forge.change(users.eve, fork.path, 'theirs')
    const { number } = await forge.ask(users.eve, 'POST', pulls, {
      head: 'eve:theirs',
      base: 'main',
      title: 'Mend it',
      allow_maintainer_edit: true,
    })
    const comments = [{ path: 'theirs.txt', new_position: 1, body: suggested('eins') }]
    const review = await forge.ask(users.bob, 'POST', `${pulls}/${number}/reviews`, {
      event: 'COMMENT',
      comments,
    })
    const reviews = `${pulls}/${number}/reviews/${review.id}/comments`
    const [{ id }] = await forge.ask(users.bob, 'GET', reviews)
    await forge.ask(users.bob, 'POST', `${pulls}/${number}/suggestions`, { comments: [id] })
    const file = `${fork.path}/contents/theirs.txt?ref=theirs`
    const { content } = await forge.ask(users.eve, 'GET', file)
    expect(Buffer.from(content, 'base64').toString()).toBe('eins\nof theirs\n')
  })
})
