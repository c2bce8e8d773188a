import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../../src/platform/objects/object-store.ts'
import { keysOfFile } from '../../../src/platform/objects/s3/key-file.ts'
import { RequestFigures, S3Client } from '../../../src/platform/objects/s3/s3-client.ts'
import { claimBucket, probeBucket } from '../../../src/platform/objects/s3/s3-probe.ts'
import { S3Store } from '../../../src/platform/objects/s3/s3-store.ts'
import {
  addressOf,
  type FaultyProxy,
  type S3Server,
  s3Obstacle,
  startFaultyProxy,
  startS3Server,
} from '../../support/s3-server.ts'

const obstacle = s3Obstacle()
const MIB = 1024 * 1024

let s3: S3Server
let proxy: FaultyProxy
let folder: string
let address: string
const logged: string[] = []
const open: S3Client[] = []
const figures = new RequestFigures()
/** Uploads that the journal has. */
const journal = new Map<number, string>()

function clientOf(place = address, keyFile = s3.keyFile): S3Client {
  const log = pino({ base: null }, { write: (line: string) => logged.push(line) })
  const client = new S3Client({
    address: addressOf(place),
    keys: keysOfFile(keyFile),
    log,
    now: Date.now,
    count: figures.count,
  })
  open.push(client)
  return client
}

function storeOf(client = clientOf()): S3Store {
  const entries = {
    async begin(key: string) {
      const entry = journal.size + 1
      journal.set(entry, key)
      return entry
    },
    async end(entry: number) {
      journal.delete(entry)
    },
  }
  return new S3Store({ client, spoolFolder: join(folder, 'incoming'), journal: entries })
}

async function* chunks(
  content: Buffer,
  size = 65_536,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex')

async function digestOf(store: S3Store, key: string): Promise<string | undefined> {
  const opened = await store.get(key)
  return opened && sha256(await buffer(opened.content))
}

beforeAll(async () => {
  if (obstacle) return
  s3 = await startS3Server()
  proxy = await startFaultyProxy(s3.url)
  folder = await mkdtemp(join(tmpdir(), 'branchline-'))
  address = await s3.bucket('objects', proxy.url)
}, 900_000)
afterEach(async () => {
  if (!obstacle) proxy.fault = () => undefined
  for (const client of open.splice(0)) await client.close()
})
afterAll(async () => {
  if (obstacle) return
  await proxy.stop()
  await s3.stop()
  await rm(folder, { recursive: true })
})

describe.skipIf(obstacle)(`a store on an S3 server${obstacle ? ` (${obstacle})` : ''}`, () => {
  it('writes, reads, copies, lists and deletes', async () => {
    const store = storeOf()
    expect(await store.put('attachments/7/a', chunks(Buffer.from('content')), 100)).toBe(7)
    expect(await readdir(join(s3.folder, 'objects/forge/attachments/7'))).toEqual(['a'])
    const part = await store.get('attachments/7/a', { first: 1, last: 3 })
    expect([part?.bytes, part && (await text(part.content))]).toEqual([7, 'ont'])
    expect(await store.size('attachments/7/a')).toBe(7)
    expect(await store.put('attachments/7/empty', chunks(Buffer.alloc(0)), 100)).toBe(0)
    expect(await digestOf(store, 'attachments/7/empty')).toBe(sha256(Buffer.alloc(0)))
    await store.copy('attachments/7/a', 'attachments/8/a')
    const listed: unknown[] = []
    for await (const { key, bytes } of store.list('attachments/')) listed.push([key, bytes])
    expect(listed.sort()).toEqual([
      ['attachments/7/a', 7],
      ['attachments/7/empty', 0],
      ['attachments/8/a', 7],
    ])
    await store.delete('attachments/8/a')
    await store.delete('attachments/8/a')
    expect(await store.get('attachments/8/a')).toBeUndefined()
    expect(await store.size('attachments/8/a')).toBeUndefined()
    await store.deleteAll('attachments/7/')
    expect(await store.get('attachments/7/a')).toBeUndefined()
    await expect(store.copy('attachments/7/a', 'attachments/7/b')).rejects.toThrow('no object')
  })

  it('writes a large object in parts, of which four are sent at a time', async () => {
    const store = storeOf()
    const content = randomBytes(150 * MIB)
    expect(await store.put('attachments/9/large', chunks(content), 1024 * MIB)).toBe(content.length)
    expect(await digestOf(store, 'attachments/9/large')).toBe(sha256(content))
    expect(journal.size).toBe(0)
    expect(await store.uploads.list()).toEqual([])
  })

  it('repeats requests that fail, and parts of an upload as well', async () => {
    const store = storeOf()
    const content = randomBytes(70 * MIB)
    const failed = new Set<string>()
    proxy.fault = ({ method, url = '' }, response) => {
      const request = `${method} ${url.replace(/X-Amz.*/, '')}`
      if (failed.has(request)) return undefined
      failed.add(request)
      if (failed.size % 2 === 0) response.destroy()
      else response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>')
      return 'handled'
    }
    await store.put('attachments/9/twice', chunks(content), 1024 * MIB)
    expect(await digestOf(store, 'attachments/9/twice')).toBe(sha256(content))
    expect(failed.size).toBeGreaterThan(6)
  })

  it('leaves nothing of an upload that is cut, in one request or in parts', async () => {
    const store = storeOf()
    async function* cut(bytes: number) {
      yield* chunks(Buffer.alloc(bytes))
      throw new Error('cut')
    }
    await expect(store.put('attachments/9/cut', cut(10), 1024 * MIB)).rejects.toThrow('cut')
    await expect(store.put('attachments/9/cut', cut(90 * MIB), 1024 * MIB)).rejects.toThrow('cut')
    expect(await store.size('attachments/9/cut')).toBeUndefined()
    expect(await store.uploads.list()).toEqual([])
    expect(journal.size).toBe(0)
    expect(await readdir(join(folder, 'incoming'))).toEqual([])
  })

  it('does not take an upload for complete that ends in an error with status 200', async () => {
    const store = storeOf()
    proxy.fault = ({ method, url = '' }, response) => {
      if (method !== 'POST' || !url.includes('uploadId')) return undefined
      response.end('<?xml version="1.0"?>\n<Error><Code>InternalError</Code></Error>')
      return 'handled'
    }
    const put = store.put('attachments/9/lost', chunks(Buffer.alloc(70 * MIB)), 1024 * MIB)
    await expect(put).rejects.toThrow('InternalError')
    expect(await store.size('attachments/9/lost')).toBeUndefined()
    expect(await store.uploads.list()).toEqual([])
  })

  it('fails a download that breaks off, and never fills it up', async () => {
    const store = storeOf()
    await store.put('attachments/9/half', chunks(randomBytes(MIB)), MIB)
    proxy.fault = () => 'half'
    const opened = await store.get('attachments/9/half')
    await expect(opened && buffer(opened.content)).rejects.toThrow(StoreUnavailableError)
  })

  it('is away after ten failures, and comes back by itself', async () => {
    const client = clientOf()
    const store = storeOf(client)
    const before = proxy.requests.length
    proxy.fault = (_, response) => {
      response.destroy()
      return 'handled'
    }
    const failures = await Promise.allSettled([1, 2, 3].map(() => store.size('attachments/1/x')))
    expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(store.isAway).toBe(true)
    expect(proxy.requests.length - before).toBeLessThan(13)
    await expect(store.size('attachments/1/x')).rejects.toThrow('is away')
    proxy.fault = () => undefined
    await expect.poll(() => store.isAway).toBe(false)
    expect(await store.size('attachments/1/x')).toBeUndefined()
    const messages = logged.map((line) => JSON.parse(line).msg)
    expect(messages.filter((message) => message.endsWith('is unavailable'))).toHaveLength(1)
    expect(messages.at(-1)).toBe('the object storage is available again')
  })

  it('reads new keys from the file, and logs none', async () => {
    const keyFile = join(folder, 'keys')
    await writeFile(keyFile, 'branchline\nthe former secret\n')
    const store = storeOf(clientOf(address, keyFile))
    await expect(store.size('attachments/1/x')).rejects.toThrow(StoreUnavailableError)
    await writeFile(keyFile, 'branchline\na secret of the tests\n')
    expect(await store.size('attachments/1/x')).toBeUndefined()
    expect(logged.join('')).not.toMatch(/secret|Signature=|X-Amz/)
  })

  it('learns what the server can do, and to whom its bucket belongs', async () => {
    const [mine, other] = [randomUUID(), randomUUID()]
    await claimBucket(clientOf(), mine)
    await claimBucket(clientOf(), mine)
    await expect(claimBucket(clientOf(), other)).rejects.toThrow('belongs to another instance')
    expect(await probeBucket(clientOf())).toEqual({ refusesWrongChecksums: true })
    proxy.fault = ({ headers }, response) => {
      if (headers['x-amz-checksum-sha256'] === undefined) return undefined
      response.end()
      return 'handled'
    }
    expect(await probeBucket(clientOf())).toEqual({ refusesWrongChecksums: false })
    const missing = clientOf(`s3://nothing?endpoint=${s3.url}`)
    await expect(claimBucket(missing, mine)).rejects.toThrow(
      '--object-storage cannot be used: the object storage answered 404 NoSuchBucket',
    )
    const nobody = clientOf('s3://nothing?endpoint=http://127.0.0.1:1')
    await expect(claimBucket(nobody, mine)).rejects.toThrow('does not answer')
  })
})

describe('the address of a bucket', () => {
  it.each([
    ['s3://b-1/', 'https://s3.us-east-1.amazonaws.com', ''],
    ['s3://b-1/a/b?region=eu-1', 'https://s3.eu-1.amazonaws.com', 'a/b/'],
    ['s3://b-1?endpoint=http://127.0.0.1:7070', 'http://127.0.0.1:7070', ''],
    ['s3://b-1?endpoint=http://store:80&insecure=on', 'http://store', ''],
  ])('is read from %s', (text, endpoint, prefix) => {
    const found = addressOf(text)
    expect([found.endpoint.origin, found.prefix, found.bucket]).toEqual([endpoint, prefix, 'b-1'])
  })

  it.each([
    ['https://b-1/', 'must begin with s3://'],
    ['s3://b-1?endpoint=http://store', 'must be https'],
    ['s3://b-1?bucket=x', 'no parameter "bucket"'],
    ['s3://B_1', 'no name of a bucket'],
    ['s3://b-1/a%20b', 'no prefix'],
    ['s3://b-1?path-style=yes', 'on or off'],
    ['s3://key:secret@b-1', 'bucket, a prefix and parameters only'],
    ['s3://b-1?endpoint=https://key:secret@store', 'has no user'],
  ])('is refused as %s', (text, reason) => {
    expect(() => addressOf(text)).toThrow(reason)
  })
})
