import { describe, expect, it } from 'vitest'
import { finishMergeQueues } from '../../../src/forge/pulls/queue/queue-worker.ts'
import { browserSuite, expectAccessible, hasChromium } from '../../support/chromium.ts'
import type { Forge } from '../../support/forge.ts'
import { openWebSuite } from '../../support/web-visitors.ts'

/** Two browsers on a busy machine. */
const STORY_TIMEOUT_MS = 120_000

const PATH = '/repos/bob/garden'

describe.skipIf(!hasChromium)(browserSuite('the pages of a merge queue'), () => {
  const web = openWebSuite(prepare)

  it('switch a queue on, enter and leave it live, and say why a pull request left', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, server, users } = web.forge
    const rules = await web.open('/bob/garden/settings/branches/new', 'bob')
    await rules.page.getByLabel('Branches', { exact: false }).first().fill('main')
    await rules.page.getByLabel('Checks that must succeed').fill('ci')
    await rules.page.getByLabel('Merge through a queue').check()
    await rules.page.getByLabel('Seconds that a pull request waits for others').fill('0')
    await rules.page.getByLabel('Checks that only the queue needs').fill('ci')
    await expectAccessible(rules.page)
    await rules.page.getByRole('button', { name: 'Create the rule' }).click()
    await rules.page.getByText('merge queue').waitFor()
    await rules.leave()

    const bob = await web.open('/bob/garden/pulls/1', 'bob')
    const box = bob.page.getByRole('region', { name: 'Merge' })
    await box.getByRole('button', { name: 'Add to the merge queue', exact: true }).click()
    await box.getByText('Position 1', { exact: false }).waitFor()
    await expectAccessible(bob.page)
    const queue = await web.open('/bob/garden/queue/main')
    await queue.page.getByRole('link', { name: 'Grow #1' }).waitFor()
    const list = await web.open('/bob/garden/pulls')
    await list.page.getByText('place 1 in the merge queue').waitFor()
    await list.leave()
    await finishMergeQueues(server.app)
    await queue.page.getByRole('heading', { name: 'Tried together: #1' }).waitFor()
    await expectAccessible(queue.page)

    const { groups } = await ask(users.bob, 'GET', `${PATH}/merge_queue/main`)
    const failed = { state: 'failure', context: 'ci' }
    await ask(users.bob, 'POST', `${PATH}/statuses/${groups[0].head_sha}`, failed)
    await box.getByText('Reason: CHECKS_FAILED').waitFor()
    await expectAccessible(bob.page)
    await queue.page.getByText('No pull request waits.').waitFor()
    await box.getByRole('button', { name: 'Add to the merge queue again' }).click()
    await box.getByRole('button', { name: 'Take out of the queue' }).click()
    await box.getByText('Reason: DEQUEUED').waitFor()
    await box.getByRole('button', { name: 'Add to the merge queue again' }).click()
    const place = bob.page.getByText('place 1 in the merge queue').first()
    await place.waitFor()
    await box.getByRole('button', { name: 'Merge at once' }).click()
    await bob.page.getByText('does not wait for checks or approvals', { exact: false }).waitFor()
    await expectAccessible(bob.page)
    await bob.page.getByRole('button', { name: 'Yes, merge at once' }).click()
    await bob.page.getByText('The changes are on the target branch.').waitFor()
    await place.first().waitFor({ state: 'detached' })
    await queue.page.getByText('No pull request waits.').waitFor()
    expect([...bob.faults, ...queue.faults]).toEqual([])
    await bob.leave()
    await queue.leave()
  })

  it('let a stack enter from the highest, and show on what it stands', {
    timeout: STORY_TIMEOUT_MS,
  }, async () => {
    const { ask, server, users } = web.forge
    const content = Buffer.from('peas\n').toString('base64')
    for (const [head, base] of [
      ['lower', 'main'],
      ['upper', 'lower'],
    ]) {
      const change = { content, branch: base, new_branch: head }
      await ask(users.bob, 'POST', `${PATH}/contents/${head}.txt`, change)
      await ask(users.bob, 'POST', `${PATH}/pulls`, { title: head, head, base })
    }
    const bob = await web.open('/bob/garden/pulls/3', 'bob')
    const box = bob.page.getByRole('region', { name: 'Merge' })
    await box.getByText('This pull request enters together with #2', { exact: false }).waitFor()
    await expectAccessible(bob.page)
    await box.getByRole('button', { name: 'Add the stack to the merge queue', exact: true }).click()
    await box.getByText('Position 2', { exact: false }).waitFor()
    await box.getByText('Stands on #2.', { exact: false }).waitFor()
    await expectAccessible(bob.page)
    await finishMergeQueues(server.app)
    await ask(users.bob, 'DELETE', `${PATH}/pulls/2/merge_queue`)
    await box.getByText('Reason: BELOW_LEFT').waitFor()
    expect(bob.faults).toEqual([])
    await bob.leave()
  })
})

async function prepare({ ask, users }: Forge): Promise<void> {
  await ask(users.bob, 'POST', '/user/repos', { name: 'garden', auto_init: true })
  const content = Buffer.from('beans\n').toString('base64')
  await ask(users.bob, 'POST', `${PATH}/contents/plan.txt`, { content, new_branch: 'topic' })
  const draft = { title: 'Grow', head: 'topic', base: 'main' }
  await ask(users.bob, 'POST', `${PATH}/pulls`, draft)
  expect((await ask(users.bob, 'GET', `${PATH}/pulls/1`)).merge_queue_entry).toBeNull()
}
