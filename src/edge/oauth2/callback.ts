import {
  endBrowserSession,
  findBrowserSession,
} from '../../forge/accounts/credentials/browser-sessions.ts'
import {
  readProviderVisit,
  signBrowserInByProvider,
} from '../../forge/accounts/sign-on/provider-visits.ts'
import type { App } from '../../forge/app.ts'
import { DomainError } from '../../forge/core/errors.ts'
import { addressAfterSignIn, authorizeAddress, callbackUri } from './addresses.ts'
import { type CookieOptions, readCookies, sessionCookie } from './cookies.ts'
import { ENDPOINTS } from './discovery.ts'
import { type Handler, queryOf, redirectReply } from './exchange.ts'
import { explain, failedVisitPage, problemPage } from './sign-in-pages.ts'

/** A text of a provider that may be shown (RFC 6749 section 4.1.2.1), with a maximum length. */
const PROVIDER_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,200}$/

/**
 * Returns the handler of the address to which an identity provider sends a browser back, with a code
 * or an error. Signs the browser in, and returns to the request of the application.
 */
export function callbackHandler(app: App, options: CookieOptions): Handler {
  return async (http) => {
    const path = (http.url ?? '').split('?', 1)[0] ?? ''
    const provider = path.slice(ENDPOINTS.callback.length)
    const answer = new URLSearchParams(queryOf(http))
    const cookies = readCookies(http)
    const visit = readProviderVisit(app, answer.get('state') ?? '', cookies.browser ?? '')
    if (visit?.provider !== provider)
      return problemPage(
        400,
        'this sign-in was started elsewhere or is too old, please start again',
      )
    const retry = authorizeAddress(visit.purpose)
    if (answer.has('error')) return failedVisitPage(retry, { status: 401, ...refusalOf(answer) })
    const code = { code: answer.get('code') ?? '', redirectUri: callbackUri(app, provider) }
    const userAgent = http.headers['user-agent'] ?? ''
    try {
      const peer = options.peers.peerOf(http)
      const started = await signBrowserInByProvider(app, peer, visit, code, userAgent)
      const before = await findBrowserSession(app, cookies.session)
      if (before) await endBrowserSession(app, before)
      return redirectReply(addressAfterSignIn(visit.purpose), {
        'set-cookie': sessionCookie(options, http, started.cookie),
      })
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      return failedVisitPage(retry, explain(error, 401))
    }
  }
}

function refusalOf(answer: URLSearchParams): { problem: string } {
  const texts = [answer.get('error_description'), answer.get('error')]
  const text = texts.find((given) => given !== null && PROVIDER_TEXT.test(given))
  return { problem: `the identity provider refused the sign-in${text ? `: ${text}` : ''}` }
}
