import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { defaultListenerLimits } from '../../../../src/platform/http/listener/limits.ts'
import { Outgoing } from '../../../../src/platform/http/listener/outgoing.ts'

const KIB = 1024

/** A response of which nothing is taken. */
class Unread extends EventEmitter {
  waitingBytes = 0
  isGone = false
  cutOff(): void {
    this.isGone = true
  }
}

it('disconnects a slow reader even if its response fits in the memory reserved for it', () => {
  const { slowReaderWindowMs } = defaultListenerLimits
  const outgoing = new Outgoing({ ...defaultListenerLimits, maxWaitingBytesPerPeer: 1024 * KIB })
  const response = new Unread()
  const answer = outgoing.open().begin(response, 'peer')
  expect(answer.reserve(800 * KIB)).toBeUndefined()
  response.waitingBytes = 700 * KIB
  answer.wrote(700 * KIB)
  outgoing.sweep(0)

  expect(
    outgoing
      .open()
      .begin(new Unread(), 'peer')
      .lacks(800 * KIB)?.scope,
  ).toBe('peer')
  outgoing.sweep(slowReaderWindowMs)
  expect(response.isGone).toBe(true)
  expect(outgoing.bytes).toBe(0)
})
