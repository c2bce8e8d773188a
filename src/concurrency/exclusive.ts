import { createLimited, type Limited, type Limits } from './limited.ts'

/** Runs work for a key alone, in the order of the calls. */
export type Exclusive = Limited

/** A mutex for each key. */
export function createExclusive(limits: Pick<Limits, 'maxWaitingPerKey' | 'full'> = {}): Exclusive {
  return createLimited({ ...limits, maxRunningPerKey: 1 })
}
