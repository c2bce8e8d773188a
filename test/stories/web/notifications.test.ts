import { describe, expect, it } from 'vitest'
import { Visibility } from '#gen/branchline/v1/memo_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { browserSuite, expectAccessible, expectFits, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { settleNotices } from '../../support/notices.ts'
import { pullForge } from '../../support/pull-forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

describe.skipIf(!hasChromium)(browserSuite('the page of notifications'), () => {
  const web = openWebSuite(prepare)

  it('lists what others did, leads there, and marks as read', async () => {
    const { page, faults, leave } = await web.open('/notifications', 'bob')
    await page.getByRole('link', { name: 'First change' }).waitFor()
    await page.getByRole('link', { name: 'Notifications 2' }).waitFor()
    await page.getByText('carol mentioned you: Look').waitFor()
    await expectAccessible(page)
    await page.setViewportSize({ width: 360, height: 740 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page)
    await expectFits(page)
    await page.getByRole('button', { name: 'Pin: First change' }).click()
    await page.getByRole('link', { name: 'First change' }).first().waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Mark all as read' }).click()
    await page.getByText('All notifications are marked as read.').waitFor()
    await page.getByText('No notifications.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Archive: Look' }).click()
    await page.getByText('No notifications of memos.').waitFor()
    await page.getByRole('link', { name: 'Pinned' }).click()
    await page.getByRole('button', { name: 'Mark as read: First change' }).click()
    await page.getByText('No notifications.', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'All', exact: true }).click()
    await page.getByRole('button', { name: 'Mark as unread: First change' }).click()
    await page.getByRole('button', { name: 'Mark as read: First change' }).waitFor()
    await page.getByRole('link', { name: 'First change' }).click()
    await page.getByRole('heading', { name: 'First change #1' }).waitFor()
    await page.getByRole('link', { name: 'Notifications 1' }).waitFor()
    expect(faults).toEqual([])
    await leave()
  })

  it('is for signed-in users', async () => {
    const { page, faults, leave } = await web.open('/notifications')
    await page.getByText('Notifications are for signed-in users').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })
})

/** Two pull requests of carol in a repository of bob, and a memo that mentions bob. */
async function prepare({ server, users, grpc }: Forge): Promise<void> {
  const { ask, repository, fork, change } = pullForge(server)
  const { path, pulls } = await repository(users.bob, 'tools')
  const copy = await fork(users.carol, path)
  for (const [title, branch] of [
    ['First change', 'first'],
    ['Second change', 'second'],
  ] as const) {
    await change(users.carol, copy.path, branch)
    await ask(users.carol, 'POST', pulls, { title, head: `carol:${branch}`, base: 'main' })
  }
  const memo = { content: 'Look, @bob', visibility: Visibility.PUBLIC }
  await grpc(MemoService, users.carol).createMemo({ memo })
  await settleNotices(server.app)
}
