import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DATA_FOLDER_LAYOUT } from '../../../src/forge/repositories/attachments/attachment-files.ts'
import { createFolderStore } from '../../../src/platform/objects/folder-store.ts'
import { type ObjectStore, PlaceGoneError } from '../../../src/platform/objects/object-store.ts'

let folder: string
let store: ObjectStore

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  store = createFolderStore(folder, DATA_FOLDER_LAYOUT)
})
afterAll(() => rm(folder, { recursive: true }))

async function* chunks(...parts: string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const part of parts) yield Buffer.from(part)
}

async function contentOf(key: string, range?: { first: number; last: number }) {
  const opened = await store.get(key, range)
  return opened && { bytes: opened.bytes, text: await text(opened.content) }
}

async function keys(prefix: string): Promise<string[]> {
  const found: string[] = []
  for await (const { key } of store.list(prefix)) found.push(key)
  return found.sort()
}

describe('a store in a folder', () => {
  it('has each object at the path that releases have had since they exist', async () => {
    expect(await store.put('attachments/300/one', chunks('con', 'tent'), 100)).toBe(7)
    expect(await readdir(join(folder, 'attachments/2c/300'))).toEqual(['one'])
    expect(await contentOf('attachments/300/one')).toEqual({ bytes: 7, text: 'content' })
    const part = { first: 1, last: 3 }
    expect(await contentOf('attachments/300/one', part)).toEqual({ bytes: 7, text: 'ont' })
    expect(await store.size('attachments/300/one')).toBe(7)
    expect(await store.get('attachments/300/two')).toBeUndefined()
    expect(await store.size('attachments/301/one')).toBeUndefined()
  })

  it('copies, lists and deletes, and leaves the files of others alone', async () => {
    await store.put('attachments/5/a', chunks('a'), 100)
    await store.copy('attachments/5/a', 'attachments/6/a')
    await store.copy('attachments/5/a', 'attachments/6/a')
    await mkdir(join(folder, 'attachments', 'lost+found', 'x'), { recursive: true })
    await writeFile(join(folder, 'attachments', 'lost+found', 'x', 'y'), '')
    await writeFile(join(folder, 'attachments', '.keep'), '')
    expect(await keys('attachments/6/')).toEqual(['attachments/6/a'])
    await store.delete('attachments/5/a')
    await store.delete('attachments/5/a')
    expect(await contentOf('attachments/6/a')).toEqual({ bytes: 1, text: 'a' })
    expect(await keys('attachments/')).toEqual(['attachments/300/one', 'attachments/6/a'])
    await store.deleteAll('attachments/6/')
    await store.deleteAll('attachments/6/')
    expect(await keys('attachments/')).toEqual(['attachments/300/one'])
  })

  it('keeps the former object, and nothing else, when a write fails', async () => {
    async function* cut() {
      yield Buffer.from('half')
      throw new Error('cut')
    }
    await expect(store.put('attachments/300/one', cut(), 100)).rejects.toThrow('cut')
    expect(await contentOf('attachments/300/one')).toEqual({ bytes: 7, text: 'content' })
    expect(await readdir(join(folder, 'attachments/2c/300'))).toEqual(['one'])
  })

  it('refuses an object whose place is deleted while it is written', async () => {
    async function* slow() {
      yield Buffer.from('half')
      await store.deleteAll('attachments/9/')
    }
    await expect(store.put('attachments/9/x', slow(), 100)).rejects.toThrow(PlaceGoneError)
    expect(await readdir(join(folder, 'attachments/incoming'))).toEqual([])
  })

  it('removes the drafts that have received nothing for long, and only these', async () => {
    const left = [join(folder, 'attachments/incoming/left'), join(folder, 'lfs/incoming/left')]
    await mkdir(join(folder, 'lfs/incoming'), { recursive: true })
    for (const path of left) {
      await writeFile(path, 'half')
      await utimes(path, 1_000, 1_000)
    }
    async function* slow() {
      yield Buffer.from('half, ')
      expect(await keys('attachments/9/')).toEqual([])
      expect(await store.removeDrafts?.(2_000_000)).toBe(left.length)
      yield Buffer.from('whole')
    }
    await store.put('attachments/9/x', slow(), 100)
    expect(await contentOf('attachments/9/x')).toEqual({ bytes: 11, text: 'half, whole' })
    expect(await readdir(join(folder, 'attachments/incoming'))).toEqual([])
    expect(await readdir(join(folder, 'lfs/incoming'))).toEqual([])
    expect(await store.removeDrafts?.(2_000_000)).toBe(0)
  })
})
