import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../../src/platform/outbound/allowed-hosts.ts'
import { testClock } from '../../../support/app.ts'
import { openForge, startForge } from '../../../support/forge.ts'
import { type GitUpstream, startGitUpstream } from '../../../support/git-upstream.ts'
import { LFS_JSON, lfsAt, lfsObject, pointerOf } from '../../../support/lfs.ts'
import { execFileSync } from '../../../support/programs.ts'
import { createToken } from '../../../support/server.ts'

const clock = testClock()
const { server, users, ask, rest } = await openForge({
  clock,
  webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
  settings: { maxLfsBytes: 1_000 },
})
const { bob } = users

/** The objects of a repository, by SHA-256. */
async function stored(repository: string): Promise<string[]> {
  const objects: { oid: string }[] = await ask(bob, 'GET', `/repos/${repository}/lfs/objects`)
  return objects.map(({ oid }) => oid).sort()
}

const migrate = (fields: object) => rest(bob, 'POST', '/repos/migrate', fields)
const oidsOf = (...contents: string[]) => contents.map((text) => lfsObject(text).oid).sort()

describe('an import from another Branchline', () => {
  const [FIRST, SECOND, LOST, LARGE] = ['first', 'second', 'lost', 'x'.repeat(2_000)]

  it('brings the objects of all branches that the other server has', async () => {
    const other = await startForge({ settings: { lfsPushCheck: false } })
    try {
      const { carol } = other.users
      await other.ask(carol, 'POST', '/user/repos', {
        name: 'films',
        private: true,
        auto_init: true,
      })
      const films = lfsAt(`${other.server.url}/carol/films`)
      for (const content of [FIRST, SECOND, LARGE]) await films.upload(carol, content ?? '')
      const files = Object.entries({ FIRST, SECOND, LOST, LARGE })
      for (const [path, content = ''] of files)
        await other.ask(carol, 'POST', `/repos/carol/films/contents/${path}`, {
          content: Buffer.from(pointerOf(lfsObject(content))).toString('base64'),
          ...(path === 'SECOND' && { new_branch: 'later' }),
        })
      const source = {
        clone_addr: `${other.server.url}/carol/films`,
        auth_token: await createToken(other.server.url, carol, ['read:repository', 'read:issue']),
        private: true,
      }
      expect((await migrate({ ...source, repo_name: 'films', lfs: true })).status).toBe(201)
      expect(await stored('bob/films')).toEqual(oidsOf('first', 'second'))
      const copy = lfsAt(`${server.url}/bob/films`)
      const { body } = await copy.batch(bob, 'download', [lfsObject('first'), lfsObject('lost')])
      const { href, header } = body.objects[0].actions.download
      expect(await (await fetch(href, { headers: header })).text()).toBe('first')
      expect(body.objects[1].error.code).toBe(404)
      expect(server.logged.map(({ msg, missing }) => [msg, missing])).toContainEqual([
        'LFS objects of an import are missing',
        2,
      ])
      expect(JSON.stringify(server.logged)).not.toContain(source.auth_token)
      const project = { ...source, service: 'branchline', labels: true, lfs: true }
      expect((await migrate({ ...project, repo_name: 'project' })).status).toBe(201)
      await expect.poll(() => stored('bob/project')).toEqual(oidsOf('first', 'second'))
      expect((await migrate({ ...source, repo_name: 'plain' })).status).toBe(201)
      expect(await stored('bob/plain')).toEqual([])
    } finally {
      await other.stop()
    }
  })
})

describe('a server of Git LFS', () => {
  let upstream: GitUpstream
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  /** A third server, which must get no secret. */
  let third: GitUpstream

  beforeAll(async () => {
    ;[upstream, third] = await Promise.all([startGitUpstream(), startGitUpstream()])
    upstream.intercept = (request, response) => {
      if (!request.url?.includes('/info/lfs')) return false
      answer(request, response)
      return true
    }
  })
  afterAll(() => Promise.all([upstream.stop(), third.stop()]))

  /** Puts the pointer of a content on a branch. */
  function commitPointer(content: string, branch: string): void {
    const folder = upstream.git('rev-parse', '--absolute-git-dir')
    const store = ['-C', folder, 'hash-object', '-w', '--stdin']
    const pointer = pointerOf(lfsObject(content))
    const blob = execFileSync('git', store, { input: pointer, encoding: 'utf8' }).trim()
    const tree = execFileSync('git', ['-C', folder, 'mktree'], {
      input: `100644 blob ${blob}\tfilm\n`,
      encoding: 'utf8',
    }).trim()
    const commit = upstream.git('commit-tree', tree, '-m', content)
    upstream.git('update-ref', `refs/heads/${branch}`, commit)
  }

  /** Answers batches by actions for some contents. */
  function serve(hrefs: Readonly<Record<string, string>>): void {
    const host = new URL(upstream.url).origin
    answer = (request, response) => {
      const content = decodeURIComponent(request.url?.split('/object/')[1] ?? '')
      if (content) {
        response.writeHead(content === 'gone' ? 404 : 200).end(content)
        return
      }
      const objects = Object.entries(hrefs).map(([text, href]) => {
        const { oid, size } = lfsObject(text)
        return { oid, size, actions: { download: { href: href.replace('HOST', host) } } }
      })
      const body = { objects: [null, 7, { oid: 7 }, ...objects] }
      response.writeHead(200, { 'content-type': LFS_JSON }).end(JSON.stringify(body))
    }
  }

  it('gives only what its hashes say, and no address of others', async () => {
    for (const content of ['right', 'gone', 'wrong', 'inside', 'script'])
      commitPointer(content, content)
    serve({
      right: 'HOST/info/lfs/object/right',
      gone: 'HOST/info/lfs/object/gone',
      wrong: 'HOST/info/lfs/object/other',
      inside: `${new URL(third.url).origin}/object/inside`,
      script: 'file:///etc/passwd',
      unknown: 'HOST/info/lfs/object/unknown',
    })
    const made = await migrate({
      clone_addr: upstream.url,
      repo_name: 'odd',
      auth_username: 'uma',
      auth_password: 'secret',
      lfs: true,
    })
    expect(made.status).toBe(201)
    expect(await stored('bob/odd')).toEqual(oidsOf('right'))
    expect(third.asked).toEqual([])
    const batches = upstream.asked.filter((line) => line.includes('/objects/batch'))
    const secret = Buffer.from('uma:secret').toString('base64')
    expect(batches).toEqual([`POST /uma/engine.git/info/lfs/objects/batch Basic ${secret}`])
  })

  it('gets no credentials of the repository if it is another one', async () => {
    const { origin } = new URL(third.url)
    const made = await migrate({
      clone_addr: upstream.url,
      repo_name: 'elsewhere',
      auth_username: 'uma',
      auth_password: 'secret',
      lfs: true,
      lfs_endpoint: `${origin}/films/`,
    })
    expect(made.status).toBe(201)
    expect(third.asked).toEqual(['POST /films/objects/batch'])
    const wrong = { clone_addr: upstream.url, repo_name: 'x', lfs: true, lfs_endpoint: 'file:///x' }
    expect((await migrate(wrong)).status).toBe(422)
  })

  it('gives a mirror the objects before refs move', async () => {
    serve({ right: 'HOST/info/lfs/object/right' })
    const source = { clone_addr: upstream.url, repo_name: 'mirror', mirror: true, lfs: true }
    expect((await migrate(source)).status).toBe(201)
    expect(await stored('bob/mirror')).toEqual(oidsOf('right'))
    commitPointer('newer', 'newer')
    answer = (_, response) => void response.writeHead(503).end()
    expect(await synchronised()).toBe('the Git LFS of the other server fails')
    const branch = () => rest(bob, 'GET', '/repos/bob/mirror/branches/newer')
    expect((await branch()).status).toBe(404)
    serve({ newer: 'HOST/info/lfs/object/newer' })
    const before = upstream.asked.length
    expect(await synchronised()).toBe('')
    expect((await branch()).status).toBe(200)
    expect(await stored('bob/mirror')).toEqual(oidsOf('right', 'newer'))
    const batches = upstream.asked.slice(before).filter((line) => line.includes('/objects/batch'))
    expect(batches).toHaveLength(1)
  })

  /** Synchronises the mirror and returns its error. */
  async function synchronised(): Promise<string | undefined> {
    const { app } = server
    await rest(bob, 'POST', '/repos/bob/mirror/mirror-sync')
    for (;;) {
      const seen = app.signals.mirrors.count
      const row = await app.db.selectFrom('mirrors').selectAll().executeTakeFirst()
      if ((row?.next_sync_time ?? 0) > clock.now()) return row?.error
      await app.signals.mirrors.after(seen, new AbortController().signal)
    }
  }
})
