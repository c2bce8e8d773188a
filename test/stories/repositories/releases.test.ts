import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { callerNamed } from '../../support/callers.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import type { RestAnswer } from '../../support/rest.ts'
import { type Actor, PASSWORD } from '../../support/server.ts'

/** How far the server's clock is ahead, so that releases differ in age. */
let aheadMs = 0

const forge = await openForge({ clock: { now: () => Date.now() + aheadMs } })
const { server, users, client, rest } = forge
afterAll(forge.checkObjects)

const grpcAs = (who?: Pick<Actor, 'authorization'>) => forge.grpc(ReleaseService, who)
const grpc = grpcAs(users.bob)

/**
 * Makes a repository of bob with a first commit, cloned by bob, which carol may write to; returns
 * its paths and its git.
 */
async function repository(name: string) {
  await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
  await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
  await client.git('.', 'clone', '-q', remoteOf(server.url, `bob/${name}`, 'bob', PASSWORD), name)
  const git = (...args: string[]) => client.git(name, ...args)
  const releases = `/repos/bob/${name}/releases`
  const publish = async (body: object) => {
    aheadMs += 1000
    const { status, body: release } = await rest(users.bob, 'POST', releases, body)
    expect([status, release.message]).toEqual([201, undefined])
    return release
  }
  const remoteTags = () => git('ls-remote', 'origin', 'refs/tags/*')
  return {
    path: `/repos/bob/${name}`,
    releases,
    git,
    publish,
    remoteTags,
    head: await git('rev-parse', 'HEAD'),
  }
}

const tagsOf = ({ body }: RestAnswer) => body.map(({ tag_name }: { tag_name: string }) => tag_name)

describe('a release', () => {
  it('is created with a new tag of the default branch, and read in all ways', async () => {
    const { path, releases, head, remoteTags } = await repository('plain')
    const body = { tag_name: 'v1/a', name: 'One', body: '* all new' }
    const made = await rest(users.bob, 'POST', releases, body)
    expect(made.status).toBe(201)
    const url = `${server.url}/api/v1${releases}/${made.body.id}`
    expect(made.body).toEqual({
      id: expect.any(Number),
      target_commitish: 'main',
      ...body,
      url,
      html_url: `${server.url}/bob/plain/releases/tag/v1/a`,
      tarball_url: `${server.url}/bob/plain/archive/v1%2Fa.tar.gz`,
      zipball_url: `${server.url}/bob/plain/archive/v1%2Fa.zip`,
      upload_url: `${url}/assets`,
      draft: false,
      prerelease: false,
      created_at: expect.stringMatching(/^20.*Z$/),
      published_at: made.body.created_at,
      author: expect.objectContaining({ login: 'bob' }),
      assets: [],
    })
    expect(await remoteTags()).toBe(`${head}\trefs/tags/v1/a`)
    for (const place of [made.body.id, 'latest', 'tags/v1%2Fa', 'tags/v1/a', 'tags/V1%2FA']) {
      expect((await rest(users.bob, 'GET', `${releases}/${place}`)).body).toEqual(made.body)
    }
    const home = { owner: 'bob', repo: 'plain' }
    const read = await grpc.getRelease({ ...home, id: BigInt(made.body.id) })
    expect(read).toMatchObject({ tagName: 'v1/a', name: 'One', targetCommitish: 'main' })
    expect(await grpc.getLatestRelease(home)).toEqual(read)
    expect(await grpc.getReleaseByTag({ ...home, tag: 'v1/a' })).toEqual(read)
    expect(await grpc.listReleases(home)).toMatchObject({ releases: [read], total: 1n, limit: 30 })
    expect((await fetch(made.body.tarball_url)).status).toBe(200)
    expect((await rest(undefined, 'GET', path)).body.release_counter).toBe(1)
  })

  it('has an annotated tag of any commit if the request has a tag message', async () => {
    const { publish, git, head } = await repository('annotated-release')
    await client.commit('annotated-release', 'second')
    await git('push', '-q')
    await publish({
      tag_name: 'v1',
      target_commitish: head.slice(0, 12),
      tag_message: 'One\r\n\r\nof many',
    })
    await git('fetch', '-q', '--tags')
    expect(
      await git('for-each-ref', '--format=%(objecttype) %(*objectname) %(contents)', 'refs/tags'),
    ).toBe(`tag ${head} One\n\nof many`)
  })

  it('accepts the field names of the specification', async () => {
    const { publish, releases } = await repository('spelled')
    const made = await publish({
      TagName: 'ignored',
      tagName: 'v1',
      target: 'main',
      title: 'T',
      note: 'N',
      is_prerelease: true,
    })
    expect(made).toMatchObject({
      tag_name: 'v1',
      target_commitish: 'main',
      name: 'T',
      body: 'N',
      prerelease: true,
    })
    const edited = await rest(users.bob, 'PATCH', `${releases}/${made.id}`, {
      title: 'U',
      is_prerelease: false,
    })
    expect(edited.body).toMatchObject({ name: 'U', body: 'N', prerelease: false })
  })

  it('is created from an existing tag, which does not move, and keeps its number', async () => {
    const { releases, publish, git, head, remoteTags } = await repository('converted')
    await git('tag', 'V1')
    await git('push', '-q', 'origin', 'V1')
    expect((await rest(users.bob, 'GET', releases)).body).toEqual([])
    expect((await rest(users.bob, 'GET', `${releases}/tags/V1`)).status).toBe(404)
    await client.commit('converted', 'second')
    await git('push', '-q')
    const made = await publish({
      tag_name: 'v1',
      target_commitish: 'somewhere',
      tag_message: 'too late',
      name: 'First',
    })
    expect(made).toMatchObject({ tag_name: 'V1', target_commitish: 'somewhere', name: 'First' })
    expect(await remoteTags()).toBe(`${head}\trefs/tags/V1`)

    expect((await rest(users.bob, 'DELETE', `${releases}/${made.id}`)).status).toBe(204)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const gone = await rest(users.bob, method, `${releases}/${made.id}`)
      expect([gone.status, gone.body.message]).toEqual([404, 'not found'])
    }
    expect((await rest(users.bob, 'GET', `${releases}/tags/V1`)).status).toBe(404)
    expect((await rest(users.bob, 'DELETE', `${releases}/tags/V1`)).status).toBe(404)
    expect((await rest(users.bob, 'GET', releases)).headers.get('x-total-count')).toBe('0')
    const again = await rest(users.carol, 'POST', releases, {
      tag_name: 'v1',
      draft: true,
      prerelease: true,
    })
    expect(again.body).toMatchObject({
      id: made.id,
      name: '',
      body: '',
      draft: true,
      prerelease: true,
    })
    expect(again.body).toMatchObject({ target_commitish: 'main', author: { login: 'carol' } })
  })

  it('has the time of its tag', async () => {
    const { releases, publish, git } = await repository('aged')
    const old = await git('commit-tree', '-m', 'old', 'HEAD^{tree}', '-p', 'HEAD')
    await git('push', '-q', 'origin', `${old}:refs/tags/old`)
    const committed = new Date((await git('log', '-1', '--format=%cI', old)).trim())
    aheadMs += 60_000
    await publish({ tag_name: 'new' })
    const made = await publish({ tag_name: 'old' })
    expect(new Date(made.created_at)).toEqual(committed)
    expect(tagsOf(await rest(undefined, 'GET', releases))).toEqual(['new', 'old'])
  })

  it('cuts a long title, and refuses a long note', async () => {
    const { publish, releases } = await repository('wordy')
    const made = await publish({ tag_name: 'v1', name: '😀'.repeat(256) })
    expect(made.name).toBe(`${'😀'.repeat(254)}…`)
    const refused = await rest(users.bob, 'POST', releases, {
      tag_name: 'v2',
      body: 'x'.repeat(128 * 1024 + 1),
    })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'body is longer than 131072 bytes',
    ])
  })
})

describe('a refused release', () => {
  const home = { owner: 'bob', repo: 'refusing' }
  beforeAll(async () => {
    const { path, publish } = await repository('refusing')
    await publish({ tag_name: 'taken' })
    await publish({ tag_name: 'Drafted', draft: true })
    await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'dir/file' })
    await rest(users.bob, 'POST', `${path}/tags`, { tag_name: 'safe/old' })
    await rest(users.bob, 'POST', `${path}/tag_protections`, {
      name_pattern: 'safe*',
      whitelist_usernames: ['carol'],
    })
    await rest(users.bob, 'POST', '/user/repos', { name: 'void' })
  })

  it.each<
    [body: object, status: number, message: string, code: string, reason: string, repo?: string]
  >([
    [{}, 422, 'repo is empty', 'FailedPrecondition', 'RELEASE_REPOSITORY_EMPTY', 'void'],
    [
      { tag_name: 'a..b' },
      422,
      'repo is empty',
      'FailedPrecondition',
      'RELEASE_REPOSITORY_EMPTY',
      'void',
    ],
    [{}, 422, '[TagName]: Required', 'InvalidArgument', 'RELEASE_TAG_REQUIRED'],
    [{ tag_name: null }, 422, '[TagName]: Required', 'InvalidArgument', 'RELEASE_TAG_REQUIRED'],
    [{ tag_name: 'taken' }, 409, 'Release is has no Tag', 'AlreadyExists', 'RELEASE_EXISTS'],
    [
      { tag_name: 'TAKEN', draft: true },
      409,
      'Release is has no Tag',
      'AlreadyExists',
      'RELEASE_EXISTS',
    ],
    [{ tag_name: 'drafted' }, 409, 'Release is has no Tag', 'AlreadyExists', 'RELEASE_EXISTS'],
    [
      { tag_name: 'safe1' },
      422,
      'release tag name is protected [tag_name: safe1]',
      'PermissionDenied',
      'RELEASE_TAG_PROTECTED',
    ],
    [
      { tag_name: 'safe1', draft: true },
      422,
      'release tag name is protected [tag_name: safe1]',
      'PermissionDenied',
      'RELEASE_TAG_PROTECTED',
    ],
    // To make a release of a tag is to publish it.
    [
      { tag_name: 'safe/old' },
      422,
      'release tag name is protected [tag_name: safe/old]',
      'PermissionDenied',
      'RELEASE_TAG_PROTECTED',
    ],
    [
      { tag_name: 'a..b' },
      422,
      'release tag name is not valid [tag_name: a..b]',
      'InvalidArgument',
      'RELEASE_TAG_INVALID',
    ],
    [
      { tag_name: 'a'.repeat(40) },
      422,
      `release tag name is not valid [tag_name: ${'a'.repeat(40)}]`,
      'InvalidArgument',
      'RELEASE_TAG_INVALID',
    ],
    [
      { tag_name: 'v1', target_commitish: 'nowhere' },
      404,
      'target not found',
      'NotFound',
      'TAG_TARGET_NOT_FOUND',
    ],
    [
      { tag_name: 'v1', target_commitish: 'nowhere', draft: true },
      404,
      'target not found',
      'NotFound',
      'TAG_TARGET_NOT_FOUND',
    ],
    [
      { tag_name: 'dir' },
      409,
      'tag dir conflicts with tag dir/file: one path is below the other',
      'AlreadyExists',
      'REF_NAME_COLLISION',
    ],
  ])('%j: %i %s', async (body, status, message, code, reason, repo = 'refusing') => {
    const refused = await rest(users.bob, 'POST', `/repos/bob/${repo}/releases`, body)
    expect([refused.status, refused.body.message]).toEqual([status, message])
    const { tag_name = '', target_commitish = '', draft = false } = body as Record<string, never>
    const request = {
      ...home,
      repo,
      tagName: tag_name ?? '',
      targetCommitish: target_commitish,
      draft,
    }
    expect(await refusalOf(grpc.createRelease(request))).toMatchObject({ code, reason })
  })

  it('is found by its own number only', async () => {
    const other = await rest(users.bob, 'GET', '/repos/bob/refusing/releases/tags/taken')
    await rest(users.bob, 'POST', '/user/repos', { name: 'beside', auto_init: true })
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      for (const id of [other.body.id, 999_999, 'x', -1, 0, '9'.repeat(30)]) {
        const missing = await rest(users.bob, method, `/repos/bob/beside/releases/${id}`)
        expect([missing.status, missing.body.message]).toEqual([404, 'not found'])
      }
    }
    const none = { ...home, id: 999_999n }
    for (const call of [grpc.getRelease, grpc.editRelease, grpc.deleteRelease]) {
      const made: Promise<unknown> = call(none)
      expect(await refusalOf(made)).toMatchObject({ code: 'NotFound', reason: 'RELEASE_NOT_FOUND' })
    }
  })

  it('is not found when there is no latest one, or none of a tag', async () => {
    const { releases, publish, git } = await repository('no-latest')
    await publish({ tag_name: 'pre', prerelease: true })
    await publish({ tag_name: 'draft', draft: true })
    await git('push', '-q', 'origin', 'HEAD:refs/tags/only')
    for (const place of ['latest', 'tags/only', 'tags/none']) {
      const missing = await rest(users.bob, 'GET', `${releases}/${place}`)
      expect([missing.status, missing.body.message]).toEqual([404, 'not found'])
    }
    const none = { owner: 'bob', repo: 'no-latest' }
    expect(await refusalOf(grpc.getLatestRelease(none))).toMatchObject({
      code: 'NotFound',
      reason: 'RELEASE_NOT_FOUND',
    })
    expect(await refusalOf(grpc.getReleaseByTag({ ...none, tag: 'only' }))).toMatchObject({
      code: 'NotFound',
      reason: 'RELEASE_NOT_FOUND',
    })
    expect(await refusalOf(grpc.deleteReleaseByTag({ ...none, tag: 'x' }))).toMatchObject({
      code: 'NotFound',
      reason: 'RELEASE_NOT_FOUND',
    })
  })
})

describe('a list of releases', () => {
  let path: string
  beforeAll(async () => {
    const { releases, publish } = await repository('listed')
    path = releases
    for (const [tag_name, more] of [
      ['one', {}],
      ['two', { prerelease: true }],
      ['three', { draft: true }],
      ['four', { draft: true, prerelease: true }],
      ['five', {}],
    ] as const) {
      await publish({ tag_name, ...more })
    }
  })

  it.each<[query: string, writers: string, others: string]>([
    ['', 'five four three two one', 'five two one'],
    ['?draft=true', 'four three', ''],
    ['?draft=1', 'four three', ''],
    ['?draft=false', 'five two one', 'five two one'],
    // What is no bool is false, and what is empty is not there.
    ['?draft=maybe', 'five two one', 'five two one'],
    ['?draft=', 'five four three two one', 'five two one'],
    ['?pre-release=true', 'four two', 'two'],
    ['?pre-release=false', 'five three one', 'five one'],
    ['?draft=false&pre-release=false', 'five one', 'five one'],
    ['?draft=true&pre-release=true', 'four', ''],
    ['?limit=2', 'five four', 'five two'],
    ['?limit=2&page=2', 'three two', 'one'],
    ['?limit=2&page=9', '', ''],
  ])('%s contains "%s" for writers and "%s" for others', async (query, writers, others) => {
    for (const [who, expected] of [
      [users.bob, writers],
      [users.carol, writers],
      [undefined, others],
    ] as const) {
      expect(tagsOf(await rest(who, 'GET', `${path}${query}`)).join(' ')).toBe(expected)
    }
  })

  it('counts its releases', async () => {
    const seen = await rest(undefined, 'GET', `${path}?limit=2`)
    expect(seen.headers.get('x-total-count')).toBe('3')
    expect(seen.headers.get('link')).toContain('page=2>; rel="last"')
    expect((await rest(users.bob, 'GET', `${path}?draft=true`)).headers.get('x-total-count')).toBe(
      '2',
    )
    expect((await rest(undefined, 'GET', `${path}?draft=true`)).headers.get('x-total-count')).toBe(
      '0',
    )
    const home = { owner: 'bob', repo: 'listed' }
    expect((await grpc.listReleases({ ...home, draft: true, preRelease: false })).total).toBe(1n)
    expect((await grpcAs().listReleases({ ...home, preRelease: true })).total).toBe(1n)
    expect((await rest(undefined, 'GET', '/repos/bob/listed')).body.release_counter).toBe(3)
  })

  it('is sorted by age, then by number', async () => {
    const { releases, publish } = await repository('same-age')
    const ids = [(await publish({ tag_name: 'a' })).id, (await publish({ tag_name: 'b' })).id]
    const older = await publish({ tag_name: 'c' })
    const { db } = server.app
    await db.updateTable('releases').set({ create_time: 2000 }).where('id', 'in', ids).execute()
    await db.updateTable('releases').set({ create_time: 1000 }).where('id', '=', older.id).execute()
    expect(tagsOf(await rest(undefined, 'GET', releases))).toEqual(['b', 'a', 'c'])
  })
})

describe('a draft', () => {
  it.each<[who: string, sees: boolean, edit: number]>([
    ['nobody', false, 401],
    ['ada', true, 200],
    ['bob', true, 200],
    ['carol', true, 200],
    ['dora', false, 403],
    ['write:repository', true, 200],
    ['all', true, 200],
    // Whoever may write, but not by this token.
    ['read:repository', false, 403],
  ])('is visible to %s: %s', async (who, sees, edit) => {
    const name = `draft-${who.replace(':', '-')}`
    const { releases, publish } = await repository(name)
    if (who === 'dora')
      await rest(users.bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'read' })
    const caller = await callerNamed(server.url, users, who === 'dora' ? 'carol' : who)
    const { id } = await publish({ tag_name: 'v1', draft: true })
    for (const place of [id, 'tags/v1']) {
      expect((await rest(caller, 'GET', `${releases}/${place}`)).status).toBe(sees ? 200 : 404)
    }
    const home = { owner: 'bob', repo: name }
    const overGrpc = grpcAs(caller).getRelease({ ...home, id: BigInt(id) })
    if (sees) expect((await overGrpc).draft).toBe(true)
    else
      expect(await refusalOf(overGrpc)).toMatchObject({
        code: 'NotFound',
        reason: 'RELEASE_NOT_FOUND',
      })
    const listed = await rest(caller, 'GET', releases)
    expect([listed.body.length, listed.headers.get('x-total-count')]).toEqual(
      sees ? [1, '1'] : [0, '0'],
    )
    expect((await rest(caller, 'GET', `${releases}/latest`)).status).toBe(404)
    expect((await rest(caller, 'PATCH', `${releases}/${id}`, { name: 'x' })).status).toBe(edit)
  })

  it('gets its tag and the time of it when it is published', async () => {
    const { path, releases, publish, remoteTags, head } = await repository('published')
    const draft = await publish({ tag_name: 'v1', draft: true, tag_message: 'forgotten' })
    expect(await remoteTags()).toBe('')
    expect((await rest(users.bob, 'GET', path)).body.release_counter).toBe(0)
    aheadMs += 5000
    const saved = await rest(users.bob, 'PATCH', `${releases}/${draft.id}`, { name: 'One' })
    expect(saved.body).toMatchObject({ name: 'One', draft: true })
    expect(Date.parse(saved.body.created_at)).toBeGreaterThan(Date.parse(draft.created_at))
    aheadMs += 5000
    const published = await rest(users.bob, 'PATCH', `${releases}/${draft.id}`, { draft: false })
    expect([published.status, published.body.id, published.body.draft]).toEqual([
      200,
      draft.id,
      false,
    ])
    expect(Date.parse(published.body.created_at)).toBeGreaterThan(Date.parse(saved.body.created_at))
    expect(await remoteTags()).toBe(`${head}\trefs/tags/v1`)
    expect((await rest(users.bob, 'GET', `${releases}/latest`)).body).toEqual(published.body)
    expect((await rest(undefined, 'GET', `${releases}/latest`)).body.id).toBe(draft.id)
    expect((await rest(users.bob, 'GET', path)).body.release_counter).toBe(1)
    aheadMs += 5000
    const edited = await rest(users.bob, 'PATCH', `${releases}/${draft.id}`, { body: 'more' })
    expect(edited.body.created_at).toBe(published.body.created_at)
    const withdrawn = await rest(users.bob, 'PATCH', `${releases}/${draft.id}`, { draft: true })
    expect(withdrawn.body.draft).toBe(true)
    expect((await rest(users.bob, 'GET', path)).body.release_counter).toBe(0)
    expect(await remoteTags()).toBe(`${head}\trefs/tags/v1`)
  })

  it('is not published without its target or with a protected tag', async () => {
    const { path, releases, publish, git, remoteTags } = await repository('unpublishable')
    await git('push', '-q', 'origin', 'HEAD:refs/heads/side')
    const lost = await publish({ tag_name: 'v1', target_commitish: 'side', draft: true })
    await git('push', '-q', 'origin', ':side')
    const gone = await rest(users.bob, 'PATCH', `${releases}/${lost.id}`, { draft: false })
    expect([gone.status, gone.body.message]).toEqual([404, 'target not found'])
    const home = { owner: 'bob', repo: 'unpublishable' }
    const publishing = (id: number) => grpc.editRelease({ ...home, id: BigInt(id), draft: false })
    expect(await refusalOf(publishing(lost.id))).toMatchObject({
      code: 'NotFound',
      reason: 'TAG_TARGET_NOT_FOUND',
    })

    const guarded = await publish({ tag_name: 'safe', draft: true })
    await rest(users.bob, 'POST', `${path}/tag_protections`, {
      name_pattern: 'safe',
      whitelist_usernames: ['carol'],
    })
    const refused = await rest(users.bob, 'PATCH', `${releases}/${guarded.id}`, { draft: false })
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'release tag name is protected [tag_name: safe]',
    ])
    expect(await refusalOf(publishing(guarded.id))).toMatchObject({
      code: 'PermissionDenied',
      reason: 'RELEASE_TAG_PROTECTED',
    })
    expect(await remoteTags()).toBe('')
    // What is not about publishing is no question of protection.
    expect(
      (await rest(users.bob, 'PATCH', `${releases}/${guarded.id}`, { name: 'x' })).status,
    ).toBe(200)
    expect(
      (await rest(users.carol, 'PATCH', `${releases}/${guarded.id}`, { draft: false })).status,
    ).toBe(200)
  })

  it('leaves no entry when it is deleted without a tag', async () => {
    const { releases, publish } = await repository('dropped')
    const { id } = await publish({ tag_name: 'v1', draft: true })
    expect((await rest(users.bob, 'DELETE', `${releases}/${id}`)).status).toBe(204)
    expect((await publish({ tag_name: 'v1', draft: true })).id).not.toBe(id)
  })
})

describe('an edit of a release', () => {
  it('changes texts that are not empty and flags that are set', async () => {
    const { releases, publish } = await repository('edited')
    const before = await publish({ tag_name: 'v1', name: 'One', body: 'all', prerelease: true })
    const place = `${releases}/${before.id}`
    const nothing = {
      tag_name: '',
      target_commitish: '',
      name: '',
      body: '',
      draft: null,
      prerelease: null,
    }
    for (const body of [{}, nothing]) {
      const kept = await rest(users.bob, 'PATCH', place, body)
      expect([kept.status, kept.body]).toEqual([200, before])
    }
    const edited = await rest(users.bob, 'PATCH', place, {
      name: 'Uno',
      target_commitish: 'x',
      prerelease: false,
    })
    expect(edited.body).toEqual({
      ...before,
      name: 'Uno',
      target_commitish: 'x',
      prerelease: false,
    })
    const request = {
      owner: 'bob',
      repo: 'edited',
      id: BigInt(before.id),
      body: 'new',
      prerelease: true,
    }
    expect(await grpc.editRelease(request)).toMatchObject({
      name: 'Uno',
      body: 'new',
      prerelease: true,
    })
  })

  it('can change the tag, and keeps the former tag', async () => {
    const { path, releases, publish, git, remoteTags, head } = await repository('retagged')
    await publish({ tag_name: 'other' })
    const left = await publish({ tag_name: 'left' })
    await rest(users.bob, 'DELETE', `${releases}/${left.id}`)
    const { id } = await publish({ tag_name: 'v1' })
    const retag = (tag_name: string) => rest(users.bob, 'PATCH', `${releases}/${id}`, { tag_name })
    for (const taken of ['other', 'OTHER']) {
      const refused = await retag(taken)
      expect([refused.status, refused.body.message]).toEqual([
        409,
        'release tag already exist [tag_name: other]',
      ])
    }
    expect((await retag('a..b')).status).toBe(422)
    const renamed = await retag('v2')
    expect(renamed.body).toMatchObject({ id, tag_name: 'v2', draft: false })
    await git('fetch', '-q', '--tags')
    expect(await remoteTags()).toBe(
      ['left', 'other', 'v1', 'v2'].map((tag) => `${head}\trefs/tags/${tag}`).join('\n'),
    )
    expect((await retag('LEFT')).body).toMatchObject({ id, tag_name: 'left' })
    expect((await rest(users.bob, 'GET', path)).body.release_counter).toBe(2)
    expect((await publish({ tag_name: 'v1' })).id).not.toBe(id)
  })
})

describe('the tag of a release', () => {
  it('is not deleted over the API before the release, and remains when the release is deleted', async () => {
    const { path, publish, remoteTags, head, releases } = await repository('attached')
    const { id } = await publish({ tag_name: 'v1' })
    const refused = await rest(users.bob, 'DELETE', `${path}/tags/v1`)
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'a tag attached to a release cannot be deleted directly',
    ])
    expect((await rest(users.bob, 'DELETE', `${releases}/tags/V1`)).status).toBe(204)
    expect(await remoteTags()).toBe(`${head}\trefs/tags/v1`)
    expect((await rest(users.bob, 'GET', path)).body.release_counter).toBe(0)
    expect((await rest(users.bob, 'DELETE', `${path}/tags/v1`)).status).toBe(204)
    // What it left is gone with it.
    expect((await publish({ tag_name: 'v1' })).id).not.toBe(id)
  })

  it('turns it into a draft when Git deletes the tag', async () => {
    const { path, releases, publish, git, head, remoteTags } = await repository('untagged')
    const { id } = await publish({ tag_name: 'v1', name: 'One' })
    await git('push', '-q', 'origin', ':v1')
    expect((await rest(undefined, 'GET', `${releases}/${id}`)).status).toBe(404)
    expect((await rest(undefined, 'GET', `${releases}/latest`)).status).toBe(404)
    expect((await rest(users.bob, 'GET', `${releases}/${id}`)).body).toMatchObject({
      draft: true,
      name: 'One',
    })
    expect((await rest(users.bob, 'GET', path)).body.release_counter).toBe(0)
    // Nobody but who publishes it makes it public again.
    await git('push', '-q', 'origin', 'HEAD:refs/tags/v1')
    expect((await rest(users.bob, 'GET', `${releases}/${id}`)).body.draft).toBe(true)
    expect((await rest(users.bob, 'PATCH', `${releases}/${id}`, { draft: false })).status).toBe(200)
    expect(await remoteTags()).toBe(`${head}\trefs/tags/v1`)
  })

  it('changes the time of the release when Git moves the tag', async () => {
    const { releases, publish, git } = await repository('moved')
    const { id } = await publish({ tag_name: 'v1' })
    await git('commit', '-q', '--allow-empty', '-m', 'second')
    await git('push', '-q', 'origin', '+HEAD:refs/tags/v1')
    const committed = await git('log', '-1', '--format=%cI')
    const { body } = await rest(undefined, 'GET', `${releases}/${id}`)
    expect([body.draft, new Date(body.created_at)]).toEqual([false, new Date(committed)])
  })

  it('protects the release from deletion if the tag is protected', async () => {
    const { path, releases, publish } = await repository('guarded')
    const { id } = await publish({ tag_name: 'v1' })
    await rest(users.bob, 'POST', `${path}/tag_protections`, {
      name_pattern: 'v*',
      whitelist_usernames: ['carol'],
    })
    for (const place of [id, 'tags/v1']) {
      const refused = await rest(users.bob, 'DELETE', `${releases}/${place}`)
      expect([refused.status, refused.body.message]).toEqual([
        422,
        'user not allowed to delete protected tag',
      ])
    }
    const request = { owner: 'bob', repo: 'guarded', id: BigInt(id) }
    expect(await refusalOf(grpc.deleteRelease(request))).toMatchObject({
      code: 'PermissionDenied',
      reason: 'TAG_PROTECTED',
    })
    // Administrators are not exempt.
    expect((await rest(users.ada, 'DELETE', `${releases}/${id}`)).status).toBe(422)
    await grpcAs(users.carol).deleteRelease(request)
    expect((await rest(users.bob, 'GET', `${releases}/${id}`)).status).toBe(404)
  })

  it('has one release after concurrent requests', async () => {
    const { releases, remoteTags, git } = await repository('raced')
    const heads = await Promise.all(
      [1, 2, 3, 4].map((i) => git('commit-tree', '-m', `${i}`, 'HEAD^{tree}')),
    )
    await git('push', '-q', 'origin', ...heads.map((head, i) => `${head}:refs/heads/b${i}`))
    const answers = await Promise.all(
      heads.map((_, i) =>
        rest(users.bob, 'POST', releases, { tag_name: 'v1', target_commitish: `b${i}` }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
    expect(tagsOf(await rest(undefined, 'GET', releases))).toEqual(['v1'])
    expect((await remoteTags()).split('\n')).toHaveLength(1)
  })
})

describe('a draft that is published during edits', () => {
  it('is published, and remains published', async () => {
    const { publish, releases } = await repository('edited-at-once')
    const { id } = await publish({ tag_name: 'v1', draft: true })
    const path = `${releases}/${id}`
    let isPublished = false
    const editors = Array.from({ length: 8 }, async (_, i) => {
      for (let edit = 0; !isPublished; edit++) {
        expect((await rest(users.bob, 'PATCH', path, { name: `title ${i} ${edit}` })).status).toBe(
          200,
        )
      }
    })
    const published = await rest(users.bob, 'PATCH', path, { draft: false, prerelease: true })
    isPublished = true
    await Promise.all(editors)
    expect([published.status, published.body.draft]).toEqual([200, false])
    const { body } = await rest(undefined, 'GET', path)
    expect(body).toMatchObject({
      draft: false,
      prerelease: true,
      name: expect.stringMatching(/^title /),
    })
  })
})

describe('permission to read and write releases', () => {
  it.each<[who: string, settings: object, read: number, write: number]>([
    ['nobody', {}, 200, 401],
    ['carol', {}, 200, 403],
    ['ada', {}, 200, 201],
    ['write:repository', {}, 200, 201],
    ['read:repository', {}, 200, 403],
    ['read:user', {}, 403, 403],
    ['nobody', { private: true }, 404, 401],
    ['carol', { private: true }, 404, 404],
    ['public-only', { private: true }, 404, 404],
    ['bob', { archived: true }, 200, 423],
    ['bob', { has_releases: false }, 403, 403],
  ])('%s of a repository with %j: %i, %i', async (who, settings, read, write) => {
    const name = `access-${who.replace(':', '-')}-${Object.keys(settings)}`
    const path = `/repos/bob/${name}`
    await rest(users.bob, 'POST', '/user/repos', { name, auto_init: true })
    const { id } = (await rest(users.bob, 'POST', `${path}/releases`, { tag_name: 'old' })).body
    await rest(users.bob, 'PATCH', path, settings)
    const caller = await callerNamed(server.url, users, who)
    for (const place of ['', `/${id}`, '/latest', '/tags/old', `/${id}/assets`]) {
      expect((await rest(caller, 'GET', `${path}/releases${place}`)).status).toBe(read)
    }
    const send = async (method: string, place: string, body?: object) =>
      (await rest(caller, method, `${path}/releases${place}`, body)).status
    const done = (status: number) => (write === 201 ? status : write)
    expect(await send('POST', '', { tag_name: 'new' })).toBe(write)
    expect(await send('PATCH', `/${id}`, { name: 'x' })).toBe(done(200))
    expect(await send('POST', `/${id}/assets?name=x`)).toBe(write)
    expect(await send('PATCH', `/${id}/assets/0`)).toBe(done(404))
    expect(await send('DELETE', `/${id}/assets/0`)).toBe(done(404))
    expect(await send('DELETE', `/${id}`)).toBe(done(204))
    expect(await send('DELETE', '/tags/old')).toBe(done(404))
  })

  it('includes tags for a team that writes releases and reads code', async () => {
    await rest(users.ada, 'POST', '/orgs', { username: 'acme' })
    await rest(users.ada, 'POST', '/orgs/acme/repos', {
      name: 'engine',
      auto_init: true,
      private: true,
    })
    const units_map = { 'repo.code': 'read', 'repo.releases': 'write' }
    const team = await rest(users.ada, 'POST', '/orgs/acme/teams', {
      name: 'Shippers',
      includes_all_repositories: true,
      units_map,
    })
    await rest(users.ada, 'PUT', `/teams/${team.body.id}/members/carol`)
    const path = '/repos/acme/engine'
    expect((await rest(users.carol, 'POST', `${path}/tags`, { tag_name: 'v1' })).status).toBe(403)
    expect((await rest(users.carol, 'POST', `${path}/releases`, { tag_name: 'v1' })).status).toBe(
      201,
    )
    expect((await rest(users.carol, 'GET', `${path}/tags/v1`)).status).toBe(200)
    expect((await rest(users.bob, 'GET', `${path}/releases`)).status).toBe(404)
  })
})
