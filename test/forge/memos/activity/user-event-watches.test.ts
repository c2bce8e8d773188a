import { beforeEach, describe, expect, it } from 'vitest'
import { HEARTBEAT_MS } from '../../../../src/forge/core/event-watches.ts'
import type { User } from '../../../../src/forge/core/schema.ts'
import {
  createUserEventWatches,
  MAX_USER_STREAMS,
  type UserEventWatches,
} from '../../../../src/forge/memos/activity/user-events.ts'
import { addUser, type TestApp, testApp } from '../../../support/app.ts'
import { manualTimers, type Timers } from '../../../support/timers.ts'
import { makeEvents } from '../../../support/user-events.ts'

let app: TestApp
let ada: User
let bob: User
let timers: Timers
let watches: UserEventWatches
beforeEach(async () => {
  app = await testApp()
  ada = await addUser(app, 'ada')
  bob = await addUser(app, 'bob')
  timers = manualTimers()
  watches = createUserEventWatches(app, timers.start)
})

const open = (user: User, until = new AbortController().signal) => watches.open(user.id, until)

describe('a watch', () => {
  it('receives events of its account only', async () => {
    const [hers, his] = [await open(ada), await open(bob)]
    let told = false
    const waiting = his.next().then(() => {
      told = true
    })
    await makeEvents(app, ada.id, ['a'])
    await hers.next()
    expect(told).toBe(false)
    await makeEvents(app, bob.id, ['b'])
    await waiting
    hers.close()
    his.close()
    await app.background.settled()
  })

  it('misses no event while no one waits', async () => {
    const watch = await open(ada)
    const other = await open(ada)
    await makeEvents(app, ada.id, ['a'])
    await other.next()
    await watch.next()
    watch.close()
    other.close()
    await app.background.settled()
  })

  it('wakes up for a heartbeat after a long silence', async () => {
    const watch = await open(ada)
    const waiting = watch.next()
    timers.pass(HEARTBEAT_MS - 1)
    expect(watch.isSilent).toBe(false)
    timers.pass(1)
    await waiting
    expect(watch.isSilent).toBe(true)
    watch.sent()
    expect(watch.isSilent).toBe(false)
    watch.close()
    expect(timers.running).toBe(0)
    await app.background.settled()
  })

  it('ends with its stream, and leaves no timer', async () => {
    const until = new AbortController()
    const watch = await open(ada, until.signal)
    const waiting = watch.next()
    until.abort()
    await waiting
    await watch.next()
    watch.sent()
    expect(timers.running).toBe(0)
    await app.background.settled()
  })

  it('of an ended stream is closed from the start', async () => {
    const watch = await open(ada, AbortSignal.abort())
    await watch.next()
    expect(timers.running).toBe(0)
    await app.background.settled()
  })
})

describe('the number of streams', () => {
  it('is limited per account, and a slot is free as soon as its stream ends', async () => {
    const until = new AbortController()
    const first = await open(ada, until.signal)
    const others = await Promise.all(Array.from({ length: MAX_USER_STREAMS - 1 }, () => open(ada)))
    const refused = expect.objectContaining({
      reason: 'TOO_MANY_STREAMS',
      metadata: { limit: String(MAX_USER_STREAMS), scope: 'account' },
    })
    await expect(open(ada)).rejects.toEqual(refused)
    others.push(await open(bob))
    until.abort()
    // A second close has no effect.
    first.close()
    others.push(await open(ada))
    await expect(open(ada)).rejects.toEqual(refused)
    for (const watch of others) watch.close()
    await app.background.settled()
  })
})
