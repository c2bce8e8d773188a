import { beforeAll, describe, expect, it } from 'vitest'
import { openForge } from '../../support/forge.ts'
import { type ArchiveEntries, archiveOf, entriesOf } from '../../support/project-archives.ts'
import { restAt } from '../../support/rest.ts'
import { populateProject } from '../../support/sample-project.ts'
import { type Actor, createToken } from '../../support/server.ts'

const forge = await openForge()
const { server, users, rest } = forge

async function exported(who: Pick<Actor, 'authorization'>, name: string): Promise<ArchiveEntries> {
  const response = await fetch(`${server.url}/api/v1/repos/bob/${name}/export`, {
    headers: { authorization: who.authorization },
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/x-tar',
  ])
  return entriesOf(Buffer.from(await response.arrayBuffer()))
}

async function imported(
  who: Pick<Actor, 'authorization'>,
  query: string,
  archive: Buffer | string,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${server.url}/api/v1/repos/import?${query}`, {
    method: 'POST',
    body: typeof archive === 'string' ? archive : new Uint8Array(archive),
    headers: { authorization: who.authorization, 'content-type': 'application/x-tar' },
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** The lists of an archive without what differs between two repositories. */
function comparable(entries: ArchiveEntries): Record<string, string> {
  const texts = [...entries]
    .filter(([name]) => name !== 'repository.bundle')
    .map(([name, content]) => {
      const text = content.toString().replace(/"name": "\w+"/, '')
      return [name, text.replaceAll(/(?:http:[^\s"]+)?\/attachments\/[\w-]+/g, '(link)')] as const
    })
    .map(([name, text]) => [name, text.replaceAll(/"uuid":"[\w-]+"/g, '')] as const)
  return Object.fromEntries(texts)
}

/** The refs and the size of a bundle. */
const refsOf = (entries: ArchiveEntries) =>
  entries.get('repository.bundle')?.toString('latin1').split('\n\n', 1)

let archive: ArchiveEntries

beforeAll(async () => {
  await populateProject({ url: server.url, users })
  archive = await exported(users.bob, 'engine')
})

describe('an export', () => {
  it('has the entries in their order, and neither secrets nor addresses', () => {
    expect([...archive.keys()]).toEqual([
      'manifest.json',
      'repository.bundle',
      'labels.ndjson',
      'milestones.ndjson',
      'issues.ndjson',
      'pull_requests.ndjson',
      'reviews.ndjson',
      'comments.ndjson',
      'releases.ndjson',
      'assets/1',
      'attachments/1',
      'attachments/2',
      'attachments/3',
    ])
    expect(JSON.parse(String(archive.get('manifest.json')))).toEqual({
      format: 'branchline-project',
      version: 1,
      repository: {
        name: 'engine',
        description: '',
        website: '',
        private: true,
        default_branch: 'main',
      },
      left_out: [],
    })
    for (const [name, content] of archive)
      if (name.endsWith('json')) expect(content.toString()).not.toContain('@example')
  })

  it('is for readers, and leaves out what they may not read', async () => {
    const path = '/repos/bob/engine/export'
    expect((await rest(undefined, 'GET', path)).status).toBe(401)
    await forge.ask(users.ada, 'POST', '/user/repos', { name: 'vault', private: true })
    expect((await rest(users.carol, 'GET', '/repos/ada/vault/export')).status).toBe(404)
    const token = await createToken(server.url, users.bob, ['read:repository'])
    const limited = { authorization: `token ${token}` }
    expect((await rest(limited, 'GET', path)).status).toBe(403)
    const settings = { has_issues: false, has_releases: false }
    await rest(users.bob, 'PATCH', '/repos/bob/engine', settings)
    const some = await exported(users.carol, 'engine')
    await rest(users.bob, 'PATCH', '/repos/bob/engine', { has_issues: true, has_releases: true })
    expect(JSON.parse(String(some.get('manifest.json'))).left_out).toEqual(['issues', 'releases'])
    expect([some.get('issues.ndjson')?.length, some.has('assets/1')]).toEqual([0, false])
    expect(some.get('pull_requests.ndjson')?.length).toBeGreaterThan(0)
  })
})

describe('an import of an archive', () => {
  it('has everything when the request returns, and its export is the same', async () => {
    const { status, body } = await imported(
      users.ada,
      'owner=bob&repo_name=copy',
      await archiveOf(archive),
    )
    expect([status, body.message]).toEqual([201, undefined])
    expect(body).toMatchObject({ full_name: 'bob/copy', private: true, importing: false })
    const found = await rest(users.bob, 'GET', '/repos/bob/copy/import')
    expect(found.body).toMatchObject({ state: 'SUCCEEDED', service: 'archive', errors: [] })
    const again = await exported(users.bob, 'copy')
    expect(comparable(again)).toEqual(comparable(archive))
    expect(refsOf(again)).toEqual(refsOf(archive))
  })

  it('lets the server answer others while it stores many records', async () => {
    const issues = Array.from({ length: 1_000 }, (_, i) => ({
      number: i + 1,
      title: 'One of many',
    }))
    const many = new Map(archive)
    many.set('issues.ndjson', Buffer.from(issues.map((one) => JSON.stringify(one)).join('\n')))
    for (const name of ['pull_requests', 'reviews', 'comments'])
      many.set(`${name}.ndjson`, Buffer.from(''))
    const done = imported(users.bob, 'repo_name=many', await archiveOf(many))
    const states = new Set<string>()
    for (let isDone = false; !isDone; ) {
      const { body } = await rest(users.bob, 'GET', '/repos/bob/many/import')
      states.add(body.state)
      isDone = body.state === 'SUCCEEDED'
    }
    expect(states).toContain('RUNNING')
    expect((await done).status).toBe(201)
  })

  it('names authors by their accounts only for an administrator', async () => {
    const pull = async (name: string) =>
      (await rest(users.bob, 'GET', `/repos/bob/${name}/pulls/3`)).body
    expect(await pull('copy')).toMatchObject({ user: { login: 'carol' } })
    const { status } = await imported(users.bob, 'repo_name=own', await archiveOf(archive))
    expect(status).toBe(201)
    expect(await pull('own')).toMatchObject({
      user: { login: 'bob' },
      original_author: 'carol',
    })
    const { body } = await rest(users.bob, 'GET', '/repos/bob/own/import')
    expect(body.errors).toContainEqual({ kind: 'issues', ref: '#1', message: '1 × reaction +1' })
  })

  it('goes on counting, and keeps the heads of pull requests', async () => {
    const next = await rest(users.bob, 'POST', '/repos/bob/copy/issues', { title: 'Next' })
    expect(next.body.number).toBe(5)
    await forge.ask(users.bob, 'PATCH', '/repos/bob/copy', { private: false })
    const remote = `${server.url}/bob/copy.git`
    const refs = await forge.client.git('.', 'ls-remote', remote)
    expect(refs).toContain('refs/pull/3/head')
    expect(refs).not.toContain('refs/pull/0/')
    await forge.checkObjects()
  })

  const changed = async (name: string, content: string | undefined): Promise<Buffer> => {
    const entries = new Map(archive)
    if (content === undefined) entries.delete(name)
    else entries.set(name, Buffer.from(content))
    return archiveOf(entries)
  }

  const noBranch = `# v2 git bundle\n${'1'.repeat(40)} refs/heads/main\n\n`
  const strange = '{"format":"branchline-project","version":2}'
  const misplaced = 'the number is of nothing in the archive, or not in the order of the numbers'
  const refused: [string, () => Promise<string | Buffer>, string][] = [
    ['text', async () => 'no archive at all', 'it is no tar archive, or is cut'],
    [
      'cut',
      async () => (await archiveOf(archive)).subarray(0, 2000),
      'it is no tar archive, or is cut',
    ],
    ['missing', () => changed('issues.ndjson', undefined), 'it has no issues.ndjson'],
    ['foreign', () => changed('passwd', ''), 'the entry passwd is not part of a project'],
    ['above', () => changed('../x', ''), 'the entry ../x is not part of a project'],
    [
      'json',
      () => changed('labels.ndjson', '{"name":'),
      'line 1 of labels.ndjson: the line is no JSON object',
    ],
    [
      'order',
      () => changed('comments.ndjson', '{"number":99}'),
      `line 1 of comments.ndjson: ${misplaced}`,
    ],
    ['version', () => changed('manifest.json', strange), 'version 2 of the format is not known'],
    ['large', () => changed('manifest.json', ' '.repeat(65_537)), 'manifest.json is too large'],
    ['bundle', () => changed('repository.bundle', 'PACK'), 'the file is no bundle'],
    ['pack', () => changed('repository.bundle', noBranch), 'the bundle is damaged'],
  ]

  it.each(refused)(
    'is refused with the reason (%s), and leaves nothing',
    async (name, content, cause) => {
      const { status, body } = await imported(users.bob, `repo_name=bad-${name}`, await content())
      expect([status, body.message]).toEqual([422, `the archive cannot be imported: ${cause}`])
      expect((await rest(users.bob, 'GET', `/repos/bob/bad-${name}`)).status).toBe(404)
    },
  )

  it('is refused for a name or owner that the caller may not use', async () => {
    const whole = await archiveOf(archive)
    const statusOf = async (who: Actor, query: string) => (await imported(who, query, whole)).status
    expect(await statusOf(users.bob, 'repo_name=engine')).toBe(409)
    expect(await statusOf(users.bob, 'repo_name=a/b')).toBe(422)
    expect(await statusOf(users.carol, 'owner=bob&repo_name=mine')).toBe(403)
    expect(await statusOf(users.carol, 'owner=nobody&repo_name=mine')).toBe(422)
    const token = await createToken(server.url, users.bob, ['read:repository'])
    const limited = { authorization: `token ${token}` }
    expect((await imported(limited, 'repo_name=limited', whole)).status).toBe(403)
    expect((await restAt(server.url)(undefined, 'POST', '/repos/import')).status).toBe(401)
  })

  it('takes a form too', async () => {
    const form = new FormData()
    form.append('attachment', new Blob([new Uint8Array(await archiveOf(archive))]), 'engine.tar')
    const response = await fetch(`${server.url}/api/v1/repos/import?repo_name=form`, {
      method: 'POST',
      body: form,
      headers: { authorization: users.bob.authorization },
    })
    expect(response.status).toBe(201)
  })

  it('removes what a server that was killed has left', async () => {
    const { db, runningArchives, signals, clock } = server.app
    const { id } = (await rest(users.bob, 'GET', '/repos/bob/form')).body
    const due_time = clock.now()
    await db
      .updateTable('project_imports')
      .set({ state: 'RUNNING', due_time, end_time: null })
      .where('repository_id', '=', id)
      .execute()
    expect(runningArchives.has(id)).toBe(false)
    signals.imports.notify()
    for (let status = 200; status !== 404; ) {
      const seen = signals.imports.count
      status = (await rest(users.bob, 'GET', '/repos/bob/form')).status
      if (status !== 404) await signals.imports.after(seen, new AbortController().signal)
    }
  })
})
