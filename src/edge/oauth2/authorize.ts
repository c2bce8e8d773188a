import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  type BrowserSession,
  endBrowserSession,
  findBrowserSession,
  signBrowserInByPassword,
} from '../../forge/accounts/credentials/browser-sessions.ts'
import {
  provesPresence,
  reachesCredentials,
} from '../../forge/accounts/credentials/confirmation.ts'
import {
  listProvidersForBrowsers,
  readProviderVisit,
  signBrowserInByProvider,
  startProviderVisit,
} from '../../forge/accounts/sign-on/provider-visits.ts'
import type { App } from '../../forge/app.ts'
import { DomainError } from '../../forge/core/errors.ts'
import { Scopes } from '../../forge/core/scopes.ts'
import { ownerNameOf } from '../../forge/oauth2/applications.ts'
import {
  type AuthorizationRequest,
  readAuthorizationRequest,
  refusalLocation,
} from '../../forge/oauth2/authorization-requests.ts'
import { grantRequest, needsConsent } from '../../forge/oauth2/grants.ts'
import { OAuth2Refusal } from '../../forge/oauth2/refusals.ts'
import type { HttpRequest } from '../../platform/http/requests.ts'
import { isFromTrustedPage, isOwnOrigin } from '../authentication/foreign-pages.ts'
import {
  browserCookie,
  type CookieOptions,
  newBrowserId,
  readCookies,
  sessionCookie,
} from './cookies.ts'
import {
  addressAfterSignIn,
  authorizeAddress,
  callbackUri,
  ENDPOINTS,
  SIGN_IN_PROMPTS,
} from './discovery.ts'
import { type EndpointReply, type Handler, queryOf, readForm, redirectReply } from './exchange.ts'
import {
  consentPage,
  explain,
  FORM_TOKEN_FIELD,
  type Forms,
  failedVisitPage,
  problemPage,
  type SignInState,
  signInPage,
} from './sign-in-pages.ts'

/** A request of a browser to the authorization endpoint. */
interface Visit {
  readonly http: HttpRequest
  readonly request: AuthorizationRequest
  readonly session: BrowserSession | undefined
  /** The value of the cookie that ties forms to this browser. */
  readonly browser: string
}

/**
 * Returns the handler of the authorization endpoint, where users sign in and decide.
 *
 * All of the request is in the query of the address, to which the forms are sent again. The server
 * stores nothing before a user has agreed.
 */
export function authorizeHandler(app: App, options: CookieOptions): Handler {
  return async (http) => {
    // OpenID Connect Core section 3.1.2.1 permits requests as forms. Those of the pages have an
    // action.
    const form = http.method === 'POST' ? await readForm(http) : undefined
    if (http.method === 'POST' && !form) return problemPage(415, 'the content must be a form')
    if (form && !form.has('action')) return redirectReply(authorizeAddress(form.toString()))
    const read = await readAuthorizationRequest(app, new URLSearchParams(queryOf(http)))
    if (read.kind === 'unusable') return problemPage(400, read.problem)
    if (read.kind === 'refused') return redirectReply(read.location)
    const { request } = read
    const cookies = readCookies(http)
    const visit: Visit = {
      http,
      request,
      session: await findBrowserSession(app, cookies.session),
      browser: cookies.browser ?? newBrowserId(),
    }
    try {
      return form ? await submit(app, options, visit, form) : await show(app, options, visit)
    } catch (error) {
      if (!(error instanceof OAuth2Refusal)) throw error
      return redirectReply(refusalLocation(app, request, error))
    }
  }
}

/** Shows the page that comes next, or redirects when the user need not be asked. */
async function show(app: App, options: CookieOptions, visit: Visit): Promise<EndpointReply> {
  const { request, session } = visit
  const isSilent = request.prompts.includes('none')
  if (!session || mustSignIn(app, request, session)) {
    if (isSilent) throw new OAuth2Refusal('login_required', 'the user is not signed in')
    return askToSignIn(app, options, visit, { status: 200 })
  }
  if (!(await needsConsent(app, session.user, request)))
    return redirectReply(await grantRequest(app, session.user, request, session.signInTime))
  if (isSilent) throw new OAuth2Refusal('consent_required', 'the user has to agree')
  if (mustProvePresence(app, request, session))
    return askToSignIn(app, options, visit, { status: 200, problem: PRESENCE })
  const owner = await ownerNameOf(app, request.application)
  return consentPage(formsOf(app, options, visit), session.user, owner)
}

function mustSignIn(
  app: App,
  { prompts, maxAgeS }: AuthorizationRequest,
  { signInTime }: BrowserSession,
): boolean {
  const isTooOld = maxAgeS !== undefined && app.clock.now() / 1000 - signInTime > maxAgeS
  return isTooOld || SIGN_IN_PROMPTS.some((prompt) => prompts.includes(prompt))
}

/** What the page says to a user who is signed in. */
const PRESENCE = 'the application asks for lasting access to your account: please sign in again'

/**
 * Returns whether consent needs a recent sign-in, as a personal access token with the same scopes does:
 * an application that can change the credentials of an account keeps the account.
 */
function mustProvePresence(
  app: App,
  { scopes }: AuthorizationRequest,
  { signInTime }: BrowserSession,
): boolean {
  return reachesCredentials(Scopes.fromText(scopes.join(' '))) && !provesPresence(app, signInTime)
}

/** Handles a form of a page. */
async function submit(
  app: App,
  options: CookieOptions,
  visit: Visit,
  form: URLSearchParams,
): Promise<EndpointReply> {
  const { http, request, session } = visit
  if (!isOwnForm(app, visit, form))
    return problemPage(403, 'this form is not valid any more, please start again')
  switch (form.get('action')) {
    case 'sign-in':
      return signIn(app, options, visit, form)
    case 'visit-provider':
      return visitProvider(app, options, visit, form)
    case 'allow':
      // The page asks for a password first.
      if (!session || mustSignIn(app, request, session) || mustProvePresence(app, request, session))
        return redirectReply(authorizeAddress(queryOf(http)))
      return redirectReply(await grantRequest(app, session.user, request, session.signInTime))
    case 'sign-out':
      if (session) await endBrowserSession(app, session)
      return redirectReply(authorizeAddress(queryOf(http)), {
        'set-cookie': sessionCookie(options, http),
      })
    default:
      throw new OAuth2Refusal('access_denied', 'the user denied the request')
  }
}

async function signIn(
  app: App,
  options: CookieOptions,
  visit: Visit,
  form: URLSearchParams,
): Promise<EndpointReply> {
  const { http, session } = visit
  const username = form.get('username') ?? ''
  const credentials = { username, password: form.get('password') ?? '' }
  const userAgent = http.headers['user-agent'] ?? ''
  try {
    const peer = options.peers.peerOf(http)
    const started = await signBrowserInByPassword(app, peer, credentials, factorOf(form), userAgent)
    // Another account signs in instead of the one before.
    if (session) await endBrowserSession(app, session)
    return redirectReply(addressAfterSignIn(queryOf(http)), {
      'set-cookie': sessionCookie(options, http, started.cookie),
    })
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return askToSignIn(app, options, visit, { ...explain(error, 401), username })
  }
}

/** Passcodes are digits, recovery codes have other characters too. */
function factorOf(form: URLSearchParams) {
  const code = (form.get('code') ?? '').trim()
  return /^[\d ]*$/.test(code)
    ? { passcode: code.replaceAll(' ', ''), recoveryCode: '' }
    : { passcode: '', recoveryCode: code }
}

async function askToSignIn(
  app: App,
  options: CookieOptions,
  visit: Visit,
  state: SignInState,
): Promise<EndpointReply> {
  const forms = formsOf(app, options, visit)
  return signInPage(forms, state, await listProvidersForBrowsers(app))
}

/** Sends the browser to an identity provider, from which it returns to `callbackHandler`. */
async function visitProvider(
  app: App,
  options: CookieOptions,
  visit: Visit,
  form: URLSearchParams,
): Promise<EndpointReply> {
  const { http, request, browser } = visit
  const uid = form.get('provider') ?? ''
  const mustAuthenticate =
    request.maxAgeS !== undefined ||
    SIGN_IN_PROMPTS.some((prompt) => request.prompts.includes(prompt))
  try {
    const address = await startProviderVisit(app, uid, {
      redirectUri: callbackUri(app, uid),
      mustAuthenticate,
      browser,
      purpose: queryOf(http),
    })
    return redirectReply(address.href, { 'set-cookie': browserCookie(options, http, browser) })
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return askToSignIn(app, options, visit, explain(error, 404))
  }
}

function formsOf(app: App, options: CookieOptions, visit: Visit): Forms {
  return {
    request: visit.request,
    token: formToken(app, visit),
    headers: {
      'set-cookie': browserCookie(options, visit.http, visit.browser),
    },
  }
}

/**
 * Returns the proof that this server wrote a form for this browser, this session and this request.
 * A page of another site can neither read nor compute it.
 */
function formToken(app: App, { http, session, browser }: Visit): string {
  return createHmac('sha256', app.keys.derive('oauth2-forms'))
    .update(JSON.stringify([browser, session?.sessionId ?? '', queryOf(http)]))
    .digest('base64url')
}

function isOwnForm(app: App, visit: Visit, form: URLSearchParams): boolean {
  const { headers } = visit.http
  const authority = String(headers[':authority'] ?? headers.host ?? '')
  const page = {
    origin: headers.origin ?? null,
    fetchSite: headers['sec-fetch-site']?.toString() ?? null,
    contentType: null,
  }
  const isOwn = (origin: string) => isOwnOrigin(origin, authority, app.publicUrl())
  if (isFromTrustedPage(page, isOwn) === false) return false
  const sent = Buffer.from(form.get(FORM_TOKEN_FIELD) ?? '')
  const expected = Buffer.from(formToken(app, visit))
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

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
