import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { CodeSearchService } from '#gen/branchline/v1/code_search_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { importHistory } from '../../support/histories.ts'
import { PASSWORD } from '../../support/server.ts'

const forge = await openForge()
const { users, rest, client } = forge

interface Found {
  readonly files: {
    readonly path: string
    readonly html_url: string
    readonly more_matches: boolean
    readonly lines: {
      readonly number: number
      readonly text: string
      readonly match: boolean
      readonly ranges: { readonly start: number; readonly end: number }[]
      readonly cut_at_start: boolean
      readonly cut_at_end: boolean
    }[]
  }[]
  readonly total: number
  readonly incomplete: boolean
  readonly sha: string
}

async function search(query: string, who = users.bob) {
  const { status, body, headers } = await rest(who, 'GET', `/repos/bob/shop/code/search?${query}`)
  return { status, headers, body: body as unknown as Found }
}

/** Commits files with these contents through the API. */
async function commit(files: Readonly<Record<string, string | Buffer>>, branch = 'main') {
  const changes = Object.entries(files).map(([path, text]) => ({
    operation: 'create',
    path,
    content: Buffer.from(text).toString('base64'),
  }))
  const body = { files: changes, branch: 'main', ...(branch !== 'main' && { new_branch: branch }) }
  expect((await rest(users.bob, 'POST', '/repos/bob/shop/contents', body)).status).toBe(201)
}

/** Returns why a query is refused. */
const refusal = (request: { q: string; regexp?: boolean; path?: string[]; ref?: string }) =>
  refusalOf(
    forge.grpc(CodeSearchService, users.bob).searchCode({ owner: 'bob', repo: 'shop', ...request }),
  )

const matches = ({ files }: Found) =>
  files.map(({ path, lines }) => [path, ...lines.filter(({ match }) => match).map((l) => l.number)])

/** A name that looks like the output of git-grep(1). */
const STRANGE = 'src/strange "name"\n:1:é.txt'

const LOTS = Object.fromEntries(
  Array.from({ length: 501 }, (_, i) => [`lots/${i}.txt`, 'lots of them\n']),
)

const LONG = `${'x'.repeat(100_000)}\n${'ä'.repeat(1000)}NEEDLE${'ö'.repeat(1000)}\n`

beforeAll(async () => {
  await rest(users.bob, 'POST', '/user/repos', { name: 'shop', private: true })
})

it('an empty repository has no results', async () => {
  expect((await search('q=price')).body).toMatchObject({ files: [], total: 0, sha: '' })
})

describe('in a repository with files', () => {
  beforeAll(async () => {
    await client.git('.', 'init', '-q', '--bare', '-b', 'main', 'shop')
    importHistory(join(client.home, 'shop'), [
      { message: 'odd', files: { [STRANGE]: 'grüße.Äpfel\n12:3:price\n--\n' } },
      { message: 'lots', files: LOTS },
    ])
    const remote = remoteOf(forge.server.url, 'bob/shop', 'bob', PASSWORD)
    await client.git('shop', 'push', '-q', remote, 'main')
    await commit({
      'README.md': 'The shop\r\n\r\nEach Price is in cents.\r\n',
      'src/cart.ts': 'a\nb\nc\nconst price = 1 // price\nd\ne\nf\ng\nh\nprices.push(price)\n',
      'src/deep/tax.ts': 'export const tax = (price: number) => price * 0.19\n',
      'logo.bin': Buffer.from('\0price\n'),
      'dist/bundle.js': LONG,
      'evil.txt': `${'a'.repeat(200_000)}!\n`,
    })
    await commit({ 'other.txt': 'only on the branch\n' }, 'side/one')
  })

  it('finds lines by a text, with context, ranges and links', async () => {
    const { status, headers, body } = await search('q=price&path=src/cart.ts')
    expect(status).toBe(200)
    expect(headers.get('x-total-count')).toBe('1')
    expect(body).toMatchObject({ total: 1, incomplete: false })
    const [file] = body.files
    expect(file?.html_url).toBe(`${forge.server.url}/bob/shop/src/commit/${body.sha}/src/cart.ts`)
    expect(file?.lines.map(({ number, match }) => [number, match])).toEqual([
      [2, false],
      [3, false],
      [4, true],
      [5, false],
      [6, false],
      [8, false],
      [9, false],
      [10, true],
    ])
    expect(file?.lines[2]).toMatchObject({
      text: 'const price = 1 // price',
      ranges: [
        { start: 6, end: 11 },
        { start: 19, end: 24 },
      ],
    })
  })

  it('ignores the case of letters unless asked', async () => {
    expect(matches((await search('q=Price')).body).map(([path]) => path)).toEqual([
      'README.md',
      'src/cart.ts',
      'src/deep/tax.ts',
      STRANGE,
    ])
    expect(matches((await search('q=Price&case_sensitive=true')).body)).toEqual([['README.md', 3]])
    expect((await search('q=each+price')).body.files[0]?.lines[2]).toMatchObject({
      text: 'Each Price is in cents.',
    })
    const { body } = await search(`q=${encodeURIComponent('äpfel')}`)
    expect(body.files[0]?.lines[0]?.ranges).toEqual([{ start: 6, end: 11 }])
  })

  it('reads names and lines that look like the output of Git', async () => {
    const { body } = await search(`q=${encodeURIComponent('12:3')}`)
    expect(matches(body)).toEqual([[STRANGE, 2]])
    expect(body.files[0]?.lines.map(({ text }) => text)).toEqual([
      'grüße.Äpfel',
      '12:3:price',
      '--',
    ])
  })

  it('a text means itself, and an expression is one of RE2', async () => {
    expect((await search(`q=${encodeURIComponent('pri.e')}`)).body.total).toBe(0)
    const found = await search(`q=${encodeURIComponent('^gr..e\\.\\p{Lu}')}&regexp=true`)
    expect(found.body.files[0]?.lines[0]).toMatchObject({ ranges: [{ start: 0, end: 7 }] })
    for (const q of [
      '(',
      '(?=a)b',
      '(a)\\1',
      '(*LIMIT_MATCH=1)a',
      'a{1001}',
      '(((a{9}){9}){9}){9}',
    ]) {
      expect(await refusal({ q, regexp: true })).toMatchObject({
        reason: 'INVALID_SEARCH_EXPRESSION',
      })
    }
  })

  it('paths select files', async () => {
    const paths = async (...globs: string[]) => {
      const query = globs.map((glob) => `&path=${encodeURIComponent(glob)}`).join('')
      return (await search(`q=price${query}`)).body.files.map(({ path }) => path)
    }
    expect(await paths('src/*.ts')).toEqual(['src/cart.ts'])
    expect(await paths('**/*.ts')).toEqual(['src/cart.ts', 'src/deep/tax.ts'])
    expect(await paths('src/deep', '*.md')).toEqual(['README.md', 'src/deep/tax.ts'])
    expect(await paths('!src', '')).toEqual(['README.md'])
    expect(await paths(':(attr:x)', '--help', '-h')).toEqual([])
  })

  it('shows a part of a long line around the match', async () => {
    const { body } = await search('q=needle')
    const line = body.files[0]?.lines.find(({ match }) => match)
    expect(line).toMatchObject({ number: 2, cut_at_start: true, cut_at_end: true })
    expect(line?.text).toMatch(/^ä{50}NEEDLEö+$/)
    expect(line?.ranges).toEqual([{ start: 50, end: 56 }])
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(3000)
  })

  it('shows the first lines of a file with many', async () => {
    await commit({ 'many.txt': 'match me\n'.repeat(50) })
    const { body } = await search('q=match+me')
    expect(body.files[0]?.lines).toHaveLength(20)
    expect(body.files[0]?.more_matches).toBe(true)
  })

  it('an expression that takes too long ends early', async () => {
    const q = encodeURIComponent('(a+)+$')
    const { status, body } = await search(`q=${q}&regexp=true&path=evil.txt`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ files: [], incomplete: true })
  })

  it('searches any ref', async () => {
    const ref = encodeURIComponent('side/one')
    expect((await search('q=only+on+the')).body.total).toBe(0)
    expect(matches((await search(`q=only+on+the&ref=${ref}`)).body)).toEqual([['other.txt', 1]])
    expect(await refusal({ q: 'a', ref: 'nowhere' })).toMatchObject({ reason: 'REF_NOT_FOUND' })
    const option = await search(`q=a&ref=${encodeURIComponent('--open-files-in-pager=sh')}`)
    expect(option.status).toBe(404)
  })

  it('refuses texts that are no query', async () => {
    for (const request of [
      { q: '' },
      { q: ' ' },
      { q: 'a'.repeat(201) },
      { q: 'a\nb' },
      { q: 'a\0b' },
      { q: 'a', path: Array.from({ length: 11 }, () => 'b') },
      { q: 'a', path: ['b'.repeat(256)] },
      { q: 'a', path: ['\0'] },
    ])
      expect(await refusal(request)).toMatchObject({ reason: 'INVALID_FIELD' })
    expect((await search('q=')).status).toBe(422)
  })

  it('has pages of files, and searches once for all of them', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `list/${String(i).padStart(3, '0')}.txt`)
    await commit(Object.fromEntries(names.map((name) => [name, 'page me\n'])))
    const first = await search('q=page+me&limit=25')
    expect(first.body).toMatchObject({ total: 60, incomplete: false })
    const { processes } = forge.server.app.git
    const spawner = processes.spawner
    processes.spawner = {
      start: () => {
        throw new Error('a Git process was started')
      },
    } as never
    try {
      const third = await search('q=page+me&limit=25&page=3')
      expect(third.body.files.map(({ path }) => path)).toEqual(names.slice(50))
    } finally {
      processes.spawner = spawner
    }
  })

  it('ends at 500 files', async () => {
    expect((await search('q=lots+of')).body).toMatchObject({ total: 500, incomplete: true })
  })
})

it('the files of a private repository are hidden from strangers, on every protocol', async () => {
  expect((await search('q=price', users.carol)).status).toBe(404)
  const request = { owner: 'bob', repo: 'shop', q: 'price' }
  const call = forge.grpc(CodeSearchService, users.carol).searchCode(request)
  expect(await refusalOf(call)).toMatchObject({ reason: 'REPOSITORY_NOT_FOUND' })
  const { total } = await forge.grpc(CodeSearchService, users.bob).searchCode(request)
  expect(total).toBe(4n)
})
