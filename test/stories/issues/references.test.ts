import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { type Actor, startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

/** bob owns the repositories, carol may write to them, eve has no role. */
beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Makes a repository of bob's, which carol may write to. */
async function fresh(name: string, fields: object = {}): Promise<string> {
  const { path } = await forge.repository(users.bob, name, fields)
  await forge.ask(users.bob, 'PUT', `${path}/collaborators/carol`, { permission: 'write' })
  return path
}

const open = (who: Actor, path: string, title: string, body = '') =>
  forge.ask(who, 'POST', `${path}/issues`, { title, body })

// biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
type Entry = any

/** The references in the timeline of an issue, as somebody sees them. */
async function referencesTo(
  path: string,
  number: number,
  who: Actor | undefined = users.bob,
): Promise<Entry[]> {
  const { body, headers } = await forge.rest(who, 'GET', `${path}/issues/${number}/timeline`)
  expect(headers.get('x-total-count')).toBe(String(body.length))
  return body.filter(({ type }: Entry) => type.endsWith('_ref'))
}

/** The type, the user and the source of entries. */
const brief = (entries: Entry[]) =>
  entries.map(
    ({ type, user, ref_issue, ref_action }: Entry) =>
      `${type} by ${user.login} in ${ref_issue.repository.full_name}#${ref_issue.number} ${ref_action}`,
  )

describe('a text that names an issue', () => {
  it('is an entry of the timeline of the issue when the call that wrote the text answers', async () => {
    const path = await fresh('named')
    await open(users.bob, path, 'target')
    const source = await open(users.eve, path, 'See #1', 'And #1, #2, #77.')
    const [entry, ...more] = await referencesTo(path, 1)
    expect(more).toEqual([])
    expect(entry).toMatchObject({
      type: 'issue_ref',
      user: { login: 'eve' },
      body: '',
      ref_issue: { id: source.id, number: 2, title: 'See #1', pull_request: null },
      ref_comment: null,
      ref_action: 'none',
      ref_commit_sha: '',
      issue_url: `${server.url}/bob/named/issues/1`,
    })
    // A text that names itself is no reference.
    expect(await referencesTo(path, 2)).toEqual([])
    const comment = await forge.ask(users.carol, 'POST', `${path}/issues/2/comments`, {
      body: 'As in #1 and `#2`.',
    })
    const ofComment = (await referencesTo(path, 1)).find(({ type }) => type === 'comment_ref')
    expect(ofComment).toMatchObject({
      user: { login: 'carol' },
      ref_issue: { number: 2 },
      ref_comment: { id: comment.id, body: 'As in #1 and `#2`.', issue_url: source.html_url },
    })
  })

  it('may be of a pull request, and name one', async () => {
    const path = await fresh('pulls')
    await open(users.bob, path, 'target')
    await forge.change(users.bob, path, 'f')
    const pull = { title: 'Fixes #1', head: 'f', base: 'main', body: '' }
    await forge.ask(users.bob, 'POST', `${path}/pulls`, pull)
    expect(brief(await referencesTo(path, 1))).toEqual(['pull_ref by bob in bob/pulls#2 closes'])
    await open(users.eve, path, 'About !2')
    expect(brief(await referencesTo(path, 2))).toEqual(['issue_ref by eve in bob/pulls#3 none'])
    // An edit says something else, and then nothing.
    await forge.ask(users.carol, 'PATCH', `${path}/pulls/2`, { body: 'Reopens #1' })
    expect(brief(await referencesTo(path, 1))).toEqual(['pull_ref by carol in bob/pulls#2 reopens'])
    await forge.ask(users.bob, 'PATCH', `${path}/pulls/2`, { title: 'x', body: '`Closes #1`' })
    expect(await referencesTo(path, 1)).toEqual([])
  })

  it('may be edited or deleted, with the entry', async () => {
    const path = await fresh('edits')
    for (const title of ['one', 'two']) await open(users.bob, path, title)
    await open(users.eve, path, 'source', 'For #1.')
    const edit = (fields: object) => forge.ask(users.eve, 'PATCH', `${path}/issues/3`, fields)
    await edit({ body: 'For #1 and #2.' })
    expect(await referencesTo(path, 1)).toHaveLength(1)
    expect(await referencesTo(path, 2)).toHaveLength(1)
    await edit({ body: 'For nobody.' })
    expect(await referencesTo(path, 1)).toEqual([])
    await edit({ title: 'For #2' })
    expect(await referencesTo(path, 2)).toHaveLength(1)
    const comments = `${path}/issues/3/comments`
    const { id } = await forge.ask(users.eve, 'POST', comments, { body: '#1' })
    const comment = `${path}/issues/comments/${id}`
    await forge.ask(users.eve, 'PATCH', comment, { body: '#2' })
    expect(await referencesTo(path, 1)).toEqual([])
    expect(await referencesTo(path, 2)).toHaveLength(2)
    await forge.ask(users.eve, 'DELETE', comment)
    expect(await referencesTo(path, 2)).toHaveLength(1)
    await forge.ask(users.bob, 'DELETE', `${path}/issues/3`)
    expect(await referencesTo(path, 2)).toEqual([])
  })

  it('moves the time of the last change, and makes nothing unread', async () => {
    const path = await fresh('times')
    const { id } = await open(users.bob, path, 'target')
    await server.app.db.updateTable('issues').set({ update_time: 0 }).where('id', '=', id).execute()
    await open(users.eve, path, 'source', '#1')
    const issue = await forge.ask(users.bob, 'GET', `${path}/issues/1`)
    expect(issue.updated_at > '2000').toBe(true)
    const threads = await forge.ask(users.bob, 'GET', '/notifications?all=true')
    expect(threads.map(({ subject }: Entry) => subject.title)).not.toContain('target')
  })
})

describe('a reference between repositories', () => {
  it('names the other one, or its address', async () => {
    const [here, there] = [await fresh('here'), await fresh('there')]
    for (const title of ['one', 'two']) await open(users.bob, there, title)
    const url = `${server.url}/bob/there/issues/2`
    await open(users.eve, here, 'source', `Bob/THERE#1 and [that](${url})`)
    for (const number of [1, 2])
      expect(brief(await referencesTo(there, number))).toEqual([
        'issue_ref by eve in bob/here#1 none',
      ])
  })

  it('needs a writer who may read the target, and whom nobody there blocks', async () => {
    const [here, hidden] = [await fresh('blocks-here'), await fresh('hidden', { private: true })]
    await open(users.bob, hidden, 'target')
    await open(users.eve, here, 'by eve', 'bob/hidden#1')
    expect(await referencesTo(hidden, 1)).toEqual([])
    // Another one who edits the text gives it no right, and takes none away.
    await open(users.carol, here, 'by carol', 'bob/hidden#1')
    expect(await referencesTo(hidden, 1)).toHaveLength(1)
    await forge.ask(users.bob, 'PUT', '/user/blocks/eve', {})
    const mine = (await forge.repository(users.eve, 'mine')).path
    const blocked = await fresh('blocking')
    await open(users.bob, blocked, 'target')
    await open(users.eve, mine, 'source', 'bob/blocking#1')
    expect(await referencesTo(blocked, 1)).toEqual([])
    await forge.ask(users.bob, 'DELETE', '/user/blocks/eve')
  })

  it('shows in the timeline only to readers of its source, and counts only for them', async () => {
    const [pub, priv] = [await fresh('pub'), await fresh('priv', { private: true })]
    await open(users.bob, pub, 'target')
    await open(users.carol, priv, 'source', 'bob/pub#1')
    await forge.ask(users.carol, 'POST', `${priv}/issues/1/comments`, { body: 'bob/pub#1' })
    for (const who of [users.eve, undefined]) {
      const { body, headers } = await forge.rest(who, 'GET', `${pub}/issues/1/timeline`)
      expect(body).toEqual([])
      expect(headers.get('x-total-count')).toBe('0')
    }
    expect(await referencesTo(pub, 1, users.carol)).toHaveLength(2)
    // Issues that are off are nobody's.
    await forge.ask(users.bob, 'PATCH', priv, { has_issues: false })
    expect(await referencesTo(pub, 1, users.carol)).toEqual([])
  })

  it('is kept when somebody edits the text who may not read the target', async () => {
    const [here, there] = [await fresh('kept-here'), await fresh('kept', { private: true })]
    await forge.ask(users.bob, 'PUT', `${here}/collaborators/eve`, { permission: 'write' })
    await open(users.bob, there, 'target')
    await open(users.carol, here, 'source', 'bob/kept#1')
    await forge.ask(users.eve, 'PATCH', `${here}/issues/1`, { body: 'See bob/kept#1.' })
    expect(brief(await referencesTo(there, 1))).toEqual([
      'issue_ref by carol in bob/kept-here#1 none',
    ])
  })

  it('is part of the pages of a timeline and of their total', async () => {
    const path = await fresh('pages')
    await open(users.bob, path, 'target')
    for (let i = 0; i < 5; i++) await open(users.eve, path, `source ${i}`, '#1')
    const { body, headers } = await forge.rest(
      users.bob,
      'GET',
      `${path}/issues/1/timeline?limit=2&page=2`,
    )
    expect(body.map(({ ref_issue }: Entry) => ref_issue.title)).toEqual(['source 2', 'source 3'])
    expect(headers.get('x-total-count')).toBe('5')
  })
})
