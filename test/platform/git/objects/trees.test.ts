import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  findEntries,
  findEntry,
  listTree,
  sizesOf,
  treePath,
} from '../../../../src/platform/git/objects/trees.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)

/** Stores a tree of raw entries, which no index would take. */
function storeTree(entries: Buffer): string {
  const options = { input: entries, encoding: 'utf8' as const }
  return execFileSync(
    'git',
    [
      '-C',
      repositoryPath(repositories, 1),
      'hash-object',
      '-t',
      'tree',
      '-w',
      '--literally',
      '--stdin',
    ],
    options,
  ).trim()
}

describe('a path', () => {
  it.each([
    ['', ''],
    ['/', ''],
    ['a/b', 'a/b'],
    ['/a/b/', 'a/b'],
    ['..a', '..a'],
    ['a//b', undefined],
    ['//a', undefined],
    ['a/../b', undefined],
    ['.', undefined],
    ['a\0b', undefined],
    [`${'a/'.repeat(3000)}b`, undefined],
  ])('%j is as Git has it, or none at all', (text, expected) => {
    expect(treePath(text)).toBe(expected)
  })
})

describe('a tree', () => {
  it('is listed in pages, flat or recursively', async () => {
    writeHistory(repositories, 1, [{ message: 'one', files: { 'a/b/c': '12', 'a/d': '3', e: '' } }])
    const tree = idOf('main^{tree}')
    const flat = await listTree(repositories, 1, tree, { offset: 0, limit: 10 })
    expect(flat.entries.map(({ path, kind, mode }) => [path, kind, mode.toString(8)])).toEqual([
      ['a', 'dir', '40000'],
      ['e', 'file', '100644'],
    ])
    const page = await listTree(repositories, 1, tree, { recursive: true, offset: 1, limit: 2 })
    expect(page.total).toBe(5)
    expect(page.entries.map(({ path }) => path)).toEqual(['a/b', 'a/b/c'])
    const sizes = await sizesOf(repositories, 1, page.entries)
    expect(page.entries.map((entry) => sizes.get(entry.id))).toEqual([undefined, 2])
  })

  it('has an entry at a path', async () => {
    writeHistory(repositories, 1, [{ message: 'one', files: { 'a/b': '12' } }])
    const tree = idOf('main^{tree}')
    const find = (path: string) => findEntry(repositories, 1, tree, path)
    expect(await find('a/b')).toEqual({
      path: 'a/b',
      mode: 0o100644,
      kind: 'file',
      id: idOf('main:a/b'),
    })
    expect(await find('a')).toMatchObject({ kind: 'dir', id: idOf('main:a') })
    expect([await find('b'), await find('a/c'), await find('a/b/c'), await find('a:b')]).toEqual(
      Array(4).fill(undefined),
    )
  })

  it('has entries at many paths and at the folders above them', async () => {
    writeHistory(repositories, 1, [
      { message: 'one', files: { 'a/b/c': '12', 'a/b/d': '3', 'a/e': '4', f: '5' } },
    ])
    const tree = idOf('main^{tree}')
    const entries = await findEntries(repositories, 1, tree, [
      'f',
      'f/x',
      'a/b/d',
      'a/b/d',
      'a/b',
      'a/x/y',
      'z',
    ])
    for (const path of ['f', 'a', 'a/b', 'a/b/d']) {
      expect(entries.get(path)).toEqual(await findEntry(repositories, 1, tree, path))
    }
    expect(entries.size).toBe(4)
  })

  it('may have more entries than are kept in memory', async () => {
    writeHistory(repositories, 1, [{ message: 'one', files: { a: '1' } }])
    const blob = Buffer.from(idOf('main:a'), 'hex')
    const names = Array.from({ length: 20_001 }, (_, i) => String(i).padStart(5, '0'))
    const tree = storeTree(
      Buffer.concat(names.flatMap((name) => [Buffer.from(`100644 ${name}\0`), blob])),
    )
    for (const _ of ['first', 'second']) {
      const { entries, total } = await listTree(repositories, 1, tree, {
        offset: 19_999,
        limit: 10,
      })
      expect(total).toBe(20_001)
      expect(entries.map(({ path }) => path)).toEqual(['19999', '20000'])
      expect([...(await sizesOf(repositories, 1, entries)).values()]).toEqual([1])
    }
  })

  it('takes the memory of one page, however long its paths are', async () => {
    writeHistory(repositories, 1, [{ message: 'one', files: { a: '1' } }])
    const blob = Buffer.from(idOf('main:a'), 'hex')
    const names = Array.from({ length: 500 }, (_, i) => String(i).padStart(5, '0'))
    const inner = storeTree(
      Buffer.concat(names.flatMap((name) => [Buffer.from(`100644 ${name}\0`), blob])),
    )
    const tree = storeTree(
      Buffer.concat([Buffer.from(`40000 ${'d'.repeat(60_000)}\0`), Buffer.from(inner, 'hex')]),
    )
    const decode = vi.spyOn(Buffer.prototype, 'toString')
    onTestFinished(() => decode.mockRestore())
    for (const _ of ['first', 'second']) {
      decode.mockClear()
      const window = { recursive: true, offset: 499, limit: 10 }
      const { entries, total } = await listTree(repositories, 1, tree, window)
      expect([total, entries.map(({ path }) => path.slice(-6))]).toEqual([
        501,
        ['/00498', '/00499'],
      ])
      // The first read decodes 4 MiB before it knows the length.
      const decoded = decode.mock.contexts.filter((path) => path.length >= 60_000)
      expect(decoded.length).toBeLessThan(names.length / 2)
    }
  })

  it('may have names that are not UTF-8', async () => {
    writeHistory(repositories, 1, [{ message: 'one', files: { a: '1' } }])
    const blob = Buffer.from(idOf('main:a'), 'hex')
    const tree = storeTree(Buffer.concat([Buffer.from('100644 b\xff\0', 'latin1'), blob]))
    const { entries } = await listTree(repositories, 1, tree, { offset: 0, limit: 10 })
    expect(entries.map(({ path }) => path)).toEqual(['"b\\377"'])
    expect(entries[0]).toMatchObject((await findEntry(repositories, 1, tree, '"b\\377"')) ?? {})
    expect(await findEntry(repositories, 1, tree, 'b\ufffd')).toBeUndefined()
  })

  it('can have any depth', async () => {
    writeHistory(repositories, 1, [{ message: 'one', files: { a: '1' } }])
    const blob = idOf('main:a')
    let tree = storeTree(Buffer.concat([Buffer.from('100644 a\0'), Buffer.from(blob, 'hex')]))
    for (let depth = 0; depth < 300; depth++) {
      tree = storeTree(Buffer.concat([Buffer.from('40000 d\0'), Buffer.from(tree, 'hex')]))
    }
    const page = await listTree(repositories, 1, tree, { recursive: true, offset: 300, limit: 10 })
    expect(page.entries.map(({ path }) => path.length)).toEqual([601])
    expect(await findEntry(repositories, 1, tree, `${'d/'.repeat(300)}a`)).toMatchObject({
      id: blob,
    })
  })
})
