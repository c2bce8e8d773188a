import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFileRegistry, equals, fromBinary, getOption } from '@bufbuild/protobuf'
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { access } from '#gen/branchline/access/v1/access_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { withFolder } from '../../support/process.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

const run = promisify(execFile)
const BUF = join(import.meta.dirname, '../../../node_modules/.bin/buf')
const BUF_LIMITS = { maxBuffer: 64 * 1024 * 1024 }

const SET = '/schema/branchline.binpb'
const ARCHIVE = '/schema/branchline-proto.tar.gz'

let server: TestServer
beforeAll(async () => {
  // Nothing in the schema is about the instance.
  server = await startTestServer({ settings: { privateInstance: true } })
})
afterAll(() => server.stop())

const download = async (path: string) =>
  Buffer.from(await (await fetch(server.url + path)).arrayBuffer())
const filesOfSet = async () => fromBinary(FileDescriptorSetSchema, await download(SET)).file
const isOfProtobuf = ({ name }: FileDescriptorProto) => name.startsWith('google/protobuf/')

/** The archive as `tar` unpacks it. */
const withArchive = <T>(work: (folder: string) => Promise<T>) =>
  withFolder(async (folder) => {
    await writeFile(join(folder, 'schema.tar.gz'), await download(ARCHIVE))
    await mkdir(join(folder, 'schema'))
    await run('tar', ['-xzf', join(folder, 'schema.tar.gz'), '-C', join(folder, 'schema')])
    return work(join(folder, 'schema'))
  })

describe('the descriptor set', () => {
  it('has each file once, after its imports, with options', async () => {
    const files = await filesOfSet()
    const known = new Set<string>()
    for (const { name, dependency } of files) {
      expect([...known]).toEqual(expect.arrayContaining(dependency))
      expect(known.has(name)).toBe(false)
      known.add(name)
    }
    const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await download(SET)))
    const updateUser = registry.getService(UserService.typeName)?.method.updateUser
    expect(updateUser && getOption(updateUser, access)).toMatchObject({
      owner: 'user.name',
      scope: 'write:user',
    })
    expect(registry.getMessage('google.rpc.ErrorInfo')).toBeDefined()
    expect(registry.getEnum('branchline.v1.ErrorReason')).toBeDefined()
  })

  it('has the options of each code generator in each file', async () => {
    for (const { name, options, syntax } of await filesOfSet()) {
      expect({ name, syntax }).toEqual({ name, syntax: expect.stringMatching(/^proto[23]$/) })
      expect({ name, ...options }).toMatchObject({
        goPackage: expect.stringMatching(/\./),
        javaPackage: expect.any(String),
      })
      if (!name.startsWith('branchline/')) continue
      expect({ name, ...options }).toMatchObject({
        javaMultipleFiles: true,
        csharpNamespace: expect.stringMatching(/^Branchline\./),
      })
    }
  })
})

describe('the archive', () => {
  it('has the files of the set with their comments, except those that compilers include', () =>
    withArchive(async (folder) => {
      const names = (await filesOfSet())
        .filter((file) => !isOfProtobuf(file))
        .map(({ name }) => name)
      const { stdout } = await run('find', ['.', '-type', 'f', '-printf', '%P\n'], { cwd: folder })
      expect(stdout.trim().split('\n').sort()).toEqual(names.sort())
      const text = await readFile(join(folder, 'branchline/v1/user_service.proto'), 'utf8')
      expect(text).toBe(
        await readFile(
          join(import.meta.dirname, '../../../proto/branchline/v1/user_service.proto'),
          'utf8',
        ),
      )
    }))

  it('compiles to the descriptor set without other files', () =>
    withArchive(async (folder) => {
      const args = [
        'build',
        folder,
        '--as-file-descriptor-set',
        '--exclude-source-info',
        '--output',
        '-',
      ]
      const { stdout } = await run(BUF, args, { ...BUF_LIMITS, encoding: 'buffer' })
      const compiled = new Map(
        fromBinary(FileDescriptorSetSchema, stdout).file.map((file) => [file.name, file]),
      )
      for (const file of await filesOfSet()) {
        const { name, options } = file
        const other = compiled.get(name)
        expect({ name, ...other?.options }).toEqual({ name, ...options })
        // Compilers differ in their own copies of google/protobuf from version to version.
        if (!isOfProtobuf(file))
          expect(other && equals(FileDescriptorProtoSchema, other, file), name).toBe(true)
      }
    }))
})

describe.each([
  ['the descriptor set', SET, 'application/x-protobuf'],
  ['the archive', ARCHIVE, 'application/gzip'],
])('%s over HTTP', (_, path, contentType) => {
  it('has a content type, and is not sent again to a client with its ETag', async () => {
    const first = await fetch(server.url + path, { headers: { 'accept-encoding': 'identity' } })
    const length = (await first.arrayBuffer()).byteLength
    expect([first.status, first.headers.get('content-type')]).toEqual([200, contentType])
    expect(first.headers.get('content-length')).toBe(String(length))
    const tag = first.headers.get('etag') ?? ''
    const second = await fetch(server.url + path, { headers: { 'if-none-match': tag } })
    expect([second.status, (await second.arrayBuffer()).byteLength]).toEqual([304, 0])
    const other = await fetch(server.url + path, { headers: { 'if-none-match': '"another"' } })
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, length])
    const head = await fetch(server.url + path, {
      method: 'HEAD',
      headers: { 'accept-encoding': 'identity' },
    })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(length)])
  })
})
