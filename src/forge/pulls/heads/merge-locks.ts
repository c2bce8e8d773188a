import type { Core } from '../../core/core.ts'

/**
 * Runs work alone among all work that merges a pull request, or changes its state or its base, in
 * the order of the calls. The work must read the rows that it depends on itself.
 */
export function withPullLock<T>(
  { coordination }: Core,
  pullId: number,
  work: () => Promise<T>,
): Promise<T> {
  return coordination.exclusive(`pull ${pullId}`, work)
}

/**
 * Runs work alone among all merges to a branch. A caller that also needs the lock of the pull
 * request takes that one first.
 */
export function withMergeLock<T>(
  { coordination }: Core,
  repositoryId: number,
  branch: string,
  work: () => Promise<T>,
): Promise<T> {
  return coordination.exclusive(`branch ${repositoryId} ${branch}`, work)
}

/**
 * Runs work alone among all mergeability checks of the repositories of one owner. Slow checks must
 * delay only their owner.
 */
export function withCheckLock<T>(
  { coordination }: Core,
  ownerId: number,
  work: () => Promise<T>,
): Promise<T> {
  return coordination.exclusive(`checks of ${ownerId}`, work)
}
