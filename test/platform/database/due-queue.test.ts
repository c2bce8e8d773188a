import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noticeQueue } from '../../../src/forge/conversations/notices.rows.ts'
import { threadMailQueue } from '../../../src/forge/notifications/threads.rows.ts'
import { scheduledMergeQueue } from '../../../src/forge/pulls/merging/scheduled-merges.rows.ts'
import {
  mirrorQueue,
  pushMirrorQueue,
} from '../../../src/forge/repositories/lifecycle/mirrors.rows.ts'
import { webhookQueue } from '../../../src/forge/webhooks/outbox/webhook-deliveries.rows.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db
beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

describe('a queue of due work', () => {
  it.each([
    ['mirrors', mirrorQueue, 'mirrors', 'mirrors_due (next_sync_time'],
    ['push mirrors', pushMirrorQueue, 'push_mirrors', 'push_mirrors_due (next_sync_time'],
    ['webhooks', webhookQueue, 'user_webhooks', 'user_webhooks_by_due_time (next_attempt_time'],
    ['merges', scheduledMergeQueue, 'auto_merges', 'auto_merges_due (due_time'],
    ['notices', noticeQueue, 'issue_notices', 'pull_notices_due (due_time'],
    [
      'mails of threads',
      threadMailQueue,
      'notification_threads',
      'notification_threads_mail (mail_time',
    ],
  ])('is read in the order of an index: %s', async (_, queueOf, table, index) => {
    const plans = await plansOf(db, async (watched) => {
      const queue = queueOf(watched)
      await queue.next(5, { ids: [1], ownerIds: [2] })
      await queue.nextTime(5)
    })
    expect(plans).toHaveLength(2)
    for (const steps of plans) {
      expect(steps[0]).toMatch(`SEARCH ${table} USING`)
      expect(steps[0]).toContain(index)
      // The lists of exceptions are arrays of JSON.
      expect(steps.join()).not.toMatch(/SCAN (?!json_each )|TEMP B-TREE/)
    }
  })
})
