import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllowedHosts } from '../../../src/platform/outbound/allowed-hosts.ts'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  hasChromium,
  openBrowser,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { confirmBy, expectReadable, visitAs } from '../../support/web-visitors.ts'

const PATH = '/user/settings/hooks'

describe.skipIf(!hasChromium)(
  browserSuite('the webhooks of a user, and the end of an account'),
  () => {
    let browser: Browser
    let forge: Forge
    let receiver: Receiver

    beforeAll(async () => {
      forge = await startForge({
        webFolder: WEB_FOLDER,
        webhookAllowedHosts: parseAllowedHosts('127.0.0.1'),
      })
      receiver = await startReceiver()
      browser = await openBrowser()
    })
    afterAll(async () => {
      await closeWindows(browser)
      await forge?.stop()
      await receiver?.stop()
    })

    it('receive events of all repositories of the user', async () => {
      const { page, faults, leave } = await visitAs(browser, forge.server.url, PATH, 'bob')
      await page.getByText('No webhooks.', { exact: true }).waitFor()
      await page.getByText('Your account has no webhooks.').waitFor()
      await expectReadable(page)
      await page.getByRole('link', { name: 'New webhook', exact: true }).click()
      await page.getByLabel('Address').fill(receiver.url)
      await page.getByLabel('The repository itself').check()
      await expectReadable(page)
      await page.getByRole('button', { name: 'Create the webhook' }).click()
      await page.getByText('No deliveries.').waitFor()
      await forge.ask(forge.users.bob, 'POST', '/user/repos', { name: 'tools' })
      expect((await receiver.next()).headers['x-gitea-event']).toBe('repository')
      await page.getByRole('button', { name: 'Look again' }).click()
      await page.getByText('delivered').waitFor()
      await expectReadable(page)
      await confirmBy(page, 'Delete the webhook', receiver.url)
      await page.getByText('No webhooks.', { exact: true }).waitFor()
      expect(faults).toEqual([])
      await leave()
    })

    it('receive events of memos and pull requests, signed', async () => {
      const { page, faults, leave } = await visitAs(browser, forge.server.url, PATH, 'bob')
      await page.getByRole('link', { name: 'New webhook of your account' }).click()
      await page.getByLabel('Address').fill('http://10.0.0.1/in')
      await page.getByLabel('Name').fill('chat')
      await page.getByRole('button', { name: 'Create the webhook' }).click()
      await page.getByRole('alert').getByText('BLOCKED_ADDRESS').waitFor()
      await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('chat')
      await expectReadable(page)
      await page.getByLabel('Address').fill(receiver.url)
      await page.getByRole('button', { name: 'Create the webhook' }).click()
      await page.getByRole('heading', { name: 'chat' }).waitFor()
      await page.getByRole('button', { name: 'Send a test' }).click()
      const { headers } = await receiver.next()
      expect(headers['webhook-signature']).toMatch(/^v1,/)
      await page.getByText('delivered').waitFor()
      await page.getByRole('button', { name: 'Show the secret for signatures' }).click()
      await page
        .getByRole('region', { name: 'Secret for signatures' })
        .getByText('whsec_')
        .waitFor()
      await expectReadable(page)
      await page.getByRole('button', { name: 'Deliver again test' }).click()
      expect((await receiver.next()).headers['webhook-id']).toBe(headers['webhook-id'])
      await page.getByLabel('Name').fill('a chat')
      await page.getByRole('button', { name: 'Save the webhook' }).click()
      await page.getByRole('heading', { name: 'a chat' }).waitFor()
      await confirmBy(page, 'Delete the webhook', receiver.url)
      await page.getByText('Your account has no webhooks.').waitFor()
      // One refusal was meant.
      expect(faults).toEqual(['400 POST /branchline.v1.UserService/CreateUserWebhook'])
      await leave()
    })

    it('ends with the typed name, and with what the user owns only after a choice', async () => {
      const { url } = forge.server
      await forge.ask(forge.users.carol, 'POST', '/user/repos', { name: 'notes' })
      const { page, faults, leave } = await visitAs(browser, url, '/user/settings', 'carol')
      await confirmBy(page, 'Delete the account', 'carol')
      await page.getByRole('alert').getByText('HAS_ASSOCIATED_DATA').waitFor()
      await expectAccessible(page)
      await page.getByLabel('Also delete my repositories').check()
      await confirmBy(page, 'Delete the account', 'carol')
      await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
      await expectAccessible(page)
      await expect.poll(() => new URL(page.url()).pathname).toBe('/')
      await page.reload()
      await page.getByRole('link', { name: 'Sign in' }).first().waitFor()
      expect((await forge.rest(undefined, 'GET', '/users/carol')).status).toBe(404)
      // One refusal was meant.
      expect(faults).toEqual(['400 POST /branchline.v1.UserService/DeleteUser'])
      await leave()
    })
  },
)
