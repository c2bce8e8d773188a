import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { diffTrees } from '../../../../src/platform/git/diffs/diff.ts'
import { countLines } from '../../../../src/platform/git/diffs/pair-diffs.ts'
import { diffCommits, streamDiff, streamPatch } from '../../../../src/platform/git/diffs/patches.ts'
import { listAuthors } from '../../../../src/platform/git/history/authors.ts'
import { findMergeBase, readCommits } from '../../../../src/platform/git/history/history.ts'
import { readHistory } from '../../../../src/platform/git/history/history-pages.ts'
import { lastChanges } from '../../../../src/platform/git/history/last-changes.ts'
import { inspectObjects, readObject } from '../../../../src/platform/git/objects/objects.ts'
import { listTree, sizesOf } from '../../../../src/platform/git/objects/trees.ts'
import {
  deleteRepository,
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import type { ScriptedCommit } from '../../../support/histories.ts'
import { git, gitProcessesOf, settleFiles, testRepositories, writeHistory } from '../fixture.ts'

const ENGINE = 1
const WHOLE = { offset: 0, limit: 100 }

let repositories: Repositories
let tip: string
let first: string
let tree: string
let blob: string

beforeEach(async () => {
  repositories = await testRepositories(1)
  writeHistory(repositories, ENGINE, [
    { message: 'one', files: { 'a.txt': 'one\n', 'src/b.txt': 'two\n' } },
    { message: 'two', files: { 'a.txt': 'changed\n' } },
  ])
  tip = git(repositories, ENGINE, 'rev-parse', 'main')
  first = git(repositories, ENGINE, 'rev-parse', 'main~1')
  tree = git(repositories, ENGINE, 'rev-parse', 'main^{tree}')
  blob = git(repositories, ENGINE, 'rev-parse', 'main:a.txt')
})

const processesOf = (work: () => Promise<unknown>) => gitProcessesOf(repositories, work)

const readers = {
  'a commit': () => readCommits(repositories, ENGINE, [tip, first]),
  'a file': () => readObject(repositories, ENGINE, blob, 1000),
  'types and sizes': () => inspectObjects(repositories, ENGINE, [tip, tree, blob]),
  'a folder with sizes': async () => {
    const { entries } = await listTree(repositories, ENGINE, tree, WHOLE)
    return [entries, await sizesOf(repositories, ENGINE, entries)]
  },
  'a recursive tree': () => listTree(repositories, ENGINE, tree, { ...WHOLE, recursive: true }),
  'a page of a history': () => readHistory(repositories, ENGINE, { from: tip }, 0, 10),
  'a page of changed files with counts of lines': async () => {
    const diff = await diffTrees(repositories, ENGINE, first, tip, { lines: false, window: WHOLE })
    return [diff, await countLines(repositories, ENGINE, diff.files, { maxLines: 100 })]
  },
  'the authors of commits': () => listAuthors(repositories, ENGINE, tip, first, 50),
  'the changes of a commit': () =>
    diffCommits(repositories, ENGINE, [{ id: tip, parentId: first }], {
      lines: true,
      window: WHOLE,
    }),
  'a difference as text': () =>
    textOf(streamDiff(repositories, ENGINE, first, tip, { binary: false })),
  mails: () => textOf(streamPatch(repositories, ENGINE, first, tip)),
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const chunk of chunks) pieces.push(chunk)
  return Buffer.concat(pieces).toString()
}

describe('a second read', () => {
  for (const [what, read] of Object.entries(readers)) {
    it.each([
      ['loose objects', () => {}],
      [
        'packs',
        () => {
          git(repositories, ENGINE, 'gc', '--quiet')
          settleFiles()
        },
      ],
    ])(`of ${what} starts no process, from %s`, async (_, store) => {
      store()
      const answer = await read()
      expect(await processesOf(read)).toBe(0)
      expect(await read()).toEqual(answer)
    })

    it(`of ${what} after a repack finds the same`, async () => {
      const answer = await read()
      git(repositories, ENGINE, 'gc', '--quiet')
      settleFiles()
      expect(await read()).toEqual(answer)
    })
  }

  it('of the beginning of a file is as long as asked', async () => {
    await readObject(repositories, ENGINE, blob, 1000)
    const cut = await readObject(repositories, ENGINE, blob, 3)
    expect([cut?.bytes, cut?.content.toString()]).toEqual([8, 'cha'])
  })

  it('of a whole file after its beginning has everything', async () => {
    await readObject(repositories, ENGINE, blob, 3)
    expect((await readObject(repositories, ENGINE, blob, 1000))?.content.toString()).toBe(
      'changed\n',
    )
  })
})

it('a small file in the cache keeps no larger buffer in memory', async () => {
  await readObject(repositories, ENGINE, blob, 1000)
  const cached = await readObject(repositories, ENGINE, blob, 1000)
  expect(cached?.content.buffer.byteLength).toBe(8)
})

describe('the last changes of a folder', () => {
  const readerOf = async (names: readonly string[], later: readonly ScriptedCommit[]) => {
    const paths = names.map((name) => `new/${name}`)
    const files = Object.fromEntries(paths.map((path) => [path, '3']))
    writeHistory(repositories, ENGINE, [{ message: 'three', files }, ...later])
    const changeId = git(repositories, ENGINE, 'rev-parse', `main~${later.length}`)
    const treeId = git(repositories, ENGINE, 'rev-parse', 'main:new')
    const { entries } = await listTree(repositories, ENGINE, treeId, WHOLE)
    const placed = entries.map((entry) => ({ ...entry, path: `new/${entry.path}` }))
    return async () => {
      const commitId = git(repositories, ENGINE, 'rev-parse', 'main')
      const changes = await lastChanges(repositories, ENGINE, commitId, 'new', placed)
      expect(changes).toEqual(new Map(paths.map((path) => [path, changeId])))
    }
  }

  /** More commits than are read without Git. */
  const many = Array.from({ length: 100 }, (_, n) => ({ message: `${n}`, files: { n: `${n}` } }))

  it('are found without Git in few commits', async () => {
    const read = await readerOf(['a', 'b'], [])
    expect(await processesOf(read)).toBe(0)
  })

  it('are cached, also for the next commits', async () => {
    const read = await readerOf(['a', 'b'], many)
    expect([await processesOf(read), await processesOf(read)]).toEqual([2, 0])
    const parents = [git(repositories, ENGINE, 'rev-parse', 'main')]
    writeHistory(repositories, ENGINE, [{ message: 'next', parents }, ...many.slice(0, 20)])
    expect(await processesOf(read)).toBe(0)
  })

  it('are not cached for very long names, which would fill the memory', async () => {
    const read = await readerOf(
      [...'abcde'].map((letter) => letter.repeat(60_000)),
      many,
    )
    expect([await processesOf(read), await processesOf(read)]).toEqual([2, 2])
  })
})

describe('an object that an operator erased', () => {
  /** Removes everything that no ref reaches. */
  const prune = () => {
    git(repositories, ENGINE, 'update-ref', 'refs/heads/main', first)
    git(repositories, ENGINE, 'reflog', 'expire', '--expire=now', '--all')
    git(repositories, ENGINE, 'gc', '--quiet', '--prune=now')
  }

  it('was loose, and is gone from the cache', async () => {
    expect(await readObject(repositories, ENGINE, blob, 1000)).toBeDefined()
    prune()
    expect(await readObject(repositories, ENGINE, blob, 1000)).toBeUndefined()
    expect((await inspectObjects(repositories, ENGINE, [blob, tip])).size).toBe(0)
  })

  it('was in a pack, and is gone from the cache', async () => {
    git(repositories, ENGINE, 'gc', '--quiet')
    settleFiles()
    expect(await readObject(repositories, ENGINE, blob, 1000)).toBeDefined()
    prune()
    expect(await readObject(repositories, ENGINE, blob, 1000)).toBeUndefined()
    expect((await inspectObjects(repositories, ENGINE, [blob, tip])).size).toBe(0)
  })

  it('was in a pack that had changed a moment before, and is gone', async () => {
    git(repositories, ENGINE, 'gc', '--quiet')
    const read = () => readObject(repositories, ENGINE, blob, 1000)
    expect(await read()).toBeDefined()
    prune()
    expect(await read()).toBeUndefined()
  })

  it('was in a file that somebody removed', async () => {
    await readObject(repositories, ENGINE, blob, 1000)
    const folder = join(repositoryPath(repositories, ENGINE), 'objects', blob.slice(0, 2))
    expect(readdirSync(folder)).toContain(blob.slice(2))
    rmSync(join(folder, blob.slice(2)))
    expect(await readObject(repositories, ENGINE, blob, 1000)).toBeUndefined()
  })
})

it('nothing of a deleted repository is left', async () => {
  for (const read of Object.values(readers)) await read()
  await findMergeBase(repositories, ENGINE, tip, first)
  await deleteRepository(repositories, ENGINE)
  for (const read of Object.values(readers)) await expect(read()).rejects.toThrow()
  await expect(findMergeBase(repositories, ENGINE, tip, first)).rejects.toThrow()
  expect(await inspectObjects(repositories, ENGINE, [blob]).catch(() => 'gone')).toBe('gone')
})
