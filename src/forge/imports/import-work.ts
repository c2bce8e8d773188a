import { transaction } from '../../platform/database/database.ts'
import { IMPORT_REFS } from '../../platform/git/core/ref-names.ts'
import { listRefs } from '../../platform/git/refs/refs.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import { type DueWork, type DueWorker, startDueWork } from '../core/scheduled-work.ts'
import { queueRepositoryCreated } from '../repositories/activity/repository-webhook-events.ts'
import { fetchUpstream } from '../repositories/lifecycle/mirrors.ts'
import { findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { FetchError, lfsRemoteOf } from '../repositories/lifecycle/upstreams.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { moveRefs } from '../repositories/refs/ref-updates.ts'
import { ImportEndedError, type RunningImport } from './import-items.ts'
import { importDependencies, importPage } from './import-pages.ts'
import { countsOf, countsWith } from './import-progress.ts'
import { openSecrets } from './import-secrets.ts'
import * as rows from './project-imports.rows.ts'
import { LISTED, type Listed } from './project-records.ts'
import { ARCHIVE, settleArchive } from './running-archives.ts'
import type { ProjectImport, ProjectImportChanges } from './schema.ts'
import { linkedAccounts } from './source-accounts.ts'
import { SourceError, SourcePause } from './sources/source-client.ts'
import { identityOrigin, openSource, type Service } from './sources/sources.ts'

/**
 * The work of imports. The row of an import has the phase and the page at which the import is, and each
 * record is stored in one transaction with the note that it is stored. After a crash, the server reads
 * the page again and stores what is missing.
 */

/** Imports that run at a time. Each has up to four requests, and holds four issues in memory. */
const MAX_UNDER_WAY = 4

/** Of these, imports for repositories of one account. */
const MAX_UNDER_WAY_PER_OWNER = 1

/** More failures in a row end an import, after about two hours. */
const MAX_TRIES = 16

const MIN_REST_MS = 2000
const MAX_REST_MS = 15 * 60_000

/** Refs in one update. */
const REF_BATCH = 1000

/** Starts a worker that runs imports. */
export function startImports(app: ReposApp): DueWorker {
  return startDueWork(app, importWork(app))
}

/** The work of the worker. */
export function importWork(app: ReposApp): DueWork {
  return {
    failure: 'an import failed',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY_PER_OWNER,
    signal: app.signals.imports,
    ...rows.importQueue(app.db),
    run: (id, until) => runImport(app, id, until),
  }
}

/** Runs an import until it ends, waits, or the server stops. */
async function runImport(app: ReposApp, id: number, until: AbortSignal): Promise<void> {
  let repositoryId = 0
  try {
    for (;;) {
      const job = await rows.findProjectImport(app.db, id)
      if (!job || job.due_time === null || until.aborted) return
      repositoryId = job.repository_id
      if (job.service === ARCHIVE) return await settleArchive(app, job)
      if (job.state === 'WAITING') await advance(app, job, { tries: job.tries })
      await runStep(app, job, until)
      app.signals.importSteps.notify()
    }
  } catch (error) {
    if (until.aborted) return
    // The objects may have come after the end.
    if (error instanceof ImportEndedError) return dropImportRefs(app, repositoryId)
    const job = await rows.findProjectImport(app.db, id)
    if (job) await settle(app, job, error)
    app.signals.importSteps.notify()
  }
}

/** Does the present phase, or a page of it, and moves on. */
async function runStep(app: ReposApp, job: ProjectImport, until: AbortSignal): Promise<void> {
  // Nobody is shown as the author any more.
  if (job.user_id === null) return end(app, job, 'FAILED', 'the account that imports was deleted')
  if (job.phase === 'finish') return finishImport(app, runningOf(app, job, job.user_id, until))
  const run = runningOf(app, job, job.user_id, until)
  if (job.phase === 'objects') {
    await fetchObjects(app, run, until)
    const progress = JSON.stringify(countsWith(countsOf(job), { objects: 1 }))
    return advance(app, job, { phase: phaseAfter(job), cursor: '', progress })
  }
  const kind = job.phase as Listed
  const next = await importPage(app, run, kind)
  return advance(
    app,
    job,
    next === undefined ? { phase: phaseAfter(job), cursor: '' } : { cursor: next },
  )
}

function runningOf(
  app: ReposApp,
  job: ProjectImport,
  importerId: number,
  until: AbortSignal,
): RunningImport {
  const { token } = openSecrets(app, job.secrets)
  const service = job.service as Service
  const url = new URL(job.url)
  const name = { service, url, token, numberOffset: job.number_offset }
  const findAccounts = linkedAccounts(app, identityOrigin(service, url))
  return { job, importerId, findAccounts, source: openSource(app, name, until) }
}

/** Returns the phase after the present one, among those that the import has. */
function phaseAfter({ phase, kinds }: ProjectImport): string {
  const wanted = kinds.split(',')
  const phases = ['objects', ...LISTED.filter((kind) => wanted.includes(kind)), 'finish']
  return phases[phases.indexOf(phase) + 1] ?? 'finish'
}

async function advance(
  app: ReposApp,
  { id }: ProjectImport,
  changes: ProjectImportChanges,
): Promise<void> {
  const none = { state: 'RUNNING', message: '', tries: 0 } as const
  const changed = await transaction(app.db, (tx) =>
    rows.updateProjectImport(tx, id, { ...none, ...changes }),
  )
  if (!changed) throw new ImportEndedError()
}

/** Fetches branches, tags and the heads of pull requests. */
async function fetchObjects(
  app: ReposApp,
  { job, source }: RunningImport,
  until: AbortSignal,
): Promise<void> {
  const { credentials, lfs: endpoint } = openSecrets(app, job.secrets)
  const upstream = { url: new URL(job.url), credentials }
  const alsoRefs = source.headRefs
  const lfs = endpoint === undefined ? undefined : lfsRemoteOf(upstream, endpoint)
  await fetchUpstream(app, job.repository_id, upstream, { prune: false, alsoRefs, lfs, until })
}

/** Does what needs all records, and ends the import. */
export async function finishImport(app: ReposApp, run: RunningImport): Promise<void> {
  await importDependencies(app, run)
  app.signals.pullHeads.notify()
  app.signals.mergeFollowUps.notify()
  await end(app, run.job, 'SUCCEEDED', '')
}

/** The rows of pull requests keep their heads from now on. */
async function dropImportRefs(app: ReposApp, repositoryId: number): Promise<void> {
  if (!(await findRepositoryById(app.db, repositoryId))) return
  const updates: { name: string; from: string; to: undefined }[] = []
  for await (const { name, id } of listRefs(app.git, repositoryId, [IMPORT_REFS]))
    updates.push({ name, from: id, to: undefined })
  const lease = await app.coordination.lease()
  for (let i = 0; i < updates.length; i += REF_BATCH)
    await moveRefs(app, lease, repositoryId, updates.slice(i, i + REF_BATCH))
}

/** Ends an import. The repository can be changed from now on, and webhooks learn of the repository. */
export async function end(
  app: ReposApp,
  job: ProjectImport,
  state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED',
  message: string,
): Promise<void> {
  const now = nowSeconds(app.clock)
  await transaction(app.db, async (tx) => {
    const ended = await rows.endProjectImport(tx, job, { state, message }, now)
    const repository = { id: job.repository_id, parent_id: null }
    if (ended) await queueRepositoryCreated(app, tx, repository, job.user_id)
  })
  app.signals.deliveries.notify()
  app.signals.importSteps.notify()
  await dropImportRefs(app, job.repository_id)
}

/** Records why an import does not go on: it waits, is tried again, or has failed. */
async function settle(app: ReposApp, job: ProjectImport, error: unknown): Promise<void> {
  if (error instanceof SourceError) return end(app, job, 'FAILED', error.message)
  if (error instanceof DomainError) return end(app, job, 'FAILED', error.reason)
  // A deleted repository has no row any more.
  if (!(await findRepositoryById(app.db, job.repository_id))) return
  const isKnown = error instanceof SourcePause || error instanceof FetchError
  if (!isKnown) app.log.error({ err: error, import: job.id }, 'an import failed')
  const message = isKnown ? error.message : 'the server failed'
  const asked = error instanceof SourcePause ? error.waitMs : undefined
  const tries = asked === undefined ? job.tries + 1 : job.tries
  if (tries > MAX_TRIES) return end(app, job, 'FAILED', message)
  const restMs = asked ?? Math.min(MIN_REST_MS * 2 ** (tries - 1), MAX_REST_MS)
  const state = asked === undefined ? 'RUNNING' : 'WAITING'
  const due_time = app.clock.now() + restMs
  await transaction(app.db, (tx) =>
    rows.updateProjectImport(tx, job.id, { state, message, tries, due_time }),
  )
}
