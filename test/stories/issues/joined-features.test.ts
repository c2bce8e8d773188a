import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import type { Actor } from '../../support/server.ts'

/** What the parts of the tracker do with those of each other. */
const { server, users, ask, rest } = await openForge()
const { ada, bob, carol } = users

async function repository(name: string): Promise<string> {
  await ask(bob, 'POST', '/user/repos', { name })
  return `/repos/bob/${name}`
}

async function attach(who: Actor, path: string, name: string) {
  const answer = await fetch(`${server.url}/api/v1${path}/assets?name=${name}`, {
    method: 'POST',
    headers: {
      authorization: who.authorization ?? '',
      'content-type': 'application/octet-stream',
    },
    body: `content of ${name}`,
  })
  expect(answer.status).toBe(201)
  const body: { browser_download_url: string } = JSON.parse(await answer.text())
  return body
}

async function storedFiles(): Promise<string[]> {
  const entries = await readdir(join(server.data, 'attachments'), { recursive: true })
  return entries.filter((entry) => /[0-9a-f]{8}-/.test(entry))
}

const titlesOf = async (path: string) =>
  (await ask(bob, 'GET', path)).map(({ title }: { title: string }) => title)

describe('a transferred issue', () => {
  it('has its files and is found by its words there, and no longer here', async () => {
    const [from, to] = [await repository('files-from'), await repository('files-to')]
    await ask(bob, 'POST', `${from}/issues`, { title: 'Leaking pump', body: 'See the picture.' })
    const comment = await ask(bob, 'POST', `${from}/issues/1/comments`, { body: 'A valve sticks.' })
    const asset = await attach(bob, `${from}/issues/1`, 'pump.png')
    await attach(bob, `${from}/issues/comments/${comment.id}`, 'valve.png')
    const moved = await ask(bob, 'POST', `${from}/issues/1:transfer`, {
      owner: 'bob',
      repo: 'files-to',
    })
    await server.app.background.settled()
    expect(moved.assets).toMatchObject([{ name: 'pump.png' }])
    expect(await storedFiles()).toHaveLength(2)
    for (const words of ['pump', 'valve', 'picture']) {
      expect(await titlesOf(`${to}/issues?q=${words}`)).toEqual(['Leaking pump'])
      expect(await titlesOf(`${from}/issues?q=${words}`)).toEqual([])
    }
    await ask(bob, 'DELETE', from)
    const file = await fetch(asset.browser_download_url, {
      headers: { authorization: bob.authorization ?? '' },
    })
    expect([file.status, await file.text()]).toEqual([200, 'content of pump.png'])
    await ask(bob, 'DELETE', `${to}/issues/1`)
    await server.app.background.settled()
    expect(await storedFiles()).toEqual([])
  })
})

describe('a purge', () => {
  it('removes the files and the words of what was deleted', async () => {
    const path = await repository('cleaned')
    await ask(carol, 'POST', `${path}/issues`, { title: 'Cheap watches' })
    await attach(carol, `${path}/issues/1`, 'watch.png')
    expect(await storedFiles()).toHaveLength(1)
    await ask(ada, 'DELETE', '/admin/users/carol/contributions')
    await server.app.background.settled()
    expect(await storedFiles()).toEqual([])
    expect(await titlesOf(`${path}/issues?q=watches`)).toEqual([])
  })
})

describe('a query', () => {
  it('finds parents, parts, duplicates, reasons and attachments', async () => {
    const path = await repository('linked')
    for (const title of ['whole', 'part', 'again', 'done', 'with a file'])
      await ask(bob, 'POST', `${path}/issues`, { title })
    await ask(bob, 'POST', `${path}/issues/1/sub_issues`, { index: 2 })
    await ask(bob, 'PATCH', `${path}/issues/3`, { duplicate_of: 1 })
    await ask(bob, 'PATCH', `${path}/issues/4`, { state: 'closed', state_reason: 'not_planned' })
    await attach(bob, `${path}/issues/5`, 'a.png')
    const found = (query: string) => titlesOf(`${path}/issues?query=${encodeURIComponent(query)}`)
    expect(await found('parent:#1')).toEqual(['part'])
    expect(await found('has:parent')).toEqual(['part'])
    expect(await found('has:children')).toEqual(['whole'])
    expect(await found('duplicate-of:#1')).toEqual(['again'])
    expect(await found('reason:not_planned,duplicate')).toEqual(['done', 'again'])
    expect(await found('has:attachment')).toEqual(['with a file'])
    expect(await found('no:attachment no:parent is:open')).toEqual(['whole'])
    // Words are beginnings of words, as in the text search.
    expect(await found('fil')).toEqual(['with a file'])
    expect(await found('ile')).toEqual([])
  })

  it('names the issues of a batch', async () => {
    const path = await repository('batched')
    for (const title of ['old one', 'old two', 'new'])
      await ask(bob, 'POST', `${path}/issues`, { title })
    const batch = (body: object) => rest(bob, 'POST', `${path}/issues:batchEdit`, body)
    const { body } = await batch({ query: 'old is:open', state: 'closed' })
    expect(body).toMatchObject({ changed: 2, failed: 0 })
    expect(await titlesOf(`${path}/issues`)).toEqual(['new'])
    expect((await batch({ query: 'old is:open', state: 'closed' })).body.results).toEqual([])
    expect((await batch({ query: 'old', numbers: [1], state: 'open' })).status).toBe(422)
    expect((await batch({ query: 'foo:bar', state: 'open' })).status).toBe(422)
  })
})
