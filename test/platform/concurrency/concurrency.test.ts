import { describe, expect, it } from 'vitest'
import { createExclusive } from '../../../src/platform/concurrency/exclusive.ts'
import { createOnce } from '../../../src/platform/concurrency/once.ts'

/** Work that logs when it starts, and ends when the test says so. */
function createWork() {
  const log: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  return {
    log,
    work: (name: string) => () =>
      new Promise<string>((resolve, reject) => {
        log.push(name)
        ends.set(name, (error) => (error ? reject(error) : resolve(name)))
      }),
    async end(name: string, error?: Error) {
      ends.get(name)?.(error)
      await settle()
    },
  }
}

/** Lets everything happen that waits for nothing else. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

describe('once', () => {
  it('gives all callers of a key the result of one run', async () => {
    const once = createOnce()
    const { log, work, end } = createWork()
    const results = [once('a', work('first')), once('a', work('second')), once('b', work('other'))]
    await settle()
    expect(log).toEqual(['first', 'other'])
    await end('first')
    await end('other')
    expect(await Promise.all(results)).toEqual(['first', 'first', 'other'])
  })

  it('fails for all callers of a run, and runs again for the next', async () => {
    const once = createOnce()
    const { work, end } = createWork()
    const failed = Promise.allSettled([once('a', work('first')), once('a', work('second'))])
    await settle()
    await end('first', new Error('no luck'))
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = once('a', work('third'))
    await settle()
    await end('third')
    expect(await next).toBe('third')
  })

  it('fails where the work throws before it returns a promise', async () => {
    const once = createOnce()
    const broken = () => {
      throw new Error('no luck')
    }
    await expect(once('a', broken)).rejects.toThrow('no luck')
    await expect(once('a', async () => 'fine')).resolves.toBe('fine')
  })
})

describe('exclusive', () => {
  it('runs work of one key in the order of the calls, one at a time', async () => {
    const exclusive = createExclusive()
    const { log, work, end } = createWork()
    const all = ['1', '2', '3'].map((name) => exclusive('a', work(name)))
    const other = exclusive('b', work('other'))
    await settle()
    expect(log).toEqual(['1', 'other'])
    await end('other')
    await end('1')
    expect(log).toEqual(['1', 'other', '2'])
    await end('2')
    await end('3')
    expect(await Promise.all([...all, other])).toEqual(['1', '2', '3', 'other'])
  })

  it('goes on after a failure', async () => {
    const exclusive = createExclusive()
    const failed = exclusive('a', () => Promise.reject(new Error('no luck')))
    const next = exclusive('a', async () => 'fine')
    await expect(failed).rejects.toThrow('no luck')
    expect(await next).toBe('fine')
  })

  it('refuses a call when too many of its key wait', async () => {
    const full = (key: string) => new Error(`${key} is full`)
    const exclusive = createExclusive({ maxWaitingPerKey: 1, full })
    const { work, end } = createWork()
    const runs = [exclusive('a', work('1')), exclusive('a', work('2'))]
    await expect(exclusive('a', work('3'))).rejects.toThrow('a is full')
    const other = exclusive('b', work('other'))
    await settle()
    for (const name of ['1', '2', 'other']) await end(name)
    expect(await Promise.all([...runs, other])).toEqual(['1', '2', 'other'])
  })
})
