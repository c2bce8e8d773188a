import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { repositoryPath } from '../../../src/platform/git/repositories/repositories.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { type Actor, createToken, PASSWORD, type TestUsers } from '../../support/server.ts'

const forge = await openForge()
const { server, users, client, rest } = forge
afterAll(forge.checkObjects)

const base64 = (text: string) => Buffer.from(text).toString('base64')
const ENGINE = 'Engine\n'

/** Makes an empty repository of bob, and returns what reads it by git. */
async function emptyRepository(name: string, settings: object = {}) {
  await rest(users.bob, 'POST', '/user/repos', { name, ...settings })
  const contents = (path: string) => `/repos/bob/${name}/contents/${path}`
  const git = (...args: string[]) => client.git(name, ...args)
  return {
    contents,
    /** Answers to `git`, in a clone that is as the server is at this moment. */
    async clone() {
      await client.git(
        '.',
        'clone',
        '-q',
        '--no-single-branch',
        remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD),
        name,
      )
      return git
    },
    create: (path: string, text: string, more: object = {}, who: Actor | undefined = users.bob) =>
      rest(who, 'POST', contents(path), { content: base64(text), ...more }),
  }
}

/**
 * Makes a repository of bob whose branch main has `engine.txt` and an executable `bin/run`, a link
 * and a submodule.
 */
async function filledRepository(name: string, settings: object = {}) {
  const repository = await emptyRepository(name, settings)
  const git = await repository.clone()
  await git('checkout', '-q', '-b', 'main')
  const blob = async (text: string) => {
    const file = join(client.home, 'content')
    await writeFile(file, text)
    return git('hash-object', '-w', file)
  }
  const engine = await blob(ENGINE)
  const add = (mode: string, id: string, path: string) =>
    git('update-index', '--add', '--cacheinfo', `${mode},${id},${path}`)
  await add('100644', engine, 'engine.txt')
  await add('100755', await blob('run\n'), 'bin/run')
  await add('120000', await blob('engine.txt'), 'link')
  await git('commit', '-q', '-m', 'first')
  await add('160000', await git('rev-parse', 'HEAD'), 'module')
  await git('commit', '-q', '-m', 'second')
  await git('push', '-q', 'origin', 'main')
  return { ...repository, git, engine }
}

describe('a file', () => {
  it('begins the history of an empty repository, on the requested branch', async () => {
    const { create, clone } = await emptyRepository('first')
    const made = await create('docs/a b.txt', 'hello\n', { branch: 'trunk' })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      content: {
        name: 'a b.txt',
        path: 'docs/a b.txt',
        type: 'file',
        encoding: 'base64',
        content: base64('hello\n'),
        size: 6,
        target: null,
      },
      commit: {
        message: 'Add docs/a b.txt\n',
        parents: [],
        author: { name: 'bob', email: 'bob@example.org' },
      },
      verification: { verified: true, signer: { name: 'Branchline' } },
    })
    expect((await rest(undefined, 'GET', '/repos/bob/first')).body).toMatchObject({
      empty: false,
      default_branch: 'trunk',
    })
    const git = await clone()
    expect(await git('show', 'HEAD:docs/a b.txt')).toBe('hello')
    expect(await git('rev-parse', 'HEAD')).toBe(made.body.commit.sha)
    expect(await git('rev-parse', 'HEAD:docs/a b.txt')).toBe(made.body.content.sha)
  })

  it('is replaced only in the version that the caller has seen, and keeps its mode', async () => {
    const { contents, git } = await filledRepository('replaced')
    const sha = await git('rev-parse', 'HEAD:bin/run')
    const path = contents('bin/run')
    const replaced = await rest(users.bob, 'PUT', path, { content: base64('faster\n'), sha })
    expect(replaced.status).toBe(200)
    expect(replaced.body.commit.message).toBe('Update bin/run\n')
    const again = await rest(users.bob, 'PUT', path, { content: base64('other\n'), sha })
    expect(again.status).toBe(422)
    expect(again.body.message).toBe(
      `sha does not match [given: ${sha}, expected: ${replaced.body.content.sha}]`,
    )
    await git('pull', '-q')
    expect(await git('ls-tree', 'HEAD', 'bin/run')).toMatch(/^100755 /)
    expect(await git('show', 'HEAD:bin/run')).toBe('faster')
    expect(await git('ls-tree', 'HEAD', 'module')).toMatch(/^160000 /)
  })

  it('is created by PUT without a sha, which does not overwrite', async () => {
    const { contents } = await filledRepository('put')
    const put = () => rest(users.bob, 'PUT', contents('new.txt'), { content: base64('new\n') })
    expect((await put()).status).toBe(201)
    const again = await put()
    expect([again.status, again.body.message]).toEqual([
      422,
      'repository file already exists [path: new.txt]',
    ])
  })

  it('is renamed, with or without new content', async () => {
    const { contents, git, engine } = await filledRepository('renamed')
    const moved = await rest(users.bob, 'PUT', contents('lib/motor.txt'), {
      from_path: 'engine.txt',
      sha: engine,
    })
    expect(moved.status).toBe(200)
    expect(moved.body.content).toMatchObject({
      path: 'lib/motor.txt',
      sha: engine,
      content: base64(ENGINE),
    })
    expect(moved.body.commit.message).toBe('Rename engine.txt to lib/motor.txt\n')
    const edit = { from_path: 'lib/motor.txt', sha: engine, content: base64('motor\n') }
    expect((await rest(users.bob, 'PUT', contents('motor.txt'), edit)).status).toBe(200)
    await git('pull', '-q')
    // Git has no empty folders.
    expect(await git('ls-tree', '-r', '--name-only', 'HEAD')).toBe(
      'bin/run\nlink\nmodule\nmotor.txt',
    )
  })

  it('is deleted with its folder, only in the version that the caller has seen', async () => {
    const { contents, git } = await filledRepository('deleted')
    const sha = await git('rev-parse', 'HEAD:bin/run')
    const path = contents('bin/run')
    expect((await rest(users.bob, 'DELETE', path, { sha: '1'.repeat(40) })).status).toBe(422)
    expect((await rest(users.bob, 'DELETE', path, {})).status).toBe(422)
    const deleted = await rest(users.bob, 'DELETE', path, { sha })
    expect(deleted.status).toBe(200)
    expect(deleted.body).toMatchObject({ content: null, commit: { message: 'Delete bin/run\n' } })
    expect((await rest(users.bob, 'DELETE', path, { sha })).status).toBe(404)
    await git('pull', '-q')
    expect(await git('ls-tree', '--name-only', 'HEAD')).toBe('engine.txt\nlink\nmodule')
  })

  it('has the commit that the request describes', async () => {
    const { create, clone } = await emptyRepository('described')
    const made = await create('a', 'a', {
      message: 'Why\r\n\r\nBecause.\r\n',
      author: { name: 'Al <script>', email: 'al@example.org' },
      dates: { author: '2020-01-02T03:04:05.678+02:00', committer: '2021-01-01T00:00:00Z' },
      signoff: true,
    })
    expect(made.status).toBe(201)
    const git = await clone()
    expect(await git('log', '-1', '--format=%an|%ae|%at|%cn|%ce|%ct|%B')).toBe(
      'Al script|al@example.org|1577927045|Al script|al@example.org|1609459200|' +
        'Why\n\nBecause.\n\nSigned-off-by: Al script <al@example.org>',
    )
  })

  it('keeps the time zones of the request, on each path and protocol', async () => {
    const { create, clone } = await emptyRepository('zoned')
    const dates = { author: '2020-01-02T03:04:05-03:30', committer: '2020-01-02T03:04:05+05:45' }
    const { content, commit } = (await create('a', 'a', { dates })).body
    expect([commit.author.date, commit.committer.date]).toEqual([dates.author, dates.committer])
    const where = { owner: 'bob', repo: 'zoned', dates }
    const contents = forge.grpc(ContentService, users.bob)
    const updated = await contents.updateFile({
      ...where,
      path: 'a',
      content: 'Yg==',
      sha: content.sha,
    })
    const sha = updated.content?.sha ?? ''
    await contents.deleteFile({ ...where, path: 'a', sha })
    const files = [{ operation: 'create', path: 'b', content: 'Yg==' }]
    expect(
      (await rest(users.bob, 'POST', '/repos/bob/zoned/contents', { files, dates })).status,
    ).toBe(201)
    const git = await clone()
    expect(await git('log', '--format=%aI %cI')).toBe(
      Array(4).fill(`${dates.author} ${dates.committer}`).join('\n'),
    )
    expect(await git('fsck', '--strict')).toBe('')
  })

  it.each(['yesterday', '2020-01-02', '2020-02-30T00:00:00Z', '2020-01-02T03:04:05+24:00'])(
    'refuses %s as a time',
    async (author) => {
      const { create } = await emptyRepository(`refused-${author.length}`)
      expect(await create('a', 'a', { dates: { author } })).toMatchObject({
        status: 422,
        body: { message: 'dates.author is missing or not allowed' },
      })
    },
  )

  it('has the present time for the zero time of Go, and the first second of 1970 for earlier times', async () => {
    const { create, clone } = await emptyRepository('dated')
    const zero = '0001-01-01T00:00:00Z'
    const before = Math.floor(Date.now() / 1000)
    const made = await create('a', 'a', { dates: { author: zero, committer: zero } })
    expect(made.status).toBe(201)
    const early = { author: '1969-12-31T23:59:59Z', committer: '0001-01-01T00:00:01Z' }
    const old = await create('b', 'b', { dates: early })
    expect([old.status, old.body.commit.author.date]).toEqual([201, '1970-01-01T00:00:00Z'])
    const git = await clone()
    expect(await git('log', '-1', '--format=%at %ct')).toBe('0 0')
    for (const time of (await git('log', '-1', '--format=%at %ct', 'HEAD~1')).split(' '))
      expect(Number(time)).toBeGreaterThanOrEqual(before)
    expect(await git('fsck', '--strict')).toBe('')
  })

  it('goes to a new branch, which replaces an existing one only with force', async () => {
    const { create, git } = await filledRepository('branched')
    const make = (path: string, more: object = {}) =>
      create(path, 'x', { new_branch: 'next', ...more })
    expect((await make('one')).status).toBe(201)
    const refused = await make('two')
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'branch already exists [name: next]',
    ])
    expect((await make('two', { force_push: true })).status).toBe(201)
    await git('fetch', '-q')
    expect(await git('ls-tree', '--name-only', 'origin/next')).not.toContain('one')
    expect(await git('rev-parse', 'origin/next~1')).toBe(await git('rev-parse', 'origin/main'))
  })

  it('creates a commit even if nothing changes, for its id', async () => {
    const { contents, git, engine } = await filledRepository('same')
    const same = await rest(users.bob, 'PUT', contents('engine.txt'), {
      content: base64(ENGINE),
      sha: engine,
    })
    expect(same.status).toBe(200)
    expect(same.body.commit.parents[0].sha).toBe(await git('rev-parse', 'main'))
  })

  it('writes one object for each folder above it, whatever else these contain', async () => {
    const { create, git } = await filledRepository('cheap')
    const id = (await rest(users.bob, 'GET', '/repos/bob/cheap')).body.id
    const objects = async () => {
      const counted = await git('-C', repositoryPath(server.app.git, id), 'count-objects', '-v')
      return Number(/^count: (\d+)/m.exec(counted)?.[1])
    }
    const before = await objects()
    await create('a/b/c.txt', 'only here\n')
    // A blob, trees for a/b, a and the top, and the commit.
    expect((await objects()) - before).toBe(5)
  })
})

describe('a change of a file is refused', () => {
  it.each([
    [
      'it is there already',
      'engine.txt',
      {},
      422,
      'repository file already exists [path: engine.txt]',
    ],
    [
      'the content is not valid base64',
      'x',
      { content: 'a' },
      422,
      'the content is not valid base64 [path: x]',
    ],
    [
      'the content is base64 of another kind',
      'x',
      { content: 'a_-=' },
      422,
      'the content is not valid base64 [path: x]',
    ],
    ['a folder is there', 'bin', {}, 422, 'the path is a directory [path: bin]'],
    ['a submodule is there', 'module', {}, 422, 'the path is a submodule [path: module]'],
    [
      'a file is above it',
      'engine.txt/x',
      {},
      422,
      'engine.txt is not a directory [path: engine.txt/x]',
    ],
    // What the link leads to is not looked at.
    ['a link is above it', 'link/x', {}, 422, 'link is not a directory [path: link/x]'],
    ['a submodule is above it', 'module/x', {}, 422, 'module is not a directory [path: module/x]'],
    ['the path leads into Git', '.git/config', {}, 422, 'path contains a malformed path component'],
    [
      'the path leads into Git on Windows',
      'a/GIT~1/config',
      {},
      422,
      'path contains a malformed path component',
    ],
    [
      'the path leads into Git on a Mac',
      '.g%E2%80%8Cit/config',
      {},
      422,
      'path contains a malformed path component',
    ],
    [
      'the path has a backslash to Git',
      'a%5C.git%5Cconfig',
      {},
      422,
      'path contains a malformed path component',
    ],
    [
      'the path is too deep',
      'a/'.repeat(64).concat('a'),
      {},
      422,
      'path contains a malformed path component',
    ],
    ['there is no such branch', 'x', { branch: 'nothing' }, 404, ''],
    ['there can be no such branch', 'x', { branch: 'a..b' }, 404, ''],
    ['there can be no such new branch', 'x', { new_branch: 'a..b' }, 422, 'new_branch'],
    [
      'the new branch is below another',
      'x',
      { new_branch: 'main/x' },
      409,
      'one path is below the other',
    ],
    ['the message is too long', 'x', { message: 'x'.repeat(65_537) }, 422, 'message is longer'],
    ['the author is too long', 'x', { author: { name: 'x'.repeat(256) } }, 422, 'author.name'],
  ])('when %s', async (_, path, more, status, message) => {
    await filledOnce()
    const refused = await rest(users.bob, 'POST', `/repos/bob/refusing/contents/${path}`, {
      content: base64('x'),
      ...more,
    })
    expect(refused.body.message).toContain(message)
    expect(refused.status).toBe(status)
  })

  it('when it would write through a symbolic link', async () => {
    const git = await filledOnce()
    const sha = await git('rev-parse', 'main:link')
    const refused = await rest(users.bob, 'PUT', '/repos/bob/refusing/contents/link', {
      content: base64('x'),
      sha,
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'the path is a symbolic link [path: link]',
    ])
  })

  it('when the file to replace or rename does not exist', async () => {
    const git = await filledOnce()
    const sha = await git('rev-parse', 'main:link')
    const put = (body: object) => rest(users.bob, 'PUT', '/repos/bob/refusing/contents/none', body)
    expect((await put({ content: base64('x'), sha })).status).toBe(404)
    expect((await put({ from_path: 'nothing', sha })).status).toBe(404)
  })

  let filled: ReturnType<typeof filledRepository> | undefined
  async function filledOnce() {
    filled ??= filledRepository('refusing')
    return (await filled).git
  }
})

describe('permission to change files', () => {
  it.each<[who: string, settings: object, status: number]>([
    ['nobody', {}, 401],
    ['bob', {}, 201],
    ['carol', {}, 403],
    ['ada', {}, 201],
    ['write:repository', {}, 201],
    ['read:repository', {}, 403],
    ['write:user', {}, 403],
    ['nobody', { private: true }, 401],
    ['carol', { private: true }, 404],
    ['public-only', { private: true }, 404],
    ['bob', { archived: true }, 423],
    ['carol', { archived: true }, 403],
  ])('%s of a repository with %j: %i', async (who, settings, status) => {
    const name = `who-${who.replace(':', '-')}-${Object.keys(settings)}`
    const { create } = await emptyRepository(name, settings)
    await rest(users.bob, 'PATCH', `/repos/bob/${name}`, settings)
    expect((await create('x', 'x', {}, await actor(who))).status).toBe(status)
  })

  it('is refused to everyone for a mirror', async () => {
    const { create } = await emptyRepository('mirror')
    await server.app.db
      .updateTable('repositories')
      .set({ mirror: 1 })
      .where('name', '=', 'mirror')
      .execute()
    const refused = await create('x', 'x')
    expect([refused.status, refused.body.message]).toEqual([403, 'Git Repository is a mirror.'])
    const tag = await rest(users.bob, 'POST', '/repos/bob/mirror/tags', { tag_name: 'v1' })
    expect(tag.status).toBe(403)
  })

  async function actor(who: string): Promise<Actor> {
    if (who === 'nobody') return { username: '', authorization: '' }
    if (who in users) return users[who as keyof TestUsers]
    const scopes = who.includes(':') ? [who] : ['all', who]
    return {
      username: 'bob',
      authorization: `token ${await createToken(server.url, users.bob, scopes)}`,
    }
  }
})

describe('several files', () => {
  const change = (name: string, body: object) =>
    rest(users.bob, 'POST', `/repos/bob/${name}/contents`, body)

  it('change in one commit', async () => {
    const { git, engine } = await filledRepository('several')
    const run = await git('rev-parse', 'HEAD:bin/run')
    const changed = await change('several', {
      message: 'All at once',
      files: [
        { operation: 'create', path: 'a/b.txt', content: base64('b\n') },
        { operation: 'upload', path: 'a/c.txt', content: base64('c\n') },
        { operation: 'rename', path: 'motor.txt', from_path: 'engine.txt', sha: engine },
        // The file makes room for a folder.
        { operation: 'create', path: 'engine.txt/part', content: base64('part\n') },
        { operation: 'delete', path: 'bin/run', sha: run },
      ],
    })
    expect(changed.status).toBe(201)
    const paths = changed.body.files.map(({ path }: { path: string }) => path)
    expect(paths).toEqual(['a/b.txt', 'a/c.txt', 'motor.txt', 'engine.txt/part'])
    await git('pull', '-q')
    expect(await git('ls-tree', '-r', '--name-only', 'HEAD')).toBe(
      'a/b.txt\na/c.txt\nengine.txt/part\nlink\nmodule\nmotor.txt',
    )
    expect(await git('rev-list', '--count', 'HEAD')).toBe('3')
  })

  it.each([
    [
      'one of them is refused',
      [
        { operation: 'create', path: 'y', content: '' },
        { operation: 'create', path: 'x', content: '?' },
      ],
      422,
    ],
    ['one needs a sha', [{ operation: 'update', path: 'x', content: '' }], 422],
    ['an operation is unknown', [{ operation: 'copy', path: 'x', content: '' }], 422],
    ['a path leads up', [{ operation: 'create', path: 'a/../../x' }], 422],
    ['a path leads into Git', [{ operation: 'rename', path: 'x', from_path: '.git/config' }], 422],
    [
      'a path appears twice',
      [
        { operation: 'create', path: 'x' },
        { operation: 'upload', path: 'x' },
      ],
      422,
    ],
    [
      'one is to be below another',
      [
        { operation: 'create', path: 'x' },
        { operation: 'create', path: 'x/y' },
      ],
      422,
    ],
    ['there are none', [], 422],
    [
      'there are too many',
      Array.from({ length: 301 }, (_, i) => ({ operation: 'create', path: `${i}` })),
      422,
    ],
  ])('do not change when %s', async (_, files, status) => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'unchanged' })
    expect((await change('unchanged', { files })).status).toBe(status)
    expect((await rest(users.bob, 'GET', '/repos/bob/unchanged')).body.empty).toBe(true)
  })
})

describe('concurrent changes', () => {
  it('succeed or fail with a conflict', async () => {
    const { create, git } = await filledRepository('racing')
    const statuses = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        create(`race-${i}`, `${i}\n`).then(({ status }) => status),
      ),
    )
    expect(new Set(statuses)).toEqual(new Set(statuses.includes(409) ? [201, 409] : [201]))
    await git('pull', '-q')
    const made = (await git('ls-tree', '--name-only', 'HEAD'))
      .split('\n')
      .filter((name) => name.startsWith('race-'))
    expect(made).toHaveLength(statuses.filter((status) => status === 201).length)
    expect(await git('rev-list', '--count', 'HEAD')).toBe(String(2 + made.length))
  })

  it('of one file succeed once', async () => {
    const { contents, engine } = await filledRepository('racing-file')
    const put = (text: string) =>
      rest(users.bob, 'PUT', contents('engine.txt'), { content: base64(text), sha: engine })
    const answers = await Promise.all([put('one\n'), put('two\n'), put('three\n')])
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 422 || status === 409)).toHaveLength(2)
  })

  it('by push and by API both succeed, or one is refused', async () => {
    const { create, git } = await filledRepository('racing-push')
    await client.commit('racing-push', 'pushed')
    const [pushed, made] = await Promise.all([
      git('push', '-q', 'origin', 'main').then(
        () => true,
        () => false,
      ),
      create('made', 'made\n').then(({ status }) => status),
    ])
    expect([201, 409]).toContain(made)
    await git('fetch', '-q')
    const log = await git('log', '--format=%s', 'origin/main')
    expect([log.includes('pushed'), log.includes('Add made')]).toEqual([pushed, made === 201])
  })
})

it('files change over gRPC', async () => {
  await rest(users.bob, 'POST', '/user/repos', { name: 'grpc' })
  const grpc = forge.grpc(ContentService, users.bob)
  const file = { owner: 'bob', repo: 'grpc', path: 'a.txt' }
  const made = await grpc.createFile({ ...file, content: base64('a\n') })
  const sha = made.content?.sha ?? ''
  const changed = await grpc.updateFile({ ...file, content: base64('b\n'), sha })
  expect(changed.commit?.parents[0]?.sha).toBe(made.commit?.sha)
  await expect(grpc.deleteFile({ ...file, sha })).rejects.toThrow('sha does not match')
  const deleted = await grpc.deleteFile({ ...file, sha: changed.content?.sha ?? '' })
  expect(deleted.content).toBeUndefined()
})
