import { transaction } from '../../../platform/database/database.ts'
import { listReachablePointers } from '../../../platform/git/objects/lfs-pointers.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { Worker } from '../../core/coordination.ts'
import { nowSeconds } from '../../core/core.ts'
import type { ReposApp } from '../ports.ts'
import { deleteMarkedLfsObjects, keepLfsObjects, listLfsObjects } from './lfs-objects.rows.ts'
import * as rows from './lfs-sweeps.rows.ts'

/**
 * The collection of objects that no ref needs. A sweep marks them, and a later one takes the mark away
 * if a ref needs the object again. A mark that is old enough ends in a removal, if the operator has
 * asked for that. Marks are days older than the sweep that removes, and uploads and pushes take marks
 * away before refs move, so that no push loses an object.
 */

/** Sweeps look for repositories that are due. */
const INTERVAL_MS = 60 * 60_000

/** Time between sweeps of a repository. */
const REST_SECONDS = 7 * 24 * 60 * 60

/** Younger objects may wait for their push. */
const MIN_AGE_SECONDS = 7 * 24 * 60 * 60

const REPOSITORIES_AT_A_TIME = 100
const OBJECTS_AT_A_TIME = 1_000

/** Small files of a repository that are read for pointers, and the time of reading. */
const LIMITS = { maxFiles: 10_000_000, timeoutMs: 60 * 60_000, priority: 'maintenance' } as const

/** Sweeps each repository with objects once a week. */
export function startLfsSweeps(app: ReposApp): Worker {
  const stopping = new AbortController()
  const sweep = () => sweepInBackground(app, stopping.signal)
  sweep()
  const timer = setInterval(sweep, INTERVAL_MS)
  return {
    stop() {
      clearInterval(timer)
      stopping.abort()
    },
  }
}

/** Sweeps all repositories soon. The request outlives a crash. */
export async function requestLfsSweeps(app: ReposApp): Promise<void> {
  await transaction(app.db, rows.forgetLfsSweeps)
  sweepInBackground(app, undefined)
}

function sweepInBackground(app: ReposApp, signal: AbortSignal | undefined): void {
  app.background.run('sweep LFS objects', () =>
    app.coordination.exclusive('lfs sweeps', () => sweepDue(app, signal)),
  )
}

async function sweepDue(app: ReposApp, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    const before = nowSeconds(app.clock) - REST_SECONDS
    const due = await rows.repositoriesToSweep(app.db, before, REPOSITORIES_AT_A_TIME)
    for (const id of due) {
      if (signal?.aborted) return
      await sweepRepository(app, id)
    }
    if (due.length < REPOSITORIES_AT_A_TIME) return
  }
}

/** Sweeps a repository. A failure is logged, and the repository waits for the next week. */
async function sweepRepository(app: ReposApp, id: number): Promise<void> {
  const now = nowSeconds(app.clock)
  try {
    const removed = await compareWithRefs(app, id, now)
    if (removed > 0) app.log.info({ repository: id, removed }, 'LFS objects were removed')
  } catch (err) {
    app.log.warn({ err, repository: id }, 'the LFS objects of a repository could not be swept')
  }
  await transaction(app.db, (tx) => rows.putLfsSweep(tx, id, now))
}

/** Marks, keeps and removes objects of a repository. Returns how many were removed. */
async function compareWithRefs(app: ReposApp, id: number, now: number): Promise<number> {
  const needed = new Set<string>()
  const path = repositoryPath(app.git, id)
  const pointers = listReachablePointers(app.git.processes, path, ['--all'], LIMITS)
  for await (const { oid } of pointers) needed.add(oid)
  const { lfsUnreferencedAfterMs: afterMs } = app.settings
  const until = afterMs === undefined ? undefined : now - Math.floor(afterMs / 1000)
  let removed = 0
  for (let after = ''; ; ) {
    const page = await listLfsObjects(app.db, id, after, OBJECTS_AT_A_TIME)
    const unneeded = page.flatMap(({ oid }) => (needed.has(oid) ? [] : oid))
    const kept = page.filter((row) => row.unreferenced_since !== null && needed.has(row.oid))
    removed += await transaction(app.db, async (tx) => {
      const deleted =
        until === undefined ? 0 : await deleteMarkedLfsObjects(tx, id, unneeded, until)
      await rows.markUnreferenced(tx, id, unneeded, { now, olderThan: now - MIN_AGE_SECONDS })
      await keepLfsObjects(
        tx,
        id,
        kept.map(({ oid }) => oid),
      )
      return deleted
    })
    after = page.at(-1)?.oid ?? ''
    if (page.length < OBJECTS_AT_A_TIME) return removed
  }
}
