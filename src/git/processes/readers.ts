import { AsyncLocalStorage } from 'node:async_hooks'

/** On whose behalf Git is read. */
export interface Reader {
  /** Whoever places of processes are counted for; undefined for one that is not counted. */
  readonly holder: string | undefined
  /**
   * Told how many bytes are about to be read for an answer that has to be held as a whole.
   *
   * @throws what the caller is refused with, where there is no room for the answer.
   */
  readonly admit: (bytes: number) => void
}

/**
 * The reader of a call. Every way to Git leads through a few functions of this room, but from a
 * hundred places: a parameter of all of them would be about something that none of them decides.
 * Work that no call waits for has no reader.
 */
const readers = new AsyncLocalStorage<Reader>()

/** Runs work, and all that follows from it, on behalf of a reader. */
export function readAs<T>(reader: Reader, work: () => T): T {
  return readers.run(reader, work)
}

/** On whose behalf the running work is; undefined for work of the server itself. */
export function currentReader(): Reader | undefined {
  return readers.getStore()
}
