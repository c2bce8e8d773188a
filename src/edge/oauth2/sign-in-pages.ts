import type { IdentityProvider } from '../../forge/accounts/sign-on/provider-visits.ts'
import type { DomainError } from '../../forge/core/errors.ts'
import type { User } from '../../forge/core/schema.ts'
import type { AuthorizationRequest } from '../../forge/oauth2/authorization-requests.ts'
import { type Html, html } from '../../platform/http/html.ts'
import { toConnectError } from '../errors.ts'
import type { EndpointReply } from './exchange.ts'
import { pageReply } from './page.ts'

/** The field of every form that proves that this server wrote the form for this browser. */
export const FORM_TOKEN_FIELD = 'form_token'

/** Fields that the forms of a page share. */
export interface Forms {
  readonly request: AuthorizationRequest
  readonly token: string
  readonly headers: EndpointReply['headers']
}

/** Content of the sign-in page besides its forms. */
export interface SignInState {
  readonly status: number
  /** Why the last attempt failed, as a sentence without a capital letter and a full stop. */
  readonly problem?: string
  /** Seconds after which the user may try again. */
  readonly retryAfter?: string | undefined
  /** Username that the last attempt named. */
  readonly username?: string
}

/** Returns what a page says about a failed attempt. */
export function explain(error: DomainError, status: number): SignInState & { problem: string } {
  const { rawMessage, metadata } = toConnectError(error)
  const retryAfter = metadata.get('retry-after') ?? undefined
  return { status: retryAfter === undefined ? status : 429, problem: rawMessage, retryAfter }
}

/** Returns the page of a request that has no verified redirect URI. It links to nothing. */
export function problemPage(status: number, problem: string): EndpointReply {
  return pageReply({
    status,
    title: 'Sign-in is not possible',
    main: html`${problemOf(problem)}
<p class="note">Nothing was sent to the application. Please tell its operator.</p>`,
  })
}

/** Returns the page of a failed visit to an identity provider. */
export function failedVisitPage(
  retryAddress: string,
  { status, problem, retryAfter }: SignInState,
): EndpointReply {
  return pageReply({
    status,
    title: 'The sign-in failed',
    headers: retryHeader(retryAfter),
    main: html`${problemOf(problem)}
<p><a href="${retryAddress}">Try again</a></p>`,
  })
}

/**
 * Returns the page that asks for a password, or for a sign-in at an identity provider.
 *
 * @param providers at which the user can sign in.
 */
export function signInPage(
  { request, token, headers }: Forms,
  { status, problem, retryAfter, username }: SignInState,
  providers: readonly IdentityProvider[],
): EndpointReply {
  return pageReply({
    status,
    title: `Sign in to continue to ${request.application.name}`,
    headers: { ...headers, ...retryHeader(retryAfter) },
    formTargets: [request.redirect, ...providers.map(({ auth_url }) => new URL(auth_url))],
    main: html`${problemOf(problem)}
${username?.includes('@') ? html`<p>This is an e-mail address. Type the username of your account.</p>` : ''}
<form method="post">
${hidden(FORM_TOKEN_FIELD, token)}
<label>Username <input name="username" value="${username ?? ''}" autocomplete="username"
 autocapitalize="none" spellcheck="false" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password"
 required></label>
<label>Passcode or recovery code, if your account has a second factor
 <input name="code" autocomplete="one-time-code" spellcheck="false"></label>
<button class="main" name="action" value="sign-in">Sign in</button>
</form>
${providers.map(
  ({ uid, title }) => html`<form method="post">
${hidden(FORM_TOKEN_FIELD, token)}
${hidden('provider', uid)}
<button name="action" value="visit-provider">Sign in with ${title}</button>
</form>
`,
)}<form method="post">
${hidden(FORM_TOKEN_FIELD, token)}
<button name="action" value="deny">Cancel</button>
</form>`,
  })
}

/**
 * Returns the page that asks a user whether an application may act for the user.
 *
 * @param owner who registered the application, since anybody may give it any name; undefined for an
 *   application of the instance.
 */
export function consentPage(
  { request, token, headers }: Forms,
  user: User,
  owner: string | undefined,
): EndpointReply {
  const { application, redirect, scopes } = request
  return pageReply({
    status: 200,
    title: `${application.name} asks for access to your account`,
    headers,
    formTargets: [redirect],
    main: html`<p>You are signed in as <strong>${user.username}</strong>. ${
      owner === undefined
        ? 'The application belongs to this server.'
        : html`The application was registered by <strong>${owner}</strong>.`
    } It will be permitted to:</p>
<ul>${scopes.map((scope) => html`<li>${describeScope(scope, user)}</li>`)}</ul>
<p class="note">Afterwards you return to <strong>${placeOf(redirect)}</strong>. ${
      application.confidential === 1
        ? 'This page will not ask again for the same access.'
        : 'Continue only if you have just started this program yourself.'
    } You can revoke the access at any time.</p>
<form method="post">
${hidden(FORM_TOKEN_FIELD, token)}
<button class="main" name="action" value="allow">Allow</button>
<button name="action" value="deny">Deny</button>
<button name="action" value="sign-out">Use another account</button>
</form>`,
  })
}

/** Returns a problem as a paragraph; nothing without one. */
function problemOf(problem: string | undefined): Html {
  if (problem === undefined) return html``
  const sentence = `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`
  return html`<p class="problem" role="alert">${sentence}</p>`
}

function retryHeader(retryAfter: string | undefined): EndpointReply['headers'] {
  return retryAfter === undefined ? {} : { 'retry-after': retryAfter }
}

function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** Returns what a user knows of a redirect URI. */
function placeOf({ protocol, host }: URL): string {
  const isWeb = protocol === 'http:' || protocol === 'https:'
  if (!isWeb) return `the app ${protocol.slice(0, -1)}`
  return /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host) ? 'a program on your computer' : host
}

const IDENTITY: Readonly<Record<string, string>> = {
  openid: 'know that you have this account',
  profile: 'see your name, username and picture',
  email: 'see your e-mail address',
  groups: 'see the names of your organisations and teams',
}

const SUBJECTS: Readonly<Record<string, string>> = {
  user: 'your account, its settings, keys and tokens',
  notification: 'your notifications',
  memo: 'your memos',
  repository: 'all repositories that you can reach, private ones included',
  issue: 'issues and pull requests',
  organization: 'your organisations and teams',
  package: 'packages',
  misc: 'general data of this server',
  activitypub: 'federation',
  admin: 'this server, as an administrator',
}

function describeScope(scope: string, { role }: User): Html {
  if (scope === 'all')
    return html`<strong>do everything that you can do</strong>: read, change and delete your
 repositories, organisations and settings${
   role === 'ADMIN' ? ', and administer this server' : ''
 }, without restriction. What it creates, such as keys${
   role === 'ADMIN' ? ', accounts and administrators' : ''
 }, remains when you revoke the access`
  if (scope === 'public-only') return html`but only where the data is public`
  const [level = '', category = ''] = scope.split(':')
  const subject = SUBJECTS[category]
  if (subject === undefined) return html`${IDENTITY[scope] ?? scope}`
  return level === 'write'
    ? html`read and <strong>change</strong> ${subject}`
    : html`read ${subject}`
}
