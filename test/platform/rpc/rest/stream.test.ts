import { describe, expect, it } from 'vitest'
import { wantsEvents } from '../../../../src/platform/rpc/rest/stream.ts'

describe('wantsEvents', () => {
  it.each([
    [undefined, false],
    ['*/*', false],
    ['text/event-stream', true],
    ['text/event-stream;q=0', false],
    ['application/x-ndjson, text/event-stream;q=0.5', false],
    ['text/html, text/event-stream;q=0.9', true],
  ])('%s: %s', (accept, expected) => {
    expect(wantsEvents(accept)).toBe(expected)
  })
})
