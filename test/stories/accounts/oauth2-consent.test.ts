import { expect, it } from 'vitest'
import { openBrowser } from '../../support/browser.ts'
import { openForge } from '../../support/forge.ts'
import { authorizationUrl, CALLBACK, register, signInOn } from '../../support/oauth-clients.ts'
import { signIn } from '../../support/server.ts'

let aheadMs = 0
const forge = await openForge({ clock: { now: () => Date.now() + aheadMs } })
const { server } = forge

it.each(['', 'all', 'write:user', 'write:admin', 'openid write:user'])(
  'needs a recent sign-in for consent to the scopes "%s", by everybody',
  async (scope) => {
    const { client_id } = await register(forge, await signIn(server.url, 'ada'))
    const address = authorizationUrl(server.url, { client_id, redirect_uri: CALLBACK, scope })
    for (const username of ['ada', 'bob']) {
      const browser = openBrowser(server.url)
      await browser.open(address)
      expect((await signInOn(browser, username)).body).toContain('asks for access to your account')
      aheadMs += 15 * 60 * 1000
      // The form of a page that was open for too long leads to the question for a password.
      await browser.press('allow')
      const again = await browser.open(address)
      expect(again.body).toContain('asks for lasting access to your account')
      expect(again.body).not.toContain('value="allow"')
      await signInOn(browser, username)
      const { headers } = await browser.press('allow')
      expect(headers.get('location')).toContain('code=')
      aheadMs += 15 * 60 * 1000
      // What was granted is not asked again.
      expect((await browser.open(address)).headers.get('location')).toContain('code=')
    }
  },
)

it('needs no recent sign-in for consent to narrow scopes', async () => {
  const { client_id } = await register(forge, await signIn(server.url, 'ada'))
  const parameters = { client_id, redirect_uri: CALLBACK, scope: 'read:user write:repository' }
  const browser = openBrowser(server.url)
  await browser.open(authorizationUrl(server.url, parameters))
  await signInOn(browser, 'bob')
  aheadMs += 15 * 60 * 1000
  const { headers } = await browser.press('allow')
  expect(headers.get('location')).toContain('code=')
})
