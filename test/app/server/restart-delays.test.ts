import { describe, expect, it } from 'vitest'
import { restartDelayMs } from '../../../src/app/server/worker-processes.ts'

describe('the wait before a worker process is started again', () => {
  it('doubles with each end in a short time, up to half a minute', () => {
    const delays = Array.from({ length: 12 }, (_, failures) => restartDelayMs(failures))
    expect(delays.slice(0, 5)).toEqual([0, 250, 500, 1000, 2000])
    expect(delays.at(-1)).toBe(30_000)
  })
})
