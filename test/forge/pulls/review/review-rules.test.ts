import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../../src/forge/core/errors.ts'
import {
  checkReview,
  evaluateApprovals,
  officialVotes,
  type ReviewOutline,
  readEvent,
} from '../../../../src/forge/pulls/review/review-rules.ts'
import type { Vote } from '../../../../src/forge/pulls/review/reviews.rows.ts'

const HEAD = 'h'.repeat(40)
const OLD_HEAD = 'o'.repeat(40)

describe('readEvent', () => {
  it.each([
    ['APPROVED', 'APPROVED'],
    ['REQUEST_CHANGES', 'REQUEST_CHANGES'],
    ['COMMENT', 'COMMENT'],
    ['PENDING', 'PENDING'],
    ['', 'PENDING'],
    // As in compatible systems: whatever is unknown goes to nobody yet.
    ['approved', 'PENDING'],
    ['REQUEST_REVIEW', 'PENDING'],
  ])('reads %j as %s', (text, event) => {
    expect(readEvent(text)).toBe(event)
  })
})

describe('checkReview', () => {
  const outline: ReviewOutline = {
    event: 'COMMENT',
    body: 'text',
    hasComments: false,
    isOwn: false,
    state: 'OPEN',
  }

  it.each<[title: string, outline: Partial<ReviewOutline>, refusal: string | undefined]>([
    ['a comment', {}, undefined],
    ['a comment without a body', { body: ' \n' }, 'REVIEW_BODY_REQUIRED'],
    ['comments on lines alone', { body: '', hasComments: true }, undefined],
    ['an approval without a body', { event: 'APPROVED', body: '' }, undefined],
    [
      'a rejection without a body',
      { event: 'REQUEST_CHANGES', body: '', hasComments: true },
      'REVIEW_BODY_REQUIRED',
    ],
    [
      'a beginning without a body',
      { event: 'PENDING', body: '', hasComments: true },
      'REVIEW_BODY_REQUIRED',
    ],
    ['an approval of what is one’s own', { event: 'APPROVED', isOwn: true }, 'OWN_PULL_APPROVED'],
    [
      'a rejection of what is one’s own',
      { event: 'REQUEST_CHANGES', isOwn: true, body: '' },
      'OWN_PULL_REJECTED',
    ],
    ['a comment on what is one’s own', { isOwn: true }, undefined],
    ['a comment on what is closed', { state: 'CLOSED' }, undefined],
    ['a comment on what is merged', { state: 'MERGED' }, undefined],
    [
      'an approval of what is closed',
      { event: 'APPROVED', state: 'CLOSED' },
      'REVIEW_ON_CLOSED_PULL',
    ],
    [
      'a rejection of what is merged',
      { event: 'REQUEST_CHANGES', state: 'MERGED' },
      'REVIEW_ON_CLOSED_PULL',
    ],
  ])('decides %s', (_, given, refusal) => {
    const judged = () => {
      try {
        checkReview({ ...outline, ...given })
      } catch (error) {
        return error instanceof DomainError ? error.reason : error
      }
    }
    expect(judged()).toBe(refusal)
  })
})

let lastId = 0
function vote(fields: Partial<Vote>): Vote {
  lastId += 1
  return {
    id: lastId,
    reviewer_id: 1,
    team_id: null,
    state: 'APPROVED',
    official: 1,
    dismissed: 0,
    stale: 0,
    compared_head: HEAD,
    ...fields,
  }
}

describe('evaluateApprovals', () => {
  const IGNORING = { ignore_stale_approvals: true, dismiss_stale_approvals: false }
  const DISMISSING = { ignore_stale_approvals: false, dismiss_stale_approvals: true }
  const NEITHER = { ignore_stale_approvals: false, dismiss_stale_approvals: false }
  const STALE = { stale: 1 }
  const UNKNOWN = { compared_head: OLD_HEAD }
  const officials = { userIds: new Set([1, 2]), teamIds: new Set([7]) }

  it.each<
    [
      title: string,
      fields: Partial<Vote>,
      rule: typeof NEITHER | undefined,
      approvals: number,
      stale: number,
    ]
  >([
    ['a fresh approval', {}, NEITHER, 1, 0],
    ['a fresh approval without a rule', {}, undefined, 1, 0],
    ['one that was not official', { official: 0 }, undefined, 0, 0],
    ['one that was dismissed', { dismissed: 1 }, NEITHER, 0, 0],
    ['one of somebody who has lost the right', { reviewer_id: 3 }, NEITHER, 0, 0],
    ['one of an account that is gone', { reviewer_id: null }, NEITHER, 0, 0],
    ['a stale one', STALE, NEITHER, 1, 1],
    ['a stale one without a rule', STALE, undefined, 1, 1],
    ['a stale one that the rule leaves out', STALE, IGNORING, 0, 1],
    // It was stale before the rule began to dismiss what becomes stale.
    ['a stale one that was left standing', STALE, DISMISSING, 1, 1],
    ['one that nobody has compared', UNKNOWN, NEITHER, 1, 1],
    ['one that nobody has compared, where stale ones are left out', UNKNOWN, IGNORING, 0, 1],
    ['one that nobody has compared, where stale ones are dismissed', UNKNOWN, DISMISSING, 0, 1],
    ['one compared with another base', { compared_head: '' }, IGNORING, 0, 1],
  ])('counts %s', (_, fields, rule, approvals, staleApprovals) => {
    expect(evaluateApprovals([vote(fields)], HEAD, rule, officials)).toMatchObject({
      approvals,
      staleApprovals,
    })
  })

  it('distinguishes approvals, rejections and requests, and returns the approvers in order', () => {
    const reviews = [
      vote({ reviewer_id: 2 }),
      vote({ reviewer_id: 1 }),
      vote({ reviewer_id: 1, state: 'REQUEST_CHANGES', stale: 1 }),
      vote({ reviewer_id: 2, state: 'REQUEST_CHANGES', dismissed: 1 }),
      vote({ reviewer_id: 2, state: 'REQUEST_REVIEW' }),
      vote({ reviewer_id: null, team_id: 7, state: 'REQUEST_REVIEW' }),
      vote({ reviewer_id: null, team_id: 8, state: 'REQUEST_REVIEW' }),
      vote({ reviewer_id: 3, state: 'REQUEST_REVIEW' }),
    ]
    expect(evaluateApprovals(reviews, HEAD, IGNORING, officials)).toEqual({
      approvals: 2,
      // What was wrong is not right because something else has changed.
      rejections: 1,
      officialRequests: 2,
      staleApprovals: 0,
      approverIds: [2, 1],
    })
  })
})

describe('officialVotes', () => {
  it('returns the latest vote of each official reviewer without a new request', () => {
    const votes = [
      vote({ id: 5, reviewer_id: 1 }),
      vote({ id: 3, reviewer_id: 2 }),
      // Begun before the others, and submitted behind them.
      vote({ id: 1, reviewer_id: 1, state: 'REQUEST_CHANGES' }),
      vote({ id: 6, reviewer_id: 3 }),
      vote({ id: 7, reviewer_id: null }),
      vote({ id: 8, reviewer_id: 4 }),
    ]
    const officials = { userIds: new Set([1, 2, 4]), teamIds: new Set<number>() }
    expect(officialVotes(votes, officials, new Set([4]))).toEqual(new Set([1, 3]))
  })
})
