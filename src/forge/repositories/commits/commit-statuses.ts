import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST, userAsOwner } from '../../accounts/users/owners.ts'
import { checkLength, checkVisible } from '../../accounts/users/user-fields.ts'
import type { SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import { wakeScheduledMerges } from '../../pulls/merging/scheduled-merges.rows.ts'
import {
  type HookEvent,
  type HookFacts,
  queueHookEvents,
} from '../../webhooks/outbox/webhook-queue.ts'
import { checkNotArchived } from '../access/permissions.ts'
import { changeWatched, recordCommitStatus } from '../activity/repository-events.ts'
import { findCommitId, notFound } from '../content/git-reading.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { CommitStatus, Repository } from '../schema.ts'
import type { CommitKey } from './commit-statuses.rows.ts'
import * as rows from './commit-statuses.rows.ts'

/** The states that a status may have. */
const STATUS_STATES: readonly CommitStatus['state'][] = [
  'pending',
  'success',
  'error',
  'failure',
  'warning',
  'skipped',
]

/**
 * The values of `sort` in compatible systems that list the oldest first. All others list the newest
 * first.
 */
const OLDEST_FIRST = ['oldest', 'leastupdate', 'leastindex']

/** A status, with its creator. */
export interface CommitStatusView extends CommitStatus {
  readonly creator: Owner
}

interface StatusQuery {
  /**
   * `oldest`, `leastupdate` or `leastindex` list the oldest first, any other value the newest
   * first. Statuses never change, so all these keys are equivalent to the number.
   */
  readonly sort: string
  /** Filters by state. An unknown state does not filter. */
  readonly state: string
}

/** The combined status of a commit. */
interface CombinedStatus {
  readonly commitId: string
  readonly state: 'pending' | 'success' | 'failure'
  /** Number of contexts. */
  readonly total: number
  /** A page of the latest status of each context, newest first. */
  readonly statuses: readonly CommitStatusView[]
}

/** Returns a page of the statuses of a commit. */
export async function listCommitStatuses(
  app: ReposApp,
  repository: Repository,
  ref: string,
  { sort, state }: StatusQuery,
  page: Page,
): Promise<{ statuses: readonly CommitStatusView[]; total: number }> {
  const commit = await commitOf(app, repository, ref)
  const wanted = STATUS_STATES.find((known) => known === state)
  const order = OLDEST_FIRST.includes(sort) ? 'oldest first' : 'newest first'
  const statuses = await rows.listCommitStatuses(
    app.db,
    commit,
    { state: wanted, order },
    page.offset,
    page.limit,
  )
  return {
    statuses: await withCreators(app, statuses),
    total: await rows.countCommitStatuses(app.db, commit, wanted),
  }
}

/** Returns the combined status of a commit. */
export async function getCombinedStatus(
  app: ReposApp,
  repository: Repository,
  ref: string,
  offset: number,
  limit: number,
): Promise<CombinedStatus> {
  const commit = await commitOf(app, repository, ref)
  const counts = await rows.countLatestStates(app.db, commit)
  const latest = await rows.listLatestCommitStatuses(app.db, commit, offset, limit)
  return {
    commitId: commit.commit_id,
    state: combineStatuses(new Set(counts.keys())),
    total: contextsIn(counts),
    statuses: await withCreators(app, latest),
  }
}

/** Returns the latest status of each context of a commit, newest first. */
export async function latestStatusesOf(
  app: ReposApp,
  commit: CommitKey,
): Promise<CommitStatusView[]> {
  return withCreators(app, await rows.listLatestCommitStatuses(app.db, commit, 0, MAX_CONTEXTS))
}

async function withCreators(
  app: ReposApp,
  statuses: readonly CommitStatus[],
): Promise<CommitStatusView[]> {
  const creators = await findOwnersByIds(app.db, [
    ...new Set(statuses.map(({ creator_id }) => creator_id)),
  ])
  return statuses.map((status) => ({
    ...status,
    creator: creators.get(status.creator_id) ?? GHOST,
  }))
}

/**
 * Combines the states of statuses: `failure` if one is not successful, else `pending` if one is
 * pending or there is none.
 */
export function combineStatuses(
  states: ReadonlySet<CommitStatus['state']>,
): CombinedStatus['state'] {
  if (states.has('error') || states.has('failure') || states.has('warning')) return 'failure'
  return states.has('pending') || states.size === 0 ? 'pending' : 'success'
}

/** Returns the number of contexts of all states. */
function contextsIn(counts: ReadonlyMap<unknown, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

async function commitOf(app: ReposApp, repository: Repository, ref: string): Promise<CommitKey> {
  const commitId = await findCommitId(app, repository, ref)
  if (commitId === undefined) throw notFound('COMMIT_NOT_FOUND', 'ref', ref)
  return { repository_id: repository.id, commit_id: commitId }
}

/**
 * The number of statuses that a commit keeps, beside the latest of each context. It bounds the
 * growth from jobs that run forever.
 */
const MAX_STORED_STATUSES = 5_000

/**
 * The number of contexts of a commit, all of which count for its combined state. The largest build
 * matrices have a fraction of it.
 */
const MAX_CONTEXTS = 1_000

const MAX_CONTEXT_CHARACTERS = 255
const MAX_DESCRIPTION_CHARACTERS = 1024
const MAX_TARGET_URL_CHARACTERS = 2048

/** The context of statuses without one. */
const DEFAULT_CONTEXT = 'default'

/** The number of characters of an invalid state that its error repeats. */
const MAX_SHOWN_STATE_CHARACTERS = 32

interface StatusDraft {
  readonly state: string
  /** Empty for `default`. */
  readonly context: string
  readonly description: string
  /** A URL, or any other text; empty for none. */
  readonly targetUrl: string
}

/** Creates a status of a commit. The caller has write access to the repository. */
export async function createCommitStatus(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  ref: string,
  draft: StatusDraft,
): Promise<CommitStatusView> {
  checkNotArchived(repository)
  const commit = await commitOf(app, repository, ref)
  const status = {
    ...commit,
    ...checkDraft(draft),
    creator_id: caller.user.id,
    create_time: nowSeconds(app.clock),
  }
  const stored = await changeWatched(app, async (tx) => {
    // Somebody may have archived or deleted the repository while Git looked for the commit.
    const present = await findRepositoryById(tx, repository.id)
    if (!present) throw new DomainError('REPOSITORY_NOT_FOUND')
    checkNotArchived(present)
    const isNewContext = !(await rows.hasContext(tx, commit, status.context))
    if (isNewContext && contextsIn(await rows.countLatestStates(tx, commit)) >= MAX_CONTEXTS) {
      throw new DomainError('TOO_MANY_STATUS_CONTEXTS', { limit: String(MAX_CONTEXTS) })
    }
    const stored = await rows.insertCommitStatus(tx, status)
    await rows.deleteOldCommitStatuses(tx, commit, stored.number - MAX_STORED_STATUSES)
    await wakeScheduledMerges(tx, app.clock.now(), repository.id, { head_commit: commit.commit_id })
    await queueHookEvents(tx, repository.id, () => [statusEvent(stored)], app.clock.now())
    await recordCommitStatus(app, tx, stored)
    return stored
  })
  return { ...stored, creator: userAsOwner(caller.user) }
}

/** The facts of an event of a status. A status never changes, so they are all of it. */
export interface StatusFacts extends HookFacts {
  readonly status: CommitStatus
}

function statusEvent(status: CommitStatus): HookEvent {
  const facts: StatusFacts = { repository: status.repository_id, actor: status.creator_id, status }
  return { type: 'status', facts }
}

function checkDraft({ state, context, description, targetUrl }: StatusDraft) {
  const known = STATUS_STATES.find((name) => name === state)
  if (!known)
    throw new DomainError('INVALID_STATUS_STATE', {
      state: state.slice(0, MAX_SHOWN_STATE_CHARACTERS),
    })
  checkLength('context', context, MAX_CONTEXT_CHARACTERS)
  checkLength('description', description, MAX_DESCRIPTION_CHARACTERS)
  checkLength('target_url', targetUrl, MAX_TARGET_URL_CHARACTERS)
  // Any text, as in compatible systems. A page that shows it must check whether it is a safe link.
  checkVisible('target_url', targetUrl)
  return { state: known, context: context || DEFAULT_CONTEXT, description, target_url: targetUrl }
}
