import { Gate } from '../../../git/processes/process-limits.ts'
import type { Db } from '../../../storage/database/database.ts'
import type { App } from '../../app.ts'
import { reading } from '../../repos/reading/git-reading.ts'

/** Who may wait for one turn. A merge takes a moment, with hooks at most a minute or two. */
const MAX_WAITING = 100

/** A place that one has at a time, and how many are in it or wait for it. */
interface Turns {
  readonly gate: Gate
  users: number
}

const turnsOf = new WeakMap<Db, Map<string, Turns>>()

/**
 * Runs work alone among all work on a pull request that merges it, or changes its state or its
 * base, in the order of asking. What the work goes by it reads when its turn has come.
 *
 * @throws SERVER_BUSY when too many wait already
 */
export function oneAtATime<T>(app: App, pullId: number, work: () => Promise<T>): Promise<T> {
  return inTurn(app, `pull ${pullId}`, work)
}

/**
 * The same among all merges to a branch: each begins with what the one before has made of it. For
 * who has the turn of the pull request already.
 *
 * @throws SERVER_BUSY
 */
export function oneMergeAtATime<T>(
  app: App,
  repositoryId: number,
  branch: string,
  work: () => Promise<T>,
): Promise<T> {
  return inTurn(app, `branch ${repositoryId} ${branch}`, work)
}

/**
 * The same among all checks of pull requests into the repositories of one owner: commits that take
 * long to check are easily made, and are to keep nobody waiting but whoever made them.
 *
 * @throws SERVER_BUSY
 */
export function oneCheckAtATime<T>(app: App, ownerId: number, work: () => Promise<T>): Promise<T> {
  return inTurn(app, `checks of ${ownerId}`, work)
}

async function inTurn<T>(app: App, key: string, work: () => Promise<T>): Promise<T> {
  let all = turnsOf.get(app.db)
  if (!all) {
    all = new Map()
    turnsOf.set(app.db, all)
  }
  const turns = all.get(key) ?? { gate: new Gate(1, MAX_WAITING), users: 0 }
  all.set(key, turns)
  turns.users += 1
  try {
    const leave = await reading(turns.gate.enter())
    try {
      return await work()
    } finally {
      leave()
    }
  } finally {
    turns.users -= 1
    if (turns.users === 0) all.delete(key)
  }
}
