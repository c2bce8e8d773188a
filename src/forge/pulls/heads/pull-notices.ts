import type { Tx } from '../../../platform/database/schema.ts'
import { nameKey } from '../../core/names.ts'
import { analyzeMemo } from '../../memos/content/content.ts'
import type { PullEventType } from '../../repositories/activity/repository-events.ts'
import type { PullNotice } from '../schema.ts'
import type { ToldPull } from './pull-deliveries.ts'
import { insertPullNotice } from './pull-notices.rows.ts'

/** Whom a change of a pull request concerns. Ids are those of rows. */
export interface Concerns {
  /**
   * Whether everybody is told who follows the pull request, and not only those whom the change
   * names.
   */
  readonly everybody: boolean
  /** Folded names of users whom a text newly mentions. */
  readonly mentioned?: readonly string[]
  readonly assignees?: readonly number[]
  readonly reviewers?: readonly number[]
  readonly reviewerTeams?: readonly number[]
  /** Whether all present assignees and requested reviewers are named. */
  readonly namesPresent?: boolean
  /** The comment that says something. */
  readonly comment?: number
  /** The review that says something. */
  readonly review?: number
}

/** The users whom a change concerns, as a notice stores them. */
export type StoredConcerns = Omit<Concerns, 'comment' | 'review'>

/** The changes of which everybody is told, as in compatible systems. */
const TOLD_TO_EVERYBODY: ReadonlySet<PullEventType> = new Set([
  'PULL_REQUEST_OPENED',
  'PULL_REQUEST_CLOSED',
  'PULL_REQUEST_REOPENED',
  'PULL_REQUEST_MERGED',
  'PULL_REQUEST_HEAD_MOVED',
])

/** A change of a pull request. */
export interface NoticedChange {
  readonly type: PullEventType
  /** Null for the server. */
  readonly actorId: number | null
  readonly pull: ToldPull
  /** Unix milliseconds. */
  readonly timeMs: number
  /** Undefined for the usual ones. */
  readonly concerns: Concerns | undefined
}

/**
 * Stores a change of which users are to be told, in the transaction of the change. The cost does
 * not depend on the number of users: a worker finds them, see `fan-out.ts`.
 *
 * The caller notifies `app.signals.pullNotices` after the commit.
 */
export async function queuePullNotice(tx: Tx, change: NoticedChange): Promise<void> {
  const { type, actorId, pull, timeMs } = change
  const everybody = TOLD_TO_EVERYBODY.has(type)
  const { comment, review, ...stored } = change.concerns ?? { everybody }
  if (!namesAnybody(stored)) return
  await insertPullNotice(tx, {
    pull_request_id: pull.id,
    type,
    actor_id: actorId,
    comment_id: comment ?? null,
    review_id: review ?? null,
    told: JSON.stringify(stored),
    time: timeMs,
    due_time: timeMs,
  })
}

function namesAnybody(concerns: StoredConcerns): boolean {
  const { everybody, namesPresent, ...named } = concerns
  return everybody || namesPresent === true || Object.values(named).some((list) => list.length > 0)
}

/** Returns whom a stored notice concerns. */
export function concernsOf({ told }: Pick<PullNotice, 'told'>): StoredConcerns {
  return JSON.parse(told) as StoredConcerns
}

/**
 * Returns the folded names of the users that texts mention and a former text did not.
 *
 * @param before the former text; empty for new texts.
 */
export function newMentions(texts: readonly string[], before = ''): string[] {
  const known = new Set(mentionsIn(before))
  return [...new Set(texts.flatMap(mentionsIn))]
    .filter((name) => !known.has(name))
    .slice(0, MAX_MENTIONS)
}

/** The maximum number of users whom one change mentions. Each mention is a lookup. */
const MAX_MENTIONS = 100

function mentionsIn(text: string): string[] {
  // Parsing Markdown takes time, and most texts contain no mention.
  return text.includes('@') ? analyzeMemo(text).mentions.map(nameKey) : []
}
