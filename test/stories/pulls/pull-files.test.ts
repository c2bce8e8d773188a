import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { callerNamed } from '../../support/callers.ts'
import { type GitClient, openGitClient, remoteOf } from '../../support/git-client.ts'
import { importHistory, type ScriptedCommit } from '../../support/histories.ts'
import { restAt, type SendRest } from '../../support/rest.ts'
import { SUBMODULE_ID } from '../../support/sample-repository.ts'
import {
  type Actor,
  createTestUsers,
  PASSWORD,
  RPC_PROTOCOLS,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

const MAX_LINES = 60

let server: TestServer
let users: TestUsers
let rest: SendRest
let client: GitClient

beforeAll(async () => {
  server = await startTestServer({ settings: { diffMaxLines: MAX_LINES } })
  users = await createTestUsers(server.url)
  rest = restAt(server.url)
  client = await openGitClient()
})
afterAll(async () => {
  await client.remove()
  await server.stop()
})

/** Makes `bob/{name}`, and a clone of it of that name, with a history. */
async function pushHistory(
  name: string,
  history: readonly ScriptedCommit[],
  settings: object = {},
): Promise<void> {
  await rest(users.bob, 'POST', '/user/repos', { name, ...settings })
  await client.git('.', 'init', '-q', '-b', 'main', name)
  importHistory(join(client.home, name), history)
  await push(name, users.bob, `bob/${name}`, 'refs/heads/*')
}

function push(folder: string, who: Actor, repository: string, ...refs: string[]): Promise<string> {
  return client.git(
    folder,
    'push',
    '-q',
    remoteOf(server.url, repository, who.username, PASSWORD),
    ...refs,
  )
}

/** Opens a pull request into `main` of `bob/{name}`, and returns its number. */
async function openPull(name: string, head: string, who = users.bob): Promise<number> {
  const opened = await rest(who, 'POST', `/repos/bob/${name}/pulls`, {
    head,
    base: 'main',
    title: head,
  })
  expect([opened.status, opened.body.message]).toEqual([201, undefined])
  return opened.body.number
}

const get = (path: string, who: Pick<Actor, 'authorization'> | undefined = users.carol) =>
  rest(who, 'GET', `/repos/bob${path}`)

async function textAt(path: string): Promise<string> {
  const response = await fetch(`${server.url}/api/v1/repos/bob${path}`)
  expect([
    response.status,
    response.headers.get('content-type'),
    response.headers.get('x-content-type-options'),
  ]).toEqual([200, 'text/plain; charset=utf-8', 'nosniff'])
  return response.text()
}

/** The tree that git makes of what a text of the server says, on top of a commit. */
async function treeOf(text: string, folder: string, commit: string): Promise<string> {
  const work = join(client.home, `${folder}-work`)
  await client.git(folder, 'worktree', 'add', '-q', '--detach', '--force', work, commit)
  const file = join(client.home, 'text')
  await writeFile(file, text)
  const isMails = text.startsWith('From ')
  await client.git(
    `${folder}-work`,
    ...(isMails ? ['am', '-q', '--keep-cr', file] : ['apply', '--index', file]),
  )
  const tree = await client.git(`${folder}-work`, 'write-tree')
  await client.git(folder, 'worktree', 'remove', '--force', work)
  return tree
}

const lines = (count: number, word = 'line') =>
  Array.from({ length: count }, (_, i) => `${word} ${i}\n`).join('')
const pathsOf = (files: { filename: string }[]) => files.map(({ filename }) => filename)
const messagesOf = (commits: { commit: { message: string } }[]) =>
  commits.map(({ commit }) => commit.message)
const PAGING = ['x-total-count', 'x-page', 'x-perpage', 'x-pagecount', 'x-hasmore']

/** A branch with every kind of change, and a base that has gone on since. */
const EVERYTHING: readonly ScriptedCommit[] = [
  {
    message: 'base',
    files: {
      'a changed.txt': lines(40),
      'b gone': lines(3),
      'c source': lines(30, 'source'),
      'd old': lines(30, 'old'),
      'e mode.sh': '#!\n',
      'f picture': Buffer.from([0, 1, 2]),
      'g link': { mode: '120000', content: 'a' },
      'h module': { mode: '160000', id: SUBMODULE_ID },
      'i long': lines(1),
      'j crlf': 'one\r\ntwo\r\n',
      'k blank': 'a b\n',
    },
  },
  {
    on: 'refs/heads/topic',
    parents: ['refs/heads/main'],
    message: 'change\n\nIn full.\n',
    files: {
      'a changed.txt': lines(40).replace('line 9\n', 'nine\n'),
      'b gone': null,
      'c source': `${lines(30, 'source')}more\n`,
      'c copy': lines(30, 'source'),
      'd old': null,
      'd/new ü#?.txt': `${lines(30, 'old')}more\n`,
    },
  },
  {
    on: 'refs/heads/topic',
    message: 'odds',
    files: {
      'e mode.sh': { mode: '100755', content: '#!\n' },
      'f picture': Buffer.from([0, 1, 3]),
      'g link': { mode: '120000', content: 'b' },
      'h module': { mode: '160000', id: SUBMODULE_ID.replace('1', '2') },
      'i long': lines(100),
      'j crlf': 'one\r\ntwo\r\nthree\r\n',
      'k blank': 'a  b\n',
      'l empty': '',
    },
  },
  {
    message: 'meanwhile',
    files: { 'a changed.txt': lines(40).replace('line 30\n', 'thirty\n'), meanwhile: 'm\n' },
  },
]

describe('the changes of a pull request', () => {
  let pull: string
  let head: string

  beforeAll(async () => {
    await pushHistory('everything', EVERYTHING)
    pull = `/everything/pulls/${await openPull('everything', 'topic')}`
    head = await client.git('everything', 'rev-parse', 'topic')
  })

  it('are listed by file, since the merge base', async () => {
    const { status, body, headers } = await get(`${pull}/files`, undefined)
    expect(status).toBe(200)
    const brief = ({ filename, status, additions, deletions }: Record<string, unknown>) =>
      `${status} ${filename} +${additions} -${deletions}`
    expect(body.map(brief)).toEqual([
      'changed a changed.txt +1 -1',
      'deleted b gone +0 -3',
      'copied c copy +0 -0',
      'changed c source +1 -0',
      'renamed d/new ü#?.txt +1 -0',
      'unchanged e mode.sh +0 -0',
      'unchanged f picture +0 -0',
      'changed g link +1 -1',
      'changed h module +1 -1',
      // With the unchanged line.
      `changed i long +${MAX_LINES - 1} -0`,
      'changed j crlf +1 -0',
      'changed k blank +1 -1',
      'added l empty +0 -0',
    ])
    const url = `${server.url}/bob/everything`
    expect(body[4]).toEqual({
      filename: 'd/new ü#?.txt',
      previous_filename: 'd old',
      status: 'renamed',
      additions: 1,
      deletions: 0,
      changes: 1,
      html_url: `${url}/src/commit/${head}/d/new%20%C3%BC%23%3F.txt`,
      contents_url: `${server.url}/api/v1/repos/bob/everything/contents/d/new%20%C3%BC%23%3F.txt?ref=${head}`,
      raw_url: `${url}/raw/commit/${head}/d/new%20%C3%BC%23%3F.txt`,
    })
    expect(body[2]).not.toHaveProperty('previous_filename')
    expect(PAGING.map((name) => headers.get(name))).toEqual(['13', '1', '30', '1', 'false'])
    expect(headers.get('link')).toBeNull()
    const raw = await fetch(body[4].contents_url)
    expect(await raw.json()).toMatchObject({ path: 'd/new ü#?.txt' })
  })

  it.each([
    ['?limit=2', ['a changed.txt', 'b gone'], ['13', '1', '2', '7', 'true']],
    ['?limit=2&page=7', ['l empty'], ['13', '7', '2', '7', 'false']],
    ['?limit=2&page=8', [], ['13', '8', '2', '7', 'false']],
    ['?page=0&limit=0', undefined, ['13', '1', '30', '1', 'false']],
    ['?limit=1000&page=x', undefined, ['13', '1', '50', '1', 'false']],
    ['?skip-to=k%20blank', ['k blank', 'l empty'], ['13', '1', '30', '1', 'false']],
    ['?skip-to=j%20crlf&limit=2&page=2', ['l empty'], ['13', '2', '2', '7', 'true']],
    [
      '?skip-to=d/new%20%C3%BC%23%3F.txt&limit=1',
      ['d/new ü#?.txt'],
      ['13', '1', '1', '13', 'true'],
    ],
    ['?skip-to=nothing', [], ['13', '1', '30', '1', 'false']],
    ['?skip-to=--all', [], ['13', '1', '30', '1', 'false']],
    ['?skip-to=', undefined, ['13', '1', '30', '1', 'false']],
  ])('are listed by pages: %s', async (query, paths, headers) => {
    const page = await get(`${pull}/files${query}`)
    expect(page.status).toBe(200)
    if (paths) expect(pathsOf(page.body)).toEqual(paths)
    else expect(page.body).toHaveLength(13)
    expect(PAGING.map((name) => page.headers.get(name))).toEqual(headers)
  })

  it('keep the former paths of renamed files on each page', async () => {
    for (const [page, expected] of [
      [3, { filename: 'c copy', status: 'copied' }],
      [
        5,
        { filename: 'd/new ü#?.txt', status: 'renamed', previous_filename: 'd old', additions: 1 },
      ],
    ] as const) {
      expect((await get(`${pull}/files?limit=1&page=${page}`)).body).toEqual([
        expect.objectContaining(expected),
      ])
    }
  })

  it.each([
    ['show-all', 'changed'],
    ['ignore-eol', 'changed'],
    ['ignore-change', 'unchanged'],
    ['ignore-all', 'unchanged'],
    ['anything', 'changed'],
  ])('count white space as requested: %s', async (whitespace, status) => {
    const { body, headers } = await get(
      `${pull}/files?whitespace=${whitespace}&skip-to=k%20blank&limit=1`,
    )
    expect(body).toEqual([expect.objectContaining({ filename: 'k blank', status })])
    expect(headers.get('x-total-count')).toBe('13')
  })

  it('are listed by commit, newest first', async () => {
    const { status, body, headers } = await get(`${pull}/commits`, undefined)
    expect([status, messagesOf(body)]).toEqual([200, ['odds', 'change\n\nIn full.\n']])
    expect(body[0]).toMatchObject({
      sha: head,
      html_url: `${server.url}/bob/everything/commit/${head}`,
      commit: { verification: { verified: false, reason: 'gpg.error.not_signed_commit' } },
      author: { login: 'ada' },
      stats: { additions: 103, deletions: 3, total: 106 },
    })
    expect(body[0].files).toContainEqual({ filename: 'l empty', status: 'added' })
    expect(PAGING.map((name) => headers.get(name))).toEqual(['2', '1', '30', '1', 'false'])
    expect(headers.has('x-total')).toBe(false)
  })

  it.each([
    ['?limit=1', ['odds'], ['2', '1', '1', '2', 'true']],
    ['?limit=1&page=2', ['change\n\nIn full.\n'], ['2', '2', '1', '2', 'false']],
    ['?limit=1&page=3', [], ['2', '3', '1', '2', 'false']],
    ['?page=2147483647', [], ['2', '2147483647', '30', '1', 'false']],
  ])('are listed by pages of commits: %s', async (query, messages, headers) => {
    const page = await get(`${pull}/commits${query}`)
    expect([page.status, messagesOf(page.body)]).toEqual([200, messages])
    expect(PAGING.map((name) => page.headers.get(name))).toEqual(headers)
  })

  it('contain no more about commits than requested', async () => {
    const [commit] = (await get(`${pull}/commits?verification=false&files=false`)).body
    expect(commit).toMatchObject({ files: null, commit: { verification: null } })
    const [other] = (await get(`${pull}/commits?verification=1&files=true`)).body
    expect(other).toMatchObject({
      files: expect.any(Array),
      commit: { verification: { verified: false } },
    })
  })

  it('have paging headers that scripts of other origins can read', async () => {
    for (const list of ['commits', 'files']) {
      const url = `${server.url}/api/v1/repos/bob${pull}/${list}?limit=1`
      const { headers } = await fetch(url, { headers: { origin: 'https://elsewhere.example' } })
      const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ')
      expect(exposed).toEqual(expect.arrayContaining([...PAGING, 'link']))
      expect(headers.get('link')).toContain('rel="next"')
    }
  })

  it('are available as text, which Git applies to get the head', async () => {
    const tree = await client.git('everything', 'rev-parse', 'topic^{tree}')
    const base = await client.git('everything', 'merge-base', 'main', 'topic')
    expect(await treeOf(await textAt(`${pull}.diff?binary=true`), 'everything', base)).toBe(tree)
    for (const query of ['', '?binary=true']) {
      const mails = await textAt(`${pull}.patch${query}`)
      expect(await treeOf(mails, 'everything', base)).toBe(tree)
      expect(mails.match(/^Subject: .*$/gm)).toEqual([
        'Subject: [PATCH 1/2] change',
        'Subject: [PATCH 2/2] odds',
      ])
    }
    const text = await textAt(`${pull}.diff`)
    expect(text).toContain(
      'Binary files "a/f picture" and "b/f picture" differ'.replaceAll('"', ''),
    )
    expect(text).not.toContain('meanwhile')
  })

  it.each([
    ['/everything/pulls/99/files', 404, 'not found'],
    ['/everything/pulls/99/commits', 404, 'not found'],
    ['/everything/pulls/99.diff', 404, 'not found'],
    ['/everything/pulls/99.patch', 404, 'not found'],
    ['/everything/pulls/0/files', 404, 'not found'],
    ['/everything/pulls/x/files', 404, 'not found'],
    ['/everything/pulls/9223372036854775807/commits', 404, 'not found'],
    ['/nothing/pulls/1/files', 404, 'not found'],
    ['/nothing/pulls/1.diff', 404, 'not found'],
  ])('are not found at %s', async (path, status, message) => {
    const refused = await get(path)
    expect([refused.status, refused.body.message]).toEqual([status, message])
  })

  it.each(RPC_PROTOCOLS)('are the same over RPC: %s', async (protocol) => {
    const rpc = createClient(
      PullFileService,
      transportTo(server.url, protocol, users.carol.authorization),
    )
    const request = { owner: 'bob', repo: 'everything', index: 1n }
    const listed = await rpc.listPullRequestFiles({
      ...request,
      skipTo: 'd/new ü#?.txt',
      whitespace: 'ignore-all',
      limit: 2,
    })
    expect([listed.total, listed.limit, pathsOf(listed.files)]).toEqual([
      13n,
      2,
      ['d/new ü#?.txt', 'e mode.sh'],
    ])
    expect(listed.files[0]).toMatchObject({
      status: 'renamed',
      previousFilename: 'd old',
      additions: 1n,
      changes: 1n,
    })
    const { commits, total } = await rpc.listPullRequestCommits({
      ...request,
      files: false,
      page: 2,
      limit: 1,
    })
    expect([total, commits.map(({ commit }) => commit?.message)]).toEqual([
      2n,
      ['change\n\nIn full.\n'],
    ])
    for (const format of ['diff', 'patch']) {
      let text = ''
      for await (const { data } of rpc.getPullRequestDiff({ ...request, format, binary: true })) {
        text += Buffer.from(data).toString('latin1')
      }
      expect(Buffer.from(text, 'latin1').toString()).toBe(
        await textAt(`${pull}.${format}?binary=true`),
      )
    }
    const missing = { ...request, index: 99n }
    const notFound = { code: 5, rawMessage: 'not found' }
    await expect(rpc.listPullRequestFiles(missing)).rejects.toMatchObject(notFound)
    await expect(rpc.listPullRequestCommits(missing)).rejects.toMatchObject(notFound)
    await expect(
      rpc
        .getPullRequestDiff({ ...missing, format: 'diff' })
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toMatchObject(notFound)
    await expect(
      rpc
        .getPullRequestDiff({ ...request, format: 'html' })
        [Symbol.asyncIterator]()
        .next(),
    ).rejects.toMatchObject({ code: 3 })
    await expect(
      rpc.getCommitPullRequest({ owner: 'bob', repo: 'everything', sha: 'main' }),
    ).rejects.toMatchObject(notFound)
  })

  it('follow pushes to the head and to the base', async () => {
    await pushHistory('moving', EVERYTHING)
    const path = `/moving/pulls/${await openPull('moving', 'topic')}`
    await client.git('moving', 'checkout', '-q', 'topic')
    await client.commit('moving', 'pushed')
    await push('moving', users.bob, 'bob/moving', 'topic')
    expect(messagesOf((await get(`${path}/commits`)).body)).toEqual([
      'pushed\n',
      'odds',
      'change\n\nIn full.\n',
    ])
    await push('moving', users.bob, 'bob/moving', '+topic~3:main')
    expect(messagesOf((await get(`${path}/commits`)).body)).toHaveLength(3)
    // What the base has got meanwhile is no longer a change.
    await push('moving', users.bob, 'bob/moving', '+topic~1:main')
    expect(messagesOf((await get(`${path}/commits`)).body)).toEqual(['pushed\n'])
    expect((await get(`${path}/files`)).body).toEqual([])
    expect(await textAt(`${path}.diff`)).toBe('')
  })
})

describe('the changes of a pull request from a fork', () => {
  it('are available after the deletion of the fork', async () => {
    await pushHistory('parent', EVERYTHING)
    await rest(users.carol, 'POST', '/repos/bob/parent/forks', {})
    await client.git('parent', 'checkout', '-q', 'topic')
    await client.commit('parent', 'of a fork')
    await push('parent', users.carol, 'carol/parent', 'HEAD:refs/heads/work')
    const path = `/parent/pulls/${await openPull('parent', 'carol:work', users.carol)}`
    const look = async () => [
      messagesOf((await get(`${path}/commits`)).body),
      pathsOf((await get(`${path}/files`)).body).length,
      await textAt(`${path}.diff`),
      await textAt(`${path}.patch`),
    ]
    const before = await look()
    expect(before.slice(0, 2)).toEqual([['of a fork\n', 'odds', 'change\n\nIn full.\n'], 13])
    expect((await rest(users.carol, 'DELETE', '/repos/carol/parent')).status).toBe(204)
    expect(await look()).toEqual(before)
  })
})

describe('a pull request whose base', () => {
  it.each([
    ['is gone after it was closed', true],
    ['goes while it is open, which closes it', false],
  ])('%s keeps its commits, files and diff', async (_, isClosedBefore) => {
    const name = `departed-${isClosedBefore}`
    const path = `/repos/bob/${name}`
    const send = async (method: string, at: string, body?: object) => {
      const answer = await rest(users.bob, method, at, body)
      expect([answer.status, answer.body.message]).toEqual([
        expect.toSatisfy((status) => status < 300),
        undefined,
      ])
      return answer.body
    }
    const write = (file: string, place: object) =>
      send('POST', `${path}/contents/${file}`, { content: 'cm9zZXMK', ...place })
    await send('POST', '/user/repos', { name, auto_init: true })
    await write('next.txt', { branch: 'main', new_branch: 'next' })
    // What is of the default branch has nowhere else to go.
    const head = isClosedBefore ? 'topic' : 'main'
    await write(
      'topic.txt',
      isClosedBefore ? { branch: 'next', new_branch: 'topic' } : { branch: 'main' },
    )
    await send('POST', `${path}/pulls`, { head, base: 'next', title: 'x' })
    // What comes from the base is no change, as nobody has found out yet when it is closed.
    await write('later.txt', { branch: 'next' })
    await send('POST', `${path}/pulls/1/update`)
    const look = async () => [
      (await get(`/${name}/pulls/1/commits`)).body.map(
        ({ commit }: { commit: { message: string } }) => commit.message,
      ),
      pathsOf((await get(`/${name}/pulls/1/files`)).body),
      await textAt(`/${name}/pulls/1.diff`),
      await textAt(`/${name}/pulls/1.patch`),
      (await get(`/${name}/pulls/1`)).body.changed_files,
    ]
    if (isClosedBefore) await send('PATCH', `${path}/pulls/1`, { state: 'closed' })
    const before = await look()
    expect(before[1]).toEqual(['topic.txt'])
    await client.git('.', 'init', '-q', name)
    await push(name, users.bob, `bob/${name}`, ':next')
    const { state, base } = (await get(`/${name}/pulls/1`)).body
    expect([state, base.sha]).toEqual(['closed', ''])
    expect(await look()).toEqual(before)
  })

  it('was deleted has no range any more', async () => {
    await pushHistory('baseless', EVERYTHING)
    const number = await openPull('baseless', 'topic')
    // As by hand, in Git: the forge moves or closes what goes to a branch that is deleted.
    await server.app.db
      .updateTable('issues')
      .set({ base_branch: 'gone' })
      .where('title', '=', 'topic')
      .where('number', '=', number)
      .where('repository_id', '=', await idOf('baseless'))
      .execute()
    for (const path of ['/commits', '/files', '.diff', '.patch']) {
      const refused = await get(`/baseless/pulls/${number}${path}`)
      expect([refused.status, refused.body.message]).toEqual([
        404,
        'invalid base branch or revision',
      ])
      expect(refused.headers.get('x-error-reason')).toBe('PULL_BASE_INVALID')
    }
    const rpc = createClient(PullFileService, transportTo(server.url, 'gRPC'))
    const request = { owner: 'bob', repo: 'baseless', index: BigInt(number) }
    await expect(rpc.listPullRequestCommits(request)).rejects.toMatchObject({
      code: 5,
      rawMessage: 'invalid base branch or revision',
    })
  })

  it('was replaced by another history shows the changes since the recorded merge base', async () => {
    await pushHistory('replaced', EVERYTHING)
    const number = await openPull('replaced', 'topic')
    const path = `/replaced/pulls/${number}`
    const look = async () => [
      messagesOf((await get(`${path}/commits`)).body),
      pathsOf((await get(`${path}/files`)).body),
      await textAt(`${path}.diff`),
      await textAt(`${path}.patch`),
    ]
    const before = await look()
    importHistory(join(client.home, 'replaced'), [
      { on: 'refs/heads/other', message: 'other', files: { o: 'o\n' } },
    ])
    await push('replaced', users.bob, 'bob/replaced', '+other:main')
    expect((await get(path)).body.mergeable).toBe(false)
    expect(await look()).toEqual(before)
    await push('replaced', users.bob, 'bob/replaced', 'other:other')
    const draft = { title: 'x', head: 'topic', base: 'main' }
    const pulls = '/repos/bob/replaced/pulls'
    await rest(users.bob, 'PATCH', `${pulls}/${number}`, { state: 'closed' })
    const created = await rest(users.bob, 'POST', pulls, draft)
    const text = 'Invalid PullRequest: The head and the base have no common history'
    expect([created.status, created.body.message]).toEqual([422, text])
    expect(created.headers.get('x-error-reason')).toBe('PULL_REQUEST_UNRELATED')
    const rpc = createClient(
      PullRequestService,
      transportTo(server.url, 'gRPC', users.bob.authorization),
    )
    const names = { owner: 'bob', repo: 'replaced' }
    await expect(rpc.createPullRequest({ ...names, ...draft })).rejects.toMatchObject({ code: 9 })
    expect((await rest(users.bob, 'GET', `${pulls}?state=all`)).body).toHaveLength(1)
    // A new base must have a common history as well.
    const own = await rest(users.bob, 'POST', pulls, { ...draft, head: 'other', base: 'main' })
    const base = { base: 'topic' }
    const moved = await rest(users.bob, 'PATCH', `${pulls}/${own.body.number}`, base)
    expect([own.status, moved.status, moved.body.message]).toEqual([201, 422, text])
  })

  it('has no common history with a new head has no range', async () => {
    await pushHistory('unrelated', EVERYTHING)
    const number = await openPull('unrelated', 'topic')
    importHistory(join(client.home, 'unrelated'), [
      { on: 'refs/heads/other', message: 'other', files: { o: 'o\n' } },
    ])
    await push('unrelated', users.bob, 'bob/unrelated', '+other:topic')
    const refused = await get(`/unrelated/pulls/${number}/commits`)
    expect([refused.status, refused.body.message]).toEqual([404, 'invalid base branch or revision'])
  })
})

describe('the changes of a merged pull request', () => {
  it('stay the same, and the merge commit finds the pull request', async () => {
    await pushHistory('merged', EVERYTHING)
    const number = await openPull('merged', 'topic')
    const look = async () => [
      messagesOf((await get(`/merged/pulls/${number}/commits`)).body),
      pathsOf((await get(`/merged/pulls/${number}/files`)).body),
      await textAt(`/merged/pulls/${number}.diff`),
      await textAt(`/merged/pulls/${number}.patch`),
    ]
    const before = await look()
    expect(
      (await rest(users.bob, 'POST', `/repos/bob/merged/pulls/${number}/merge`, { Do: 'merge' }))
        .status,
    ).toBe(200)
    const { merge_commit_sha: merge } = (await get(`/merged/pulls/${number}`)).body
    expect(await look()).toEqual(before)
    await push('merged', users.bob, 'bob/merged', ':topic')
    expect(await look()).toEqual(before)

    for (const name of [merge, merge.slice(0, 12), 'main']) {
      const found = await get(`/merged/commits/${name}/pull`)
      expect([found.status, found.body.number, found.body.merged]).toEqual([200, number, true])
    }
    const rpc = createClient(PullFileService, transportTo(server.url, 'gRPC'))
    const found = await rpc.getCommitPullRequest({ owner: 'bob', repo: 'merged', sha: merge })
    expect(found).toMatchObject({ number: BigInt(number), mergeCommitSha: merge })
    // Commits that it brought are not what the merge made.
    for (const name of ['main~1', '0'.repeat(40), 'nothing', '-x', 'refs%2Fbranchline%2Fx']) {
      const missing = await get(`/merged/commits/${name}/pull`)
      expect([missing.status, missing.body.message]).toEqual([404, 'not found'])
    }
  })
})

/** The repository's number. */
async function idOf(name: string): Promise<number> {
  return (await get(`/${name}`, users.bob)).body.id
}

describe('the text of a pull request that is too large', () => {
  beforeAll(async () => {
    const bytes = Buffer.alloc(65 * 1024 * 1024)
    await pushHistory('large', [
      { message: 'base', files: { a: 'a\n' } },
      {
        on: 'refs/heads/topic',
        parents: ['refs/heads/main'],
        message: 'large',
        files: { b: bytes },
      },
    ])
    const id = await client.git('large', 'rev-parse', 'topic:b')
    const large = await client.git('large', 'rev-parse', 'topic')
    // More than waits between the two ends of a connection.
    const texts = Object.fromEntries(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => [`text ${number}`, lines(300_000)]),
    )
    importHistory(join(client.home, 'large'), [
      {
        on: 'refs/heads/topic',
        parents: [large],
        message: 'larger',
        files: { c: { mode: '100644', id } },
      },
      { on: 'refs/heads/many', parents: [`${large}~1`], message: 'many', files: texts },
    ])
    await push('large', users.bob, 'bob/large', 'topic', 'many')
    await openPull('large', 'topic')
    await openPull('large', 'many')
  })

  it('is refused before anything is sent', async () => {
    for (const path of ['/large/pulls/1.diff?binary=true', '/large/pulls/1.patch']) {
      const refused = await get(path)
      expect([refused.status, refused.body.message]).toEqual([
        422,
        'the diff is too large for one response; fetch the commits with Git',
      ])
    }
    const rpc = createClient(PullFileService, transportTo(server.url, 'gRPC'))
    const request = { owner: 'bob', repo: 'large', index: 1n, format: 'patch' }
    await expect(
      rpc.getPullRequestDiff(request)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({ code: 8 })
    expect(await textAt('/large/pulls/1.diff')).toMatch(/^Binary files .* differ$/m)
    expect((await get('/large/pulls/1/files')).body).toEqual([
      expect.objectContaining({ filename: 'b', status: 'added', changes: 0 }),
      expect.objectContaining({ filename: 'c', status: 'added', changes: 0 }),
    ])
  })

  it('ends its Git process when the client disconnects', async () => {
    const folder = repositoryPath(server.app.git, await idOf('large'))
    // Kept for what comes next.
    const kept = await gitsIn(folder)
    const others = async () => (await gitsIn(folder)).filter((pid) => !kept.includes(pid))
    const gone = new AbortController()
    const { body } = await fetch(`${server.url}/api/v1/repos/bob/large/pulls/2.diff`, {
      signal: gone.signal,
    })
    await body?.getReader().read()
    expect(await others()).not.toEqual([])
    gone.abort()
    await expect.poll(others).toEqual([])
  })
})

/** Processes that have a folder for their repository. */
async function gitsIn(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const environments = pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''))
  const variables = (await Promise.all(environments)).map((text) => text.split('\0'))
  return pids.filter((_, index) => variables[index]?.includes(`GIT_DIR=${folder}`))
}

describe('the changes of a pull request of a private repository', () => {
  beforeAll(async () => {
    await pushHistory('secret', EVERYTHING, { private: true })
    await openPull('secret', 'topic')
  })

  it.each(['pulls/1/files', 'pulls/1/commits', 'pulls/1.diff', 'pulls/1.patch'])(
    'is there for nobody else: %s',
    async (path) => {
      const statusFor = async (name: string) => {
        const who = await callerNamed(server.url, users, name)
        const headers: Record<string, string> = who ? { authorization: who.authorization } : {}
        return (await fetch(`${server.url}/api/v1/repos/bob/secret/${path}`, { headers })).status
      }
      expect(await statusFor('bob')).toBe(200)
      expect(await statusFor('read:repository')).toBe(200)
      expect(await statusFor('ada')).toBe(200)
      expect(await statusFor('carol')).toBe(404)
      expect(await statusFor('nobody')).toBe(404)
      expect(await statusFor('public-only')).toBe(404)
      expect(await statusFor('read:issue')).toBe(403)
    },
  )

  it('are hidden where pull requests are disabled, and visible where it is archived', async () => {
    await rest(users.bob, 'PATCH', '/repos/bob/secret', { archived: true })
    expect((await get('/secret/pulls/1/files', users.bob)).status).toBe(200)
    await rest(users.bob, 'PATCH', '/repos/bob/secret', { archived: false })
    await rest(users.bob, 'PATCH', '/repos/bob/secret', { has_pull_requests: false })
    for (const path of ['pulls/1/files', 'pulls/1/commits', 'pulls/1.diff', 'commits/main/pull']) {
      expect((await get(`/secret/${path}`, users.bob)).status).toBe(404)
    }
  })
})

describe('Git', () => {
  it('finds no fault in the repositories', async () => {
    for (const name of ['everything', 'parent', 'moving']) {
      const folder = repositoryPath(server.app.git, await idOf(name))
      expect(
        await client.git(
          '.',
          `--git-dir=${folder}`,
          'fsck',
          '--full',
          '--strict',
          '--no-dangling',
          '--no-progress',
        ),
      ).toBe('')
    }
  })
})
