import { createLimited, type Limited, type Limits } from './limited.ts'

/** Runs work for a key while no other work for that key runs, in the order of the calls. */
export type Exclusive = Limited

/** Creates a mutex for each key. */
export function createExclusive(limits: Pick<Limits, 'maxWaitingPerKey' | 'full'> = {}): Exclusive {
  return createLimited({ ...limits, maxRunningPerKey: 1 })
}
