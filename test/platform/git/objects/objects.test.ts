import { beforeEach, describe, expect, it } from 'vitest'
import { ResultCache } from '../../../../src/platform/concurrency/result-cache.ts'
import {
  inspectObject,
  inspectObjects,
  readObject,
  streamBlob,
} from '../../../../src/platform/git/objects/objects.ts'

import { createProcessSlots } from '../../../../src/platform/git/processes/process-slots.ts'
import { readGit, splitAtZeros, textOf } from '../../../../src/platform/git/repositories/reading.ts'
import type { Repositories } from '../../../../src/platform/git/repositories/repositories.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

const NOTHING = '0'.repeat(40)

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
  writeHistory(repositories, 1, [{ message: 'one', files: { a: 'x'.repeat(300_000), b: '\n\n' } }])
})

const idOf = (name: string) => git(repositories, 1, 'rev-parse', name)

describe('objects', () => {
  it('have a type and a size; missing objects are left out', async () => {
    const [a, commit] = [idOf('main:a'), idOf('main')]
    const found = await inspectObjects(repositories, 1, [a, NOTHING, commit])
    expect(found.get(a)).toEqual({ id: a, type: 'blob', bytes: 300_000 })
    expect(found.get(commit)?.type).toBe('commit')
    expect(found.size).toBe(2)
    expect(await inspectObject(repositories, 1, NOTHING)).toBeUndefined()
    await expect(inspectObject(repositories, 1, 'main')).rejects.toThrow('no object id')
  })

  it('are read up to a limit', async () => {
    expect((await readObject(repositories, 1, idOf('main:a'), 5))?.content.toString()).toBe('xxxxx')
    expect((await readObject(repositories, 1, idOf('main:b'), 5))?.content.toString()).toBe('\n\n')
    expect(await textOf(streamBlob(repositories, 1, idOf('main:a')))).toHaveLength(300_000)
  })
})

describe('a Git process that reads', () => {
  it('is ended after the time limit', async () => {
    const reading = textOf(
      readGit(repositories, 1, ['-c', 'alias.wait=!sleep 60', 'wait'], { timeoutMs: 20 }),
    )
    await expect(reading).rejects.toMatchObject({ kind: 'TIMEOUT' })
  })

  it('releases its slot, however it ends', async () => {
    const crowded = { ...repositories, readers: createProcessSlots({ max: 1, firstPlaces: 0 }) }
    for await (const _ of readGit(crowded, 1, ['cat-file', 'blob', idOf('main:a')])) {
      await expect(inspectObject(crowded, 1, NOTHING)).rejects.toMatchObject({ kind: 'BUSY' })
      break
    }
    await expect(textOf(readGit(crowded, 1, ['cat-file', 'blob', NOTHING]))).rejects.toThrow(
      'cat-file',
    )
    expect(await inspectObject(crowded, 1, NOTHING)).toBeUndefined()
  })
})

describe('cached results', () => {
  it('are cached until other keys replace them; failures are not cached', async () => {
    const cache = new ResultCache<string>(2)
    const computed: string[] = []
    const ask = (key: string) =>
      cache.get(key, async () => {
        computed.push(key)
        if (key === 'bad') throw new Error('bad')
        return key
      })
    await Promise.all([ask('a'), ask('a')])
    await ask('b')
    await ask('a')
    await ask('c')
    await ask('a')
    await ask('b')
    await expect(ask('bad')).rejects.toThrow()
    await expect(ask('bad')).rejects.toThrow()
    expect(computed).toEqual(['a', 'b', 'c', 'b', 'bad', 'bad'])
  })
})

describe('records separated by NUL', () => {
  it('are joined from chunks and truncated when they are too long', async () => {
    async function* pieces() {
      yield* ['a', 'b\0', '\0c', 'ddddd', '\0e'].map((piece) => Buffer.from(piece))
    }
    const records: string[] = []
    for await (const record of splitAtZeros(pieces(), 4)) records.push(record.toString())
    expect(records).toEqual(['ab', '', 'cddd', 'e'])
  })
})
