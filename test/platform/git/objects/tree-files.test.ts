import { beforeEach, describe, expect, it } from 'vitest'
import { listTreeFiles } from '../../../../src/platform/git/objects/tree-files.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { seededRandom } from '../../rpc/rest/random.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

const ENGINE = 1
const ALL = { recursive: true, maxEntries: 1000 }

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

/** Stores raw entries as a tree that no index would take. */
function storeTree(entries: Buffer): string {
  const folder = repositoryPath(repositories, ENGINE)
  const args = ['-C', folder, 'hash-object', '-t', 'tree', '-w', '--literally', '--stdin']
  return execFileSync('git', args, { input: entries, encoding: 'utf8' }).trim()
}

/** Lists a tree by Git, as `mode id size path` lines. */
function listedByGit(tree: string, ...flags: string[]): string[] {
  const text = git(repositories, ENGINE, 'ls-tree', '-z', '--long', ...flags, tree)
  return text
    .split('\0')
    .filter(Boolean)
    .map((line) => line.replace(/^([0-7]+) [a-z]+ ([0-9a-f]+) +([0-9-]+)\t/, '$1 $2 $3 '))
}

async function listed(tree: string, recursive: boolean): Promise<string[] | undefined> {
  const entries = await listTreeFiles(repositories, ENGINE, tree, { ...ALL, recursive })
  return entries?.map(({ mode, id, bytes, path }) =>
    [mode.toString(8).padStart(6, '0'), id, bytes ?? '-', path].join(' '),
  )
}

describe('a tree is listed as Git lists it', () => {
  it.each([1, 2, 3])('with random folders (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const names = ['a', 'b', 'a.b', 'a-', 'ä', 'Z'] as const
    const paths = Array.from({ length: 40 }, () =>
      Array.from({ length: 1 + random.below(3) }, (_, depth) =>
        depth === 0 ? `d${random.pick(names)}` : `${depth}${random.pick(names)}`,
      ).join('/'),
    )
    const files = Object.fromEntries(paths.map((path, i) => [`${path}/f${i}`, 'x'.repeat(i)]))
    writeHistory(repositories, ENGINE, [{ message: 'one', files }])
    const tree = git(repositories, ENGINE, 'rev-parse', 'main^{tree}')
    for (const pack of [false, true]) {
      if (pack) git(repositories, ENGINE, 'repack', '-adfq')
      expect(await listed(tree, false)).toEqual(listedByGit(tree))
      expect(await listed(tree, true)).toEqual(listedByGit(tree, '-r', '-t'))
    }
  })

  it('with links, submodules, programs and modes of old repositories', async () => {
    const blob = execFileSync(
      'git',
      ['-C', repositoryPath(repositories, ENGINE), 'hash-object', '-w', '--stdin'],
      { input: 'four', encoding: 'utf8' },
    ).trim()
    const modes = ['100644', '100755', '100664', '120000', '160000']
    const entries = modes.map((mode, i) =>
      Buffer.concat([Buffer.from(`${mode} ${i}\0`), Buffer.from(blob, 'hex')]),
    )
    const tree = storeTree(Buffer.concat(entries))
    expect(await listed(tree, false)).toEqual(listedByGit(tree))
  })
})

describe('Git lists instead', () => {
  const ID = Buffer.alloc(20, 0xaa)

  it('a tree with more entries than asked', async () => {
    writeHistory(repositories, ENGINE, [{ message: 'one', files: { a: '1', b: '2' } }])
    const tree = git(repositories, ENGINE, 'rev-parse', 'main^{tree}')
    const list = (maxEntries: number) =>
      listTreeFiles(repositories, ENGINE, tree, { recursive: false, maxEntries })
    expect([await list(1), (await list(2))?.length]).toEqual([undefined, 2])
  })

  it.each([
    ['whose file is missing', Buffer.concat([Buffer.from('100644 a\0'), ID])],
    ['whose folder is missing', Buffer.concat([Buffer.from('40000 a\0'), ID])],
    ['that ends within an id', Buffer.concat([Buffer.from('100644 a\0'), ID.subarray(1)])],
    ['without a mode', Buffer.concat([Buffer.from(' a\0'), ID])],
    ['without a name', Buffer.from('100644 a')],
    [
      'with a very long path',
      Buffer.from(`160000 ${'a'.repeat(5000)}\0${ID.toString('latin1')}`, 'latin1'),
    ],
  ])('a tree %s', async (_, content) => {
    expect(await listed(storeTree(content), true)).toBeUndefined()
  })
})
