import type { Tx } from '../schema/schema.ts'

const undone = new WeakMap<Tx, (() => void)[]>()

/** Registers the reversal of an effect in memory, for the case that the transaction fails. */
export function onRollback(tx: Tx, undo: () => void): void {
  const known = undone.get(tx)
  if (known) known.push(undo)
  else undone.set(tx, [undo])
}

/**
 * Runs one attempt of a transaction. When the attempt fails, runs what `onRollback` has registered.
 *
 * @param execute begins a transaction, runs the work, and commits.
 */
export async function runAttempt<T>(
  execute: (work: (tx: Tx) => Promise<T>) => Promise<T>,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  let attempt: Tx | undefined
  try {
    return await execute((tx) => {
      attempt = tx
      return work(tx)
    })
  } catch (error) {
    if (attempt) for (const undo of undone.get(attempt) ?? []) undo()
    throw error
  }
}
