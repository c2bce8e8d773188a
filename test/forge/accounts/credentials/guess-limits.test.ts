import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  createGuessLimits,
  SharedFailures,
} from '../../../../src/forge/accounts/credentials/guess-limits.ts'
import type { GuessLimits } from '../../../../src/forge/accounts/ports.ts'
import type { Clock } from '../../../../src/forge/core/core.ts'
import { CallDeadline, withDeadline } from '../../../../src/platform/concurrency/call-deadlines.ts'
import { testApp, testClock } from '../../../support/app.ts'

const wrong = async () => undefined
const right = async () => 'account'
const broken = async () => {
  throw new Error('database is gone')
}

function limited(seconds: number) {
  return expect.objectContaining({
    reason: 'RATE_LIMITED',
    metadata: { retry_after_seconds: String(seconds) },
  })
}

async function guessWrong(limits: GuessLimits, times: number, account: string, peer: string) {
  for (let i = 0; i < times; i++) await limits.attempt(account, peer, wrong)
}

/** Creates the limits of one server, or of two servers that take guesses alternately. */
type OpenLimits = (clock: Clock) => Promise<GuessLimits>

const ofOneServer: OpenLimits = async (clock) => createGuessLimits(clock)

const ofTwoServers: OpenLimits = async (clock) => {
  const { db } = await testApp()
  const servers = [1, 2].map(() => createGuessLimits(clock, new SharedFailures(db, clock)))
  let guesses = 0
  const next = () => {
    guesses += 1
    return servers[guesses % servers.length] ?? createGuessLimits(clock)
  }
  return {
    attempt: (account, peer, check) => next().attempt(account, peer, check),
    attemptSecondFactor: (userId, check) => next().attemptSecondFactor(userId, check),
    attemptCode: (peer, check) => next().attemptCode(peer, check),
  }
}

describe.each([
  ['one server', ofOneServer],
  ['two servers', ofTwoServers],
])('the guess limits of %s', (_, openLimits) => {
  it('leave the deadline of a call to what follows the check', async () => {
    const limits = await openLimits(testClock())
    const deadline = new CallDeadline(performance.now() + 200)
    const check = async () => {
      await sleep(Math.ceil(deadline.remainingMs()) + 1)
      return right()
    }
    await withDeadline(deadline, () => limits.attempt('ada', '192.0.2.1', check))
    expect(deadline.changesNothing).toBe(true)
    expect(() => deadline.begin()).toThrow('the deadline of the call has passed')
  })

  it('admits ten wrong passwords per account in ten minutes, from any peers', async () => {
    const clock = testClock()
    const limits = await openLimits(clock)
    await guessWrong(limits, 5, 'ada', '192.0.2.1')
    clock.advance(60)
    await guessWrong(limits, 5, 'ada', '192.0.2.2')
    // Even the right password is refused, since accepting it would confirm a guess.
    await expect(limits.attempt('ada', '192.0.2.3', right)).rejects.toEqual(limited(540))
    await expect(limits.attempt('bob', '192.0.2.1', right)).resolves.toBe('account')
    clock.advance(539)
    await expect(limits.attempt('ada', '192.0.2.3', wrong)).rejects.toEqual(limited(1))
    clock.advance(1)
    // The five of the first minute have expired, those of the second have not. Refused guesses do
    // not count.
    await guessWrong(limits, 5, 'ada', '192.0.2.3')
    await expect(limits.attempt('ada', '192.0.2.3', wrong)).rejects.toEqual(limited(60))
  })

  it('admits fifty wrong passwords per peer in ten minutes, for any accounts', async () => {
    const limits = await openLimits(testClock())
    for (let i = 0; i < 50; i++) await limits.attempt(`user-${i}`, '192.0.2.1', wrong)
    await expect(limits.attempt('ada', '192.0.2.1', right)).rejects.toEqual(limited(600))
    await expect(limits.attempt('ada', '192.0.2.2', right)).resolves.toBe('account')
  })

  it('counts refused single sign-on codes together with the wrong passwords of the peer', async () => {
    const limits = await openLimits(testClock())
    for (let i = 0; i < 25; i++) {
      await limits.attempt(`user-${i}`, '192.0.2.1', wrong)
      await limits.attemptCode('192.0.2.1', wrong)
      await limits.attemptCode('192.0.2.2', right)
      await expect(limits.attemptCode('192.0.2.2', broken)).rejects.toThrow('database is gone')
    }
    await expect(limits.attemptCode('192.0.2.1', right)).rejects.toEqual(limited(600))
    await expect(limits.attempt('ada', '192.0.2.1', right)).rejects.toEqual(limited(600))
    for (let i = 0; i < 25; i++)
      await expect(limits.attemptCode('192.0.2.2', right)).resolves.toBe('account')
  })

  it('counts guesses while they are being checked', async () => {
    const limits = await openLimits(testClock())
    let checked = 0
    const guesses = Array.from({ length: 100 }, () =>
      limits.attempt('ada', '192.0.2.1', async () => {
        checked++
        return undefined
      }),
    )
    const outcomes = await Promise.allSettled(guesses)
    expect(checked).toBe(10)
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(90)
  })

  it('answers each of many guesses at the same time, of one peer about many accounts', async () => {
    const limits = await openLimits(testClock())
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, i) => limits.attempt(`user-${i}`, '192.0.2.1', wrong)),
    )
    const failures = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason] : [],
    )
    expect(failures).toEqual(Array(10).fill(limited(600)))
  })

  it('resets the counter of the account after a correct password, but not that of the peer', async () => {
    const limits = await openLimits(testClock())
    for (let round = 0; round < 5; round++) {
      await guessWrong(limits, 9, 'ada', '192.0.2.1')
      await limits.attempt('ada', '192.0.2.1', right)
    }
    await guessWrong(limits, 5, 'bob', '192.0.2.1')
    await expect(limits.attempt('mallory', '192.0.2.1', right)).rejects.toEqual(limited(600))
  })

  it('does not limit sign-ins with correct passwords', async () => {
    const limits = await openLimits(testClock())
    for (let i = 0; i < 200; i++) await limits.attempt('ada', '192.0.2.1', right)
    await expect(limits.attempt('ada', '192.0.2.1', right)).resolves.toBe('account')
  })

  it('does not count checks that fail with an error', async () => {
    const limits = await openLimits(testClock())
    for (let i = 0; i < 60; i++)
      await expect(limits.attempt('ada', '192.0.2.1', broken)).rejects.toThrow('database')
    await guessWrong(limits, 10, 'ada', '192.0.2.1')
    await expect(limits.attempt('ada', '192.0.2.1', right)).rejects.toEqual(limited(600))
  })

  it('admits five wrong second factors per account in five minutes, apart from passwords', async () => {
    const clock = testClock()
    const limits = await openLimits(clock)
    await guessWrong(limits, 9, 'ada', '192.0.2.1')
    for (let i = 0; i < 5; i++) await limits.attemptSecondFactor(1, wrong)
    await expect(limits.attemptSecondFactor(1, right)).rejects.toEqual(limited(300))
    await expect(limits.attemptSecondFactor(2, right)).resolves.toBe('account')
    await expect(limits.attempt('ada', '192.0.2.1', right)).resolves.toBe('account')
    clock.advance(300)
    await expect(limits.attemptSecondFactor(1, right)).resolves.toBe('account')
  })

  it('counts second factors while they are being checked, and resets the counter after a correct one', async () => {
    const limits = await openLimits(testClock())
    for (let i = 0; i < 4; i++) await limits.attemptSecondFactor(1, wrong)
    await limits.attemptSecondFactor(1, right)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => limits.attemptSecondFactor(1, wrong)),
    )
    expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toHaveLength(15)
  })

  it.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['2001:db8:1:2::1', '2001:0DB8:0001:0002::9', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:db8:0:0:5::', true],
    // Seven groups are written out. The second one is left out.
    ['1::3:4:5:6:7:8', '1:0:3:4::', true],
    ['64:ff9b::192.0.2.1', '64:ff9b::192.0.2.99', true],
    ['fe80::1%eth0', 'fe80::2%eth0', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['unix', 'unix', true],
  ])('counts peers %s and %s together: %s', async (one, other, together) => {
    const limits = await openLimits(testClock())
    for (let i = 0; i < 50; i++) await limits.attempt(`user-${i}`, one, wrong)
    const attempt = limits.attempt('ada', other, right)
    if (together) await expect(attempt).rejects.toEqual(limited(600))
    else await expect(attempt).resolves.toBe('account')
  })
})

describe('the log of wrong guesses in memory', () => {
  it('does not evict an account under attack when flooded with other names', async () => {
    const limits = createGuessLimits(testClock())
    await guessWrong(limits, 2, 'bob', '192.0.2.1')
    await guessWrong(limits, 10, 'ada', '192.0.2.1')
    // More names, from more networks, than the log can hold.
    for (let i = 0; i < 50_010; i++) {
      await limits.attempt(
        `user-${i}`,
        `2001:db8:${(i >> 8).toString(16)}:${(i & 255).toString(16)}::`,
        wrong,
      )
    }
    await expect(limits.attempt('ada', '192.0.2.1', right)).rejects.toEqual(limited(600))
    await guessWrong(limits, 8, 'bob', '192.0.2.9')
    await expect(limits.attempt('bob', '192.0.2.9', right)).rejects.toEqual(limited(600))
    // The flood evicted its own names, so ten more guesses are possible.
    await guessWrong(limits, 10, 'user-0', '192.0.2.10')
  })
})

// Servers that share the counters have a queue each, and ask by turns of chance.
it('one server admits peers alternately, and each of them has a place to wait', async () => {
  const limits = createGuessLimits(testClock())
  const order: string[] = []
  const ends: (() => void)[] = []
  const guess = (peer: string) =>
    limits.attempt('ada', peer, () => {
      order.push(peer)
      return new Promise<string>((resolve) => ends.push(() => resolve('account')))
    })
  const crowd = Array.from({ length: 320 }, () => guess('192.0.2.1'))
  const other = guess('192.0.2.2')
  const outcomes = Promise.allSettled([...crowd, other])
  let ended = 0
  while (!order.includes('192.0.2.2')) {
    await expect.poll(() => ends.length).toBeGreaterThan(ended)
    ends[ended++]?.()
    await expect.poll(() => order.length).toBeGreaterThan(ended)
  }
  expect(ended).toBeLessThan(20)
  const draining = setInterval(() => {
    for (const end of ends.splice(0)) end()
  })
  await outcomes
  clearInterval(draining)
})
