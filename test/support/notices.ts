import type { App } from '../../src/forge/app.ts'

/** Waits until users have been told of every change so far. */
export async function settleNotices({ db, signals }: App): Promise<void> {
  const never = new AbortController().signal
  for (;;) {
    const seen = signals.issueNotices.count
    const waiting = await db.selectFrom('issue_notices').select('id').limit(1).executeTakeFirst()
    if (!waiting) return
    // The worker notifies after each notice.
    await signals.issueNotices.after(seen, never)
  }
}

/** Waits until all mails about notifications that are due have been sent. */
export async function settleThreadMails(app: App): Promise<void> {
  const never = new AbortController().signal
  await settleNotices(app)
  for (;;) {
    const seen = app.signals.mails.count
    const waiting = await app.db
      .selectFrom('notification_threads')
      .select('id')
      .where('mail_time', '<=', app.clock.now())
      .limit(1)
      .executeTakeFirst()
    if (!waiting) return
    // The worker notifies after each mail.
    await app.signals.mails.after(seen, never)
  }
}
