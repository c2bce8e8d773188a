import { expect, it } from 'vitest'
import { createCopyLimits } from '../../../../src/forge/repositories/lifecycle/copy-limits.ts'
import type { Limited } from '../../../../src/platform/concurrency/limited.ts'

const tooMany = (limit: string) =>
  expect.objectContaining({ reason: 'TOO_MANY_COPIES', metadata: { limit } })

/** Starts a copy. Returns its result and a function that ends it. */
function startCopy(copies: Limited, accountId: number) {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { copy: copies(String(accountId), () => ended), end }
}

it('limits the copies of an account', async () => {
  const copies = createCopyLimits()
  const first = startCopy(copies, 1)
  startCopy(copies, 1)
  await expect(startCopy(copies, 1).copy).rejects.toEqual(tooMany('2'))
  startCopy(copies, 2)
  first.end()
  await first.copy
  startCopy(copies, 1)
  await expect(startCopy(copies, 1).copy).rejects.toEqual(tooMany('2'))
})

it('limits the copies of all accounts together', async () => {
  const copies = createCopyLimits()
  const running = Array.from({ length: 16 }, (_, i) => startCopy(copies, Math.floor(i / 2)))
  await expect(startCopy(copies, 99).copy).rejects.toEqual(tooMany('16'))
  running[0]?.end()
  await running[0]?.copy
  startCopy(copies, 99)
  await expect(startCopy(copies, 98).copy).rejects.toEqual(tooMany('16'))
})
