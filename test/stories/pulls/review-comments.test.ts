import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tokenOf } from '../../support/callers.ts'
import { createPullTestUsers, type PullTestUsers, refusalOf } from '../../support/pull-forge.ts'
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

const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join('')

/** Writes a file of a branch. */
async function write(who: Actor, path: string, branch: string, file: string, text: string) {
  const { status, body } = await forge.rest(who, 'GET', `${path}/contents/${file}?ref=${branch}`)
  const content = Buffer.from(text).toString('base64')
  const known = status === 200 ? { sha: body.sha } : {}
  await forge.ask(who, 'PUT', `${path}/contents/${file}`, { content, branch, ...known })
}

/**
 * A pull request that changes line 10 of a file of 30, removes another file and adds `topic.txt`.
 */
async function pullOfLines(name: string): Promise<ReviewedPull> {
  const pull = await forge.pull(name)
  const { path } = pull
  await write(users.bob, path, 'main', 'long.txt', linesOf(1, 30))
  await write(users.bob, path, 'main', 'old.txt', 'a\nb\n')
  await forge.ask(users.carol, 'POST', `${pull.pull}/update?style=rebase`)
  await write(users.carol, path, 'topic', 'long.txt', `${linesOf(1, 9)}changed\n${linesOf(11, 30)}`)
  const { sha } = await forge.ask(users.carol, 'GET', `${path}/contents/old.txt?ref=topic`)
  await forge.ask(users.carol, 'DELETE', `${path}/contents/old.txt`, { branch: 'topic', sha })
  const { head } = await forge.ask(users.carol, 'GET', pull.pull)
  return { ...pull, head: head.sha }
}

interface Line {
  readonly path: string
  readonly new_position?: number
  readonly old_position?: number
}

const say = async (who: Actor, pull: ReviewedPull, ...lines: Line[]) => {
  const comments = lines.map((line, i) => ({ ...line, body: `Comment ${i}.` }))
  const { id } = await forge.review(who, pull, 'COMMENT', '', { comments })
  return { id, listed: await forge.ask(who, 'GET', `${pull.reviews}/${id}/comments`) }
}

describe('a comment on a line', () => {
  it('is shown under the end of the hunk before its line', async () => {
    const pull = await pullOfLines('hunks')
    const { id, listed } = await say(
      users.eve,
      pull,
      { path: 'long.txt', new_position: 10 },
      { path: 'long.txt', old_position: 10 },
    )
    expect(listed[0]).toEqual({
      id: expect.any(Number),
      body: 'Comment 0.',
      user: expect.objectContaining({ login: 'eve' }),
      resolver: null,
      pull_request_review_id: id,
      created_at: expect.stringMatching(/^20\d\d-/),
      updated_at: expect.stringMatching(/^20\d\d-/),
      path: 'long.txt',
      commit_id: pull.head,
      original_commit_id: pull.head,
      diff_hunk: expect.stringMatching(/^@@ .*\+changed$/s),
      position: 10,
      original_position: 0,
      html_url: `${server.url}/bob/hunks/pulls/1/files#review-comment-${listed[0].id}`,
      pull_request_url: `${server.url}/bob/hunks/pulls/1`,
    })
    expect(listed[1]).toMatchObject({
      position: 0,
      original_position: 10,
      diff_hunk: expect.stringMatching(/-line 10$/),
    })
    expect((await forge.ask(users.bob, 'GET', pull.pull)).review_comments).toBe(2)
  })

  it.each<[title: string, line: Line, hunk: RegExp | '']>([
    ['on a line far from what has changed', { path: 'long.txt', new_position: 30 }, ''],
    ['on a file that has not changed', { path: 'README.md', new_position: 1 }, ''],
    ['on a file as a whole', { path: 'long.txt' }, ''],
    ['on a line of a file that is deleted', { path: 'old.txt', old_position: 2 }, /-b$/],
    ['on a file that is deleted, as a whole', { path: 'old.txt' }, ''],
    [
      'on a new file, by a path with a slash in front',
      { path: '/topic.txt', new_position: 2 },
      /\+of topic$/,
    ],
    // Of two lines the one of the base is meant, as in compatible systems.
    [
      'on a line of both sides',
      { path: 'long.txt', old_position: 10, new_position: 1 },
      /-line 10$/,
    ],
  ])('may be %s', async (_, line, hunk) => {
    places ??= pullOfLines('places')
    const { listed } = await say(users.eve, await places, line)
    expect(listed).toMatchObject([{ diff_hunk: hunk === '' ? '' : expect.stringMatching(hunk) }])
  })
  let places: Promise<ReviewedPull> | undefined

  it.each<[title: string, comment: object, text: string]>([
    [
      'a line behind the last one',
      { path: 'long.txt', new_position: 31 },
      'the new side of long.txt has no line 31',
    ],
    [
      'a file that there is not',
      { path: 'none.txt', new_position: 1 },
      'the new side of none.txt has no line 1',
    ],
    [
      'a file that there is not, as a whole',
      { path: 'none.txt' },
      'the new side of none.txt has no line 0',
    ],
    ['a directory', { path: '.' }, 'the new side of . has no line 0'],
    ['nothing', { path: '' }, 'the new side of  has no line 0'],
    [
      'a way out',
      { path: '../long.txt', new_position: 1 },
      'the new side of ../long.txt has no line 1',
    ],
    [
      'the base of a new file',
      { path: 'topic.txt', old_position: 1 },
      'the old side of topic.txt has no line 1',
    ],
    [
      'a negative line',
      { path: 'long.txt', new_position: -1 },
      'the new side of long.txt has no line -1',
    ],
    ['a line, and nothing', { path: 'long.txt', new_position: 1, body: ' ' }, '[Body]: Required'],
    [
      'a line, and too much',
      { path: 'long.txt', new_position: 1, body: 'x'.repeat(65_537) },
      'body is longer than 65536 characters',
    ],
  ])('is refused about %s, with its whole review', async (_, comment, text) => {
    places ??= pullOfLines('places')
    const pull = await places
    const before = await forge.seen(users.eve, pull)
    const comments = [
      { path: 'long.txt', new_position: 1, body: 'Fine.' },
      { body: 'x', ...comment },
    ]
    const { status, body } = await forge.rest(users.eve, 'POST', pull.reviews, {
      event: 'COMMENT',
      comments,
    })
    expect([status, body.message]).toEqual([422, expect.stringContaining(text)])
    expect(await forge.seen(users.eve, pull)).toEqual(before)
  })

  it('is one of a limited number in a review', async () => {
    places ??= pullOfLines('places')
    const comments = Array.from({ length: 101 }, () => ({
      path: 'long.txt',
      new_position: 1,
      body: 'x',
    }))
    const answer = await forge.rest(users.eve, 'POST', (await places).reviews, {
      event: 'COMMENT',
      comments,
    })
    expect([answer.status, answer.body.message]).toEqual([
      422,
      'a review can have at most 100 comments',
    ])
  })

  it('follows its line until the line changes', async () => {
    const pull = await pullOfLines('moving')
    const lines = [10, 20, 30].map((new_position) => ({ path: 'long.txt', new_position }))
    const { id } = await say(
      users.eve,
      pull,
      ...lines,
      { path: 'long.txt', old_position: 10 },
      { path: 'topic.txt', new_position: 1 },
    )
    const text = `${linesOf(1, 4)}more\nand more\n${linesOf(5, 9)}changed\n${linesOf(11, 19)}other\n${linesOf(21, 28)}${linesOf(30, 30)}`
    await write(users.carol, pull.path, 'topic', 'long.txt', text)
    const { head } = await forge.ask(users.carol, 'GET', pull.pull)
    const listed = await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments`)
    const placed = listed.map(
      ({ position, original_position, commit_id }: Record<string, unknown>) => [
        position,
        original_position,
        commit_id === head.sha,
      ],
    )
    expect(placed).toEqual([
      [12, 0, true],
      [20, 0, false],
      [31, 0, true],
      [0, 10, false],
      [1, 0, true],
    ])
    for (const comment of listed) {
      expect(comment.original_commit_id).toBe(pull.head)
      const one = await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments/${comment.id}`)
      expect(one).toEqual(comment)
    }
  })
})

describe('a comment on a line of a renamed file', () => {
  it('follows the file and its line, through several renames', async () => {
    const pull = await pullOfLines('renamed')
    const said = [10, 30].map((new_position) => ({ path: 'long.txt', new_position }))
    const { id } = await say(users.eve, pull, ...said, { path: 'long.txt', old_position: 10 })
    const place = async () => {
      const listed = await forge.ask(users.bob, 'GET', `${pull.reviews}/${id}/comments`)
      return listed.map(({ path, position }: Record<string, unknown>) => [path, position])
    }
    const rename = async (from: string, to: string, text: string) => {
      const { sha } = await forge.ask(users.carol, 'GET', `${pull.path}/contents/${from}?ref=topic`)
      const content = Buffer.from(text).toString('base64')
      await forge.ask(users.carol, 'PUT', `${pull.path}/contents/${to}`, {
        content,
        branch: 'topic',
        sha,
        from_path: from,
      })
    }
    const text = `${linesOf(1, 9)}changed\n${linesOf(11, 30)}`
    await rename('long.txt', 'far/away.txt', `more\n${text}`)
    expect(await place()).toEqual([
      ['far/away.txt', 11],
      ['far/away.txt', 31],
      ['long.txt', 0],
    ])
    await rename('far/away.txt', 'near.txt', text)
    expect(await place()).toEqual([
      ['near.txt', 10],
      ['near.txt', 30],
      ['long.txt', 0],
    ])
    const { sha } = await forge.ask(users.carol, 'GET', `${pull.path}/contents/near.txt?ref=topic`)
    await forge.ask(users.carol, 'DELETE', `${pull.path}/contents/near.txt`, {
      branch: 'topic',
      sha,
    })
    expect((await place())[0]).toEqual(['near.txt', 10])
  })
})

describe('a conversation about a line', () => {
  it('has replies by every reader, and is resolved by its author, the poster or a writer', async () => {
    const pull = await pullOfLines('talk')
    const { id, listed } = await say(users.eve, pull, { path: 'long.txt', new_position: 10 })
    const [{ id: comment }] = listed
    const replies = `${pull.pull}/comments/${comment}/replies`
    const reply = await forge.rest(users.ada, 'POST', replies, { body: 'Indeed.' })
    expect(reply.status).toBe(201)
    const { path, position, original_position, commit_id, diff_hunk } = listed[0]
    const place = {
      path,
      position,
      original_position,
      commit_id,
      diff_hunk,
      pull_request_review_id: id,
    }
    expect(reply.body).toMatchObject({ ...place, user: { login: 'ada' }, body: 'Indeed.' })
    expect((await forge.rest(undefined, 'POST', replies, { body: 'x' })).status).toBe(401)
    expect((await forge.rest(users.ada, 'POST', replies, {})).status).toBe(422)
    expect(
      (await forge.rest(users.ada, 'POST', `${pull.pull}/comments/999999/replies`, { body: 'x' }))
        .status,
    ).toBe(404)

    const resolver = async () =>
      (await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments/${comment}`)).resolver
        ?.login
    const mark = (who: Actor, what: string, which = comment) =>
      forge.rest(who, 'POST', `${pull.path}/pulls/comments/${which}/${what}`)
    const [, ofAda] = await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}/comments`)
    expect((await mark(users.eve, 'resolve', ofAda.id)).status).toBe(403)
    expect([(await mark(users.carol, 'resolve')).status, await resolver()]).toEqual([204, 'carol'])
    expect([(await mark(users.bob, 'resolve')).status, await resolver()]).toEqual([204, 'carol'])
    expect([(await mark(users.eve, 'unresolve')).status, await resolver()]).toEqual([
      204,
      undefined,
    ])
    expect((await mark(users.bob, 'resolve', 999_999)).status).toBe(404)
    expect(
      (await forge.rest(users.bob, 'POST', `/repos/bob/places/pulls/comments/${comment}/resolve`))
        .status,
    ).toBe(404)
  })

  it('gets comments from its reviewer, and loses them by their author or a writer', async () => {
    const pull = await pullOfLines('more')
    const { id } = await say(users.eve, pull, { path: 'long.txt', new_position: 10 })
    const comments = `${pull.reviews}/${id}/comments`
    const comment = { path: 'long.txt', new_position: 11, body: 'And here.' }
    expect((await forge.rest(users.bob, 'POST', comments, comment)).status).toBe(403)
    const added = await forge.rest(users.eve, 'POST', comments, comment)
    expect([added.status, added.body.position]).toEqual([200, 11])
    const listed = await forge.rest(users.eve, 'GET', `${comments}?limit=1&page=2`)
    expect([listed.body.length, listed.body[0].id, listed.headers.get('x-total-count')]).toEqual([
      1,
      added.body.id,
      '2',
    ])
    await forge.ask(users.ada, 'POST', `${pull.pull}/comments/${added.body.id}/replies`, {
      body: 'Where?',
    })
    expect((await forge.ask(users.eve, 'GET', `${pull.reviews}/${id}`)).comments_count).toBe(3)
    expect((await forge.rest(users.ada, 'GET', `${pull.reviews}/999999/comments`)).status).toBe(404)
    const [, , { id: ofAda }] = await forge.ask(users.eve, 'GET', comments)
    expect((await forge.rest(users.eve, 'DELETE', `${comments}/${ofAda}`)).status).toBe(403)
    expect((await forge.rest(users.eve, 'DELETE', `${comments}/${added.body.id}`)).status).toBe(204)
    expect((await forge.rest(users.carol, 'DELETE', `${comments}/${ofAda}`)).status).toBe(204)
    expect((await forge.rest(users.carol, 'DELETE', `${comments}/${ofAda}`)).status).toBe(404)
    expect((await forge.ask(users.bob, 'GET', pull.pull)).review_comments).toBe(1)
    await forge.ask(users.eve, 'DELETE', `${pull.reviews}/${id}`)
    expect((await forge.ask(users.bob, 'GET', pull.pull)).review_comments ?? 0).toBe(0)
  })

  it('is changed by its author or a writer', async () => {
    const pull = await pullOfLines('changed')
    const { id, listed } = await say(users.eve, pull, { path: 'long.txt', new_position: 10 })
    const comment = `${pull.reviews}/${id}/comments/${listed[0].id}`
    const edit = (who: Actor, body: unknown) => forge.rest(who, 'PATCH', comment, { body })
    const edited = await edit(users.eve, 'Anew.')
    expect([edited.status, edited.body.body, edited.body.position]).toEqual([200, 'Anew.', 10])
    expect((await edit(users.carol, 'By a writer.')).status).toBe(200)
    const reply = await forge.ask(
      users.carol,
      'POST',
      `${pull.pull}/comments/${listed[0].id}/replies`,
      {
        body: 'Mine.',
      },
    )
    const ofCarol = `${pull.reviews}/${id}/comments/${reply.id}`
    expect((await forge.rest(users.eve, 'PATCH', ofCarol, { body: 'x' })).status).toBe(403)
    for (const refused of ['', ' ', 'x'.repeat(65_537)])
      expect((await edit(users.eve, refused)).status).toBe(422)
    expect((await forge.rest(users.eve, 'PATCH', `${comment}0`, { body: 'x' })).status).toBe(404)
    expect((await forge.ask(users.bob, 'GET', comment)).body).toBe('By a writer.')
  })

  it('keeps its former texts for every reader, until the author or a writer removes them', async () => {
    const pull = await pullOfLines('former')
    const { id, listed } = await say(users.bob, pull, { path: 'long.txt', new_position: 10 })
    const comment = `${pull.reviews}/${id}/comments/${listed[0].id}`
    const edits = (who?: Actor) => forge.ask(who, 'GET', `${comment}/edits`)
    const edit = (who: Actor, body: string) => forge.ask(who, 'PATCH', comment, { body })
    expect(await edits()).toEqual([])
    await edit(users.bob, 'Anew.')
    await edit(users.bob, 'Anew.')
    await edit(users.carol, 'By a writer.')
    const [first, second, ...others] = await edits()
    expect(first).toEqual({
      id: expect.any(Number),
      user: expect.objectContaining({ login: 'bob' }),
      body: 'Comment 0.',
      created_at: expect.stringMatching(/^20\d\d-/),
    })
    expect([second.body, second.user.login, others]).toEqual(['Anew.', 'carol', []])
    const remove = async (who: Actor | undefined, number: number) =>
      (await forge.rest(who, 'DELETE', `${comment}/edits/${number}`)).status
    expect(await remove(undefined, first.id)).toBe(401)
    expect(await remove(users.eve, first.id)).toBe(403)
    expect(await remove(users.bob, first.id)).toBe(204)
    expect(await remove(users.bob, first.id)).toBe(404)
    expect(await edits(users.eve)).toEqual([second])
    for (let n = 0; n < 21; n += 1) await edit(users.bob, `Text ${n}.`)
    const texts = (await edits()).map(({ body }: { body: string }) => body)
    expect(texts).toEqual(Array.from({ length: 20 }, (_, n) => `Text ${n}.`))
    await forge.ask(users.bob, 'PATCH', pull.path, { private: true })
    expect((await forge.rest(users.eve, 'GET', `${comment}/edits`)).status).toBe(404)
    await forge.ask(users.bob, 'DELETE', comment)
    const left = await server.app.db
      .selectFrom('review_comment_edits')
      .select('id')
      .where('comment_id', '=', listed[0].id)
      .execute()
    expect(left).toEqual([])
  })

  it('has no former texts from before the submission of its review', async () => {
    const pull = await pullOfLines('drafted')
    const { id: review } = await forge.review(users.eve, pull, '', 'Later.', {
      comments: [{ path: 'long.txt', new_position: 10, body: 'A rash word.' }],
    })
    const comments = `${pull.reviews}/${review}/comments`
    const [{ id }] = await forge.ask(users.eve, 'GET', comments)
    await forge.ask(users.eve, 'PATCH', `${comments}/${id}`, { body: 'A better word.' })
    await forge.ask(users.eve, 'POST', `${pull.reviews}/${review}`, { event: 'COMMENT' })
    expect(await forge.ask(users.bob, 'GET', `${comments}/${id}/edits`)).toEqual([])
    const seen = await forge.ask(users.bob, 'GET', `${comments}/${id}`)
    expect([seen.body, seen.updated_at]).toEqual(['A better word.', seen.created_at])
  })

  it('is hidden from others while its review is pending', async () => {
    const pull = await pullOfLines('unsaid')
    const begun = await forge.review(users.eve, pull, '', 'Later.', {
      comments: [{ path: 'long.txt', new_position: 10, body: 'x' }],
    })
    const comments = `${pull.reviews}/${begun.id}/comments`
    const [{ id }] = await forge.ask(users.eve, 'GET', comments)
    const { updated_at } = await forge.ask(users.bob, 'GET', pull.pull)
    for (const who of [users.bob, users.ada]) {
      for (const [method, path] of [
        ['GET', comments],
        ['GET', `${comments}/${id}`],
        ['DELETE', `${comments}/${id}`],
        ['GET', `${comments}/${id}/edits`],
        ['DELETE', `${comments}/${id}/edits/1`],
        ['PATCH', `${comments}/${id}`],
        ['POST', `${pull.pull}/comments/${id}/replies`],
        ['POST', `${pull.path}/pulls/comments/${id}/resolve`],
      ] as const) {
        expect(
          (
            await forge.rest(
              who,
              method,
              path,
              method === 'POST' || method === 'PATCH' ? { body: 'x' } : undefined,
            )
          ).status,
        ).toBe(404)
      }
    }
    expect((await forge.rest(users.eve, 'DELETE', `${comments}/${id}`)).status).toBe(204)
    expect((await forge.ask(users.bob, 'GET', pull.pull)).updated_at).toBe(updated_at)
  })

  it('is refused in an archived repository, from blocked users, and with tokens that may only read', async () => {
    const pull = await pullOfLines('guarded')
    const { id, listed } = await say(users.eve, pull, { path: 'long.txt', new_position: 10 })
    const [{ id: comment }] = listed
    const writes = [
      ['POST', `${pull.reviews}/${id}/comments`],
      ['POST', `${pull.pull}/comments/${comment}/replies`],
      ['PATCH', `${pull.reviews}/${id}/comments/${comment}`],
      ['POST', `${pull.path}/pulls/comments/${comment}/resolve`],
      ['POST', `${pull.path}/pulls/comments/${comment}/unresolve`],
      ['DELETE', `${pull.reviews}/${id}/comments/${comment}`],
    ] as const
    const body = { body: 'x', path: 'long.txt' }
    const reader = await tokenOf(server.url, users.eve, ['read:repository'])
    for (const [method, path] of writes)
      expect((await forge.rest(reader, method, path, body)).status).toBe(403)
    await forge.ask(users.bob, 'PUT', '/user/blocks/eve', {})
    for (const [method, path] of writes.slice(0, 3)) {
      expect((await forge.rest(users.eve, method, path, body)).body.message).toBe('user is blocked')
    }
    await forge.ask(users.bob, 'DELETE', '/user/blocks/eve')
    await forge.ask(users.bob, 'PATCH', pull.path, { archived: true })
    for (const [method, path] of writes)
      expect((await forge.rest(users.eve, method, path, body)).status).toBe(423)
    const key = { owner: 'bob', repo: 'guarded', index: 1n }
    const made = forge
      .reviewsAs(users.eve)
      .replyToReviewComment({ ...key, comment: BigInt(comment), body: 'x' })
    expect(await refusalOf(made)).toMatchObject({ reason: 'REPOSITORY_ARCHIVED' })
  })
})
