import { describe, expect, it } from 'vitest'
import { createSignal } from '../../../src/forge/core/signal.ts'

const never = new AbortController().signal

/** Returns whether a promise has settled after all pending callbacks have run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  promise.finally(() => {
    settled = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

describe('a signal', () => {
  it('wakes all waiters', async () => {
    const signal = createSignal()
    const waiting = [signal.after(0, never), signal.after(0, never)]
    expect(await isSettled(Promise.race(waiting))).toBe(false)
    signal.notify()
    await Promise.all(waiting)
  })

  it('is not missed by a waiter that starts late', async () => {
    const signal = createSignal()
    const seen = signal.count
    signal.notify()
    await signal.after(seen, never)
    expect(await isSettled(signal.after(signal.count, never))).toBe(false)
  })

  it('wakes each waiter once, even if another one starts in between', async () => {
    const signal = createSignal()
    let again: Promise<void> | undefined
    const first = signal.after(0, never).then(() => {
      again = signal.after(signal.count, never)
    })
    signal.notify()
    await first
    expect(await isSettled(again ?? Promise.resolve())).toBe(false)
  })

  it('releases waiters that give up', async () => {
    const signal = createSignal()
    const until = new AbortController()
    const waiting = signal.after(0, until.signal)
    until.abort()
    await waiting
    await signal.after(0, until.signal)
  })
})
