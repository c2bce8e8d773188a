import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { settledImport } from '../../support/imports.ts'
import { authorize, register } from '../../support/oauth-clients.ts'
import { populateProject } from '../../support/sample-project.ts'
import { createToken } from '../../support/server.ts'
import { migrationOf } from './imported-project.ts'

/** The pause before the next look while an import runs, and a little more. */
const PAUSE_MS = 61_000
const HOUR_MS = 60 * 60_000

describe('authors of an imported project who link their identity later', () => {
  let aheadMs = 0
  let source: Forge
  let target: Forge
  const copy = '/repos/bob/copy'

  beforeAll(async () => {
    source = await startForge()
    target = await startForge({
      clock: { now: () => Date.now() + aheadMs },
      webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
    })
    const { url } = source.server
    await populateProject({ url, users: source.users })
    const token = await createToken(url, source.users.bob, ['all'])
    const migration = migrationOf({ url, users: source.users, token, stop: source.stop }, 'copy')
    await asBob('POST', '/repos/migrate', migration)
    const { app } = target.server
    const done = await settledImport(app, target.rest, target.users.bob, copy)
    expect(done.state).toBe('SUCCEEDED')
    await importArchive()
    await addProvider()
  })
  afterAll(async () => {
    await target?.stop()
    await source?.stop()
  })

  const asBob = (method: string, path: string, body?: object) =>
    target.ask(target.users.bob, method, path, body)

  /** Imports the archive of the copy as `bob/again`, which names the same people. */
  async function importArchive() {
    const { authorization } = target.users.bob
    const at = `${target.server.url}/api/v1`
    const archive = await fetch(`${at}${copy}/export`, { headers: { authorization } })
    const { status } = await fetch(`${at}/repos/import?owner=bob&repo_name=again`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-tar' },
      body: await archive.arrayBuffer(),
    })
    expect(status).toBe(201)
  }

  const redirect = () => `${target.server.url}/login/oauth/callback/source`
  let client: Awaited<ReturnType<typeof register>>

  /** Lets accounts here link their account at the source. */
  async function addProvider() {
    client = await register(source, source.users.ada, { redirect_uris: [redirect()] })
    const endpoint = `${source.server.url}/login/oauth`
    const config = {
      clientId: client.client_id,
      clientSecret: client.client_secret,
      authUrl: `${endpoint}/authorize`,
      tokenUrl: `${endpoint}/access_token`,
      userInfoUrl: `${endpoint}/userinfo`,
      scopes: ['openid', 'profile'],
      fieldMapping: { identifier: 'sub', displayName: 'name' },
    }
    const values = { type: 'OAUTH2', title: 'The source', config: { oauth2Config: config } }
    await target.ask(
      target.users.ada,
      'POST',
      '/identity-providers?identityProviderId=source',
      values,
    )
  }

  /** Signs somebody in at the source, and links the account of the same name here. */
  async function link(name: 'bob' | 'carol') {
    const parameters = { client_id: client.client_id, redirect_uri: redirect(), scope: 'openid' }
    const returned = await authorize(source.server.url, name, parameters)
    await target.ask(target.users[name], 'POST', `/users/${name}/linkedIdentities`, {
      idpName: 'identity-providers/source',
      code: returned.get('code'),
      redirectUri: redirect(),
    })
  }

  /** Who wrote each record of a project: the account here, and the name at the source if there is one. */
  async function authors(path = copy) {
    const [comment] = await asBob('GET', `${path}/issues/1/comments`)
    const [review] = await asBob('GET', `${path}/pulls/4/reviews`)
    const [line] = await asBob('GET', `${path}/pulls/4/reviews/${review.id}/comments`)
    const [release] = await asBob('GET', `${path}/releases`)
    const found = {
      issue: await asBob('GET', `${path}/issues/1`),
      pull: await asBob('GET', `${path}/pulls/4`),
      comment,
      review,
      line,
      release,
    }
    return Object.entries(found).map(([kind, { user, author, original_author }]) => {
      const there = original_author ? ` for ${original_author}` : ''
      return `${kind} by ${(user ?? author).login}${there}`
    })
  }

  const ofCarol = ['pull', 'comment']
  const ofBob = ['issue', 'review', 'line', 'release']
  const before = () => [
    ...ofCarol.map((kind) => `${kind} by bob for carol`),
    ...ofBob.map((kind) => `${kind} by bob for bob`),
  ]

  it('are shown by their names there at first', async () => {
    expect((await authors()).sort()).toEqual(before().sort())
  })

  it('are the authors here once they have linked it, and others are not', async () => {
    await link('carol')
    const after = [
      ...ofCarol.map((kind) => `${kind} by carol`),
      ...ofBob.map((kind) => `${kind} by bob for bob`),
    ].sort()
    await expect.poll(async () => (await authors()).sort()).toEqual(after)
    expect(await asBob('GET', `${copy}/issues?created_by=carol&type=pulls&state=all`)).toHaveLength(
      2,
    )
  })

  it('are not the authors of an archive, which could name anybody', async () => {
    expect((await authors('/repos/bob/again')).sort()).toEqual(before().sort())
  })

  it('are looked up again as long as an import from there runs', async () => {
    const { db, signals } = target.server.app
    const setDue = (due_time: number | null) =>
      db
        .updateTable('project_imports')
        .set({ due_time })
        .where('identity_origin', '=', source.server.url)
        .execute()
    const waiting = () =>
      db
        .selectFrom('linked_identities')
        .select('adopt_time')
        .where('adopt_time', 'is not', null)
        .execute()
    await setDue(Date.now() + HOUR_MS)
    await link('bob')
    const afterFirst = (await authors()).map((text) => text.replace(' for bob', ''))
    await expect.poll(() => authors()).toEqual(afterFirst)
    const due = async () => (await waiting())[0]?.adopt_time ?? 0
    await expect.poll(due).toBeGreaterThan(Date.now())
    // The import stores one more text, for which it looked up the accounts before the link.
    const bobThere = await source.ask(source.users.bob, 'GET', '/user')
    await db
      .updateTable('issues')
      .set({ original_author: 'bob', original_author_id: bobThere.id })
      .where('title', '=', 'It leaks')
      .where('repository_id', '=', (await asBob('GET', copy)).id)
      .execute()
    await setDue(null)
    aheadMs = PAUSE_MS
    signals.adoptions.notify()
    await expect.poll(() => authors()).toEqual(afterFirst)
    await expect.poll(waiting).toEqual([])
  })
})
