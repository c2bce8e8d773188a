import { expect, it } from 'vitest'
import { examine } from '../../../src/forge/administration/doctor.ts'
import { settleCodeIndexes } from '../../support/code-indexes.ts'
import { openForge } from '../../support/forge.ts'
import type { Actor } from '../../support/server.ts'

const forge = await openForge()
const { server, users, ask, rest } = forge
const { bob, carol } = users

interface Found {
  readonly total: number
  readonly files: readonly {
    readonly owner: string
    readonly repo: string
    readonly sha: string
    readonly file: { readonly path: string; readonly lines: readonly { readonly text: string }[] }
  }[]
}

/** A path that is more than a path to Git and to a shell. */
const STRANGE = `:(exclude)*'" $(x).txt`

async function found(query: string, who: Actor | undefined = bob): Promise<string[]> {
  const { status, body } = await rest(who, 'GET', `/code/search?${query}`)
  expect([status, body.message]).toEqual([200, undefined])
  const { files } = body as unknown as Found
  return files.map(({ owner, repo, file }) => `${owner}/${repo}:${file.path}`)
}

async function repository(name: string, files: Record<string, string | Buffer>, fields = {}) {
  await ask(bob, 'POST', '/user/repos', { name, auto_init: true, ...fields })
  await commit(name, 'create', files)
}

function commit(name: string, operation: string, files: Record<string, string | Buffer>) {
  const changes = Object.entries(files).map(([path, text]) => ({
    operation,
    path,
    content: Buffer.from(text).toString('base64'),
  }))
  return ask(bob, 'POST', `/repos/bob/${name}/contents`, { files: changes })
}

it('finds lines in the repositories that the caller may read, and in no others', async () => {
  await repository('open', { 'src/a b.ts': 'const Needle = 1\n', 'b.txt': 'nee dle\n' })
  await repository('secret', { 'c.txt': 'a needle for bob\n' }, { private: true })
  await settleCodeIndexes(server.app)
  expect(await found('q=needle')).toEqual(['bob/secret:c.txt', 'bob/open:src/a b.ts'])
  expect(await found('q=needle', carol)).toEqual(['bob/open:src/a b.ts'])
  expect((await rest(undefined, 'GET', '/code/search?q=needle')).body.total).toBe(1)
  expect(await found('q=needle&case_sensitive=true')).toEqual(['bob/secret:c.txt'])
  expect(await found('q=needle&path=src/**')).toEqual(['bob/open:src/a b.ts'])
  expect(await found('q=needle&owner=carol')).toEqual([])
  expect(await found('q=needle&owner=nobody')).toEqual([])
  await ask(bob, 'PUT', '/repos/bob/secret/collaborators/carol', { permission: 'read' })
  expect(await found('q=needle&owner=BOB', carol)).toHaveLength(2)
})

it('follows pushes: new, changed, moved and deleted files', async () => {
  await repository('moving', { 'one.txt': 'first thimble\n', 'two.bin': Buffer.from([0, 1, 2]) })
  await settleCodeIndexes(server.app)
  expect(await found('q=thimble')).toEqual(['bob/moving:one.txt'])
  const { content } = await ask(bob, 'GET', '/repos/bob/moving/contents/one.txt')
  expect(content).not.toBe('')
  const { sha } = await ask(bob, 'GET', '/repos/bob/moving/contents/one.txt')
  await ask(bob, 'PUT', '/repos/bob/moving/contents/three.txt', {
    content: Buffer.from('second thimble\n').toString('base64'),
    from_path: 'one.txt',
    sha,
  })
  await settleCodeIndexes(server.app)
  expect(await found('q=thimble')).toEqual(['bob/moving:three.txt'])
  expect(await found('q=first+thimble')).toEqual([])
  await ask(bob, 'POST', '/repos/bob/moving/branches', { new_branch_name: 'empty' })
  const moved = await ask(bob, 'GET', '/repos/bob/moving/contents/three.txt')
  await ask(bob, 'DELETE', '/repos/bob/moving/contents/three.txt', {
    branch: 'empty',
    sha: moved.sha,
  })
  await settleCodeIndexes(server.app)
  expect(await found('q=thimble')).toEqual(['bob/moving:three.txt'])
  await ask(bob, 'PATCH', '/repos/bob/moving', { default_branch: 'empty' })
  await settleCodeIndexes(server.app)
  expect(await found('q=thimble')).toEqual([])
  const left = await server.app.db
    .selectFrom('code_files')
    .selectAll()
    .where('path', '=', 'three.txt')
  expect(await left.execute()).toEqual([])
})

it('leaves forks out until their parent is deleted', async () => {
  await repository('parent', { 'x.txt': 'an anvil\n' })
  await ask(carol, 'POST', '/repos/bob/parent/forks', {})
  await settleCodeIndexes(server.app)
  expect(await found('q=an+anvil')).toEqual(['bob/parent:x.txt'])
  await ask(bob, 'DELETE', '/repos/bob/parent')
  await settleCodeIndexes(server.app)
  expect(await found('q=an+anvil')).toEqual(['carol/parent:x.txt'])
  await ask(carol, 'DELETE', '/repos/carol/parent')
  expect(await found('q=an+anvil')).toEqual([])
  await settleCodeIndexes(server.app)
  expect(
    await server.app.db
      .selectFrom('code_files')
      .select('path')
      .where('path', '=', 'x.txt')
      .execute(),
  ).toEqual([])
})

it('says what is wrong with a query', async () => {
  for (const query of ['q=', 'q=ab', `q=${'x'.repeat(201)}`, 'q=a%0Abcd'])
    expect((await rest(bob, 'GET', `/code/search?${query}`)).status).toBe(422)
})

it('leaves out what is no source text, and finds the rest beside it', async () => {
  const numbers = Array.from({ length: 8_000 }, (_, i) => ((i * 7919) % 1e6).toString(36)).join(' ')
  await repository('hostile', {
    'plain.txt': 'a bobbin\n',
    'latin.txt': Buffer.from('a bobbin caf\xe9\n', 'latin1'),
    'long.min.js': `${'a bobbin;'.repeat(20_000)}\n`,
    'binary.dat': Buffer.from('a bobbin\0'),
    'data.txt': `a bobbin ${numbers}${numbers.replaceAll(' ', '+')}\n`,
    'huge.txt': 'a bobbin\n'.repeat(40_000),
    [STRANGE]: 'a bobbin\n',
    empty: '',
  })
  await settleCodeIndexes(server.app)
  const all = await found('q=a+bobbin')
  expect(all.sort()).toEqual(
    [STRANGE, 'latin.txt', 'long.min.js', 'plain.txt'].map((path) => `bob/hostile:${path}`).sort(),
  )
  for (const query of ['"', "'", '&|!', '* OR ', ') -- ', '\\\\\\'].map((q) => `${q}${q}${q}`))
    expect(await found(`q=${encodeURIComponent(query)}`)).toEqual([])
})

it('hides code from those who may not read it any more, at once', async () => {
  await repository('turning', { 'x.txt': 'a spindle\n' })
  await settleCodeIndexes(server.app)
  expect(await found('q=spindle', carol)).toEqual(['bob/turning:x.txt'])
  await ask(bob, 'PATCH', '/repos/bob/turning', { private: true })
  expect(await found('q=spindle', carol)).toEqual([])
  expect((await rest(undefined, 'GET', '/code/search?q=spindle')).body).toMatchObject({
    total: 0,
    incomplete: false,
  })
  expect(await found('q=spindle')).toEqual(['bob/turning:x.txt'])
})

it('goes on where a look was cut short', async () => {
  await repository('cut', { 'a.txt': 'a treadle\n', 'b.txt': 'a treadle\n' })
  await settleCodeIndexes(server.app)
  const { db } = server.app
  const { id } = await db
    .selectFrom('code_files')
    .innerJoin('repositories', 'repositories.id', 'code_files.repository_id')
    .select('repositories.id')
    .where('repositories.name', '=', 'cut')
    .executeTakeFirstOrThrow()
  const kept = await db
    .selectFrom('code_files')
    .select('id')
    .where('repository_id', '=', id)
    .where('path', '=', 'a.txt')
    .executeTakeFirstOrThrow()
  // As a server leaves the rows that ends after the first transaction of the first look. The next look
  // waits until the test has searched.
  await db
    .deleteFrom('code_files')
    .where('repository_id', '=', id)
    .where('id', '!=', kept.id)
    .execute()
  await db
    .updateTable('code_indexes')
    .set({ commit_id: null, bytes: 0, due_time: Date.now() + 3_600_000 })
    .where('repository_id', '=', id)
    .execute()
  expect(await found('q=treadle')).toEqual([])
  await settleCodeIndexes(server.app)
  expect(await found('q=treadle')).toEqual(['bob/cut:a.txt', 'bob/cut:b.txt'])
  const index = await db
    .selectFrom('code_indexes')
    .selectAll()
    .where('repository_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(index).toMatchObject({ bytes: 27, is_partial: 0, due_time: null })
  expect(
    await db.selectFrom('code_files').select('id').where('id', '=', kept.id).execute(),
  ).toHaveLength(1)
})

it('keeps within its bytes, and takes what fits later', async () => {
  const settings = server.app.settings
  const { bytes: used } = await server.app.db
    .selectFrom('code_indexes')
    .select((eb) => eb.fn.sum<number>('bytes').as('bytes'))
    .executeTakeFirstOrThrow()
  const max = settings.codeIndexBytes
  Object.assign(settings, { codeIndexBytes: Number(used) + 20 })
  await repository('bounded', {
    'a.txt': 'a heddle\n',
    'b.txt': 'a heddle\n',
    'c.txt': 'a heddle\n',
  })
  await settleCodeIndexes(server.app)
  expect(await found('q=heddle')).toHaveLength(1)
  Object.assign(settings, { codeIndexBytes: max })
  await commit('bounded', 'create', { 'd.txt': 'a heddle\n' })
  await settleCodeIndexes(server.app)
  expect(await found('q=heddle')).toHaveLength(4)
})

it('is examined and repaired by the doctor, and has metrics', async () => {
  await repository('damaged', { 'x.txt': 'a shackle\n' })
  await settleCodeIndexes(server.app)
  const { db } = server.app
  const problems = async (fix: boolean) => {
    const all: string[] = []
    for await (const { subject, problem, outcome } of examine(server.app, { fsck: false, fix }))
      if (problem.includes('index of')) all.push(`${subject}: ${problem}: ${outcome}`)
    return all
  }
  expect(await problems(false)).toEqual([])
  const { id } = await ask(bob, 'GET', '/repos/bob/damaged')
  const change = (columns: object) =>
    db.updateTable('code_indexes').set(columns).where('repository_id', '=', id).execute()
  const stray = { repository_id: 999_999, path: 'stray.txt', blob_id: 'f'.repeat(40), bytes: 3 }
  const { commit_id, bytes } = await db
    .selectFrom('code_indexes')
    .select(['commit_id', 'bytes'])
    .where('repository_id', '=', id)
    .executeTakeFirstOrThrow()
  await change({ commit_id: 'e'.repeat(40), bytes: Number(bytes) + 1 })
  await db.insertInto('code_files').values(stray).execute()
  const wrong = [
    'repository 999999: nothing leads to its files in the index of the code',
    `repository ${id}: the index of its code says ${Number(bytes) + 1} bytes, and has ${bytes}`,
    `repository ${id}: the index of its code has ${'e'.repeat(40)}, which is not the default branch`,
  ]
  expect(await problems(false)).toEqual(wrong.map((text) => `${text}: --fix repairs it`))
  // A new look at a repository repairs all of it.
  expect(await problems(true)).toEqual(wrong.slice(0, 2).map((text) => `${text}: repaired`))
  await settleCodeIndexes(server.app)
  expect(await problems(false)).toEqual([])
  const left = await db
    .selectFrom('code_indexes')
    .select(['repository_id', 'commit_id'])
    .where('repository_id', 'in', [id, 999_999])
    .execute()
  expect(left).toEqual([{ repository_id: id, commit_id }])
  expect(await found('q=a+shackle')).toEqual(['bob/damaged:x.txt'])

  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  expect(metrics).toMatch(/^branchline_code_index_due \d+$/m)
  expect(metrics).toMatch(/^branchline_code_index_age_seconds [\d.]+$/m)
})
