import { waitAtMost } from '../../../platform/concurrency/wait-at-most.ts'
import { transaction } from '../../../platform/database/database.ts'
import { GitError } from '../../../platform/git/core/errors.ts'
import { inspectObject } from '../../../platform/git/objects/objects.ts'
import { fetchCommit } from '../../../platform/git/packs/forks.ts'
import { listRefs, readRef, updateRefs } from '../../../platform/git/refs/refs.ts'
import { DomainError } from '../../core/errors.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { linkCommits } from '../../repositories/lfs/lfs-networks.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { syncRefIndex } from '../../repositories/refs/ref-index.ts'
import type { PullRequest } from '../schema.ts'
import * as rows from './pull-heads.rows.ts'
import { findPullRequestById, updatePullRequest } from './pull-requests.rows.ts'

/**
 * `refs/pull/{number}/head` in the base repository: the head of a pull request for fetches, also
 * after its branch was deleted.
 *
 * The row has the commit that the ref should hold, `head_commit`, which follows the branch in the
 * transaction that records it, and the commit that it is known to hold, `head_ref_commit`. If the
 * two differ, the ref is behind, and a worker or the next reader updates it. These updates do not
 * pass the ref-update pipeline: no caller asks for them, no rule or hook applies, and the row
 * itself is the pending update.
 */

/** Maximum number of concurrent updates. Each takes two processes if the branch is in a fork. */
const MAX_UNDER_WAY = 2

/** Number of attempts to follow a branch that keeps moving. */
const MAX_ROUNDS = 5

/** Pause after a failure. */
const RETRY_MS = 60_000

/** Maximum number of failed pull requests that a search for the next one leaves out. */
const MAX_SKIPPED = 20_000

/** Maximum number of refs that are updated before a fetch. The worker updates the rest. */
const MAX_BEFORE_FETCH = 20

/** Returns the name of the head ref of a pull request in the base repository. */
export function headRefOf({ number }: Pick<PullRequest, 'number'>): string {
  return `refs/pull/${number}/head`
}

/**
 * Updates the head ref of a pull request to the commit in its row, after it has copied the objects
 * to the base repository.
 *
 * @returns the commit that it holds.
 * @throws REF_NOT_FOUND if the head is lost; SERVER_BUSY
 */
export async function prepareHead(app: ReposApp, pull: PullRequest): Promise<string> {
  if (!isBehind(pull)) return pull.head_commit
  const held = await follow(app, pull.id)
  // The shared run may have ended before the row got the commit that the caller saw.
  return held === pull.head_commit ? held : follow(app, pull.id)
}

function isBehind({ head_commit, head_ref_commit }: PullRequest): boolean {
  return head_ref_commit !== head_commit
}

/** Concurrent callers share one update of the ref. */
function follow(app: ReposApp, id: number): Promise<string> {
  return app.coordination.once(`head of pull ${id}`, () => moveRef(app, id))
}

async function moveRef(app: ReposApp, id: number): Promise<string> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const pull = await findPullRequestById(app.db, id)
    if (!pull) throw new DomainError('PULL_REQUEST_NOT_FOUND')
    if (!isBehind(pull)) return pull.head_commit
    const held = await readRef(app.git, pull.repository_id, headRefOf(pull))
    if (held !== pull.head_commit) {
      if (!(await bringObjects(app, pull))) return settleLost(app, pull, held)
      if (!(await putRef(app, pull, held))) continue
    }
    await transaction(app.db, (tx) => rows.putHeadRef(tx, id, pull.head_commit))
  }
  throw new DomainError('REF_CHANGED')
}

/** @returns whether the base repository has the head commit now. */
async function bringObjects(
  app: ReposApp,
  { repository_id, head_repository_id, head_commit }: PullRequest,
): Promise<boolean> {
  if (head_repository_id === repository_id) return true
  if (head_repository_id !== null) {
    try {
      // Git finds out quickly that it has the objects already.
      await reading(fetchCommit(app.git, repository_id, head_repository_id, head_commit))
      await reading(linkCommits(app, head_repository_id, repository_id, head_commit))
      return true
    } catch (error) {
      // Unless the repository was deleted meanwhile, which copied everything before.
      if (await findRepositoryById(app.db, head_repository_id)) throw error
    }
  }
  return (await reading(inspectObject(app.git, repository_id, head_commit)))?.type === 'commit'
}

/** @returns false when another process has moved the ref. */
async function putRef(
  app: ReposApp,
  pull: PullRequest,
  from: string | undefined,
): Promise<boolean> {
  try {
    await updateRefs(app.git, pull.repository_id, [
      { name: headRefOf(pull), from, to: pull.head_commit },
    ])
    return true
  } catch (error) {
    if (error instanceof GitError && (error.kind === 'STALE' || error.kind === 'LOCKED'))
      return false
    throw error
  }
}

/** Handles a lost head commit: the row returns to the commit that the ref holds. */
async function settleLost(
  app: ReposApp,
  { id, head_commit }: PullRequest,
  held: string | undefined,
): Promise<string> {
  if (held === undefined) throw new DomainError('REF_NOT_FOUND')
  app.log.error(
    { pullRequest: id, commit: head_commit },
    'the head of a pull request is lost with its repository',
  )
  await transaction(app.db, (tx) =>
    updatePullRequest(tx, id, { head_commit: held, head_ref_commit: held }),
  )
  return held
}

/** Updates the head refs of a repository before a fetch, as far as that is quick. */
export async function prepareHeadsOf(app: ReposApp, repositoryId: number): Promise<void> {
  const behind = await rows.pullsBehind(app.db, repositoryId, MAX_BEFORE_FETCH)
  if (behind.length === 0) return
  const work = prepareAll(app, behind)
  app.background.run('refs of pull requests', () => work)
  await waitAtMost(work, app.patience.headRefsMs)
}

async function prepareAll(app: ReposApp, pulls: readonly PullRequest[]): Promise<void> {
  for (const pull of pulls)
    await prepareHead(app, pull).catch((err: unknown) => notFollowed(app, pull, err))
}

/**
 * Copies head objects from a repository that is about to be deleted to the base repositories. Runs
 * under the lock of the repository, which the copying does not need.
 */
export async function rescueHeadsFrom(app: ReposApp, repositoryId: number): Promise<void> {
  await prepareAll(app, await rows.pullsBehindHead(app.db, repositoryId))
}

function notFollowed(app: ReposApp, { id }: PullRequest, err: unknown): void {
  app.log.warn(
    { err, pullRequest: id },
    'the ref of a pull request could not be brought up to date',
  )
}

/** Starts the worker that updates head refs. */
export function startPullHeads(app: ReposApp): DueWorker {
  return startDueWork(app, headWork(app))
}

function headWork(app: ReposApp): DueWork {
  /**
   * Unix milliseconds of the next attempt after a failure, by pull request. Failed ones must not
   * delay the others.
   */
  const failed = new Map<number, number>()
  return {
    failure: 'the ref of a pull request could not be brought up to date',
    maxRunning: MAX_UNDER_WAY,
    maxRunningPerOwner: MAX_UNDER_WAY,
    signal: app.signals.pullHeads,
    next(now, { ids }) {
      for (const [id, time] of failed) if (time <= now) failed.delete(id)
      if (failed.size >= MAX_SKIPPED) return Promise.resolve(undefined)
      return rows.nextPullBehind(app.db, [...ids, ...failed.keys()])
    },
    // All pauses are equal, so the first entry is the next one.
    nextTime: async () => failed.values().next().value,
    async run(id) {
      try {
        await follow(app, id)
      } catch (error) {
        // Before anything else: without a pause, the same row would be the next one at once.
        failed.delete(id)
        failed.set(id, app.clock.now() + RETRY_MS)
        const pull = await findPullRequestById(app.db, id)
        if (pull) notFollowed(app, pull, error)
      }
    },
  }
}

/**
 * Moves the head objects of open pull requests from a repository to their base repositories before
 * the repository is deleted. The pull requests remain open, without a head branch.
 */
export async function keepHeadsOf(app: ReposApp, repositoryId: number): Promise<void> {
  if (!(await rows.isHeadOfPullsElsewhere(app.db, repositoryId))) return
  // A repository that cannot be read can still be deleted.
  await syncRefIndex(app, repositoryId).catch((err: unknown) =>
    app.log.warn(
      { err, repository: repositoryId },
      'the refs of a repository that is being deleted cannot be read',
    ),
  )
  await rescueHeadsFrom(app, repositoryId)
}

/** A problem of the head ref of a pull request. */
interface HeadProblem {
  /** Description for operators. */
  readonly text: string
  /** Makes the ref agree with the row. No other process may use the data folder meanwhile. */
  repair(): Promise<void>
}

/** Prefix of the refs. */
const PULLS = 'refs/pull/'

/** Maximum number of reported problems. */
const MAX_PROBLEMS = 100

/**
 * Compares the head refs of the pull requests of a repository with their rows. A ref that its row
 * marks as behind is not a problem, since it will be updated.
 */
export async function examineHeads(app: ReposApp, repositoryId: number): Promise<HeadProblem[]> {
  const held = new Map<string, string>()
  for await (const { name, id } of listRefs(app.git, repositoryId, [PULLS])) held.set(name, id)
  const problems: HeadProblem[] = []
  for (const head of await rows.listHeadRefs(app.db, repositoryId)) {
    const name = headRefOf(head)
    const objectId = held.get(name)
    held.delete(name)
    if (head.head_ref_commit !== head.head_commit || objectId === head.head_commit) continue
    problems.push({
      text: `${name} is ${objectId ?? 'missing'} in Git and ${head.head_commit} in the database`,
      repair: () => remake(app, head, objectId),
    })
  }
  for (const [name, id] of held) {
    const repair = () => updateRefs(app.git, repositoryId, [{ name, from: id, to: undefined }])
    problems.push({ text: `${name} belongs to no pull request`, repair })
  }
  return problems.slice(0, MAX_PROBLEMS)
}

async function remake(
  app: ReposApp,
  { id }: rows.HeadRef,
  objectId: string | undefined,
): Promise<void> {
  await transaction(app.db, (tx) => rows.putHeadRef(tx, id, objectId ?? null))
  const pull = await findPullRequestById(app.db, id)
  if (pull) await prepareHead(app, pull)
}
