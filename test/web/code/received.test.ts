import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import { readFile } from '../../../src/web/code/received.ts'

const MIB = 1024 ** 2

/** Sends parts of one MiB with the number of the part, and notes whether the reader has left. */
function stream(count: number) {
  const state = { sent: 0, isLeft: false }
  async function* parts() {
    try {
      for (let i = 0; i < count; i++) {
        state.sent += 1
        yield create(HttpBodySchema, { data: new Uint8Array(MIB).fill(i) })
      }
    } finally {
      state.isLeft = true
    }
  }
  return { state, parts: parts() }
}

describe('a streamed file', () => {
  it('has its bytes in their order, however the browser stores them', async () => {
    const seen: number[] = []
    const file = await readFile(stream(20).parts, 20 * MIB, (bytes) => seen.push(bytes))
    const bytes = new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer(0))
    expect(bytes.length).toBe(20 * MIB)
    for (let i = 0; i < 20; i++) expect([bytes[i * MIB], bytes[(i + 1) * MIB - 1]]).toEqual([i, i])
    expect(seen[0]).toBe(MIB)
  })

  it('is no longer read when it is larger than the reader can hold', async () => {
    const { state, parts } = stream(20)
    expect(await readFile(parts, 5 * MIB, () => undefined)).toBeUndefined()
    expect(state).toEqual({ sent: 6, isLeft: true })
  })

  it('may be empty', async () => {
    expect((await readFile(stream(0).parts, MIB, () => undefined))?.size).toBe(0)
  })
})
