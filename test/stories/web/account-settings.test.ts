import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMessage, generateKey, type PrivateKey, sign } from 'openpgp'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/app/server/app.ts'
import {
  browserSuite,
  closeWindows,
  expectAccessible,
  expectFits,
  hasChromium,
  openBrowser,
  type Visitor,
  visit,
  WEB_FOLDER,
} from '../../support/chromium.ts'
import { type Forge, startForge } from '../../support/forge.ts'
import { register, tokensOf } from '../../support/oauth-clients.ts'
import { passcodeAt } from '../../support/passcodes.ts'
import { PASSWORD } from '../../support/server.ts'
import { newSshSigner } from '../../support/ssh-signing.ts'
import { visitAs } from '../../support/web-visitors.ts'

const NEW_PASSWORD = 'a longer battery of horses'
const RESET_PASSWORD = 'the longest battery of horses'

/** The smallest PNG: one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe.skipIf(!hasChromium)(browserSuite('the settings of an account'), () => {
  let browser: Browser
  let forge: Forge
  let mailDir: string
  let bob: Visitor

  beforeAll(async () => {
    mailDir = await mkdtemp(join(tmpdir(), 'branchline-mails-'))
    forge = await startForge({ webFolder: WEB_FOLDER, mailDir })
    browser = await openBrowser()
    bob = await visitAs(browser, forge.server.url, '/', 'bob')
  })
  afterAll(async () => {
    await closeWindows(browser)
    await forge?.stop()
    await rm(mailDir, { recursive: true })
  })

  /** Signs somebody in, in a new window. */
  const signIn = async (who: string, password = PASSWORD): Promise<Visitor> => {
    const visitor = await visit(browser, forge.server.url)
    const { page } = visitor
    await page.goto('/user/login?redirect_to=%2Fuser%2Fsettings')
    await page.getByLabel('Username').fill(who)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    return visitor
  }

  it('are for signed-in users', async () => {
    const { page, faults, leave } = await visit(browser, forge.server.url)
    await page.goto('/user/settings/tokens')
    await page.getByText('Settings are for signed-in users').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
  })

  it('change the profile and the picture', async () => {
    const { page, faults, leave } = await signIn('carol')
    await page.getByLabel('Display name').fill('Carol Keys')
    await page.getByLabel('Description').fill('Writes tools.')
    await page.getByRole('button', { name: 'Save the profile' }).click()
    await page.getByText('The profile is saved.').waitFor()
    await page
      .getByLabel('New picture')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: PIXEL })
    await page.getByRole('button', { name: 'Upload the picture' }).click()
    await page.getByRole('img', { name: 'The present one' }).waitFor()
    await expectAccessible(page)
    await page.reload()
    await page.getByLabel('Display name').waitFor()
    await expect.poll(() => page.getByLabel('Display name').inputValue()).toBe('Carol Keys')
    await page.getByRole('button', { name: 'Remove the picture' }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Yes, remove the picture' }).click()
    await page.getByRole('img', { name: 'The present one' }).first().waitFor({ state: 'detached' })
    expect(faults).toEqual([])
    await leave()
  })

  it('change the password, which ends the other sessions', async () => {
    const other = await signIn('carol')
    const { page, faults, leave } = await signIn('carol')
    const password = page.getByRole('region', { name: 'Password' })
    await page.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD)
    await page.getByLabel('New password again').fill('another one')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('alert').getByText('The two passwords differ').waitFor()
    await page.getByLabel('New password again').fill(NEW_PASSWORD)
    await password.getByLabel('Your present password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('All other sessions have ended.').waitFor()
    await page.getByRole('link', { name: 'Access tokens' }).click()
    await page.getByText('You have no tokens.').waitFor()
    await other.page.reload()
    await other.page.getByText('Settings are for signed-in users').waitFor()
    expect(faults).toEqual([])
    await Promise.all([leave(), other.leave()])
    await (await signIn('carol', NEW_PASSWORD)).leave()
  })

  it('create a token, show it once, and delete it', async () => {
    const { page, faults } = bob
    await page.goto('/user/settings/tokens')
    await page.getByText('You have no tokens.').waitFor()
    await page.getByLabel('Name').fill('laptop')
    await page.getByRole('button', { name: 'Create the token' }).click()
    await page.getByRole('alert').getByText('choose a scope').waitFor()
    await expectAccessible(page)
    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('laptop')
    await page.getByLabel('Your account').selectOption('read')
    await page.getByLabel('Repositories: code').selectOption('read and change')
    await page.getByRole('button', { name: 'Create the token' }).click()
    const region = page.getByRole('region', { name: 'Token', exact: true })
    await region.waitFor()
    await expectAccessible(page)
    const token = (await region.textContent()) ?? ''
    const answer = await fetch(`${forge.server.url}/api/v1/user`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(await answer.json()).toMatchObject({ login: 'bob' })
    await page.getByText('May: read your account; read and change repositories').waitFor()
    await page.reload()
    await page.getByText('May: read your account').waitFor()
    await expect.poll(() => region.count()).toBe(0)
    await page.getByRole('button', { name: 'Delete the token laptop' }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Yes, delete the token laptop' }).click()
    await page.getByText('You have no tokens.').waitFor()
    await expectFitsPhone(page)
    expect(faults.splice(0)).toEqual([])
  })

  it('add an SSH key, and delete it', async () => {
    const { page, faults } = bob
    await page.goto('/user/settings/keys')
    await page.getByText('You have no SSH keys.').waitFor()
    await page.getByLabel('Name of the SSH key').fill('laptop')
    await page.getByLabel('Public SSH key').fill('not a key')
    await page.getByRole('button', { name: 'Add the SSH key' }).click()
    await page.getByRole('alert').getByText('Reason: INVALID_SSH_KEY').waitFor()
    await expectAccessible(page)
    await expect.poll(() => page.getByLabel('Name of the SSH key').inputValue()).toBe('laptop')
    await page.getByLabel('Public SSH key').fill(newSshSigner('ssh-ed25519').line)
    await page.getByRole('button', { name: 'Add the SSH key' }).click()
    await page.getByText('The SSH key is added.').waitFor()
    await page.getByText('SHA256:').waitFor()
    await expectFitsPhone(page)
    await page.getByRole('button', { name: 'Delete the SSH key laptop' }).click()
    await page.getByRole('button', { name: 'Yes, delete the SSH key laptop' }).click()
    await page.getByText('You have no SSH keys.').waitFor()
    // The key that is none.
    expect(faults.splice(0)).toEqual(['400 POST /branchline.v1.PublicKeyService/CreatePublicKey'])
  })

  it('add a GPG key, verify it by a signature, and delete it', async () => {
    const { privateKey } = await generateKey({
      userIDs: [{ name: 'Bob', email: 'bob@example.org' }],
      format: 'object',
    })
    const { page, faults } = bob
    await page.goto('/user/settings/keys')
    await page.getByLabel('Public GPG key').fill(privateKey.toPublic().armor())
    await page.getByRole('button', { name: 'Add the GPG key' }).click()
    await page.getByText('not verified').waitFor()
    await page.getByText('Prove that the key is yours').click()
    const command = page.getByRole('region', { name: /Command that signs by [0-9A-F]{16}/ })
    const [, text = ''] = /'(.*)'/.exec((await command.textContent()) ?? '') ?? []
    await page
      .getByLabel('Signature', { exact: false })
      .first()
      .fill(await signed(privateKey, text))
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Verify the GPG key' }).click()
    await page.getByText('verified', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete the GPG key' }).click()
    await page.getByRole('button', { name: 'Yes, delete the GPG key' }).click()
    await page.getByText('You have no GPG keys.').waitFor()
    expect(faults.splice(0)).toEqual([])
  })

  it('turn a second factor on, with a QR code and recovery codes, and off', async () => {
    const { page, faults } = bob
    await page.goto('/user/settings/security')
    await page.getByLabel('Your password').fill('wrong password')
    await page.getByRole('button', { name: 'Set up the second factor' }).click()
    await page.getByRole('alert').getByText('Reason: BAD_CREDENTIALS').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Set up the second factor' }).click()
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    await expectAccessible(page)
    const secret = await page
      .getByRole('region', { name: 'Secret for the authenticator app' })
      .textContent()
    const passcode = (steps: number) => passcodeAt(secret ?? '', systemClock, steps)
    await page.getByLabel('Passcode').fill(passcode(0))
    await page.getByRole('button', { name: 'Turn the second factor on' }).click()
    const codes = page.getByRole('region', { name: 'Recovery codes' })
    await page.getByText('10 recovery codes are left.').waitFor()
    const first = await codes.textContent()
    await expectFitsPhone(page)
    await page.getByLabel('Passcode', { exact: false }).first().fill(passcode(1))
    await page.getByRole('button', { name: 'Create recovery codes' }).click()
    await expect.poll(() => codes.textContent()).not.toBe(first)
    const [code = ''] = ((await codes.textContent()) ?? '').split('\n')
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByLabel('Passcode or recovery code').fill(code)
    await page.getByRole('button', { name: 'Turn the second factor off' }).click()
    await page.getByText('The second factor is off.').waitFor()
    // The wrong password, which is sent once.
    expect(faults.splice(0)).toEqual(['401 POST /branchline.v1.TwoFactorService/EnrollTwoFactor'])
  })

  it('change the mails, add an address, and verify the address by the mail', async () => {
    const { page, faults } = bob
    await page.goto('/user/settings/emails')
    await page.getByLabel('Send me mails').selectOption('when somebody mentions you')
    await page.getByLabel('Keep my address').check()
    await page.getByRole('button', { name: 'Save the settings' }).click()
    await page.getByText('The settings are saved.').waitFor()
    await page.getByLabel('Another address').fill('bob@elsewhere.example')
    await page.getByRole('button', { name: 'Add the address' }).click()
    await page.getByText('bob@elsewhere.example').waitFor()
    await expectAccessible(page)
    await page.goto(await mailedPath(forge, mailDir, 'verify-email'))
    await page.getByRole('button', { name: 'Confirm the address for bob' }).click()
    await page.getByText('The address is verified.').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'list of your addresses' }).click()
    await page.getByText('bob@elsewhere.example').waitFor()
    await expect.poll(() => page.getByLabel('Send me mails').inputValue()).toBe('onmention')
    await expect.poll(() => page.getByText('not verified').count()).toBe(0)
    await page.getByRole('button', { name: 'Remove bob@elsewhere.example' }).click()
    await page.getByRole('button', { name: 'Yes, remove bob@elsewhere.example' }).click()
    const removal = page.getByRole('button', { name: 'Remove bob@elsewhere.example' })
    await removal.first().waitFor({ state: 'detached' })
    await expectFitsPhone(page)
    expect(faults.splice(0)).toEqual([])
  })

  it('create an application, show its secret once, and delete it', async () => {
    const { page, faults } = bob
    await page.goto('/user/settings/applications')
    await page.getByText('You have no applications.').waitFor()
    await page.getByText('No application acts for you.').waitFor()
    await page.getByLabel('Name of the application').fill('wiki')
    await page.getByLabel('Redirect URIs').fill('https://wiki.example.org/callback')
    await page.getByRole('button', { name: 'Create the application' }).click()
    await page.getByText('https://wiki.example.org/callback').waitFor()
    const first = await page
      .getByRole('region', { name: 'Client secret', exact: true })
      .textContent()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Replace the client secret of wiki' }).click()
    await page.getByRole('button', { name: 'Yes, replace the client secret of wiki' }).click()
    const second = page.getByRole('region', { name: 'New client secret of wiki' })
    await expect.poll(() => second.textContent()).not.toBe(first)
    await page.getByText('Delete the application wiki').first().click()
    await page.getByLabel('Type wiki to confirm').fill('wike')
    await expect
      .poll(() => page.getByRole('button', { name: 'Delete the application wiki' }).isDisabled())
      .toBe(true)
    await expectFitsPhone(page)
    await page.getByLabel('Type wiki to confirm').fill('wiki')
    await page.getByRole('button', { name: 'Delete the application wiki' }).click()
    await page.getByText('You have no applications.').waitFor()
    expect(faults.splice(0)).toEqual([])
  })

  it('list the applications that act for the user, and revoke their access', async () => {
    const { users, server } = forge
    await tokensOf(server.url, 'bob', await register(forge, users.ada, { name: 'board' }))
    const { page, faults } = bob
    await page.goto('/user/settings/applications')
    await page.getByText('board', { exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Revoke the access of board' }).click()
    await page.getByRole('button', { name: 'Yes, revoke the access of board' }).click()
    await page.getByText('No application acts for you.').waitFor()
    expect(faults.splice(0)).toEqual([])
  })

  it('are reached again with a new password after a mail', async () => {
    const { page, faults, leave } = await visit(browser, forge.server.url)
    await page.goto('/user/login')
    await page.getByRole('link', { name: 'Forgotten password' }).click()
    await page.getByLabel('Username or e-mail address').fill('carol@example.org')
    await page.getByRole('button', { name: 'Send the mail' }).click()
    await page.getByText('a mail with a link is on its way').waitFor()
    await expectAccessible(page)
    await page.goto(await mailedPath(forge, mailDir, 'reset-password'))
    await page.getByLabel('New password', { exact: true }).fill(RESET_PASSWORD)
    await page.getByLabel('New password again').fill(RESET_PASSWORD)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('The password is set').waitFor()
    await expectAccessible(page)
    expect(faults).toEqual([])
    await leave()
    await (await signIn('carol', RESET_PASSWORD)).leave()
  })
})

async function expectFitsPhone(page: Visitor['page']): Promise<void> {
  const size = page.viewportSize()
  await page.setViewportSize({ width: 360, height: 740 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectAccessible(page)
  await expectFits(page)
  await page.emulateMedia({ colorScheme: 'light' })
  if (size) await page.setViewportSize(size)
}

/** Returns what `gpg --armor --detach-sign` prints. */
async function signed(key: PrivateKey, text: string): Promise<string> {
  const message = await createMessage({ binary: Buffer.from(text) })
  return String(await sign({ message, signingKeys: key, detached: true }))
}

/** Returns where the link of a mail leads. */
async function mailedPath({ server }: Forge, mailDir: string, page: string): Promise<string> {
  await server.app.background.settled()
  await expect.poll(() => server.app.db.selectFrom('mails').select('id').execute()).toEqual([])
  const names = await readdir(mailDir)
  const mails = await Promise.all(names.map((name) => readFile(join(mailDir, name), 'utf8')))
  return new RegExp(`/${page}\\?token=\\S+`).exec(mails.join('\n'))?.[0] ?? ''
}
