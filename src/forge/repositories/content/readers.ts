import { currentReader, readAs } from '../../../platform/git/processes/readers.ts'
import { type Caller, holderOf } from '../../core/access.ts'

/**
 * Runs the work of a call on behalf of its caller, so that reads from Git count towards the limits
 * of the account, or of the network of an anonymous peer.
 *
 * @param admit receives the number of bytes before content is read for a response; throws if the
 *   caller has reached a limit
 */
export function readFor<T>(caller: Caller, admit: (bytes: number) => void, work: () => T): T {
  return readAs({ holder: holderOf(caller), admit }, work)
}

/**
 * Reports the size of content before it is read for a response that is sent as a whole.
 *
 * @throws if too much of the caller's earlier responses is still in memory
 */
export function admitContent(bytes: number): void {
  currentReader()?.admit(bytes)
}
