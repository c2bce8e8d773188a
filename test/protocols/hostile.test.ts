import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { gzipSync } from 'node:zlib'
import { fromBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '#gen/google/rpc/status_pb.ts'
import { openForge } from '../support/forge.ts'

const { server, users } = await openForge({ maxMessageBytes: 64 * 1024 })

/** What the request changed, and whether the server still stands, is asked after every case. */
async function expectUnharmed() {
  const response = await fetch(`${server.url}/api/v1/users/bob`, {
    headers: { authorization: users.bob.authorization },
  })
  expect(await response.json()).toMatchObject({ displayName: '', description: '' })
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
}

interface BadRequest {
  readonly name: string
  readonly path: string
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  readonly status: number
  readonly reason: string
}

const USERS = '/api/v1/users/bob'
const GET_USER = '/branchline.v1.UserService/GetUser'
const UPDATE_USER = '/branchline.v1.UserService/UpdateUser'
const deep = (n: number) => `${'{"user":'.repeat(n)}1${'}'.repeat(n)}`
/** 50 MiB of blanks in 50 KiB. */
const bomb = gzipSync(`{${' '.repeat(50 * 1024 * 1024)}}`)

const malformed = { status: 400, reason: 'MALFORMED_REQUEST' }
const tooLarge = { status: 413, reason: 'REQUEST_TOO_LARGE' }
const json = { 'content-type': 'application/json' }

const REST: readonly BadRequest[] = [
  { name: 'a truncated body', path: USERS, body: '{"displayName":"x', ...malformed },
  { name: 'two values', path: USERS, body: '{}{}', ...malformed },
  { name: 'a body that is no object', path: USERS, body: '[]', ...malformed },
  {
    name: 'invalid UTF-8',
    path: USERS,
    body: Buffer.from('{"displayName":"\xff"}', 'latin1'),
    ...malformed,
  },
  { name: 'a number for a string', path: USERS, body: '{"displayName":7}', ...malformed },
  { name: 'an object for a string', path: USERS, body: '{"displayName":{}}', ...malformed },
  { name: 'an unknown enum name', path: USERS, body: '{"role":"KING"}', ...malformed },
  { name: 'an enum number that is no number', path: USERS, body: '{"role":1.5}', ...malformed },
  { name: 'a number beyond all', path: USERS, body: '{"role":1e999}', ...malformed },
  {
    name: 'a year that does not exist',
    path: USERS,
    body: '{"createTime":"12026-13-41T99:00:00Z"}',
    ...malformed,
  },
  { name: 'deep nesting', path: USERS, body: deep(100_000 / 16), ...malformed },
  {
    name: 'a member twice',
    path: USERS,
    body: '{"displayName":"a","displayName":"b"}',
    ...malformed,
  },
  {
    name: 'a polluting key, which is an unknown field',
    path: USERS,
    body: '{"__proto__":{"isAdmin":true}}',
    status: 400,
    reason: 'UNKNOWN_MASK_PATH',
  },
  {
    name: 'a polluting path',
    path: `${USERS}?updateMask=__proto__`,
    body: '{}',
    status: 400,
    reason: 'UNKNOWN_MASK_PATH',
  },
  {
    name: 'a mask of nothing',
    path: `${USERS}?updateMask=`,
    body: '{"displayName":"x"}',
    status: 400,
    reason: 'EMPTY_MASK',
  },
  {
    name: 'a form',
    path: USERS,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'displayName=x',
    status: 415,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a coding that nobody knows',
    path: USERS,
    headers: { 'content-encoding': 'zip' },
    body: '{}',
    status: 415,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'gzip that is none',
    path: USERS,
    headers: { 'content-encoding': 'gzip' },
    body: '{}',
    ...malformed,
  },
  {
    name: 'a body too large',
    path: USERS,
    body: `{"displayName":"${'x'.repeat(70_000)}"}`,
    ...tooLarge,
  },
  {
    name: 'a body that inflates to too much',
    path: USERS,
    headers: { 'content-encoding': 'gzip' },
    body: bomb,
    ...tooLarge,
  },
  {
    name: 'a parameter twice',
    method: 'GET',
    path: '/api/v1/users?pageSize=1&pageSize=2',
    ...malformed,
  },
  {
    name: 'a parameter that is no number',
    method: 'GET',
    path: '/api/v1/users?pageSize=0x10',
    ...malformed,
  },
  {
    name: 'a number that does not fit',
    method: 'GET',
    path: '/api/v1/users?pageSize=2147483648',
    ...malformed,
  },
  {
    name: 'a bad escape in the query',
    method: 'GET',
    path: '/api/v1/users?filter=%zz',
    ...malformed,
  },
  { name: 'a bad escape in the path', method: 'GET', path: '/api/v1/users/%f', ...malformed },
  { name: 'an escape that is no UTF-8', method: 'GET', path: '/api/v1/users/%ff', ...malformed },
  {
    name: 'too many parameters',
    method: 'GET',
    path: `/api/v1/users?${'a&'.repeat(2000)}`,
    ...malformed,
  },
  {
    name: 'a path that is too long',
    method: 'GET',
    path: `/api/v1/users/${'a'.repeat(17_000)}`,
    status: 414,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a path that does not exist',
    method: 'GET',
    path: '/api/v2/users/bob',
    status: 404,
    reason: 'UNKNOWN_PATH',
  },
  {
    name: 'a method that is not served',
    method: 'PUT',
    path: USERS,
    status: 405,
    reason: 'METHOD_NOT_ALLOWED',
  },
]

describe('over REST, the server returns a clear error and keeps working', () => {
  it.each(REST)('$name', async ({ path, method = 'PATCH', headers, body, status, reason }) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: users.ada.authorization, ...json, ...headers },
      ...(body !== undefined && { body }),
    })
    expect([response.status, await response.json()]).toMatchObject(
      [status, { details: [{ reason }] }].map((want) =>
        typeof want === 'number'
          ? want
          : { details: expect.arrayContaining([expect.objectContaining({ reason })]) },
      ),
    )
    await expectUnharmed()
  })
})

const CONNECT: readonly Omit<BadRequest, 'method'>[] = [
  { name: 'truncated JSON', path: GET_USER, body: '{"name":', ...malformed },
  {
    name: 'invalid UTF-8',
    path: GET_USER,
    body: Buffer.from('{"name":"\xff"}', 'latin1'),
    ...malformed,
  },
  { name: 'a wrong type', path: GET_USER, body: '{"name":7}', ...malformed },
  {
    name: 'an unknown enum name',
    path: UPDATE_USER,
    body: '{"user":{"name":"users/bob","role":"KING"},"updateMask":"role"}',
    ...malformed,
  },
  { name: 'deep nesting', path: GET_USER, body: deep(5_000), ...malformed },
  {
    name: 'truncated protobuf',
    path: GET_USER,
    headers: { 'content-type': 'application/proto' },
    body: Buffer.from([10, 200, 1]),
    ...malformed,
  },
  {
    name: 'a body too large',
    path: GET_USER,
    body: `{"name":"${'x'.repeat(70_000)}"}`,
    status: 429,
    reason: 'REQUEST_TOO_LARGE',
  },
  {
    name: 'a bomb',
    path: GET_USER,
    headers: { 'content-encoding': 'gzip' },
    body: bomb,
    status: 429,
    reason: 'REQUEST_TOO_LARGE',
  },
  {
    name: 'a timeout that is none',
    path: GET_USER,
    headers: { 'connect-timeout-ms': 'soon' },
    body: '{"name":"users/bob"}',
    ...malformed,
  },
]

describe('over Connect, the server returns a clear error and keeps working', () => {
  it.each(CONNECT)('$name', async ({ path, headers, body = '', status, reason }) => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: users.ada.authorization, ...json, ...headers },
      body,
    })
    expect(response.status).toBe(status)
    const { details } = (await response.json()) as {
      details: { type: string; debug: { reason: string } }[]
    }
    expect(details.find(({ type }) => type === 'google.rpc.ErrorInfo')?.debug.reason).toBe(reason)
    await expectUnharmed()
  })
})

/** A message frame of gRPC and gRPC-Web: flags, length, bytes. */
function frame(flags: number, announcedBytes: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(announcedBytes, 1)
  return Buffer.concat([head, bytes])
}
const NAME = Buffer.from('\x0a\x09users/bob')

const FRAMES: readonly {
  name: string
  body: Buffer
  headers?: Record<string, string>
  code: number
  reason: string | undefined
}[] = [
  {
    name: 'a frame that announces more than it has',
    body: frame(0, 100, NAME),
    code: 3,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a frame cut off in its head',
    body: frame(0, 100, NAME).subarray(0, 3),
    code: 3,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a frame that announces 4 GiB',
    body: frame(0, 0xffffffff, NAME),
    code: 8,
    reason: 'REQUEST_TOO_LARGE',
  },
  {
    name: 'a frame of nonsense',
    body: frame(0, 3, Buffer.from([10, 200, 1])),
    code: 3,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a compressed frame without a coding',
    body: frame(1, NAME.length, NAME),
    code: 13,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a compressed frame that is not',
    body: frame(1, NAME.length, NAME),
    headers: { 'grpc-encoding': 'gzip' },
    code: 3,
    reason: 'MALFORMED_REQUEST',
  },
  {
    name: 'a bomb',
    body: frame(1, bomb.length, bomb),
    headers: { 'grpc-encoding': 'gzip' },
    code: 8,
    reason: 'REQUEST_TOO_LARGE',
  },
  { name: 'no frame', body: Buffer.alloc(0), code: 12, reason: undefined },
  {
    name: 'two frames',
    body: Buffer.concat([frame(0, NAME.length, NAME), frame(0, NAME.length, NAME)]),
    code: 12,
    reason: undefined,
  },
]

describe('over gRPC, the server returns a clear error and keeps working', () => {
  it.each(FRAMES)('$name', async ({ body, headers, code, reason }) => {
    const session = connectHttp2(server.url)
    const stream = session.request({
      ':method': 'POST',
      ':path': GET_USER,
      'content-type': 'application/grpc+proto',
      te: 'trailers',
      ...headers,
    })
    const trailers = await new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.on('trailers', resolve).on('error', reject)
      stream.on('response', (head) => head['grpc-status'] !== undefined && resolve(head))
      stream.resume().end(body)
    })
    session.destroy()
    expect(Number(trailers['grpc-status'])).toBe(code)
    expect(reasonOf(trailers['grpc-status-details-bin'])).toBe(reason)
    await expectUnharmed()
  })
})

describe('over gRPC-Web, the server returns a clear error and keeps working', () => {
  it.each(FRAMES)('$name', async ({ body, headers, code, reason }) => {
    const response = await fetch(server.url + GET_USER, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto', ...headers },
      body,
    })
    const trailers = Buffer.from(await response.arrayBuffer())
      .subarray(5)
      .toString()
    expect(Number(/grpc-status: (\d+)/.exec(trailers)?.[1])).toBe(code)
    expect(reasonOf(/grpc-status-details-bin: (\S+)/.exec(trailers)?.[1])).toBe(reason)
    await expectUnharmed()
  })
})

function reasonOf(details: unknown): string | undefined {
  if (typeof details !== 'string') return undefined
  const [any] = fromBinary(StatusSchema, Buffer.from(details, 'base64')).details
  return any && anyUnpack(any, ErrorInfoSchema)?.reason
}

describe('a client that disconnects', () => {
  it('in the middle of its body does not affect other calls', async () => {
    for (let i = 0; i < 20; i++) {
      await new Promise<void>((resolve) => {
        const socket = connectTcp(Number(new URL(server.url).port), '127.0.0.1', () => {
          socket.write(
            `PATCH ${USERS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"displayName"`,
          )
          socket.end(() => socket.destroy())
        })
        socket.on('close', () => resolve())
      })
    }
    await expectUnharmed()
  })
})
