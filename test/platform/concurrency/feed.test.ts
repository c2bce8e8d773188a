import { once } from 'node:events'
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { feed } from '../../../src/platform/concurrency/feed.ts'

/** Two of them are as many bytes as may wait. */
const CHUNK = Buffer.alloc(256 * 1024)

/** An input that takes a number of bytes, and is closed then, as by a process that needs no more. */
function inputOf(wanted: number, error?: Error): { input: Writable; taken: () => number } {
  let taken = 0
  const input = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _, done) {
      taken += chunk.length
      setImmediate(() => {
        if (taken >= wanted) input.destroy(error)
        else done()
      })
    },
  })
  input.on('error', () => {})
  return { input, taken: () => taken }
}

async function* chunks(count: number, onEnd: () => void): AsyncGenerator<Buffer> {
  for (let i = 0; i < count; i++) yield CHUNK
  onEnd()
}

it('passes everything on, and ends the input', async () => {
  const { input, taken } = inputOf(Number.POSITIVE_INFINITY)
  await feed(
    chunks(5, () => {}),
    input,
  )
  expect(taken()).toBeGreaterThan(0)
  await once(input, 'finish')
  expect(taken()).toBe(5 * CHUNK.length)
})

it.each([
  ['without an error', undefined],
  ['with an error', new Error('EPIPE')],
])('reads to the end when the input is closed %s before', async (_, error) => {
  const { input, taken } = inputOf(4 * CHUNK.length, error)
  let isRead = false
  await feed(
    chunks(100, () => {
      isRead = true
    }),
    input,
  )
  expect(isRead).toBe(true)
  expect(taken()).toBe(4 * CHUNK.length)
})

it('ends when the input is closed after the last bytes and before the end', async () => {
  const { input } = inputOf(2 * CHUNK.length)
  const closed = once(input, 'close')
  async function* bytes() {
    yield CHUNK
    yield CHUNK
    await closed
  }
  await feed(bytes(), input)
})

it('fails as its source does', async () => {
  const { input } = inputOf(8)
  async function* bytes(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(4)
    throw new Error('cut off')
  }
  await expect(feed(bytes(), input)).rejects.toThrow('cut off')
})
