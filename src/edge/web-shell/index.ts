import Negotiator from 'negotiator'
import {
  findPublicAccount,
  findPublicRepository,
  hasNoAccount,
  type PublicRepository,
} from '../../forge/administration/public-pages.ts'
import type { App } from '../../forge/app.ts'
import { outsideError } from '../../forge/core/errors.ts'
import { readRefreshCookie } from '../../forge/core/wire/refresh-cookie.ts'
import { html } from '../../platform/http/html.ts'
import { answerTo } from '../../platform/http/listener/answers.ts'
import { RETRY_AFTER_SECONDS } from '../../platform/http/listener/limits.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { feedLinks } from '../../web/feed-links.ts'
import { firstCallsOf } from '../../web/first-calls/first-calls.ts'
import type { Language } from '../../web/language/languages.ts'
import { routeOf } from '../../web/routes.ts'
import type { PeerOf } from '../authentication/peers.ts'
import { sendContent } from '../operator-pages/constant-page.ts'
import { type PageAddress, readPageAddress } from './addresses.ts'
import { ASSETS, type WebBundle } from './bundle.ts'
import { printShell, SHELL_HEADERS, type ShellContent } from './shell.ts'
import { languageOfRequest, translated } from './texts.ts'

/** Dependencies of the web pages besides the application. */
interface WebOptions {
  readonly bundle: WebBundle
  readonly peerOf: PeerOf
  /** Whether a reverse proxy signs users in, so that browsers have sessions without a cookie. */
  readonly proxySignsIn: boolean
}

/**
 * Returns the handler of a request for a web page or one of its files; undefined for all other
 * requests.
 */
export type WebPages = (
  path: string,
  request: HttpRequest,
) => ((request: HttpRequest, response: HttpResponse) => Promise<void>) | undefined

/** A page that the server answers a navigation with. */
interface Answer {
  readonly status: number
  readonly content: ShellContent
  readonly firstRun?: 'here' | 'elsewhere' | undefined
}

/** An address that has another one. */
interface Redirect {
  readonly location: string
}

/**
 * Creates the web pages. A navigation is answered as to a stranger, since the cookie of a session is
 * no credential: a private repository and a missing one give the same bytes. The script of the page
 * then signs in, and shows the page through the public API.
 *
 * Only browsers get pages: what does not prefer HTML is left to the API.
 */
export function createWebPages(app: App, options: WebOptions): WebPages {
  const { bundle, peerOf, proxySignsIn } = options
  return (path, request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const asset = path.startsWith(ASSETS) ? bundle.files.get(path.slice(ASSETS.length)) : undefined
    if (asset) return async (asked, response) => sendContent(asked, response, asset)
    const address = prefersHtml(request) ? readPageAddress(path) : undefined
    if (!address) return undefined
    return async (asked, response) => {
      if (answerTo(asked)?.fullBound()) return sendBusy(response, 429)
      try {
        const language = languageOfRequest(asked)
        const answer = await answerFor({ app, peerOf, language }, address, asked)
        if ('location' in answer) return redirect(response, answer)
        const session = proxySignsIn || readRefreshCookie(cookiesOf(asked)) !== undefined
        const { status, content, firstRun } = answer
        const { privateInstance, registration, passwordSignIn } = app.settings
        const route = routeOf({ pathname: path, searchParams: new URLSearchParams() })
        const isForNobody = status === 404 && !session
        const hints = {
          language,
          page: route?.name,
          hasFirstCalls:
            session || (route && !isForNobody ? firstCallsOf(route).length > 0 : false),
          session,
          firstRun,
          isMissing: status === 404,
          isPrivateInstance: privateInstance,
          isRegistrationOpen: registration === 'open' && passwordSignIn,
        }
        response.setHeader('content-language', language)
        send(response, status, printShell(bundle, content, hints))
      } catch (error) {
        const refusal = outsideError(error)
        if (!refusal) throw error
        app.log.warn({ err: error, path }, 'a web page is not available')
        sendBusy(response, 503)
      }
    }
  }
}

/** Returns whether a request is from a browser. Those of programs cost no more than a look. */
function prefersHtml(request: HttpRequest): boolean {
  if (!request.headers.accept?.includes('text/html')) return false
  return new Negotiator(request).mediaType(['application/json', 'text/html']) === 'text/html'
}

/** What answers depend on besides the address. */
interface Asking {
  readonly app: App
  readonly peerOf: PeerOf
  readonly language: Language
}

/** Finds what an address shows to a stranger. */
async function answerFor(
  { app, peerOf, language }: Asking,
  address: PageAddress,
  request: HttpRequest,
): Promise<Answer | Redirect> {
  const peer = peerOf(request)
  const stranger = { kind: 'anonymous', peer } as const
  switch (address.kind) {
    case 'home':
      return homeAnswer(
        language,
        (await hasNoAccount(app)) && (peer.loopback ? 'here' : 'elsewhere'),
      )
    case 'fixed': {
      const title = translated(language, address.title)
      return found({ title, main: html`<h1>${title}</h1>` })
    }
    case 'account': {
      const account = await findPublicAccount(app, stranger, address.owner)
      return account ? found(accountContent(app, account)) : missing(language)
    }
    case 'repository': {
      if (/\.git$/i.test(address.repo)) {
        const location = withoutGit(request.url ?? '')
        return staysHere(location) ? { location } : missing(language)
      }
      const repository = await findPublicRepository(app, stranger, address)
      if (!repository) return missing(language)
      const { owner, name, isMoved } = repository
      if (isMoved) return { location: movedUrl(request.url ?? '', `${owner}/${name}`) }
      return found(repositoryContent(app, language, repository))
    }
    case 'unknown':
      return missing(language)
  }
}

/** The page for an address that shows nothing to a stranger. */
function missing(language: Language): Answer {
  const main = html`<h1>${translated(language, 'Page not found')}</h1>
<p>${translated(language, 'There is nothing at this address, or it is for signed-in users.')}</p>`
  return { status: 404, content: { main } }
}

function found(content: ShellContent): Answer {
  return { status: 200, content }
}

function homeAnswer(language: Language, firstRun: 'here' | 'elsewhere' | false): Answer {
  const description = translated(
    language,
    'A self-hosted home for Git repositories and pull requests.',
  )
  const content = {
    title: translated(language, 'Git repositories and pull requests'),
    description,
    main: html`<h1>Branchline</h1>
<p>${description}</p>
<p><a href="/explore">${translated(language, 'Explore repositories')}</a></p>`,
  }
  return { ...found(content), firstRun: firstRun || undefined }
}

function accountContent(
  app: App,
  { name, full_name, description }: { name: string; full_name: string; description: string },
): ShellContent {
  return {
    title: full_name === '' ? name : `${name} (${full_name})`,
    description,
    url: `${app.publicUrl()}/${name}`,
    main: html`<h1>${name}</h1>\n<p>${description}</p>`,
  }
}

function repositoryContent(
  app: App,
  language: Language,
  { owner, name, description, feeds }: PublicRepository,
): ShellContent {
  const url = `${app.publicUrl()}/${owner}/${name}`
  const [before = '', after = ''] = translated(language, 'Clone it by {command}').split('{command}')
  return {
    title: `${owner}/${name}`,
    description,
    url,
    feeds: feeds && feedLinks(`${owner}/${name}`, feeds),
    main: html`<h1>${owner}/${name}</h1>
<p>${description}</p>
<p>${before}<code>git clone ${url}.git</code>${after}</p>`,
  }
}

/**
 * Returns whether a browser that follows an address stays at this server. Browsers read a backslash as
 * a slash, and two slashes lead to another host.
 */
function staysHere(location: string): boolean {
  const base = 'http://this.invalid'
  return URL.canParse(location, base) && new URL(location, base).origin === base
}

/** Returns an address with the same repository without the ending that Git uses. */
function withoutGit(url: string): string {
  return url.replace(/^(\/[^/?]+\/[^/?]+?)\.git(?=[/?]|$)/i, '$1')
}

/** Returns an address with the present name of its repository. */
function movedUrl(url: string, name: string): string {
  return url.replace(/^\/[^/?]+\/[^/?]+/, `/${name}`)
}

/** Names change again, so that browsers must not store the redirect. */
function redirect(response: HttpResponse, { location }: Redirect): void {
  response.writeHead(302, { location, 'content-length': '0' })
  response.end()
}

function sendBusy(response: HttpResponse, status: 429 | 503): void {
  response.setHeader('retry-after', RETRY_AFTER_SECONDS)
  response.statusCode = status
  const body = 'The server is busy. Please try again in a few seconds.\n'
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.setHeader('content-length', Buffer.byteLength(body))
  response.end(body)
}

function send(response: HttpResponse, status: number, body: string): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(SHELL_HEADERS)) response.setHeader(name, value)
  response.setHeader('content-length', Buffer.byteLength(body))
  // Node omits the body of a response to HEAD.
  response.end(body)
}

function cookiesOf({ headers }: HttpRequest): Pick<Headers, 'get'> {
  return { get: (name) => headers[name]?.toString() ?? null }
}
