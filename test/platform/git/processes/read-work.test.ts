import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { accountHolder, type Holder } from '../../../../src/platform/concurrency/holders.ts'
import {
  MAX_OBJECT_WORK,
  MAX_REQUEST_WORK,
  MAX_TURN_WORK,
  ReadTurns,
} from '../../../../src/platform/git/processes/read-work.ts'
import { readAs } from '../../../../src/platform/git/processes/readers.ts'

/** Reads objects for a holder, and notes when each is read. */
async function readFor(
  turns: ReadTurns,
  holder: Holder,
  objects: number,
  order: string[],
): Promise<void> {
  await readAs({ holder, admit: () => {} }, async () => {
    const budget = turns.budget()
    for (let i = 0; i < objects; i++) {
      await budget.run(() => budget.note(MAX_TURN_WORK / 4))
      order.push(holder)
    }
  })
}

it('reads of all requests together stay within the work of a turn', async () => {
  const turns = new ReadTurns()
  const reads = Array.from({ length: 20 }, (_, i) => readFor(turns, accountHolder(i % 3), 20, []))
  await Promise.all(reads)
  expect(turns.total).toBe((20 * 20 * MAX_TURN_WORK) / 4)
  expect(turns.largest).toBeLessThanOrEqual(MAX_TURN_WORK + MAX_OBJECT_WORK)
})

it('a holder with many reads does not delay another one by more than a turn', async () => {
  const turns = new ReadTurns()
  const order: string[] = []
  const many = Array.from({ length: 50 }, () => readFor(turns, accountHolder(1), 40, order))
  while (order.length < 100) await setImmediate()
  const before = order.length
  await readFor(turns, accountHolder(2), 1, order)
  // One turn for each of the two, and what the present turn still does.
  expect(order.length - before).toBeLessThan(20)
  await Promise.all(many)
})

it('a request has one budget, whatever reads it makes', async () => {
  const turns = new ReadTurns()
  await readAs({ holder: 'server', admit: () => {} }, async () => {
    turns.budget().note(MAX_REQUEST_WORK - 100)
    const budget = turns.budget()
    expect(budget.isSpent).toBe(false)
    budget.begin()
    expect(budget.objectLeft).toBe(100)
    expect(() => budget.spend(101)).toThrow('too much work')
    expect(budget.isSpent).toBe(true)
  })
  expect(turns.budget().isSpent).toBe(false)
})
