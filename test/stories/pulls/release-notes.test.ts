import { expect, it } from 'vitest'
import { ReleaseNoteService } from '#gen/branchline/v1/release_note_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import type { Actor } from '../../support/server.ts'

/** How far the server's clock is ahead, so that merges and releases differ in time. */
let aheadMs = 0

const forge = await openForge({ clock: { now: () => Date.now() + aheadMs } })
const { server, users, ask, rest } = forge
const { bob, carol } = users

/** Makes a repository of bob, to which carol may write, and returns its path. */
async function repository(name: string): Promise<string> {
  await ask(bob, 'POST', '/user/repos', { name, auto_init: true })
  await ask(bob, 'PUT', `/repos/bob/${name}/collaborators/carol`, { permission: 'write' })
  return `/repos/bob/${name}`
}

/** Proposes a file on a branch and merges the pull request. */
async function merged(path: string, who: Actor, title: string, style: string, base = 'main') {
  aheadMs += 5_000
  const branch = `of${title.replace(/\W+/g, '-')}`
  const content = Buffer.from(title).toString('base64')
  const file = { content, branch: base, new_branch: branch }
  await ask(who, 'POST', `${path}/contents/${branch}.txt`, file)
  const { number } = await ask(who, 'POST', `${path}/pulls`, { title, head: branch, base })
  await ask(bob, 'POST', `${path}/pulls/${number}/merge`, { Do: style })
  return `${server.url}/${path.slice('/repos/'.length)}/pulls/${number}`
}

async function publish(path: string, release: object) {
  aheadMs += 5_000
  return ask(bob, 'POST', `${path}/releases`, release)
}

const notes = (path: string, request: object, who: Actor = bob) =>
  rest(who, 'POST', `${path}/releases/generate-notes`, request)

it('names the pull requests since the release before, and whose first one was merged', async () => {
  const path = await repository('tools')
  const page = `${server.url}/bob/tools`
  const first = await merged(path, bob, 'First `thing`', 'merge')
  await publish(path, { tag_name: 'v1' })
  const second = await merged(path, bob, 'Second', 'squash')
  const third = await merged(path, carol, 'Third', 'rebase')
  // Neither a draft nor a prerelease is the release before.
  await publish(path, { tag_name: 'v2-rc', prerelease: true })
  await publish(path, { tag_name: 'v1.5', draft: true })
  const { status, body } = await notes(path, { tag_name: 'v2' })
  expect(status).toBe(200)
  expect(body).toEqual({
    name: 'v2',
    body: `## What's Changed
* Third by @carol in ${third}
* Second by @bob in ${second}

## New Contributors
* @carol made their first contribution in ${third}

**Full Changelog**: ${page}/compare/v1...v2`,
  })
  const whole = await notes(path, { tag_name: 'v1' })
  expect(whole.body.body).toBe(`## What's Changed
* First \`thing\` by @bob in ${first}

## New Contributors
* @bob made their first contribution in ${first}

**Full Changelog**: ${page}/commits/tag/v1`)
  const since = await notes(path, { tag_name: 'v2', previous_tag_name: 'v2-rc' })
  expect(since.body.body).toBe(`**Full Changelog**: ${page}/compare/v2-rc...v2`)
})

it('passes over releases that are not in the history of the target', async () => {
  const path = await repository('lines')
  await publish(path, { tag_name: 'v1' })
  await ask(bob, 'POST', `${path}/branches`, { new_branch_name: 'old', old_ref_name: 'v1' })
  await merged(path, bob, 'New', 'merge')
  await publish(path, { tag_name: 'v2' })
  const fix = await merged(path, bob, 'Fix', 'merge', 'old')
  const { body } = await notes(path, { tag_name: 'v1.1', target_commitish: 'old' })
  expect(body.body).toContain(`* Fix by @bob in ${fix}\n`)
  expect(body.body).not.toContain('New by')
  expect(body.body).toContain('/compare/v1...v1.1')
})

it('keeps a title on its line, and leaves out what is missing', async () => {
  const path = await repository('titles')
  const url = await merged(path, carol, '<b>Bold</b>  and\twide', 'merge')
  const { body } = await notes(path, { tag_name: 'v1' })
  expect(body.body).toContain(`* <b>Bold</b> and wide by @carol in ${url}\n`)
  await ask(bob, 'PATCH', path, { has_pull_requests: false })
  expect((await notes(path, { tag_name: 'v1' })).body.body).toBe(
    `**Full Changelog**: ${server.url}/bob/titles/commits/tag/v1`,
  )
})

it('sorts pull requests by the categories of the repository', async () => {
  const path = await repository('sorted')
  const labels = new Map<string, number>()
  for (const name of ['Bug', 'internal', 'docs'])
    labels.set(name, (await ask(bob, 'POST', `${path}/labels`, { name, color: '#aabbcc' })).id)
  const file = `changelog:
  exclude:
    labels: [internal]
    authors: [dave]
  categories:
    - title: Fixed
      labels: [bug, 7]
      exclude: { authors: [carol] }
    - title: 'Words &  more'
      labels: [docs]
    - labels: [without a title]
    - title: Empty
      labels: [nothing]
`
  const content = (text: string) => Buffer.from(text).toString('base64')
  const address = `${path}/contents/.github/release.yml`
  await ask(bob, 'POST', address, { content: content(file) })
  const urls: Record<string, string> = {}
  for (const [title, who, label] of [
    ['Mended', bob, 'Bug'],
    ['Mended by another', carol, 'Bug'],
    ['Described', bob, 'docs'],
    ['Hidden', bob, 'internal'],
    ['Plain', bob, undefined],
  ] as const) {
    urls[title] = await merged(path, who, title, 'merge')
    const number = urls[title].split('/').at(-1)
    const chosen = label === undefined ? [] : [labels.get(label)]
    await ask(bob, 'POST', `${path}/issues/${number}/labels`, { labels: chosen })
  }
  const { body } = await notes(path, { tag_name: 'v1' })
  expect(body.body).toContain(`## What's Changed
### Fixed
* Mended by @bob in ${urls.Mended}

### Words & more
* Described by @bob in ${urls.Described}

### Other Changes
* Plain by @bob in ${urls.Plain}
* Mended by another by @carol in ${urls['Mended by another']}

## New Contributors`)
  expect(body.body).not.toContain('Hidden')
  for (const faulty of ['changelog: [', 'changelog: { categories: 7 }', '[]', '\n']) {
    const now = await ask(bob, 'GET', address)
    await ask(bob, 'PUT', address, { sha: now.sha, content: content(faulty) })
    const plain = await notes(path, { tag_name: 'v1' })
    expect(plain.status).toBe(200)
    expect(plain.body.body).toContain(
      `## What's Changed\n* Plain by @bob in ${urls.Plain}\n* Hidden`,
    )
  }
})

it('is for those who write releases, and says what is wrong', async () => {
  await ask(bob, 'POST', '/user/repos', { name: 'rights', auto_init: true, private: true })
  const path = '/repos/bob/rights'
  expect((await rest(undefined, 'POST', `${path}/releases/generate-notes`, {})).status).toBe(401)
  expect((await notes(path, { tag_name: 'v1' }, carol)).status).toBe(404)
  await ask(bob, 'PUT', `${path}/collaborators/carol`, { permission: 'read' })
  expect((await notes(path, { tag_name: 'v1' }, carol)).status).toBe(403)
  const client = forge.grpc(ReleaseNoteService, bob)
  const name = { owner: 'bob', repo: 'rights' }
  for (const [request, reason] of [
    [{}, 'RELEASE_TAG_REQUIRED'],
    [{ tagName: 'a..b' }, 'RELEASE_TAG_INVALID'],
    [{ tagName: 'v1', targetCommitish: 'nothing' }, 'TAG_TARGET_NOT_FOUND'],
    [{ tagName: 'v1', previousTagName: 'v0' }, 'TAG_NOT_FOUND'],
  ] as const)
    expect(await refusalOf(client.generateReleaseNotes({ ...name, ...request }))).toMatchObject({
      reason,
    })
})
