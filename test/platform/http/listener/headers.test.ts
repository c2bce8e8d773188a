import { describe, expect, it } from 'vitest'
import { defaultListenerLimits } from '../../../../src/platform/http/listener/limits.ts'
import { quickSweep, useListeners } from './fixture.ts'
import { connectRaw } from './raw-client.ts'

const { start, connectHttp2 } = useListeners()
const { maxHeaderBytes, maxHeaderFields } = defaultListenerLimits

type Fields = readonly (readonly [name: string, value: string])[]

async function askHttp1(url: string, fields: Fields): Promise<boolean> {
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const client = await connectRaw(url, `GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`)
  const head = await Promise.race([client.until('\r\n\r\n'), client.closed])
  client.socket.destroy()
  expect(head).toMatch(/^HTTP\/1\.1 (200|431) /)
  return head.startsWith('HTTP/1.1 200 ')
}

function askHttp2(url: string, fields: Fields): Promise<boolean> {
  const stream = connectHttp2(url).request({
    ':path': '/',
    ':authority': 'a',
    ...Object.fromEntries(fields),
  })
  return new Promise((resolve) => {
    stream.once('response', (headers) => resolve(headers[':status'] === 200))
    stream.once('error', () => resolve(false))
    stream.resume()
  })
}

/** Fields beside `Host`, or `:authority`. */
function ofCount(count: number): Fields {
  return Array.from({ length: count }, (_, i) => [`x-${i}`, 'y'] as const)
}

/** Fields that make a header list of so many bytes, as RFC 9113 §6.5.2 counts. */
function ofSize(bytes: number): Fields {
  const others =
    [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'a', 'x', ''].join('')
      .length +
    5 * 32
  return [['x', 'y'.repeat(bytes - others)]]
}

describe('the limits of headers', () => {
  it.each([
    ['the maximum number of fields', ofCount(maxHeaderFields - 1), true],
    ['one field above the maximum', ofCount(maxHeaderFields), false],
    ['ten times the maximum number of fields', ofCount(10 * maxHeaderFields), false],
    ['the maximum size', ofSize(maxHeaderBytes), true],
    ['one byte above the maximum', ofSize(maxHeaderBytes + 1), false],
  ])('are the same in both versions of HTTP: %s', async (_, fields, isServed) => {
    const { url } = await start({ limits: quickSweep })
    expect(await askHttp1(url, fields)).toBe(isServed)
    expect(await askHttp2(url, fields)).toBe(isServed)
  })
})
