import { expect, it } from 'vitest'
import { createCopySlots } from '../../../../src/forge/repositories/lifecycle/copies.ts'
import type { RunInSlot } from '../../../../src/platform/concurrency/fair-slots.ts'
import { accountHolder } from '../../../../src/platform/concurrency/holders.ts'

const tooMany = (limit: string) =>
  expect.objectContaining({ reason: 'TOO_MANY_COPIES', metadata: { limit } })

/** Starts a copy. Returns its result and a function that ends it. */
function startCopy(copies: RunInSlot, accountId: number) {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { copy: copies(accountHolder(accountId), () => ended), end }
}

it('limits the copies of an account', async () => {
  const copies = createCopySlots()
  const first = startCopy(copies, 1)
  startCopy(copies, 1)
  await expect(startCopy(copies, 1).copy).rejects.toEqual(tooMany('2'))
  startCopy(copies, 2)
  first.end()
  await first.copy
  startCopy(copies, 1)
  await expect(startCopy(copies, 1).copy).rejects.toEqual(tooMany('2'))
})

it('limits the copies of all accounts together, apart from one of each other account', async () => {
  const copies = createCopySlots()
  const running = Array.from({ length: 15 }, (_, i) => startCopy(copies, Math.floor(i / 2)))
  running.push(startCopy(copies, 99))
  await expect(startCopy(copies, 99).copy).rejects.toEqual(tooMany('16'))
  for (const { end } of running.slice(0, 2)) end()
  await running[1]?.copy
  startCopy(copies, 99)
  await expect(startCopy(copies, 99).copy).rejects.toEqual(tooMany('2'))
})
