import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rebuildSearch } from '../../../src/forge/administration/doctor.ts'
import { countSearch } from '../../../src/forge/migrations/0060-search.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { clearTextIndex } from '../../../src/platform/database/dialects/text-index.ts'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

interface Found {
  readonly number: number
  readonly title: string
}

async function open(path: string, title: string, body = ''): Promise<number> {
  const { number } = (await forge.ask(users.bob, 'POST', `${path}/issues`, {
    title,
    body,
  })) as Found
  return number
}

async function titles(path: string, q: string, more = '', who?: Actor): Promise<string[]> {
  const found = await forge.ask(who, 'GET', `${path}?q=${encodeURIComponent(q)}${more}`)
  return (found as readonly Found[]).map(({ title }) => title)
}

describe('a search for words', () => {
  it('finds beginnings of words in one and the same text, and follows each change', async () => {
    const { path } = await forge.repository(users.bob, 'words', {})
    const list = `${path}/issues`
    const number = await open(path, 'Broken Café door', 'It says: foo-bar ΣΟΦΟΣ straße')
    const said = await forge.ask(users.bob, 'POST', `${list}/${number}/comments`, {
      body: 'the hinge squeaks',
    })
    const of = (q: string) => titles(list, q)
    const all = ['Broken Café door']
    for (const q of ['brok', 'BROKEN cafe', 'door says', 'foo-b', 'σοφος', 'STRASSE', 'hin squ'])
      expect(await of(q), q).toEqual(all)
    for (const q of ['"broken café"', '"the hinge squeaks"', '???', '#1', '1'])
      expect(await of(q), q).toEqual(all)
    // Inside of a word, in two texts, not a whole word, in another order, across texts.
    for (const q of ['roken', 'broken hinge', '"brok"', '"door broken"', '"door it"', '#'])
      expect(await of(q), q).toEqual([])

    const comment = `${list}/comments/${(said as { id: number }).id}`
    await forge.ask(users.bob, 'PATCH', comment, { body: 'the lock' })
    expect(await of('hinge')).toEqual([])
    expect(await of('lock')).toEqual(all)
    await forge.ask(users.bob, 'DELETE', comment)
    expect(await of('lock')).toEqual([])
    await forge.ask(users.bob, 'PATCH', `${list}/${number}`, { title: 'Window' })
    expect(await of('broken')).toEqual([])
    expect(await of('window foo')).toEqual(['Window'])
    await forge.ask(users.bob, 'DELETE', `${list}/${number}`)
    expect(await of('window')).toEqual([])
  })

  it('finds neighbouring characters of languages without spaces', async () => {
    const { path } = await forge.repository(users.bob, 'characters', {})
    await open(path, '搜索引擎 ภาษาไทย 한국어')
    for (const q of ['搜索', '索引', '索引擎', 'ษาไ', '국어', '"索引"'])
      expect(await titles(`${path}/issues`, q), q).toHaveLength(1)
    expect(await titles(`${path}/issues`, '搜引')).toEqual([])
  })

  it('sorts by relevance: the title, then the description, then comments', async () => {
    const { path } = await forge.repository(users.bob, 'relevance', {})
    await open(path, 'gasket')
    await open(path, 'described', 'a gasket')
    const said = await open(path, 'said')
    await forge.ask(users.bob, 'POST', `${path}/issues/${said}/comments`, { body: 'gaskets' })
    expect(await titles(`${path}/issues`, 'gasket', '&sort=relevance')).toEqual([
      'gasket',
      'described',
      'said',
    ])
    expect(await titles(`${path}/issues`, 'gasket')).toEqual(['said', 'described', 'gasket'])
    expect(await titles(`${path}/issues`, 'gasket', '&sort=oldest')).toEqual([
      'gasket',
      'described',
      'said',
    ])
  })

  it('finds nothing that the caller may not read, and forgets repositories that are deleted', async () => {
    const shown = await forge.repository(users.bob, 'shown', {})
    const hidden = await forge.repository(users.bob, 'hidden', { private: true })
    await open(shown.path, 'public zeppelin')
    await open(hidden.path, 'private zeppelin')
    const everywhere = '/repos/issues/search'
    expect(await titles(everywhere, 'zepp')).toEqual(['public zeppelin'])
    expect(await titles(everywhere, 'zepp', '&sort=relevance')).toEqual(['public zeppelin'])
    expect((await titles(everywhere, 'zepp', '', users.bob)).toSorted()).toEqual([
      'private zeppelin',
      'public zeppelin',
    ])
    await forge.ask(users.bob, 'DELETE', shown.path)
    expect(await titles(everywhere, 'zepp')).toEqual([])
  })
})

it('is written anew from the texts by doctor', async () => {
  const { path } = await forge.repository(users.bob, 'anew', {})
  const number = await open(path, 'quartz')
  await forge.ask(users.bob, 'POST', `${path}/issues/${number}/comments`, { body: 'feldspar' })
  const { db } = server.app
  await transaction(db, clearTextIndex)
  expect(await titles(`${path}/issues`, 'quartz')).toEqual([])
  await rebuildSearch(db)
  expect(await titles(`${path}/issues`, 'quartz')).toEqual(['quartz'])
  expect(await titles(`${path}/issues`, 'feldspar')).toEqual(['quartz'])
  const { texts, indexed } = await countSearch(db)
  expect(indexed).toBe(texts)
})

describe('similar issues', () => {
  it('share rare words with an issue or a text, open and closed', async () => {
    const { path } = await forge.repository(users.bob, 'similar', {})
    const one = await open(path, 'The gearbox rattles loudly', 'in winter')
    const other = await open(path, 'Rattles of the gearbox')
    await open(path, 'The door of the house')
    await forge.ask(users.bob, 'PATCH', `${path}/issues/${other}`, { state: 'closed' })
    const numbers = (found: unknown) => (found as readonly Found[]).map(({ number }) => number)
    const similar = `${path}/issues/${one}/similar`
    expect(numbers(await forge.ask(undefined, 'GET', similar))).toEqual([other])
    const text = { title: 'gearbox', body: 'it rattles in winter', limit: 1 }
    expect(numbers(await forge.ask(undefined, 'POST', `${path}/similar_issues`, text))).toEqual([
      one,
    ])
    const none = { title: 'nothing like that', body: '' }
    expect(await forge.ask(undefined, 'POST', `${path}/similar_issues`, none)).toEqual([])
    expect((await forge.rest(undefined, 'GET', `${path}/issues/99/similar`)).status).toBe(404)
  })
})
