import { waitAtMost } from '../../../concurrency/wait-at-most.ts'
import { GitError } from '../../../git/core/errors.ts'
import { inspectObject } from '../../../git/objects/objects.ts'
import { readRef, updateRefs } from '../../../git/refs/refs.ts'
import { fetchCommit } from '../../../git/transfer/forks.ts'
import { transaction } from '../../../storage/database/database.ts'
import * as rows from '../../../storage/pulls/pull-heads.ts'
import { findPullRequestById, updatePullRequest } from '../../../storage/pulls/pull-requests.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { PullRequest } from '../../../storage/schema/pulls.ts'
import { DomainError } from '../../core/errors.ts'
import { type DueWork, type DueWorker, startDueWork } from '../../core/scheduled-work.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'

/**
 * `refs/pull/{number}/head` of the base: what is to be pulled, for whoever fetches it, and for the
 * time when its branch is gone.
 *
 * The row is the truth about what it shall hold, `head_commit`, which follows the branch in the
 * transaction that records where that has moved; Git, about what it does hold, and the row says
 * that too, `head_ref_commit`, once Git has been asked. Where the two differ the ref is behind, and
 * is brought up to date by a worker, and by whoever is about to read it. It goes through no door:
 * nobody asks for it, no rule and no hook is about it, and the row itself is the note that it has
 * to move.
 */

/** Refs under way at once. Each takes two processes where the branch is in a fork. */
const MAX_UNDER_WAY = 2

/** How often the branch may move while the ref follows, before somebody else goes on. */
const MAX_ROUNDS = 5

/** After a failure, which is our own or that of a broken repository. */
const RETRY_MS = 60_000

/**
 * Pull requests that have failed and are left out of a look for the next one. With more of them all
 * wait for the next time.
 */
const MAX_SKIPPED = 20_000

/** Brought up to date before a fetch is served. The worker sees to the rest. */
const MAX_BEFORE_FETCH = 20

/** What that may take of the time of who fetches: a fork may hold gibibytes that are new. */
const MAX_WAIT_MS = 2_000

/** Name of the ref of a pull request within the repository that it goes to. */
export function headRefOf({ number }: Pick<PullRequest, 'number'>): string {
  return `refs/pull/${number}/head`
}

/**
 * Brings the ref of a pull request to what its row says, and its objects before that to the
 * repository of the base.
 *
 * @returns the commit that it holds.
 * @throws PULL_REQUEST_NOT_FOUND when it has gone meanwhile; REF_NOT_FOUND when the commit is
 *   nowhere any more; REF_CHANGED when it moves faster than that; SERVER_BUSY, GIT_TIMEOUT
 */
export async function prepareHead(app: ReposApp, pull: PullRequest): Promise<string> {
  if (!isBehind(pull)) return pull.head_commit
  const held = await follow(app, pull.id)
  // What was under way already may have ended before the row became what the caller saw.
  return held === pull.head_commit ? held : follow(app, pull.id)
}

function isBehind({ head_commit, head_ref_commit }: PullRequest): boolean {
  return head_ref_commit !== head_commit
}

/** Callers at the same time share one update of the ref. */
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

/** @returns whether the commit of a pull request is in the repository of its base now. */
async function bringObjects(
  app: ReposApp,
  { repository_id, head_repository_id, head_commit }: PullRequest,
): Promise<boolean> {
  if (head_repository_id === repository_id) return true
  if (head_repository_id !== null) {
    try {
      // What is there already Git finds out, and takes no more than a look then.
      await reading(fetchCommit(app.git, repository_id, head_repository_id, head_commit))
      return true
    } catch (error) {
      // Unless it was deleted meanwhile, which has brought everything here before.
      if (await findRepositoryById(app.db, head_repository_id)) throw error
    }
  }
  return (await reading(inspectObject(app.git, repository_id, head_commit)))?.type === 'commit'
}

/** @returns false when somebody else has moved it. */
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

/** What nobody has any more cannot be pulled: the row goes back to what there is. */
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

/**
 * Brings the refs of pull requests into a repository up to date before somebody fetches it, as far
 * as that is soon done.
 */
export async function prepareHeadsOf(app: ReposApp, repositoryId: number): Promise<void> {
  const behind = await rows.pullsBehind(app.db, repositoryId, MAX_BEFORE_FETCH)
  if (behind.length === 0) return
  const work = prepareAll(app, behind)
  app.background.run('refs of pull requests', () => work)
  await waitAtMost(work, MAX_WAIT_MS)
}

async function prepareAll(app: ReposApp, pulls: readonly PullRequest[]): Promise<void> {
  for (const pull of pulls)
    await prepareHead(app, pull).catch((err: unknown) => notFollowed(app, pull, err))
}

/**
 * Takes what other repositories are to pull from one that is about to be deleted there. Under the
 * lock of the repository, which nothing in here needs.
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

/** Lets the refs of pull requests follow, until it is stopped. */
export function startPullHeads(app: ReposApp): DueWorker {
  return startDueWork(app, headWork(app))
}

function headWork(app: ReposApp): DueWork {
  /** When to try again what failed, in Unix milliseconds: it must not keep the others waiting. */
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
    // Each waits as long as the others: the first that has failed is the first to try again.
    nextTime: async () => failed.values().next().value,
    async run(id) {
      try {
        await follow(app, id)
      } catch (error) {
        const pull = await findPullRequestById(app.db, id)
        if (!pull) return
        notFollowed(app, pull, error)
        failed.delete(id)
        failed.set(id, app.clock.now() + RETRY_MS)
      }
    },
  }
}
