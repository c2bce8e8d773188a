import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { parseCookie } from 'cookie'
import {
  BROWSER_SESSION_LIFETIME_S,
  type BrowserSession,
  endBrowserSession,
  findBrowserSession,
  startBrowserSession,
} from '../../domain/accounts/credentials/browser-sessions.ts'
import type { App } from '../../domain/app.ts'
import { DomainError } from '../../domain/core/errors.ts'
import { ownerNameOf } from '../../domain/oauth2/applications.ts'
import {
  type AuthorizationRequest,
  readAuthorizationRequest,
  refusalLocation,
} from '../../domain/oauth2/authorization-requests.ts'
import { grantRequest, needsConsent } from '../../domain/oauth2/consent.ts'
import { OAuth2Refusal } from '../../domain/oauth2/refusals.ts'
import { isFromTrustedPage, isOwnOrigin } from '../callers/foreign-pages.ts'
import type { Peers } from '../callers/peers.ts'
import { toConnectError } from '../errors/index.ts'
import type { HttpRequest } from '../http/requests.ts'
import { ENDPOINTS } from './discovery.ts'
import { type EndpointReply, type Handler, queryOf, readForm, redirectReply } from './exchange.ts'
import {
  consentPage,
  FORM_TOKEN_FIELD,
  type Forms,
  problemPage,
  signInPage,
} from './sign-in-pages.ts'

/** Keeps a browser signed in. No API reads this cookie. */
const SESSION_COOKIE = 'branchline_sign_in'

/** A random value that ties forms to the browser that got them. */
const BROWSER_COOKIE = 'branchline_browser'

const BROWSER_ID_BYTES = 18

/** Prompts that a new sign-in satisfies. */
const SIGN_IN_PROMPTS: readonly string[] = ['login', 'select_account']

/** What the authorization endpoint needs besides the application. */
export interface AuthorizeOptions {
  readonly peers: Peers
  /** Whether the public URL is https. */
  readonly publicSecure: boolean
}

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
export function authorizeHandler(app: App, options: AuthorizeOptions): Handler {
  return async (http) => {
    // OpenID Connect Core section 3.1.2.1 permits requests as forms. Those of the pages have an
    // action.
    const form = http.method === 'POST' ? await readForm(http) : undefined
    if (http.method === 'POST' && !form) return problemPage(415, 'The content must be a form.')
    if (form && !form.has('action'))
      return redirectReply(`${ENDPOINTS.authorize}?${form.toString()}`)
    const read = await readAuthorizationRequest(app, new URLSearchParams(queryOf(http)))
    if (read.kind === 'unusable') return problemPage(400, `${capitalised(read.problem)}.`)
    if (read.kind === 'refused') return redirectReply(read.location)
    const { request } = read
    const cookies = parseCookie(http.headers.cookie ?? '', { decode: String })
    const visit: Visit = {
      http,
      request,
      session: await findBrowserSession(app, cookies[SESSION_COOKIE] ?? ''),
      browser: cookies[BROWSER_COOKIE] ?? randomBytes(BROWSER_ID_BYTES).toString('base64url'),
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
async function show(app: App, options: AuthorizeOptions, visit: Visit): Promise<EndpointReply> {
  const { request, session } = visit
  const isSilent = request.prompts.includes('none')
  if (!session || mustSignIn(app, request, session)) {
    if (isSilent) throw new OAuth2Refusal('login_required', 'the user is not signed in')
    return signInPage(formsOf(app, options, visit), { status: 200 })
  }
  if (!(await needsConsent(app, session.user, request)))
    return redirectReply(await grantRequest(app, session.user, request, session.signInTime))
  if (isSilent) throw new OAuth2Refusal('consent_required', 'the user has to agree')
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

/** Handles a form of a page. */
async function submit(
  app: App,
  options: AuthorizeOptions,
  visit: Visit,
  form: URLSearchParams,
): Promise<EndpointReply> {
  const { http, request, session } = visit
  if (!isOwnForm(app, visit, form))
    return problemPage(403, 'This form is not valid any more. Please start again.')
  switch (form.get('action')) {
    case 'sign-in':
      return signIn(app, options, visit, form)
    case 'allow':
      // The page asks for a password first.
      if (!session || mustSignIn(app, request, session)) return redirectReply(addressOf(http))
      return redirectReply(await grantRequest(app, session.user, request, session.signInTime))
    case 'sign-out':
      if (session) await endBrowserSession(app, session)
      return redirectReply(addressOf(http), {
        'set-cookie': cookie(options, visit.http, SESSION_COOKIE, '', 0),
      })
    default:
      throw new OAuth2Refusal('access_denied', 'the user denied the request')
  }
}

async function signIn(
  app: App,
  options: AuthorizeOptions,
  visit: Visit,
  form: URLSearchParams,
): Promise<EndpointReply> {
  const { http, session } = visit
  const username = form.get('username') ?? ''
  const code = (form.get('code') ?? '').trim()
  try {
    const started = await startBrowserSession(
      app,
      options.peers.peerOf(http),
      { username, password: form.get('password') ?? '' },
      // Passcodes are digits, recovery codes have other characters too.
      /^[\d ]*$/.test(code)
        ? { passcode: code.replaceAll(' ', ''), recoveryCode: '' }
        : { passcode: '', recoveryCode: code },
      http.headers['user-agent'] ?? '',
    )
    // Another account signs in instead of the one before.
    if (session) await endBrowserSession(app, session)
    return redirectReply(addressAfterSignIn(http), {
      'set-cookie': cookie(
        options,
        http,
        SESSION_COOKIE,
        started.cookie,
        BROWSER_SESSION_LIFETIME_S,
      ),
    })
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const { rawMessage, metadata } = toConnectError(error)
    const retryAfter = metadata.get('retry-after')
    const forms = formsOf(app, options, visit)
    return signInPage(
      retryAfter === null
        ? forms
        : { ...forms, headers: { ...forms.headers, 'retry-after': retryAfter } },
      {
        status: retryAfter === null ? 401 : 429,
        problem: `${capitalised(rawMessage)}.`,
        username,
      },
    )
  }
}

function formsOf(app: App, options: AuthorizeOptions, visit: Visit): Forms {
  return {
    request: visit.request,
    token: formToken(app, visit),
    headers: {
      'set-cookie': cookie(
        options,
        visit.http,
        BROWSER_COOKIE,
        visit.browser,
        BROWSER_SESSION_LIFETIME_S,
      ),
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

function addressOf(http: HttpRequest): string {
  return `${ENDPOINTS.authorize}?${queryOf(http)}`
}

/** The address of a request whose demand for a new sign-in is satisfied. */
function addressAfterSignIn(http: HttpRequest): string {
  const query = new URLSearchParams(queryOf(http))
  const prompts = (query.get('prompt') ?? '')
    .split(' ')
    .filter((prompt) => prompt !== '' && !SIGN_IN_PROMPTS.includes(prompt))
  query.delete('max_age')
  query.delete('prompt')
  if (prompts.length > 0) query.set('prompt', prompts.join(' '))
  return `${ENDPOINTS.authorize}?${query}`
}

/** With `SameSite=Lax`, a browser does not send the cookie with forms of other sites. */
function cookie(
  { peers, publicSecure }: AuthorizeOptions,
  http: HttpRequest,
  name: string,
  value: string,
  maxAgeS: number,
): string {
  const attributes = `Path=/login/oauth; HttpOnly; SameSite=Lax; Max-Age=${maxAgeS}`
  const isSecure = publicSecure || peers.isSecure(http)
  return `${name}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
}

function capitalised(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}
