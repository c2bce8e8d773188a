import { LRUCache } from 'lru-cache'
import { FairSlots } from '../../../platform/concurrency/fair-slots.ts'
import { accountHolder } from '../../../platform/concurrency/holders.ts'
import { waitAtMost } from '../../../platform/concurrency/wait-at-most.ts'
import { GitError } from '../../../platform/git/core/errors.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { mergeCommits } from '../../../platform/git/merging/merge.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { DomainError } from '../../core/errors.ts'
import {
  changeWatched,
  pullSubject,
  recordEvent,
} from '../../repositories/activity/repository-events.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { findRepositoryById } from '../../repositories/lifecycle/repositories.rows.ts'
import type { MergeChecks, ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { withCheckLock } from '../heads/merge-locks.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import {
  findPullRequestById,
  type PullCheck,
  recordMergeability,
} from '../heads/pull-requests.rows.ts'
import { mergeabilityOf } from '../lists/pull-views.ts'
import type { Mergeability, PullRequest } from '../schema.ts'
import { wakeScheduledMerge } from './scheduled-merges.rows.ts'

/**
 * Checks whether Git can merge pull requests.
 *
 * A result is stored with the commits that were checked. When a branch moves, its pull requests
 * need no write: results for other commits do not count.
 */

/** Checks that run at once. Each runs up to three processes, one after the other. */
const MAX_RUNNING = 2

/** Checks that wait. More are refused. */
const MAX_WAITING = 500

/**
 * How long a failed check is not repeated for the same commits: it would probably fail again, and
 * delay others.
 */
const FAILURE_REST_MS = 5 * 60_000

/** Failed checks that are remembered. */
const MAX_FAILURES = 1_000

/** Errors of Git that say nothing about the commits. */
const TEMPORARY: readonly GitError['kind'][] = ['BUSY', 'TIMEOUT', 'NO_REPOSITORY']

/** The result of a check. */
interface MergeCheck {
  readonly mergeability: Exclude<Mergeability, 'CHECKING'>
  /** Id of the merge base; empty if the histories are unrelated. */
  readonly mergeBase: string
}

/** Creates the limits of mergeability checks and the memory of failed ones. */
export function createMergeChecks(): MergeChecks {
  const full = () => new DomainError('SERVER_BUSY')
  return {
    slots: new FairSlots({ max: MAX_RUNNING, maxWaiting: MAX_WAITING, full }),
    failures: new LRUCache({ max: MAX_FAILURES }),
  }
}

/**
 * Starts a check of an open pull request.
 *
 * @returns a promise that resolves when the check ends, even if it fails. The next reader of the
 *   pull request starts another check then.
 */
export function startCheck(app: ReposApp, { id, state }: PullRequest): Promise<void> {
  if (state !== 'OPEN') return Promise.resolve()
  const check = checkMergeability(app, id).catch((error: unknown) => {
    if (!(error instanceof DomainError)) throw error
  })
  app.background.run('mergeability check', () => check)
  return check.catch(() => {})
}

/** Starts a check of a new or changed pull request, and waits a moment for the result. */
export function awaitCheck(app: ReposApp, pull: PullRequest): Promise<void> {
  return waitAtMost(startCheck(app, pull), app.patience.mergeCheckMs)
}

/**
 * Checks a pull request, unless the result is known or a check of the same commits failed recently.
 */
export async function checkMergeability(app: ReposApp, pullId: number): Promise<void> {
  await app.coordination.once(`check of pull ${pullId}`, async () => {
    const pull = await findPullRequestById(app.db, pullId)
    const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
    if (!repository) return
    await withCheckLock(app, repository.owner_id, () =>
      app.mergeChecks.slots.run(accountHolder(repository.owner_id), () => checkNow(app, pullId)),
    )
  })
}

async function checkNow(app: ReposApp, pullId: number): Promise<void> {
  const pull = await findPullRequestById(app.db, pullId)
  const repository = pull && (await findRepositoryById(app.db, pull.repository_id))
  if (!repository || pull.state !== 'OPEN') return
  const base = (await readBranch(app, repository, pull.base_branch))?.commit_id
  if (base === undefined) return
  const before = mergeabilityOf(pull, base)
  if (isKnown(before)) return
  const subject = `${pullId} ${base} ${pull.head_commit}`
  if (app.clock.now() < (app.mergeChecks.failures.get(subject) ?? 0)) return
  const check = await examine(app, pull, base)
  if (check.mergeability === 'ERROR')
    app.mergeChecks.failures.set(subject, app.clock.now() + FAILURE_REST_MS)
  await record(app, pull, check, before)
}

/** Returns the result of a check. That a check failed is a result, too. */
async function examine(app: ReposApp, pull: PullRequest, base: string): Promise<PullCheck> {
  try {
    const head = await prepareHead(app, pull)
    return { base, head, ...(await computeMergeability(app, pull.repository_id, base, head)) }
  } catch (error) {
    const isDomainError = error instanceof DomainError
    // A check that did not begin is still to come.
    if (isDomainError && error.reason === 'SERVER_BUSY') throw error
    if (!isDomainError)
      app.log.error({ err: error, pullRequest: pull.id }, 'a mergeability check failed')
    const { head_commit: head, merge_base: mergeBase } = pull
    return { base, head, mergeBase, mergeability: 'ERROR' }
  }
}

/** Returns whether no further check is needed. A check that failed is repeated. */
export function isKnown(mergeability: Mergeability): boolean {
  return mergeability !== 'CHECKING' && mergeability !== 'ERROR'
}

/**
 * Stores the result of a check, with an event unless the result is the same as before.
 *
 * An event for each result costs little beside the processes of the check.
 */
async function record(
  app: ReposApp,
  pull: PullRequest,
  check: PullCheck,
  before: Mergeability,
): Promise<void> {
  await changeWatched(app, async (tx) => {
    const isStored = await recordMergeability(tx, pull.id, check)
    await wakeScheduledMerge(tx, app.clock.now(), pull.id)
    if (!isStored || check.mergeability === before) return
    await recordEvent(app, tx, {
      repository_id: pull.repository_id,
      type: 'MERGEABILITY_CHECKED',
      audience: 'pulls',
      subject_id: pull.id,
      subject: pullSubject(pull),
    })
  })
}

/**
 * Computes what merging a head into a base would result in, without merging.
 *
 * @param base, head ids of commits of the repository.
 * @throws SERVER_BUSY
 */
export async function computeMergeability(
  app: ReposApp,
  repositoryId: number,
  base: string,
  head: string,
): Promise<MergeCheck> {
  const mergeBase = await reading(findMergeBase(app.git, repositoryId, base, head))
  if (mergeBase === undefined) return { mergeability: 'CONFLICT', mergeBase: '' }
  if (mergeBase === head) return { mergeability: 'ANCESTOR', mergeBase }
  try {
    const merged = await mergedTree(app, repositoryId, base, head, mergeBase)
    if (merged === undefined) return { mergeability: 'CONFLICT', mergeBase }
    const isEmpty = merged === (await treeOf(app, repositoryId, base))
    return { mergeability: isEmpty ? 'EMPTY' : 'MERGEABLE', mergeBase }
  } catch (error) {
    if (error instanceof GitError && TEMPORARY.includes(error.kind))
      return reading(Promise.reject(error))
    app.log.error(
      { err: error, repository: repositoryId, base, head },
      'a mergeability check failed',
    )
    return { mergeability: 'ERROR', mergeBase }
  }
}

/** Returns the tree of the merge; undefined if there are conflicts. */
async function mergedTree(
  app: ReposApp,
  repositoryId: number,
  base: string,
  head: string,
  mergeBase: string,
): Promise<string | undefined> {
  // A head that is a descendant of the base needs no merge.
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
