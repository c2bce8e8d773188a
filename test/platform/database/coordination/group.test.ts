import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  GroupLocks,
  HostedGuesses,
} from '../../../../src/platform/database/coordination/group-membership.ts'
import { createSharedExclusive } from '../../../../src/platform/database/coordination/locks.ts'
import { shareSignals } from '../../../../src/platform/database/coordination/signals.ts'
import { runOnOneServer } from '../../../../src/platform/database/coordination/workers.ts'
import { DatabaseUnavailableError } from '../../../../src/platform/database/postgres-failures.ts'
import { TestGroup, type TestMember } from '../../../support/process-group.ts'

let group: TestGroup
let nowMs = 0

beforeEach(() => {
  nowMs = 1_000_000
  group = new TestGroup(() => nowMs)
})

afterEach(() => group.end())

const locksOf = ({ membership }: TestMember) => new GroupLocks(membership)

/** Resolves when all messages that are on their way have arrived. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the locks of a group of worker processes', () => {
  it('exclude each other, also within a process', async () => {
    const [a, b] = [locksOf(group.join()), locksOf(group.join())]
    const lock = await a.tryTake('tulips')
    expect(lock).toBeDefined()
    expect(await a.tryTake('tulips')).toBeUndefined()
    expect(await b.tryTake('tulips')).toBeUndefined()
    expect(await b.tryTake('roses')).toBeDefined()
    lock?.release()
    expect(await b.tryTake('tulips')).toBeDefined()
  })

  it('are given in the order of the requests', async () => {
    const all = [group.join(), group.join(), group.join()].map(locksOf)
    const first = await all[0]?.take('tulips')
    const order: number[] = []
    const takers = [2, 1, 0].map(async (index) => {
      const lock = await all[index]?.take('tulips')
      order.push(index)
      lock?.release()
    })
    await settled()
    expect(order).toEqual([])
    first?.release()
    await Promise.all(takers)
    expect(order).toEqual([2, 1, 0])
  })

  it('are free when their process has ended, and its requests are forgotten', async () => {
    const [killed, other] = [group.join(), group.join()]
    await locksOf(killed).take('tulips')
    const mine = await locksOf(other).take('roses')
    locksOf(killed)
      .take('roses')
      .catch(() => {})
    const waiting = locksOf(other).take('tulips')
    await settled()
    group.kill(killed)
    await waiting
    mine.release()
    await settled()
    expect(await locksOf(other).tryTake('roses')).toBeDefined()
  })

  it('stay with their holders when the primary process has ended, and nobody gets others', async () => {
    const [a, b] = [group.join(), group.join()]
    const held = await locksOf(a).take('tulips')
    const waiting = locksOf(b).take('tulips')
    await settled()
    group.endHost()
    await expect(waiting).rejects.toThrow(DatabaseUnavailableError)
    held.lease.check()
    expect(held.lease.holder).toBe(a.membership.serverId)
    held.release()
    await expect(locksOf(b).tryTake('tulips')).rejects.toThrow(DatabaseUnavailableError)
  })

  it('are handed over while all processes want them', async () => {
    const order: number[] = []
    const exclusives = [group.join(), group.join()].map((member) =>
      createSharedExclusive(locksOf(member), 'beds'),
    )
    const takers = [0, 0, 0, 1, 1, 1].map((index) =>
      exclusives[index]?.('tulips', async () => void order.push(index)),
    )
    await Promise.all(takers)
    expect(order).toEqual([0, 1, 0, 1, 0, 1])
  })
})

describe('the membership in a group of worker processes', () => {
  it('knows which servers run', async () => {
    const [a, b, c] = [group.join(), group.join(), group.join()]
    group.kill(b)
    const ids = [a, b, c].map(({ membership }) => membership.serverId)
    expect(await a.membership.running([...ids, 99])).toEqual(new Set([ids[0], ids[2]]))
  })

  it('takes all servers for running when the primary process has ended', async () => {
    const [a, b] = [group.join(), group.join()]
    group.kill(b)
    group.endHost()
    const ids = [b.membership.serverId]
    expect(await a.membership.running(ids)).toEqual(new Set(ids))
  })

  it('shares signals with all other processes, those of one turn by one message', async () => {
    const notified: string[] = []
    const members = [0, 1, 2].map(() => group.join().membership)
    const signals = members.map((member, index) =>
      shareSignals(member, {
        mails: { notify: () => void notified.push(`mails ${index}`) },
        events: { notify: () => void notified.push(`events ${index}`) },
        others: { notify: () => void notified.push(`others ${index}`) },
      }),
    )
    const messages: string[] = []
    members[0]?.onMessage((message) => messages.push(message))
    signals[1]?.mails.notify()
    signals[1]?.events.notify()
    signals[1]?.mails.notify()
    await settled()
    await settled()
    const others = [0, 2].flatMap((index) => [`events ${index}`, `mails ${index}`])
    expect(notified.sort()).toEqual([...others, 'events 1', 'mails 1', 'mails 1'].sort())
    expect(messages).toEqual(['signal mails events'])
  })

  it('runs a worker in one process, and stops it when the primary process ends', async () => {
    const members = [group.join(), group.join()]
    const running = new Set<number>()
    const workers = members.map((member, index) =>
      runOnOneServer(
        { session: member.membership, locks: locksOf(member) },
        'gardener',
        () => {
          running.add(index)
          return { stop: () => void running.delete(index) }
        },
        () => {},
      ),
    )
    await settled()
    expect([...running]).toEqual([0])
    group.endHost()
    await settled()
    expect([...running]).toEqual([])
    for (const worker of workers) await worker.stop()
  })

  it('goes on with a worker in another process at once when its process is killed', async () => {
    const [killed, other] = [group.join(), group.join()]
    const started: string[] = []
    const run = (member: TestMember, name: string) =>
      runOnOneServer(
        { session: member.membership, locks: locksOf(member) },
        'gardener',
        () => {
          started.push(name)
          return { stop() {} }
        },
        () => {},
      )
    run(killed, 'killed')
    const worker = run(other, 'other')
    await settled()
    expect(started).toEqual(['killed'])
    group.kill(killed)
    await settled()
    expect(started).toEqual(['killed', 'other'])
    await worker.stop()
  })

  it('ends a process that does not answer, and no other one', async () => {
    const [starting, stopped, other] = [group.join(), group.join(), group.join()]
    stopped.membership.beginWatch()
    other.membership.beginWatch()
    await settled()
    stopped.stop()
    starting.stop()
    for (let pings = 0; pings < 4; pings++) {
      group.host.ping()
      await settled()
    }
    expect(stopped.isKilled).toBe(false)
    group.host.ping()
    expect([starting, stopped, other].map(({ isKilled }) => isKilled)).toEqual([false, true, false])
  })
})

describe('the wrong guesses of a group of worker processes', () => {
  const LIMIT = 3
  const counter = (subject: string, forgives = true) => ({
    subject,
    limit: LIMIT,
    windowMs: 60_000,
    forgives,
  })
  const refuse = (waitMs: number) => new Error(`refused for ${waitMs}`)
  const guess = (member: TestMember, subject: string, result: string | undefined) =>
    new HostedGuesses(member.membership).counted([counter(subject)], async () => result, refuse)

  it('are counted together, until the oldest one has left the window', async () => {
    const [a, b] = [group.join(), group.join()]
    for (const member of [a, b, a]) await guess(member, 'account ada', undefined)
    nowMs += 10_000
    await expect(guess(b, 'account ada', 'right')).rejects.toThrow('refused for 50000')
    expect(await guess(b, 'account bob', 'right')).toBe('right')
    nowMs += 50_000
    expect(await guess(a, 'account ada', 'right')).toBe('right')
  })

  it('are forgiven by a right guess, where the counter says so', async () => {
    const [a, b] = [group.join(), group.join()]
    const guesses = new HostedGuesses(a.membership)
    const counters = [counter('account ada'), counter('peer ::1', false)]
    for (const result of [undefined, undefined, 'right'])
      await guesses.counted(counters, async () => result, refuse)
    for (let i = 0; i < LIMIT - 1; i++) await guess(b, 'account ada', undefined)
    expect(await guess(b, 'account ada', 'right')).toBe('right')
    await guess(b, 'peer ::1', undefined)
    await expect(guess(a, 'peer ::1', 'right')).rejects.toThrow('refused')
  })

  it('wait for those that are checked, which may all be wrong', async () => {
    const [a, b] = [group.join(), group.join()]
    const ends: ((result: string | undefined) => void)[] = []
    const running = Array.from({ length: LIMIT }, (_, i) =>
      new HostedGuesses((i === 0 ? a : b).membership).counted(
        [counter('account ada')],
        () => new Promise<string | undefined>((end) => ends.push(end)),
        refuse,
      ),
    )
    let isDone = false
    const last = guess(b, 'account ada', 'right').then((result) => {
      isDone = true
      return result
    })
    await settled()
    expect(isDone).toBe(false)
    ends[0]?.('right')
    expect(await last).toBe('right')
    for (const end of ends) end(undefined)
    await Promise.all(running)
  })

  it('do not count when their check throws, and count when their process is killed', async () => {
    const [a, b] = [group.join(), group.join()]
    const failing = new HostedGuesses(a.membership)
    for (let i = 0; i < LIMIT; i++) {
      const check = () => Promise.reject(new Error('no memory'))
      await expect(failing.counted([counter('account ada')], check, refuse)).rejects.toThrow(
        'memory',
      )
    }
    for (let i = 0; i < LIMIT; i++)
      void failing.counted([counter('account ada')], () => new Promise(() => {}), refuse)
    const waiting = expect(guess(b, 'account ada', 'right')).rejects.toThrow('refused for 60000')
    await settled()
    group.kill(a)
    await waiting
  })
})
