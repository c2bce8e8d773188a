import { sql } from 'kysely'
import { beforeAll, expect, it } from 'vitest'
import { readQueries } from '../../../src/forge/issues/query/issue-queries.ts'
import { idsOfCondition } from '../../../src/forge/issues/query/query-leads.rows.ts'
import { type TestApp, testApp } from '../../support/app.ts'
import { ANYBODY } from '../../support/forge-rows.ts'
import { plansOf } from '../../support/query-plan.ts'

let app: TestApp

beforeAll(async () => {
  app = await testApp()
})

/** Terms that rare issues meet, and the index that leads to them in one repository and in all. */
const INDEXES = [
  ['comments:>50', 'issues_by_least_comments', 'issues_with_many_comments'],
  ['reactions:>5', 'issues_with_few_reactions', 'issues_by_reactions'],
  ['closed:2026-05-01..2026-05-02', 'issues_by_closing', 'issues_closed'],
  ['due:>2026-05-01', 'issues_due_in_repository', 'issues_due'],
  ['head:fix', 'pulls_by_head_name', 'pulls_by_head_name'],
  ['base:release', 'pulls_by_base_name', 'pulls_by_base_name'],
  ['label:kind/*', 'issue_labels_in_lists', 'pull_request_labels_label_id'],
  ['review:changes_requested', 'reviews_that_count', 'reviews_that_count'],
  ['review:requested', 'reviews_requests', 'reviews_requests'],
  ['checks:failure', 'commit_status_contexts_by_state', 'commit_status_contexts_by_state'],
  ['checks:pending', 'pulls_by_head_commit', 'pulls_by_head_commit'],
] as const

it.each(INDEXES)('%s is found by an index', async (text, inRepository, anywhere) => {
  const { condition: query } = await readQueries(app, ANYBODY, undefined, [text])
  if (!query) return expect.fail('the term is a condition')
  const places = { 1: inRepository, all: anywhere }
  const ids = [1, undefined].map((repositoryId) => {
    const found = idsOfCondition({ query, repositoryId }, query.condition)
    return found ?? expect.fail(`${text} has no index`)
  })
  const plans = await plansOf(app.db, async (db) => {
    for (const found of ids) await sql`select count(*) from (${found} limit 5) as few`.execute(db)
  })
  for (const [i, index] of Object.values(places).entries()) {
    expect(plans[i]?.join('\n')).toMatch(new RegExp(`INDEX ${index}\\b`))
    expect(plans[i]?.join('\n')).not.toMatch(/SCAN (issues|issue_labels|labels|contexts|pulls)\b/)
  }
})

it.each(['comments:<3', 'reactions:0', 'review:none', 'checks:none'])(
  '%s is met by too many for an index',
  async (text) => {
    const { condition: query } = await readQueries(app, ANYBODY, undefined, [text])
    if (!query) return expect.fail('the term is a condition')
    expect(idsOfCondition({ query, repositoryId: undefined }, query.condition)).toBeUndefined()
  },
)
