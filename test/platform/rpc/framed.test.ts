import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AnyRequest, type Served, serve } from './rest/things.ts'

let served: Served
beforeAll(async () => {
  served = await serve({
    things: {
      getThing: ({ name }: AnyRequest) => ({ name }),
      async *watchThings() {
        yield { name: 'a' }
        yield { name: 'b' }
      },
    },
  })
})
afterAll(() => served.close())

function frame(text: string, flags = 0): Buffer {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(text))
  bytes[0] = flags
  bytes.writeUInt32BE(Buffer.byteLength(text), 1)
  bytes.write(text, 5)
  return bytes
}

function post(method: string, headers: Record<string, string>, body: Uint8Array | string) {
  return fetch(`${served.url}/things.v1.Things/${method}`, { method: 'POST', headers, body })
}

const TEXT = { 'content-type': 'application/grpc-web-text+json' }

/** Decodes base64 that may have padding after each part. */
function decoded(text: string): string {
  return text
    .split(/(?<==)(?=[^=])/)
    .map((part) => Buffer.from(part, 'base64').toString())
    .join('')
}

describe('gRPC-Web as text', () => {
  it('has base64 in both directions', async () => {
    const response = await post('GetThing', TEXT, frame('{"name":"x"}').toString('base64'))
    expect(response.headers.get('content-type')).toBe('application/grpc-web-text+json')
    const text = decoded(await response.text())
    expect(text).toContain('{"name":"x"}')
    expect(text).toContain('grpc-status: 0')
  })

  it('reads a message that the client encodes in several parts', async () => {
    const bytes = frame('{"name":"parts"}')
    const body = bytes.subarray(0, 7).toString('base64') + bytes.subarray(7).toString('base64')
    expect(decoded(await (await post('GetThing', TEXT, body)).text())).toContain('"parts"')
  })

  it('encodes each message of a stream', async () => {
    const response = await post('WatchThings', TEXT, frame('{}').toString('base64'))
    const text = decoded(await response.text())
    expect(text).toContain('{"name":"a"}')
    expect(text).toContain('{"name":"b"}')
    expect(text).toContain('grpc-status: 0')
  })

  it.each(['!!!!', 'AAAAA', 'A==='])('refuses content that is not base64: %s', async (body) => {
    expect(decoded(await (await post('GetThing', TEXT, body)).text())).toContain('grpc-status: 3')
  })
})

describe('an envelope', () => {
  const WEB = { 'content-type': 'application/grpc-web+json' }

  it.each([
    ['unknown flags', frame('{}', 4), 3],
    ['a compressed message without a coding', frame('{}', 1), 13],
    ['an incomplete prefix', frame('{}').subarray(0, 3), 3],
    ['an incomplete message', frame('{}').subarray(0, 6), 3],
  ])('with %s is refused', async (_, body, status) => {
    const text = await (await post('GetThing', WEB, body)).text()
    expect(text).toContain(`grpc-status: ${status}`)
  })
})

describe('the version of Connect', () => {
  const JSON_TYPE = { 'content-type': 'application/json' }

  it.each([
    ['1', 200],
    ['2', 400],
  ])('%s of a unary call gets %i', async (version, status) => {
    const headers = { ...JSON_TYPE, 'connect-protocol-version': version }
    expect((await post('GetThing', headers, '{}')).status).toBe(status)
  })

  it('is checked for streams', async () => {
    const headers = {
      'content-type': 'application/connect+json',
      'connect-protocol-version': '2',
    }
    const text = await (await post('WatchThings', headers, frame('{}'))).text()
    expect(text).toContain('"code":"invalid_argument"')
  })

  it.each([
    ['v1', 200],
    ['v2', 400],
  ])('%s of a GET gets %i', async (version, status) => {
    const query = `connect=${version}&encoding=json&message=${encodeURIComponent('{"name":"x"}')}`
    const response = await fetch(`${served.url}/things.v1.Things/GetThing?${query}`)
    expect(response.status).toBe(status)
  })
})

describe('a request of no protocol', () => {
  it('gets 415 with the types of the method', async () => {
    const response = await post('GetThing', { 'content-type': 'text/plain' }, 'x')
    expect(response.status).toBe(415)
    expect(response.headers.get('accept-post')).toContain('application/grpc-web-text')
  })

  it.each([
    ['GetThing', 'POST, GET'],
    ['ReplaceThing', 'POST'],
  ])('gets 405 with the HTTP methods of %s', async (method, allow) => {
    const url = `${served.url}/things.v1.Things/${method}`
    const response = await fetch(url, { method: 'PUT' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
  })
})
