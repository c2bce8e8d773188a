import { setTimeout as sleep } from 'node:timers/promises'
import { type Caller, requireScope, type SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { DomainError } from '../core/errors.ts'
import type { Page, RepositoryName } from '../core/names.ts'
import { openRepository } from '../repositories/access/permissions.ts'
import { reopenWatched } from '../repositories/activity/repository-events.ts'
import type {
  PreparedImport,
  ProjectImportRequest,
  ProjectImports,
  ReposApp,
} from '../repositories/ports.ts'
import {
  type Counts,
  countsOf,
  type ImportProblem,
  problemsOf,
  withProblems,
} from './import-progress.ts'
import { sealSecrets } from './import-secrets.ts'
import { end } from './import-work.ts'
import * as rows from './project-imports.rows.ts'
import { LISTED } from './project-records.ts'
import type { ImportState, ProjectImport } from './schema.ts'
import { SourceError, SourcePause } from './sources/source-client.ts'
import { checkSource, identityOrigin, SERVICES } from './sources/sources.ts'

/** An import as people see it. */
export interface ImportView {
  readonly id: number
  readonly repositoryId: number
  readonly state: ImportState
  readonly service: string
  readonly counts: Counts
  readonly problems: readonly ImportProblem[]
  readonly message: string
  /** Unix milliseconds; undefined unless the import waits. */
  readonly waitingUntil: number | undefined
  /** Unix seconds. */
  readonly createTime: number
  /** Unix seconds; null while the import runs. */
  readonly endTime: number | null
}

/** What compatible clients ask for, too. */
const NOT_IMPORTED = ['wiki']

/** The states of an import that has ended. */
const ENDED: readonly ImportState[] = ['SUCCEEDED', 'FAILED', 'CANCELLED']

/** Returns whether an import has ended. */
export function hasEnded({ state }: Pick<ImportView, 'state'>): boolean {
  return ENDED.includes(state)
}

function viewOf(job: ProjectImport): ImportView {
  return {
    id: job.id,
    repositoryId: job.repository_id,
    state: job.state,
    service: job.service,
    counts: countsOf(job),
    problems: problemsOf(job),
    message: job.message,
    waitingUntil: job.state === 'WAITING' ? (job.due_time ?? undefined) : undefined,
    createTime: job.create_time,
    endTime: job.end_time,
  }
}

/** The imports of projects, for the subject that creates repositories. */
export const projectImports: ProjectImports = { prepare }

async function prepare(
  app: ReposApp,
  { user }: SignedIn,
  request: ProjectImportRequest,
  until: AbortSignal,
): Promise<PreparedImport> {
  const { url, credentials, token, lfs } = request
  const service = SERVICES.find((known) => known === request.service)
  if (!service)
    throw new DomainError('INVALID_FIELD', {
      field: 'service',
      rule: `must be one of git, ${SERVICES.join(', ')}`,
    })
  const numberOffset = await checkSource(app, { service, url, token }, until).catch(
    (error: unknown) => {
      const isRefused = error instanceof SourceError || error instanceof SourcePause
      throw isRefused ? new DomainError('IMPORT_SOURCE_REFUSED', { cause: error.message }) : error
    },
  )
  const kinds = LISTED.filter((kind) => request.kinds.includes(kind))
  const errors = withProblems(
    { errors: '[]' },
    NOT_IMPORTED.filter((kind) => request.kinds.includes(kind)).map((kind) => ({
      kind,
      ref: '',
      message: 'not imported',
    })),
  )
  return {
    async store(tx, repository_id) {
      await rows.insertProjectImport(tx, {
        repository_id,
        user_id: user.id,
        service,
        url: url.href,
        identity_origin: identityOrigin(service, url),
        number_offset: numberOffset,
        kinds: kinds.join(','),
        errors,
        secrets: sealSecrets(app, { token, credentials, lfs }),
        state: 'RUNNING',
        phase: 'objects',
        due_time: app.clock.now(),
        create_time: nowSeconds(app.clock),
        end_time: null,
      })
    },
    async start(repositoryId, signal) {
      app.signals.imports.notify()
      await waitForObjects(app, repositoryId, signal)
    },
  }
}

/** Waits until the objects of a project are here, but no longer than callers wait. */
async function waitForObjects(
  app: ReposApp,
  repositoryId: number,
  until: AbortSignal,
): Promise<void> {
  const timer = new AbortController()
  const timeout = sleep(app.patience.importMs, undefined, { signal: timer.signal })
    .catch(() => {})
    .then(() => timer.abort())
  const signal = AbortSignal.any([until, timer.signal])
  while (!signal.aborted) {
    const seen = app.signals.importSteps.count
    const job = await rows.findImportOf(app.db, repositoryId)
    if (job?.phase !== 'objects' || job.state !== 'RUNNING') break
    await app.signals.importSteps.after(seen, signal)
  }
  timer.abort()
  await timeout
}

/**
 * Returns the import of a repository, for its administrators.
 *
 * @throws as `openRepository`; IMPORT_NOT_FOUND
 */
export async function getProjectImport(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<ImportView> {
  return viewOf(await findJob(app, caller, name))
}

async function findJob(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<ProjectImport> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  const job = await rows.findImportOf(app.db, repository.id)
  if (!job) throw new DomainError('IMPORT_NOT_FOUND')
  return job
}

/**
 * Yields an import now and after each change, until it has ended.
 *
 * @param until ends the stream.
 * @throws as `getProjectImport`, also when the caller loses the right.
 */
export async function* watchProjectImport(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  until: AbortSignal,
): AsyncGenerator<ImportView, void, undefined> {
  const { repository_id } = await findJob(app, caller, name)
  let last = ''
  while (!until.aborted) {
    const seen = app.signals.importSteps.count
    const { caller: present, open } = await reopenWatched(app, caller, repository_id)
    const presentName = { owner: open.owner.name, repo: open.repository.name }
    const view = await getProjectImport(app, present, presentName)
    const text = JSON.stringify(view)
    if (text !== last) yield view
    last = text
    if (hasEnded(view)) return
    await app.signals.importSteps.after(seen, until)
  }
}

/**
 * Ends an import. What is imported stays. Has no effect on an import that has ended.
 *
 * @throws as `getProjectImport`
 */
export async function cancelProjectImport(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<void> {
  await end(app, await findJob(app, caller, name), 'CANCELLED', '')
}

/** A page of the imports of a user. */
interface ImportPage {
  readonly imports: readonly ImportView[]
  /** Length of the whole list. */
  readonly total: number
}

/** Lists the imports of the caller, the latest first. */
export async function listProjectImports(
  app: ReposApp,
  caller: SignedIn,
  { offset, limit }: Page,
): Promise<ImportPage> {
  requireScope(caller, 'read:repository')
  const { id } = caller.user
  const [imports, total] = await Promise.all([
    rows.listImportsOf(app.db, id, offset, limit),
    rows.countImportsOf(app.db, id),
  ])
  return { imports: imports.map(viewOf), total }
}
