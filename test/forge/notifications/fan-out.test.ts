import { beforeEach, describe, expect, it } from 'vitest'
import type { User } from '../../../src/forge/core/schema.ts'
import { finishFanOut, startFanOut } from '../../../src/forge/notifications/fan-out.ts'
import { recordPullChange } from '../../../src/forge/pulls/heads/pull-changes.ts'
import type { PullRequest } from '../../../src/forge/pulls/schema.ts'
import { putRepositorySubscription } from '../../../src/forge/repositories/activity/subscriptions.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import { addUser, type TestApp, testApp } from '../../support/app.ts'
import { addPull, addRepository } from '../../support/forge-rows.ts'
import { storeManyWatchers } from '../../support/many-rows.ts'
import { settleNotices } from '../../support/notices.ts'

/** More than two batches. */
const WATCHERS = 450

let app: TestApp
let bob: User
let pull: PullRequest

beforeEach(async () => {
  app = await testApp({}, { mail: { send: async () => ({ kind: 'accepted' }) } })
  bob = await addUser(app, 'bob')
  pull = await transaction(app.db, async (tx) => {
    const { id } = await addRepository(tx, { owner_id: bob.id, name: 'engine' })
    return addPull(tx, { repository_id: id, poster_id: bob.id, title: 'A change' })
  })
  await storeManyWatchers(app.db, pull.repository_id, WATCHERS)
})

const close = () =>
  transaction(app.db, (tx) => recordPullChange(app, tx, bob.id, pull, 'PULL_REQUEST_CLOSED'))
const threads = () => app.db.selectFrom('notification_threads').selectAll().execute()
const notices = () => app.db.selectFrom('issue_notices').selectAll().execute()

describe('a change of a pull request with many watchers', () => {
  it('stores one row, and each watcher is told once', async () => {
    await close()
    expect(await notices()).toHaveLength(1)
    expect(await threads()).toHaveLength(0)
    await finishFanOut(app)
    const told = await threads()
    expect(told).toHaveLength(WATCHERS)
    expect(told.every(({ status, reason }) => status === 'UNREAD' && reason === 'SUBSCRIBED')).toBe(
      true,
    )
    expect(await notices()).toHaveLength(0)
  })

  it('is told on, where a server stopped, without telling anybody twice', async () => {
    await close()
    // A worker that stops finishes the batch that it has begun.
    await startFanOut(app).stop()
    const [waiting] = await notices()
    const before = await threads()
    expect(before.length).toBeLessThan(WATCHERS)
    expect(before.every(({ user_id }) => user_id <= (waiting?.last_user_id ?? 0))).toBe(true)
    const next = startFanOut(app)
    await settleNotices(app)
    await next.stop()
    const after = await threads()
    expect(after).toHaveLength(WATCHERS)
    // Each mail would tell of the change once.
    expect(new Set(after.map(({ mail_items }) => JSON.parse(mail_items).length))).toEqual(
      new Set([1]),
    )
  })

  it('is told again after a failure, and the batches before it are kept', async () => {
    await close()
    await app.db.updateTable('issue_notices').set({ told: 'no JSON' }).execute()
    await finishFanOut(app)
    expect(await notices()).toMatchObject([{ failures: 1, due_time: app.clock.now() + 5_000 }])
    await app.db.updateTable('issue_notices').set({ told: '{"everybody":true}' }).execute()
    app.clock.advance(5)
    await finishFanOut(app)
    expect(await threads()).toHaveLength(WATCHERS)
  })

  it('leaves out archived accounts and those who ignore the repository', async () => {
    const [first, second] = await app.db
      .selectFrom('repository_subscriptions')
      .select('user_id')
      .orderBy('user_id')
      .limit(2)
      .execute()
    await app.db
      .updateTable('users')
      .set({ state: 'ARCHIVED' })
      .where('id', '=', first?.user_id ?? 0)
      .execute()
    await transaction(app.db, (tx) =>
      putRepositorySubscription(tx, {
        repository_id: pull.repository_id,
        user_id: second?.user_id ?? 0,
        mode: 'IGNORED',
        create_time: 0,
      }),
    )
    await close()
    await finishFanOut(app)
    expect(await threads()).toHaveLength(WATCHERS - 2)
  })
})
