import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { opening } from '../../../platform/concurrency/daily-window.ts'
import { transaction } from '../../../platform/database/database.ts'
import { GitError } from '../../../platform/git/core/errors.ts'
import {
  damagedFiles,
  removeDamaged,
  removeStaleLocks,
} from '../../../platform/git/maintenance/derived-files.ts'
import { dropPresent, keepingReplaced } from '../../../platform/git/maintenance/replaced-files.ts'
import { type RepositoryState, readState } from '../../../platform/git/maintenance/state.ts'
import { runStep, STEPS, type Step, StepError } from '../../../platform/git/maintenance/steps.ts'
import { dropReaders } from '../../../platform/git/repositories/repositories.ts'
import type { Worker } from '../../core/coordination.ts'
import {
  type DueWork,
  type DueWorker,
  finishDueWork,
  startDueWork,
} from '../../core/scheduled-work.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import { storeSize } from '../refs/repository-size.ts'
import type { MaintenanceChanges, RepositoryMaintenance } from '../schema.ts'
import { dueSteps, fullDueTime, isDueWhenQuiet, pruneDueTime } from './due-steps.ts'
import { shareWithForks, stateForFull } from './fork-sharing.ts'
import * as rows from './maintenance.rows.ts'
import { QUIET_MS } from './maintenance-checks.ts'
import { prune, undo } from './prunes.ts'
import { busyWith } from './server-load.ts'
import { parseSteps, readReports, type StepReport } from './step-reports.ts'

/** Machines with more cores work on two repositories at once. */
const CORES_FOR_TWO = 8

/** Time after which a busy server is looked at again. */
const BUSY_RETRY_MS = 1_000

/** Time after which a step starts again: after a failure, and when the disk has no room for it. */
const RETRY_MS = 10 * 60_000

/** Failures in a row after which the steps of a repository are paused, and for how long. */
const MAX_FAILURES = 3
const PAUSE_MS = 24 * 60 * 60_000

/** Time after which a step that cannot start is worth a warning. */
const LONG_WAIT_MS = 24 * 60 * 60_000

/** A step that took longer is logged at `info`. */
const LONG_STEP_MS = 60_000

/** Free disk that a step needs besides twice what it writes. */
const MIN_FREE_BYTES = 1024 ** 3

/** Memory that a step needs: this share of the largest index, and not less than this. */
const MEMORY_PER_INDEX = 1.5
const MIN_MEMORY_BYTES = 128 * 1024 ** 2

/** Servers hear of a step late, by a clock that may differ. */
const CLOCK_DIFFERENCE_MS = 60_000

/** Starts the worker that maintains repositories when steps of them are due. */
export function startMaintenance(app: ReposApp): DueWorker {
  return startDueWork(app, maintenanceWork(app))
}

/** Runs all steps that are due. For tests, whose clock stands still. */
export function finishMaintenance(app: ReposApp): Promise<void> {
  return finishDueWork(app, maintenanceWork(app))
}

/**
 * Lets go of the files that a step on another server has replaced. Every server that shares
 * repositories runs this.
 */
export function startDroppingReaders(app: ReposApp): Worker {
  if (!app.git.isShared) return { stop() {} }
  const stopping = new AbortController()
  const drop = async (afterMs: number) => {
    for (const id of await rows.repositoriesStepped(app.db, afterMs)) await dropReaders(app.git, id)
  }
  const loop = async () => {
    let doneMs = app.clock.now()
    for (let seen = app.signals.maintained.count; ; seen = app.signals.maintained.count) {
      await app.signals.maintained.after(seen, stopping.signal)
      if (stopping.signal.aborted) return
      const startMs = app.clock.now()
      await drop(doneMs - CLOCK_DIFFERENCE_MS).catch((err: unknown) =>
        app.log.error({ err }, 'the steps of other servers cannot be read'),
      )
      doneMs = startMs
    }
  }
  const looping = loop()
  return {
    stop() {
      stopping.abort()
      return looping
    },
  }
}

/** Ends the steps of a repository on this server. Called before the repository is deleted. */
export function abortMaintenance({ maintenance }: ReposApp, repositoryId: number): void {
  maintenance.running.get(repositoryId)?.abort()
}

function maintenanceWork(app: ReposApp): DueWork {
  return {
    failure: 'maintenance of a repository failed',
    maxRunning: availableParallelism() > CORES_FOR_TWO ? 2 : 1,
    firstPlaces: 0,
    maxRunningPerOwner: 1,
    signal: app.signals.maintenance,
    ...rows.maintenanceQueue(app.db, !app.settings.maintenance),
    run: (id, until) => maintain(app, id, until),
  }
}

/** Runs the steps of a repository that are due or requested, and records their results. */
async function maintain(app: ReposApp, repositoryId: number, until: AbortSignal): Promise<void> {
  const deletion = new AbortController()
  app.maintenance.running.set(repositoryId, deletion)
  const signal = AbortSignal.any([until, deletion.signal])
  try {
    await app.coordination.exclusive(`maintenance ${repositoryId}`, () =>
      maintainLocked(app, repositoryId, signal),
    )
  } catch (error) {
    const isGone = !(await findRepositoryById(app.db, repositoryId))
    if (!isGone && !until.aborted) throw error
  } finally {
    app.maintenance.running.delete(repositoryId)
  }
}

async function maintainLocked(app: ReposApp, id: number, signal: AbortSignal): Promise<void> {
  const [row, repository] = await Promise.all([
    rows.findMaintenance(app.db, id),
    findRepositoryById(app.db, id),
  ])
  if (row && repository) {
    await undo(app, id)
    await removeStaleLocks(app.git, id, app.clock.now())
    await dropPresent(app.git, id)
    await dropDamaged(app, id)
  }
  const state = await readState(app.git, id)
  if (!row || !repository || !state) {
    if (row) await transaction(app.db, (tx) => rows.settleCheck(tx, row, null))
    return
  }
  const isQuiet = app.clock.now() - repository.update_time * 1000 >= QUIET_MS
  const createMs = repository.create_time * 1000
  const due = app.settings.maintenance ? dueSteps(state, isQuiet) : []
  due.unshift(...heavyStepsDue(app, row, state, createMs))
  const wanted = new Set([...parseSteps(row.requested), ...due])
  const steps = STEPS.filter((step) => wanted.has(step))
  const outcome = await runSteps(app, row, steps, signal)
  if (outcome === 'done') {
    const after = steps.length > 0 ? await readState(app.git, id) : state
    // After a quiet time, the next push leads to the next check.
    const quietTime =
      !isQuiet && after && isDueWhenQuiet(after) ? app.clock.now() + QUIET_MS : undefined
    const heavyTime = after && (await nextHeavyTime(app, id, after, createMs))
    await settle(app, row, earliest(quietTime, heavyTime))
    if (steps.length > 0) await storeSize(app, id)
  } else {
    const retryTime = app.clock.now() + (outcome === 'paused' ? PAUSE_MS : RETRY_MS)
    await transaction(app.db, (tx) => rows.settleCheck(tx, row, retryTime))
  }
}

/** Removes damaged files that steps write again. Git would trust them. */
async function dropDamaged(app: ReposApp, repository: number): Promise<void> {
  const damaged = await damagedFiles(app.git, repository)
  if (damaged.length === 0) return
  for (const path of damaged) await removeDamaged(app.git, repository, path)
  await dropReaders(app.git, repository)
  app.log.warn({ repository, damaged }, 'damaged files of maintenance were removed')
}

/**
 * Returns when the steps are due that pack a repository as a whole, in Unix milliseconds. Undefined
 * for those that would gain little.
 */
function heavyTimes(
  { settings }: ReposApp,
  row: RepositoryMaintenance | undefined,
  state: RepositoryState,
  createMs: number,
) {
  const reports = readReports(row?.steps ?? '{}')
  const prunes = settings.pruneAfterMs !== undefined
  const fullMs = reports.full?.startTime ?? createMs
  const lastMs = Math.max(fullMs, reports.prune?.startTime ?? createMs)
  return {
    prune: prunes ? pruneDueTime(state, lastMs) : undefined,
    full: fullDueTime(state, fullMs),
  }
}

/** Returns the one of these steps that is due and may run now. A prune does what `full` does. */
function heavyStepsDue(
  app: ReposApp,
  row: RepositoryMaintenance,
  state: RepositoryState,
  createMs: number,
): Step[] {
  const { settings, clock } = app
  const now = clock.now()
  if (!settings.maintenance || opening(settings.maintenanceWindow, now) !== now) return []
  const { prune, full } = heavyTimes(app, row, state, createMs)
  if (prune !== undefined && prune <= now) return ['prune']
  return full !== undefined && full <= now ? ['full'] : []
}

/** Returns when the next of these steps is due and may run, in Unix milliseconds. */
async function nextHeavyTime(
  app: ReposApp,
  id: number,
  state: RepositoryState,
  createMs: number,
): Promise<number | undefined> {
  const row = await rows.findMaintenance(app.db, id)
  const { prune, full } = heavyTimes(app, row, state, createMs)
  const dueTime = earliest(prune, full)
  return dueTime === null
    ? undefined
    : opening(app.settings.maintenanceWindow, Math.max(dueTime, app.clock.now()))
}

function earliest(...all: readonly (number | undefined)[]): number | null {
  const times = all.filter((time) => time !== undefined)
  return times.length === 0 ? null : Math.min(...times)
}

/**
 * Records that all steps have run.
 *
 * @param nextTime when the repository is looked at again, in Unix milliseconds; null for after the
 *   next push.
 */
async function settle(
  app: ReposApp,
  row: RepositoryMaintenance,
  nextTime: number | null,
): Promise<void> {
  await transaction(app.db, async (tx) => {
    await rows.settleCheck(tx, row, app.settings.maintenance ? nextTime : null)
    await rows.settleRequest(tx, row)
    const settled = { waiting_time: null, failures: 0, error: '', pause_time: null }
    await rows.putMaintenance(tx, row.repository_id, settled)
  })
}

/** Runs steps one after another. */
async function runSteps(
  app: ReposApp,
  row: RepositoryMaintenance,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<'done' | 'later' | 'paused'> {
  const id = row.repository_id
  const reports = readReports(row.steps)
  for (const step of steps) {
    const found = await readState(app.git, id)
    if (!found) return 'done'
    const state = step === 'full' ? await stateForFull(app, id, found) : found
    if (!(await app.disk.hasRoom(roomFor(state)))) return waitForRoom(app, row, step)
    await untilIdle(app, id, step, state, signal)
    const report = await timed(app, id, step, () => attempt(app, id, step, state, signal))
    reports[step] = report
    const changes = {
      steps: JSON.stringify(reports),
      step_time: app.clock.now(),
      waiting_time: null,
    }
    if (report.error !== '')
      return recordFailure(app, row, step, { ...changes, error: report.error })
    await record(app, id, changes)
  }
  return 'done'
}

/** Runs a step. Returns the reason of a failure, empty for a success. */
async function attempt(
  app: ReposApp,
  id: number,
  step: Step,
  state: RepositoryState,
  signal: AbortSignal,
): Promise<string> {
  try {
    await keepingReplaced(app.git, id, app.clock.now(), () =>
      step === 'prune'
        ? pruneOld(app, id, state, signal)
        : runStep(app.git, id, step, state, signal),
    )
    if (step === 'full') await shareWithForks(app, id, signal)
    return ''
  } catch (error) {
    signal.throwIfAborted()
    return stepFailure(error)
  }
}

/** Removes old objects that no ref reaches, unless the operator has turned that off. */
async function pruneOld(
  app: ReposApp,
  id: number,
  state: RepositoryState,
  signal: AbortSignal,
): Promise<void> {
  const { pruneAfterMs } = app.settings
  if (pruneAfterMs === undefined) return
  const expiry = { beforeMs: app.clock.now() - pruneAfterMs, includesShared: false }
  await prune(app, id, { state, expiry }, signal)
}

/** Records and logs a failed step, the last one before a pause as an error. */
async function recordFailure(
  app: ReposApp,
  row: RepositoryMaintenance,
  step: Step,
  { error, ...changes }: MaintenanceChanges,
): Promise<'later' | 'paused'> {
  const id = row.repository_id
  const failures = row.failures + 1
  const isPaused = failures >= MAX_FAILURES
  const pause_time = isPaused ? app.clock.now() + PAUSE_MS : null
  await record(app, id, { ...changes, failures, error: `${step}: ${error}`, pause_time })
  const facts = { repository: id, step, failures, reason: error }
  if (isPaused) app.log.error(facts, 'maintenance of a repository is paused for a day')
  else app.log.warn(facts, 'a step of the maintenance of a repository failed')
  return isPaused ? 'paused' : 'later'
}

async function record(app: ReposApp, id: number, changes: MaintenanceChanges): Promise<void> {
  await transaction(app.db, (tx) => rows.putMaintenance(tx, id, changes))
  app.signals.maintained.notify()
}

/** Runs a step and reports on it. */
async function timed(
  app: ReposApp,
  repository: number,
  step: Step,
  run: () => Promise<string>,
): Promise<StepReport> {
  const startMs = performance.now()
  const startTime = app.clock.now()
  const error = await run()
  const durationMs = Math.round(performance.now() - startMs)
  app.maintenance.figures.count(step, error === '' ? 'ok' : 'failed', durationMs)
  const level = durationMs > LONG_STEP_MS ? 'info' : 'debug'
  app.log[level]({ repository, step, durationMs, failed: error !== '' }, 'maintenance')
  return { startTime, durationMs, error }
}

/**
 * Returns the reason of a failed step, without paths of this machine.
 *
 * @throws other errors, which are faults of the server.
 */
export function stepFailure(error: unknown): string {
  if (error instanceof StepError) return error.message
  if (error instanceof GitError && error.kind in REASONS) return REASONS[error.kind] ?? ''
  throw error
}

const REASONS: Readonly<Partial<Record<GitError['kind'], string>>> = {
  BUSY: 'all Git processes together took more memory than allowed',
  OUT_OF_MEMORY: 'Git needed more memory than allowed',
  TIMEOUT: 'the step took longer than allowed',
}

/** Waits while the server is busy with the work of callers. */
async function untilIdle(
  app: ReposApp,
  repository: number,
  step: Step,
  state: RepositoryState,
  signal: AbortSignal,
): Promise<void> {
  const startMs = performance.now()
  let isWarned = false
  for (;;) {
    signal.throwIfAborted()
    const cause = await busyWith(app.git, memoryFor(state))
    if (cause === undefined) return
    if (!isWarned && performance.now() - startMs > LONG_WAIT_MS) {
      isWarned = true
      app.log.warn({ repository, step, cause }, 'maintenance waits for a busy server')
    }
    await pause(BUSY_RETRY_MS, undefined, { signal })
  }
}

/** Records that the disk has no room for a step. */
async function waitForRoom(
  app: ReposApp,
  { repository_id: repository, waiting_time }: RepositoryMaintenance,
  step: Step,
): Promise<'later'> {
  const now = app.clock.now()
  if (waiting_time !== null && now - waiting_time > LONG_WAIT_MS)
    app.log.warn({ repository, step }, 'maintenance waits for free space on the disk')
  const changes = { waiting_time: waiting_time ?? now, error: 'the disk has no room for the step' }
  await transaction(app.db, (tx) => rows.putMaintenance(tx, repository, changes))
  return 'later'
}

/** Returns the free space that a step needs: it writes what it replaces before it removes that. */
function roomFor({ packs, looseBytes }: RepositoryState): number {
  const own = packs.filter(({ isShared }) => !isShared)
  return 2 * (own.reduce((sum, { bytes }) => sum + bytes, 0) + looseBytes) + MIN_FREE_BYTES
}

function memoryFor({ packs }: RepositoryState): number {
  const largest = Math.max(0, ...packs.map(({ indexBytes }) => indexBytes))
  return Math.max(MIN_MEMORY_BYTES, MEMORY_PER_INDEX * largest)
}
