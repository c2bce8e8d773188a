import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import {
  base64InTurns,
  bytesInTurns,
  joinInTurns,
  MAX_TURN_BYTES,
  PIECE_BYTES,
  sha1InTurns,
  textInTurns,
  writeTurns,
} from '../../../../src/platform/rpc/exchange/write-turns.ts'

const call = { signal: new AbortController().signal }
const sizes = [0, 1, 5, MAX_TURN_BYTES - 1, MAX_TURN_BYTES, 3 * MAX_TURN_BYTES + 2]
const bytesOf = (size: number) => Buffer.from(Array.from({ length: size }, (_, i) => i % 251))

it.each(sizes)('%i bytes are the same in turns', async (size) => {
  writeTurns.largest = 0
  const content = bytesOf(size)
  const sha1 = createHash('sha1').update(content).digest('base64url')
  expect(await sha1InTurns(content, call)).toBe(sha1)
  expect((await base64InTurns(content, call)).toString()).toBe(content.toString('base64'))
  const parts = [content.subarray(0, 3), content.subarray(3)]
  expect(content.equals(await joinInTurns(parts, call))).toBe(true)
  expect(content.equals(await bytesInTurns(parts.values(), call))).toBe(true)
  expect(writeTurns.largest).toBeLessThan(size + MAX_TURN_BYTES)
})

it.each(['', 'a', 'ü'.repeat(MAX_TURN_BYTES), '"'.repeat(PIECE_BYTES)])(
  'text is the same in turns',
  async (part) => {
    const parts = [part, '', part, part]
    expect((await textInTurns(parts.values(), call)).toString() === parts.join('')).toBe(true)
  },
)

it('calls share each turn, and a call that is cancelled writes no more', async () => {
  const cancelled = new AbortController()
  let printed = 0
  function* parts(count: number) {
    for (; printed < count; printed++) yield 'x'.repeat(MAX_TURN_BYTES / 2)
  }
  writeTurns.largest = 0
  const other = textInTurns(['x'.repeat(MAX_TURN_BYTES), 'end'].values(), call)
  const stopped = textInTurns(parts(1000), cancelled)
  cancelled.abort(new Error('gone'))
  await expect(stopped).rejects.toThrow('gone')
  expect(printed).toBeLessThan(5)
  expect(await other).toHaveLength(MAX_TURN_BYTES + 3)
})
