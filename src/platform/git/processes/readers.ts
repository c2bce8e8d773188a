import { AsyncLocalStorage } from 'node:async_hooks'
import type { Holder } from '../../concurrency/holders.ts'

/** The caller that Git data are read for. */
export interface Reader {
  /** Whom process slots count for. */
  readonly holder: Holder
  /**
   * Reserves memory for the bytes of an answer, before they are read.
   *
   * @throws the refusal of the call when there is not enough memory.
   */
  readonly admit: (bytes: number) => void
}

/**
 * The reader of the current call. A few functions use the reader, but a hundred functions lead to
 * them and would have to pass a parameter that they do not use. Background work has no reader.
 */
const readers = new AsyncLocalStorage<Reader>()

/** Runs work for a reader, including all asynchronous work that it starts. */
export function readAs<T>(reader: Reader, work: () => T): T {
  return readers.run(reader, work)
}

/** Returns the reader of the current call. Undefined in work that no call has started. */
export function currentReader(): Reader | undefined {
  return readers.getStore()
}

/** Returns whom the current work counts for. */
export function currentHolder(): Holder {
  return currentReader()?.holder ?? 'server'
}
