import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { ChecksState, ReviewState } from './schema.ts'

/** The votes that count, as the partial indexes of votes have them. */
const COUNTS = sql`reviews.official = 1 and reviews.dismissed = 0
  and reviews.state in ('APPROVED', 'REQUEST_CHANGES')`

const FAILED = sql`('error', 'failure', 'warning')`

/**
 * The condition that the reviews of a pull request are in a state. Each pull request is in one of them,
 * and no issue is. The list of pull requests says the same (`pull-progress.ts`).
 */
export function hasReview(state: ReviewState): RawBuilder<SqlBool> {
  const votes = (which: RawBuilder<unknown>) => sql`exists (select 1 from reviews
    where reviews.pull_request_id = issues.id and ${COUNTS} ${which})`
  const rejected = votes(sql`and reviews.state = 'REQUEST_CHANGES'`)
  const voted = votes(sql``)
  const requested = sql`exists (select 1 from reviews
    where reviews.pull_request_id = issues.id and reviews.state = 'REQUEST_REVIEW')`
  const conditions: Readonly<Record<ReviewState, RawBuilder<unknown>>> = {
    changes_requested: rejected,
    approved: sql`${voted} and not ${rejected}`,
    requested: sql`${requested} and not ${voted}`,
    none: sql`not ${requested} and not ${voted}`,
  }
  return sql<SqlBool>`(issues.is_pull = 1 and ${conditions[state]})`
}

/**
 * The condition that the combined status of the head of a pull request has a state, or that the head has
 * no status (`none`). Each pull request is in one of these states, and no issue is.
 */
export function hasChecks(state: ChecksState): RawBuilder<SqlBool> {
  const contexts = (which: RawBuilder<unknown>) => sql`exists (select 1 from commit_status_contexts
    where commit_status_contexts.repository_id = issues.repository_id
    and commit_status_contexts.commit_id = issues.head_commit ${which})`
  const any = contexts(sql``)
  const failed = contexts(sql`and commit_status_contexts.state in ${FAILED}`)
  const pending = contexts(sql`and commit_status_contexts.state = 'pending'`)
  const conditions: Readonly<Record<ChecksState, RawBuilder<unknown>>> = {
    failure: failed,
    pending: sql`${pending} and not ${failed}`,
    success: sql`${any} and not ${failed} and not ${pending}`,
    none: sql`not ${any}`,
  }
  return sql<SqlBool>`(issues.is_pull = 1 and ${conditions[state]})`
}

/** Selects the pull requests with a vote or a request that decides about a state; undefined for `none`. */
export function idsOfReview(state: ReviewState): RawBuilder<unknown> | undefined {
  switch (state) {
    case 'none':
      return undefined
    case 'requested':
      return sql`select pull_request_id from reviews where state = 'REQUEST_REVIEW'`
    default: {
      const vote = sql.lit(state === 'approved' ? 'APPROVED' : 'REQUEST_CHANGES')
      return sql`select pull_request_id from reviews where ${COUNTS} and reviews.state = ${vote}`
    }
  }
}

/**
 * Selects the pull requests whose head has a status that decides about a state; undefined for `none`.
 * Each status of another commit selects null, so that whoever counts the first rows reads no more
 * statuses than that.
 */
export function idsOfChecks(
  state: ChecksState,
  repositoryId: number | undefined,
): RawBuilder<unknown> | undefined {
  if (state === 'none') return undefined
  const states = {
    failure: FAILED,
    pending: sql`('pending')`,
    success: sql`('success', 'skipped')`,
  }[state]
  const here =
    repositoryId === undefined ? sql`` : sql`and contexts.repository_id = ${repositoryId}`
  return sql`select pulls.id from commit_status_contexts as contexts
    left join issues as pulls on pulls.is_pull = 1
      and pulls.repository_id = contexts.repository_id and pulls.head_commit = contexts.commit_id
    where contexts.state in ${states} ${here}`
}
