import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { createLimited } from '../../../concurrency/limited.ts'
import { GitError } from '../../../git/core/errors.ts'
import { findMergeBase } from '../../../git/history/history.ts'
import { mergeCommits } from '../../../git/merging/merge.ts'
import { readCommit } from '../../../git/objects/commits.ts'
import { transaction } from '../../../storage/database/database.ts'
import { wakeAutoMerge } from '../../../storage/pulls/auto-merges.ts'
import { type PullCheck, recordMergeability } from '../../../storage/pulls/pull-checks.ts'
import { findPullRequestById } from '../../../storage/pulls/pull-requests.ts'
import { findRepositoryById } from '../../../storage/repos/repositories.ts'
import type { Mergeability, PullRequest } from '../../../storage/schema/pulls.ts'
import { DomainError } from '../../core/errors.ts'
import type { MergeChecks, ReposApp } from '../../repos/ports.ts'
import { reading } from '../../repos/reading/git-reading.ts'
import { readBranch } from '../../repos/refs/ref-index.ts'
import { withCheckLock } from '../heads/merge-locks.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { mergeabilityOf } from '../listing/pull-views.ts'

/**
 * Whether pull requests can be merged, by Git's verdict about the commits that their branches hold.
 *
 * A verdict is kept with the commits that it is about, so that one about other commits is known for
 * what it is: a branch that moves writes nothing, whatever goes to it.
 */

/** Checks under way at once. Each takes up to three processes, one after the other. */
const MAX_UNDER_WAY = 2

/** Checks that wait. Whoever asks for more gets none now, and may ask again. */
const MAX_WAITING = 500

/**
 * How long a check that failed is not made anew: it would take as much from those who wait, for as
 * little. Whoever pushes gets another one.
 */
const FAILURE_REST_MS = 5 * 60_000

/** Failures kept in mind. */
const MAX_FAILURES = 1_000

/** How long the answer to the making of a pull request waits for its check. */
const MAX_PATIENCE_MS = 3_000

/** What Git may fail by that says nothing about the commits. */
const PASSING: readonly GitError['kind'][] = ['BUSY', 'TIMEOUT', 'NO_REPOSITORY']

/** What merging a head to a base would come to. */
export interface Verdict {
  readonly mergeability: Exclude<Mergeability, 'CHECKING'>
  /** Empty without one. */
  readonly mergeBase: string
}

/** Limits and failures of the mergeability checks of a server. */
export function createMergeChecks(): MergeChecks {
  const full = () => new DomainError('SERVER_BUSY')
  return {
    limited: createLimited({
      maxRunningPerKey: MAX_UNDER_WAY,
      maxWaitingPerKey: MAX_WAITING,
      full,
    }),
    failures: new LRUCache({ max: MAX_FAILURES }),
  }
}

/**
 * Has a pull request checked that somebody looks at.
 *
 * @returns once it is, or cannot be at this moment: who looks again asks again.
 */
export function startCheck(app: ReposApp, { id, state }: PullRequest): Promise<void> {
  if (state !== 'OPEN') return Promise.resolve()
  const check = checkMergeability(app, id).catch((error: unknown) => {
    if (!(error instanceof DomainError)) throw error
  })
  app.background.run('mergeability check', () => check)
  return check.catch(() => {})
}

/**
 * Has a pull request checked that was just made or changed, and waits a moment for what comes of
 * it.
 */
export async function awaitCheck(app: ReposApp, pull: PullRequest): Promise<void> {
  const patience = new AbortController()
  const check = startCheck(app, pull).finally(() => patience.abort())
  await Promise.race([
    check,
    pause(MAX_PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => {}),
  ])
}

/**
 * Checks a pull request, unless what is known about it holds, or was not to be found out a moment
 * ago.
 *
 * @throws SERVER_BUSY, GIT_TIMEOUT; REF_NOT_FOUND when its head is lost.
 */
export async function checkMergeability(app: ReposApp, pullId: number): Promise<void> {
  await app.coordination.once(`check of pull ${pullId}`, async () => {
    const pull = await findPullRequestById(app.db, pullId)
    const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
    if (!repository) return
    await withCheckLock(app, repository.owner_id, () =>
      app.mergeChecks.limited('checks', () => checkNow(app, pullId)),
    )
  })
}

async function checkNow(app: ReposApp, pullId: number): Promise<void> {
  const pull = await findPullRequestById(app.db, pullId)
  const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
  if (!repository || pull.state !== 'OPEN') return
  const base = (await readBranch(app, repository, pull.base_branch))?.commit_id
  if (base === undefined || isKnown(mergeabilityOf(pull, base))) return
  const subject = `${pullId} ${base} ${pull.head_commit}`
  if (app.clock.now() < (app.mergeChecks.failures.get(subject) ?? 0)) return
  try {
    const head = await prepareHead(app, pull)
    const verdict = await judgeMerge(app, repository.id, base, head)
    await record(app, pullId, { base, head, ...verdict })
    if (verdict.mergeability === 'ERROR') rememberFailure(app, subject)
  } catch (error) {
    if (!(error instanceof DomainError && error.reason === 'SERVER_BUSY'))
      rememberFailure(app, subject)
    throw error
  }
}

/** Whether there is nothing more to find out. What went wrong once may go well another time. */
export function isKnown(mergeability: Mergeability): boolean {
  return mergeability !== 'CHECKING' && mergeability !== 'ERROR'
}

function rememberFailure({ mergeChecks, clock }: ReposApp, subject: string): void {
  mergeChecks.failures.set(subject, clock.now() + FAILURE_REST_MS)
}

async function record(app: ReposApp, pullId: number, check: PullCheck): Promise<void> {
  await transaction(app.db, async (tx) => {
    await recordMergeability(tx, pullId, check)
    await wakeAutoMerge(tx, app.clock.now(), pullId)
  })
  app.signals.autoMerges.notify()
}

/**
 * What merging a head to a base comes to, without merging it.
 *
 * @param base, head ids of commits of the repository.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function judgeMerge(
  app: ReposApp,
  repositoryId: number,
  base: string,
  head: string,
): Promise<Verdict> {
  const mergeBase = await reading(findMergeBase(app.git, repositoryId, base, head))
  if (mergeBase === undefined) return { mergeability: 'CONFLICT', mergeBase: '' }
  if (mergeBase === head) return { mergeability: 'ANCESTOR', mergeBase }
  try {
    const merged = await mergedTree(app, repositoryId, base, head, mergeBase)
    if (merged === undefined) return { mergeability: 'CONFLICT', mergeBase }
    const isEmpty = merged === (await treeOf(app, repositoryId, base))
    return { mergeability: isEmpty ? 'EMPTY' : 'MERGEABLE', mergeBase }
  } catch (error) {
    if (error instanceof GitError && PASSING.includes(error.kind))
      return reading(Promise.reject(error))
    app.log.error(
      { err: error, repository: repositoryId, base, head },
      'a merge could not be judged',
    )
    return { mergeability: 'ERROR', mergeBase }
  }
}

/** Undefined when there are conflicts. */
async function mergedTree(
  app: ReposApp,
  repositoryId: number,
  base: string,
  head: string,
  mergeBase: string,
): Promise<string | undefined> {
  // What goes on from the base needs no merge.
  if (mergeBase === base) return treeOf(app, repositoryId, head)
  const merge = await mergeCommits(app.git, repositoryId, base, head)
  return merge.outcome === 'clean' ? merge.treeId : undefined
}

async function treeOf(
  app: ReposApp,
  repositoryId: number,
  commitId: string,
): Promise<string | undefined> {
  return (await readCommit(app.git, repositoryId, commitId))?.treeId
}
