import type { Tx } from './schema.ts'

type Effects = WeakMap<Tx, (() => void)[]>

const undone: Effects = new WeakMap()
const following: Effects = new WeakMap()

function add(effects: Effects, tx: Tx, effect: () => void): void {
  const known = effects.get(tx)
  if (known) known.push(effect)
  else effects.set(tx, [effect])
}

/** Registers the reversal of an effect in memory, for the case that the transaction fails. */
export function onRollback(tx: Tx, undo: () => void): void {
  add(undone, tx, undo)
}

/** Registers work that starts when the transaction has been committed, and sees its changes. */
export function onCommit(tx: Tx, start: () => void): void {
  add(following, tx, start)
}

/**
 * Runs one attempt of a transaction, then what `onCommit` has registered or, when the attempt fails,
 * what `onRollback` has.
 *
 * @param execute begins a transaction, runs the work, and commits.
 */
export async function runAttempt<T>(
  execute: (work: (tx: Tx) => Promise<T>) => Promise<T>,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  let attempt: Tx | undefined
  const run = (effects: Effects) => {
    if (attempt) for (const effect of effects.get(attempt) ?? []) effect()
  }
  const result = await execute((tx) => {
    attempt = tx
    return work(tx)
  }).catch((error: unknown) => {
    run(undone)
    throw error
  })
  run(following)
  return result
}
