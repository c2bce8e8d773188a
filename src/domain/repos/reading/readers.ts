import { currentReader, readAs } from '../../../git/processes/readers.ts'
import type { Caller } from '../../core/access.ts'

/**
 * Runs the work of a call, so that what it reads from Git counts for its caller: for the account,
 * or for the network of a peer without one.
 *
 * @param admit told how many bytes are about to be read for an answer; throws what the caller is
 *   refused with.
 */
export function readFor<T>(caller: Caller, admit: (bytes: number) => void, work: () => T): T {
  return readAs({ holder: holderOf(caller), admit }, work)
}

/**
 * Says that content is about to be read which is answered as a whole.
 *
 * @throws what the caller is refused with where too much of earlier answers waits already.
 */
export function admitContent(bytes: number): void {
  currentReader()?.admit(bytes)
}

function holderOf(caller: Caller): string | undefined {
  if (caller.kind === 'user') return `account ${caller.user.id}`
  const { network } = caller.peer
  return network && `peer ${network}`
}
