import { describe, expect, it } from 'vitest'
import { FairSlots, type SlotRequest, Turns } from '../../../src/platform/concurrency/fair-slots.ts'
import {
  accountHolder,
  type Holder,
  kindOf,
  peerHolder,
} from '../../../src/platform/concurrency/holders.ts'
import { takeAll } from '../../support/slots.ts'

const full = () => new Error('full')
const [ada, bob, carol] = [accountHolder(1), accountHolder(2), accountHolder(3)]
const [here, there] = [peerHolder('192.0.2.0'), peerHolder('198.51.100.0')]

/** Asks for slots, and notes in `order` who gets one. Those who get none are noted with `!`. */
function createLine(slots: FairSlots) {
  const order: string[] = []
  const leave = new Map<Holder, (() => void)[]>()
  return {
    order,
    async ask(...holders: readonly Holder[]) {
      for (const holder of holders)
        slots.acquire({ holder }).then(
          (release) => {
            order.push(holder)
            leave.set(holder, [...(leave.get(holder) ?? []), release])
          },
          () => order.push(`${holder}!`),
        )
      await settle()
    },
    async end(holder: Holder) {
      leave.get(holder)?.shift()?.()
      await settle()
    },
    running: () => [...leave].flatMap(([holder, releases]) => releases.map(() => holder)),
  }
}

/** Lets everything happen that waits for nothing else. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('fair slots', () => {
  it('are never all held by one holder or by a few', () => {
    const slots = new FairSlots({ max: 8, firstPlaces: 0, full })
    const holders = [ada, bob, here, there]
    expect(holders.map((holder) => takeAll(slots, holder).length)).toEqual([4, 2, 1, 1])
  })

  it('give a holder that has none one at once, whatever others hold', () => {
    const slots = new FairSlots({ max: 4, full })
    for (const id of [1, 2, 3, 4]) takeAll(slots, accountHolder(id))
    for (const network of ['a', 'b']) takeAll(slots, peerHolder(network))
    // Two of the first places are for strangers, and two others for accounts.
    expect(takeAll(slots, peerHolder('c'))).toHaveLength(0)
    expect(takeAll(slots, accountHolder(5))).toHaveLength(1)
  })

  it('are limited for each holder too, if wanted', () => {
    const slots = new FairSlots({ max: 16, maxPerHolder: 2, full })
    expect(takeAll(slots, ada)).toHaveLength(2)
    expect(takeAll(slots, bob)).toHaveLength(2)
  })

  it('can be taken again after they are released, once each', () => {
    const slots = new FairSlots({ max: 2, full })
    for (const _ of [1, 2, 3]) {
      const [release, ...others] = takeAll(slots, ada)
      expect(others).toEqual([])
      release?.()
      release?.()
    }
  })

  it('pass from slow readers to a new request only when none is free', () => {
    const evicted: Holder[] = []
    let isSlow = false
    const slots = new FairSlots({ max: 2, firstPlaces: 0, full })
    const read = (holder: Holder) => {
      const request: SlotRequest = {
        holder,
        isTooSlow: () => isSlow && holder === ada,
        evict: () => {
          evicted.push(holder)
          release?.()
        },
      }
      const release = slots.tryAcquire(request)
      return release
    }
    for (const holder of [ada, bob]) read(holder)
    expect(read(carol)).toBeUndefined()
    expect(evicted).toEqual([])
    isSlow = true
    expect(read(carol)).toBeDefined()
    expect(evicted).toEqual([ada])
  })
})

describe('those who wait for fair slots', () => {
  it('have their turns one account after the other, however many requests each has', async () => {
    const slots = new FairSlots({ max: 1, firstPlaces: 0, maxWaiting: 20, full })
    const line = createLine(slots)
    await line.ask(ada, ada, ada, ada, ada, bob, bob, carol)
    for (const _ of line.order) await line.end(line.order.at(-1) as Holder)
    expect(line.order).toEqual([ada, bob, carol, ada, bob, ada, ada, ada])
  })

  it('find a place to wait, although one holder waits with all its requests', async () => {
    const slots = new FairSlots({ max: 1, firstPlaces: 0, maxWaiting: 4, full })
    const line = createLine(slots)
    await line.ask(...Array<Holder>(60).fill(ada), bob, carol)
    expect(line.order.filter((name) => name === `${ada}!`)).toHaveLength(57)
    await line.end(ada)
    await line.end(bob)
    expect(line.order.filter((name) => !name.endsWith('!'))).toEqual([ada, bob, carol])
  })

  it('do not wait behind strangers with many networks', async () => {
    const slots = new FairSlots({ max: 1, firstPlaces: 0, maxWaiting: 100, full })
    const line = createLine(slots)
    const strangers = Array.from({ length: 50 }, (_, i) => peerHolder(`10.0.0.${i}`))
    await line.ask(...strangers, ada)
    await line.end(strangers[0] as Holder)
    expect(line.order).toEqual([strangers[0], ada])
  })

  it('with the fewest slots come first', async () => {
    const slots = new FairSlots({ max: 4, firstPlaces: 0, maxWaiting: 8, full })
    const line = createLine(slots)
    await line.ask(ada, ada, ada, bob, carol, accountHolder(4))
    expect(line.order).toEqual([ada, ada, bob, carol])
    await line.end(ada)
    expect(line.order.at(-1)).toBe(accountHolder(4))
  })

  it('start as soon as slots are free, in the order in which they came', async () => {
    const slots = new FairSlots({ max: 1, maxWaiting: 2, full })
    const line = createLine(slots)
    await line.ask('server', 'server', 'server', 'server')
    expect(line.order).toEqual(['server', 'server!'])
    await line.end('server')
    await line.end('server')
    expect(line.order.slice(2)).toEqual(['server', 'server'])
  })
})

describe('turns', () => {
  it('are remembered for 10 000 keys, without the one whose turn was first', () => {
    const turns = new Turns<string>()
    for (const key of ['ada', 'ada', 'ada', 'bob']) turns.take(key)
    for (let number = 2; number < 10_000; number++) turns.take(`${number}`)
    expect([turns.of('ada'), turns.of('bob'), turns.of('carol')]).toEqual([3, 3, 2])
    turns.take('carol')
    expect([turns.of('ada'), turns.of('bob')]).toEqual([2, 3])
  })
})

describe('any sequence of requests for fair slots', () => {
  /** A generator of the same numbers for the same seed (Park and Miller, 1988). */
  function createRandom(seed: number) {
    let state = seed
    return (below: number) => {
      state = (state * 48_271) % 2_147_483_647
      return state % below
    }
  }

  it.each(Array.from({ length: 200 }, (_, i) => i + 1))(
    'starves no holder, and never exceeds the limits (seed %i)',
    async (seed) => {
      const random = createRandom(seed)
      const max = 1 + random(6)
      const firstPlaces = random(5)
      const slots = new FairSlots({ max, firstPlaces, maxWaiting: 1_000, full })
      const holders = Array.from({ length: 2 + random(6) }, (_, i) =>
        i % 2 === 0 ? accountHolder(i) : peerHolder(String(i)),
      )
      const wanted: Holder[] = []
      /** Turns that went to others of the kind while a holder without a slot waited. */
      const passed = new Map<Holder, number>()
      const running: { readonly holder: Holder; readonly release: () => void }[] = []
      const holds = (holder: Holder) => running.filter((other) => other.holder === holder).length
      const onStart = (holder: Holder, release: () => void) => {
        wanted.splice(wanted.indexOf(holder), 1)
        running.push({ holder, release })
        passed.delete(holder)
        for (const other of new Set(wanted))
          if (holds(other) === 0 && kindOf(other) === kindOf(holder))
            passed.set(other, (passed.get(other) ?? 0) + 1)
      }
      for (let step = 0; step < 60; step++) {
        if (random(5) < 3) {
          const holder = holders[random(holders.length)] as Holder
          wanted.push(holder)
          void slots.acquire({ holder }).then((release) => onStart(holder, release))
        } else if (running.length > 0) {
          running.splice(random(running.length), 1)[0]?.release()
        }
        await settle()
        expect(running.length).toBeLessThanOrEqual(max + 2 * firstPlaces)
        for (const holder of holders) {
          expect(holds(holder)).toBeLessThanOrEqual(Math.ceil(max / 2) + 1)
          const ofKind = holders.filter((other) => kindOf(other) === kindOf(holder)).length
          expect(passed.get(holder) ?? 0).toBeLessThanOrEqual(ofKind + max)
        }
      }
      while (running.length > 0) {
        running.shift()?.release()
        await settle()
      }
      expect(wanted).toEqual([])
    },
  )
})
