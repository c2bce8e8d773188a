import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { settledImport } from '../../support/imports.ts'
import { type RestAnswer, restAt } from '../../support/rest.ts'
import { populateProject, type SampleSource } from '../../support/sample-project.ts'

/** A server whose project is imported, and a token of bob there. */
export interface ImportSource extends SampleSource {
  readonly token: string
  stop(): Promise<void>
}

/** Where the stories of an import happen. */
export interface ImportStory {
  readonly source: ImportSource
  readonly target: Forge
}

/** What a client sends to import the project of a source. */
export const migrationOf = (source: ImportSource, name: string, fields: object = {}) => ({
  clone_addr: `${source.url}/bob/engine.git`,
  repo_name: name,
  service: 'gitea',
  auth_token: source.token,
  issues: true,
  pull_requests: true,
  labels: true,
  milestones: true,
  releases: true,
  ...fields,
})

/**
 * The stories of an import of the project `bob/engine` from a server with the API of Gitea to `bob/copy`.
 * A test file calls the function in a suite.
 *
 * @returns where the stories happen, from `beforeAll` on.
 */
export function tellImport(startSource: () => Promise<ImportSource>): () => ImportStory {
  let source: ImportSource
  let target: Forge

  beforeAll(async () => {
    source = await startSource()
    target = await startForge({ webhookAllowedHosts: parseAllowedHosts('127.0.0.1') })
    await populateProject(source)
    const request = migrationOf(source, 'copy')
    const { status } = await target.rest(target.users.bob, 'POST', '/repos/migrate', request)
    expect(status).toBe(201)
  })
  afterAll(async () => {
    await target.stop()
    await source.stop()
  })

  /** Reads one thing at both servers. */
  const both = async (
    path: string,
  ): Promise<[there: RestAnswer['body'], here: RestAnswer['body']]> => {
    const { rest, users } = target
    const there = await restAt(source.url)(source.users.bob, 'GET', `/repos/bob/engine${path}`)
    const here = await rest(users.bob, 'GET', `/repos/bob/copy${path}`)
    expect([there.status, here.status], path).toEqual([200, 200])
    return [there.body, here.body]
  }

  it('succeeds with all records', async () => {
    const { rest, server, users } = target
    const done = await settledImport(server.app, rest, users.bob, '/repos/bob/copy')
    expect(done).toMatchObject({ state: 'SUCCEEDED', message: '', service: 'gitea' })
    const counts = Object.entries<{ done: number }>(done.progress)
    expect(Object.fromEntries(counts.map(([kind, { done }]) => [kind, done]))).toEqual({
      objects: 1,
      labels: 1,
      milestones: 1,
      issues: 2,
      comments: 1,
      pull_requests: 2,
      reviews: 1,
      releases: 1,
      assets: 1,
      attachments: 3,
    })
  })

  it('forgets the token', async () => {
    const { server } = target
    const rows = await server.app.db.selectFrom('project_imports').select('secrets').execute()
    expect(rows).toEqual([{ secrets: null }])
  })

  it('keeps issues as they are, with the authors there', async () => {
    for (const number of [1, 2]) {
      const [there, here] = await both(`/issues/${number}`)
      const names = ['number', 'title', 'state', 'created_at', 'updated_at', 'closed_at']
      for (const name of [...names, 'due_date', 'is_locked', 'pin_order', 'comments'])
        expect(here[name], name).toEqual(there[name])
      expect(here.user.login).toBe('bob')
      expect(here.original_author).toBe('bob')
      expect(here.original_author_id).toBe(there.user.id)
    }
    const [, issue] = await both('/issues/1')
    expect(issue.labels.map(({ name }: { name: string }) => name)).toEqual(['kind/bug'])
    expect(issue.milestone.title).toBe('v1')
    const [, [comment]] = await both('/issues/1/comments')
    expect(comment).toMatchObject({ original_author: 'carol' })
    expect(comment.body).toMatch(/^Confirmed: /)
    const [, [needed]] = await both('/issues/1/dependencies')
    expect(needed.number).toBe(2)
  })

  it('keeps the files of texts, and the texts link to them here', async () => {
    const { server, users } = target
    const texts = ['/issues/1', '/issues/1/comments', '/pulls/4'] as const
    const found: string[] = []
    for (const path of texts) {
      const [, answer] = await both(path)
      const { body, assets } = Array.isArray(answer) ? answer[0] : answer
      const [, link = ''] = /(?:^|[\s(])(\/attachments\/[\w-]+)/.exec(body) ?? []
      if (assets) expect(assets).toMatchObject([{ browser_download_url: server.url + link }])
      const headers = { authorization: users.bob.authorization }
      found.push(await (await fetch(server.url + link, { headers })).text())
    }
    expect(found).toEqual(['a log', 'a trace', 'a plan'])
  })

  it('keeps pull requests with heads, merges and reviews', async () => {
    const { rest, server, users } = target
    for (const number of [3, 4]) {
      const [there, here] = await both(`/pulls/${number}`)
      const names = ['title', 'state', 'merged', 'merged_at', 'merge_commit_sha', 'merge_base']
      for (const name of [...names, 'draft', 'created_at'])
        expect(here[name], name).toEqual(there[name])
      expect(here.head.sha).toBe(there.head.sha)
      expect(here.base.ref).toBe('main')
      expect(here.original_author).toBe('carol')
      const remote = `${server.url}/bob/copy.git`
      const ref = await target.client.git('.', 'ls-remote', remote, `refs/pull/${number}/head`)
      expect(ref).toContain(there.head.sha)
    }
    const [, [review]] = await both('/pulls/4/reviews')
    expect(review).toMatchObject({
      state: 'REQUEST_CHANGES',
      body: 'Not yet',
      official: false,
      original_author: 'bob',
    })
    const { body: comments } = await rest(
      users.bob,
      'GET',
      `/repos/bob/copy/pulls/4/reviews/${review.id}/comments`,
    )
    expect(comments).toMatchObject([{ path: 'open.txt', body: 'Why?', position: 1 }])
  })

  it('keeps releases with their files', async () => {
    const [there, here] = await both('/releases/tags/v1.0')
    expect(here).toMatchObject({ name: 'One', body: 'Notes', draft: false, prerelease: false })
    expect(here.published_at).toBe(there.published_at)
    const [asset] = here.assets
    expect(asset).toMatchObject({ name: 'engine.txt', size: 19 })
    const file = await fetch(asset.browser_download_url)
    expect(await file.text()).toBe('content of the file')
  })

  it('leaves no refs of its own, and counts on from the highest number', async () => {
    const { rest, server, users } = target
    const { body } = await rest(users.bob, 'POST', '/repos/bob/copy/issues', { title: 'Next' })
    expect(body.number).toBe(5)
    const remote = `${server.url}/bob/copy.git`
    const refs = await target.client.git('.', 'ls-remote', '--refs', remote)
    expect(refs).not.toContain('import')
    expect((await rest(users.bob, 'GET', '/repos/bob/copy')).body.importing).toBe(false)
  })

  it('is told to its administrators only', async () => {
    const { rest, users } = target
    expect((await rest(users.carol, 'GET', '/repos/bob/copy/import')).status).toBe(403)
    expect((await rest(undefined, 'GET', '/repos/bob/copy/import')).status).toBe(401)
    const { body } = await rest(users.bob, 'GET', '/user/imports')
    expect(body).toHaveLength(1)
    expect((await rest(users.carol, 'GET', '/user/imports')).body).toEqual([])
  })

  return () => ({ source, target })
}
