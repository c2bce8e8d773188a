import { describe, expect, it } from 'vitest'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { type Actor, createToken } from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest } = forge

const topics = (who?: Actor) => forge.grpc(TopicService, who)

/** Creates a repository of bob with topics. */
async function repository(
  name: string,
  names: string[] = [],
  settings: object = {},
): Promise<string> {
  expect((await rest(users.bob, 'POST', '/user/repos', { name, ...settings })).status).toBe(201)
  const path = `/repos/bob/${name}`
  if (names.length > 0)
    expect((await rest(users.bob, 'PUT', `${path}/topics`, { topics: names })).status).toBe(204)
  return path
}

const namesOf = async (path: string, who = users.bob) =>
  (await rest(who, 'GET', `${path}/topics`)).body.topics

const many = (count: number) =>
  Array.from({ length: count }, (_, i) => `t${String(i).padStart(2, '0')}`)

/** Returns the results of a search, as names and counts. */
async function found(q: string, who?: Actor): Promise<[string, number][]> {
  const { body } = await rest(who, 'GET', `/topics/search?q=${encodeURIComponent(q)}`)
  return body.topics.map(
    ({ topic_name, repo_count }: { topic_name: string; repo_count: number }) => [
      topic_name,
      repo_count,
    ],
  )
}

describe('the topics of a repository', () => {
  it('are replaced as a set, normalised, and listed by name in pages', async () => {
    const path = await repository('cleaned', ['gone', 'kept'])
    const answer = await rest(users.bob, 'PUT', `${path}/topics`, {
      topics: [' Zeta', 'kept', '', 'ZETA ', '1.a-b', 'kept'],
    })
    expect([answer.status, answer.body]).toEqual([204, {}])
    const listed = await rest(undefined, 'GET', `${path}/topics`)
    expect([listed.status, listed.body]).toEqual([200, { topics: ['1.a-b', 'kept', 'zeta'] }])
    expect(listed.headers.get('x-total-count')).toBe('3')
    const page = await rest(undefined, 'GET', `${path}/topics?page=2&limit=2`)
    expect(page.body).toEqual({ topics: ['zeta'] })
    expect([page.headers.get('x-total-count'), page.headers.get('link')]).toEqual([
      '3',
      expect.stringContaining('rel="prev"'),
    ])
    expect(
      await topics().listRepositoryTopics({ owner: 'bob', repo: 'cleaned', limit: 1 }),
    ).toMatchObject({
      page: { topics: ['1.a-b'] },
      total: 3n,
      limit: 1,
    })
    expect((await rest(users.bob, 'PUT', `${path}/topics`, { topics: null })).status).toBe(204)
    expect(await namesOf(path)).toEqual([])
  })

  it('are added and removed one by one', async () => {
    const path = await repository('single')
    for (const name of ['b', '%20A%20', 'b', 'a'.repeat(35)]) {
      expect((await rest(users.bob, 'PUT', `${path}/topics/${name}`)).status).toBe(204)
    }
    expect(await namesOf(path)).toEqual(['a', 'a'.repeat(35), 'b'])
    expect((await rest(users.bob, 'DELETE', `${path}/topics/%20B`)).status).toBe(204)
    await topics(users.bob).removeRepositoryTopic({ owner: 'bob', repo: 'single', topic: 'A' })
    await topics(users.bob).addRepositoryTopic({ owner: 'bob', repo: 'single', topic: 'c' })
    expect(await namesOf(path)).toEqual(['a'.repeat(35), 'c'])
  })

  const INVALID = {
    code: 'InvalidArgument',
    message: 'Topic name is invalid',
    reason: 'INVALID_TOPIC',
  }
  const EXCEEDING = { limit: '25' }
  it.each([
    ['c++', 'c%2B%2B'],
    ['a_b', 'A_b'],
    ['-a', '-a'],
    ['.a', '.a'],
    ['a/b', 'a%2Fb'],
    ['ä', '%C3%A4'],
    ['', '%20'],
    ['a'.repeat(36), 'a'.repeat(36)],
  ])('cannot be %j', async (name, path) => {
    const home = '/repos/bob/never'
    if ((await rest(users.bob, 'GET', home)).status === 404) await repository('never')
    for (const method of ['PUT', 'DELETE']) {
      const { status, body } = await rest(users.bob, method, `${home}/topics/${path}`)
      expect([status, body]).toEqual([
        422,
        { invalidTopics: name, message: 'Topic name is invalid' },
      ])
    }
    const request = { owner: 'bob', repo: 'never', topic: name }
    const refusal = { ...INVALID, metadata: { topic: name } }
    expect(await refusalOf(topics(users.bob).addRepositoryTopic(request))).toEqual(refusal)
    expect(await refusalOf(topics(users.bob).removeRepositoryTopic(request))).toEqual(refusal)
    if (name === '') return
    const all = await rest(users.bob, 'PUT', `${home}/topics`, {
      topics: ['fine', name, 'x y', name],
    })
    expect([all.status, all.body]).toEqual([
      422,
      { invalidTopics: [name, 'x y'], message: 'Topic names are invalid' },
    ])
    const replace = topics(users.bob).replaceRepositoryTopics({
      owner: 'bob',
      repo: 'never',
      topics: [name],
    })
    expect(await refusalOf(replace)).toEqual({
      code: 'InvalidArgument',
      message: 'Topic names are invalid',
      reason: 'INVALID_TOPICS',
      metadata: { topics: JSON.stringify([name]) },
    })
    expect(await namesOf(home)).toEqual([])
  })

  it('are repeated in an error within the limits of every client', async () => {
    const path = await repository('long')
    const long = await rest(users.bob, 'PUT', `${path}/topics`, {
      topics: ['x'.repeat(100_000), 'a b', ...many(5000).map((t) => `${t} y`)],
    })
    expect(long.body.invalidTopics.slice(0, 2)).toEqual(['x'.repeat(250), 'a b'])
    expect(JSON.stringify(long.body).length).toBeLessThan(2200)
    const one = await rest(users.bob, 'PUT', `${path}/topics/${'x'.repeat(5000)}`)
    expect(one.body.invalidTopics).toBe('x'.repeat(100))
  })

  it('are at most 25, which is checked before invalid topics', async () => {
    const path = await repository('full', many(25))
    const message = 'Exceeding maximum number of topics per repo'
    const tooMany = await rest(users.bob, 'PUT', `${path}/topics`, { topics: [...many(26), 'x y'] })
    expect([tooMany.status, tooMany.body]).toEqual([422, { invalidTopics: null, message }])
    const replace = topics(users.bob).replaceRepositoryTopics({
      owner: 'bob',
      repo: 'full',
      topics: many(26),
    })
    const refusal = {
      code: 'InvalidArgument',
      message,
      reason: 'TOO_MANY_TOPICS',
      metadata: EXCEEDING,
    }
    expect(await refusalOf(replace)).toEqual(refusal)
    // 25 of them, and one that is none.
    const invalid = await rest(users.bob, 'PUT', `${path}/topics`, { topics: [...many(25), 'x y'] })
    expect([invalid.status, invalid.body.invalidTopics]).toEqual([422, ['x y']])
    for (const topic of ['more', 't00']) {
      const text = 'Exceeding maximum allowed topics per repo.'
      const { status, body } = await rest(users.bob, 'PUT', `${path}/topics/${topic}`)
      expect([status, body]).toEqual([422, { message: text }])
      const add = topics(users.bob).addRepositoryTopic({ owner: 'bob', repo: 'full', topic })
      const full = {
        code: 'FailedPrecondition',
        message: text,
        reason: 'TOPIC_LIMIT_REACHED',
        metadata: EXCEEDING,
      }
      expect(await refusalOf(add)).toEqual(full)
    }
    expect(await namesOf(path)).toEqual(many(25))
  })

  it('are 25 after 30 concurrent additions', async () => {
    const path = await repository('race')
    const answers = await Promise.all(
      many(30).map((topic) => rest(users.bob, 'PUT', `${path}/topics/${topic}`)),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(25).fill(204), ...Array(5).fill(422)])
    expect(await namesOf(path)).toHaveLength(25)
  })

  it('are not found if the repository lacks them', async () => {
    const path = await repository('missed', ['other'])
    await repository('elsewhere', ['there'])
    const { status, body } = await rest(users.bob, 'DELETE', `${path}/topics/there`)
    expect([status, body]).toEqual([404, { message: 'not found', url: '/openapi.json' }])
    const remove = topics(users.bob).removeRepositoryTopic({
      owner: 'bob',
      repo: 'missed',
      topic: 'there',
    })
    expect(await refusalOf(remove)).toMatchObject({ code: 'NotFound', reason: 'TOPIC_NOT_FOUND' })
  })

  it('are part of the repository, in lists and as parent of forks', async () => {
    const path = await repository('told', ['b', 'a'], { auto_init: true })
    expect((await rest(undefined, 'GET', path)).body.topics).toEqual(['a', 'b'])
    const { body } = await rest(undefined, 'GET', '/users/bob/repos?limit=50')
    const told = body.find(({ name }: { name: string }) => name === 'told')
    expect(told.topics).toEqual(['a', 'b'])
    const { body: fork } = await rest(users.carol, 'POST', `${path}/forks`, {})
    expect([fork.topics, fork.parent.topics]).toEqual([[], ['a', 'b']])
  })

  it('find repositories', async () => {
    await repository('by-topic-1', ['physics', 'x'])
    await repository('by-topic-2', ['chemistry'])
    await repository('physics', ['none'])
    const search = async (query: string) =>
      (await rest(users.bob, 'GET', `/repos/search?${query}`)).body.data.map(
        ({ name }: { name: string }) => name,
      )
    expect(await search('topic=true&q=Physics')).toEqual(['by-topic-1'])
    expect(await search('topic=true&q=chemistry,physics')).toEqual(['by-topic-1', 'by-topic-2'])
    expect(await search('topic=true&q=phys')).toEqual([])
    expect(await search('q=physics')).toEqual(['by-topic-1', 'physics'])
  })

  it('are changed by administrators of the repository, unless it is archived', async () => {
    const path = await repository('guarded', ['one'])
    await rest(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
    const readOnly = await createToken(server.url, users.bob, ['read:repository'])
    const calls: [method: string, path: string, body?: object][] = [
      ['PUT', `${path}/topics`, { topics: ['x y'] }],
      ['PUT', `${path}/topics/x%20y`],
      ['DELETE', `${path}/topics/x%20y`],
    ]
    for (const [method, target, body] of calls) {
      const denied = await rest(users.carol, method, target, body)
      const message = 'user should be an owner or a collaborator with admin write of a repository'
      expect([denied.status, denied.body.message]).toEqual([403, message])
      expect((await rest(undefined, method, target, body)).status).toBe(401)
      expect(
        (await rest({ authorization: `token ${readOnly}` }, method, target, body)).status,
      ).toBe(403)
      expect((await rest(users.ada, method, target, body)).status).toBe(422)
    }
    await rest(users.bob, 'PATCH', path, { archived: true })
    for (const [method, target, body] of calls) {
      const { status, body: refused } = await rest(users.bob, method, target, body)
      expect([status, refused.message]).toEqual([423, 'repo is archived'])
    }
    expect(await namesOf(path)).toEqual(['one'])
  })

  it('are hidden if the repository is private', async () => {
    const path = await repository('private', ['secret-plan'], { private: true })
    for (const who of [undefined, users.carol]) {
      expect((await rest(who, 'GET', `${path}/topics`)).status).toBe(404)
      expect((await rest(who, 'GET', '/repos/bob/nothing/topics')).status).toBe(404)
    }
    for (const [method, target] of [
      ['PUT', 'topics'],
      ['PUT', 'topics/a'],
      ['DELETE', 'topics/a'],
    ] as const) {
      expect((await rest(users.carol, method, `${path}/${target}`, { topics: [] })).status).toBe(
        404,
      )
    }
    const publicOnly = await createToken(server.url, users.bob, ['all', 'public-only'])
    expect(
      (await rest({ authorization: `token ${publicOnly}` }, 'GET', `${path}/topics`)).status,
    ).toBe(404)
    expect(await namesOf(path)).toEqual(['secret-plan'])
  })
})

describe('the search for topics', () => {
  it('finds substrings, sorted by the number of repositories, then by name', async () => {
    await repository('s1', ['sea-b', 'sea-a', 'sea-c'])
    await repository('s2', ['sea-c'])
    const answer = await rest(undefined, 'GET', '/topics/search?q=%20SEA')
    expect(answer.status).toBe(200)
    expect(answer.body.topics[0]).toEqual({
      id: expect.any(Number),
      topic_name: 'sea-c',
      repo_count: 2,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    })
    expect(await found('sea')).toEqual([
      ['sea-c', 2],
      ['sea-a', 1],
      ['sea-b', 1],
    ])
    const page = await rest(undefined, 'GET', '/topics/search?q=sea&limit=1&page=2')
    expect(page.body.topics.map(({ topic_name }: { topic_name: string }) => topic_name)).toEqual([
      'sea-a',
    ])
    expect([page.headers.get('x-total-count'), page.headers.get('link')]).toEqual([
      '3',
      expect.stringContaining('q=sea'),
    ])
    expect(await topics().searchTopics({ q: 'sea-c' })).toMatchObject({
      page: { topics: [{ topicName: 'sea-c', repoCount: 2n }] },
      total: 1n,
    })
    const all = await rest(undefined, 'GET', '/topics/search')
    expect(Number(all.headers.get('x-total-count'))).toBeGreaterThan(3)
    const wrongScope = await createToken(server.url, users.bob, ['read:user'])
    expect(
      (await rest({ authorization: `token ${wrongScope}` }, 'GET', '/topics/search?q=sea')).status,
    ).toBe(403)
  })

  it('counts public repositories through all changes', async () => {
    const open = await repository('open', ['river'])
    const other = await repository('closed', ['river', 'hidden'], { private: true })
    const stays = (count: number) =>
      expect(found('river', users.bob)).resolves.toEqual(count === 0 ? [] : [['river', count]])
    await stays(1)
    expect(await found('hidden', users.bob)).toEqual([])
    await rest(users.bob, 'PATCH', other, { private: false })
    await stays(2)
    await rest(users.bob, 'PATCH', open, { private: true })
    await stays(1)
    await rest(users.bob, 'POST', '/orgs', { username: 'shy', visibility: 'private' })
    await rest(users.bob, 'POST', `${other}/transfer`, { new_owner: 'shy' })
    await stays(0)
    await rest(users.bob, 'PATCH', '/orgs/shy', { visibility: 'public' })
    await stays(1)
    await rest(users.bob, 'PATCH', '/orgs/shy', { visibility: 'limited' })
    await stays(0)
    await rest(users.bob, 'PATCH', open, { private: false })
    await stays(1)
    await rest(users.bob, 'DELETE', open)
    await stays(0)
    await rest(users.bob, 'DELETE', '/repos/shy/closed')
    // Topics without repositories are deleted.
    const left = await server.app.db
      .selectFrom('topics')
      .select('name')
      .where('name', 'in', ['river', 'hidden'])
      .execute()
    expect(left).toEqual([])
  })
})
