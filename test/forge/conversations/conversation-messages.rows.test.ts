import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  findConversationMessage,
  listWebhooksAbout,
} from '../../../src/forge/conversations/conversation-messages.rows.ts'
import {
  countIssueComments,
  listIssueComments,
} from '../../../src/forge/conversations/issue-comments.rows.ts'
import { findLabelsNamed } from '../../../src/forge/conversations/labels.rows.ts'
import { wakeScheduledMerge } from '../../../src/forge/pulls/merging/scheduled-merges.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db

beforeEach(async () => {
  db = await openTestDatabase()
})
afterEach(() => db.destroy())

describe('queries in the transaction of each change of a conversation', () => {
  it('use only indexes, whatever the number of webhooks, reviews and labels', async () => {
    const names = ['bug', 'late']
    const plans = await plansOf(db, (watched) =>
      transaction(watched, async (tx) => {
        await listWebhooksAbout(tx, { id: 1, repository_id: 1 })
        await findConversationMessage(tx, 1)
        await findLabelsNamed(tx, { repository_id: 1, organization_id: 2 }, names)
        await wakeScheduledMerge(tx, 1, 1)
      }),
    )
    const searches = plans.map((plan) => plan.filter((step) => /^(SEARCH|SCAN) /.test(step)))
    expect(searches).toEqual([
      [
        'SEARCH user_webhooks USING INDEX user_webhooks_of_user (user_id=?)',
        'SEARCH repositories USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH issues USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH issue_assignees USING PRIMARY KEY (issue_id=?)',
        'SEARCH reviews USING COVERING INDEX reviews_requested (pull_request_id=? AND reviewer_id>?)',
      ],
      ['SEARCH issue_messages USING INTEGER PRIMARY KEY (rowid=?)'],
      [
        'SEARCH labels USING INDEX labels_of_repository (repository_id=? AND name=?)',
        'SEARCH labels USING INDEX labels_of_organization (organization_id=? AND name=?)',
      ],
      [
        'SEARCH auto_merges USING INTEGER PRIMARY KEY (rowid=?)',
        'SEARCH issue_dependencies USING COVERING INDEX pull_dependencies_depends_on_id (depends_on_id=?)',
        'SCAN CONSTANT ROW',
      ],
    ])
  })
})

describe('the list of the comments of a conversation', () => {
  it('is read by an index in its order', async () => {
    const plans = await plansOf(db, async (watched) => {
      await listIssueComments(watched, 1, { since: 1, before: 2 }, { offset: 0, limit: 50 })
      await countIssueComments(watched, 1, { since: undefined, before: undefined })
    })
    expect(plans).toEqual([
      ['SEARCH issue_comments USING INDEX pull_comments_of_pull (issue_id=?)'],
      ['SEARCH issue_comments USING COVERING INDEX pull_comments_of_pull (issue_id=?)'],
    ])
  })
})
