import { type Html, html } from '../../platform/http/html.ts'
import type { FeedLink } from '../../web/feed-links.ts'
import type { Language } from '../../web/language/languages.ts'
import type { PageName } from '../../web/routes.ts'
import { ASSETS, type WebBundle } from './bundle.ts'
import { translated } from './texts.ts'

/** Content of a page for strangers and readers without a script. */
export interface ShellContent {
  /** The title without the name of the product; undefined for none. */
  readonly title?: string
  readonly description?: string
  /** The canonical address; undefined where a preview needs none. */
  readonly url?: string
  /** The feeds that belong to the page; undefined for none. */
  readonly feeds?: readonly FeedLink[] | undefined
  /** The text for readers without a script. */
  readonly main: Html
}

/** Facts about the request that spare the script waiting, and calls which would fail. */
interface ShellHints {
  readonly language: Language
  /**
   * The page that the script will show, whose files the browser loads together with the script. The
   * address alone decides, so that a private repository and a missing one still look the same.
   */
  readonly page: PageName | undefined
  /** Whether the page sends calls at once that its document can begin. */
  readonly hasFirstCalls: boolean
  /** Whether the browser may have a session, so that the script asks for it. */
  readonly session: boolean
  /**
   * Set on an instance without accounts: `here` if the first one can be created from this browser,
   * otherwise `elsewhere`.
   */
  readonly firstRun?: 'here' | 'elsewhere' | undefined
  /** Whether the address shows nothing to a stranger. */
  readonly isMissing: boolean
  /** Whether the instance shows strangers no repository. */
  readonly isPrivateInstance: boolean
  /** Whether everybody may create an account with a password. */
  readonly isRegistrationOpen: boolean
}

/**
 * Only the scripts of this server run, styles are files, and no other server is asked for anything.
 * Texts become HTML only through the sanitiser. The other policy of Trusted Types permits the address
 * of one worker, which colours files and changes.
 *
 * Pictures may be blobs, which are the pictures of private repositories: the script loads them with
 * the token. It gives them a type of a picture without scripts, and a page cannot be made of them,
 * since an image element runs nothing and frames are not permitted.
 */
export const SHELL_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types dompurify branchline-worker',
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  // The page depends on whether a browser asks, in which language, and whether it has a cookie.
  vary: 'Origin, Accept, Accept-Language, Cookie',
  'x-frame-options': 'DENY',
}

/** Prints the page that loads the script. */
export function printShell(
  { scripts, pages, languages, begin, style, icon }: WebBundle,
  { title, description, url, feeds = [], main }: ShellContent,
  {
    language,
    page,
    hasFirstCalls,
    session,
    firstRun,
    isMissing,
    isPrivateInstance,
    isRegistrationOpen,
  }: ShellHints,
): string {
  const [entry = '', ...imported] = scripts
  const early = [...(languages[language] ?? []), ...imported, ...((page && pages[page]) ?? [])]
  const name = title === undefined ? 'Branchline' : `${title} · Branchline`
  const preview =
    title === undefined
      ? []
      : [
          property('og:site_name', 'Branchline'),
          property('og:type', 'website'),
          property('og:title', title),
          ...(url === undefined ? [] : [property('og:url', url)]),
          ...(description ? [property('og:description', description)] : []),
        ]
  return html`<!doctype html>
<html lang="${language}" data-session="${session ? 'maybe' : 'none'}" data-first-run="${firstRun ?? 'no'}" data-page="${isMissing ? 'missing' : 'found'}" data-instance="${isPrivateInstance ? 'private' : 'open'}" data-registration="${isRegistrationOpen ? 'open' : 'closed'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
${description ? html`<meta name="description" content="${description}">\n` : ''}${preview}${feeds.map(
  ({
    href,
    title,
  }) => html`<link rel="alternate" type="application/atom+xml" title="${title}" href="${href}">
`,
)}<link rel="icon" href="${icon}">
${hasFirstCalls ? html`<script src="${ASSETS}${begin}" async fetchpriority="high"></script>\n` : ''}<link rel="stylesheet" href="${ASSETS}${style}">
${early.map((file) => html`<link rel="modulepreload" href="${ASSETS}${file}">\n`)}<script type="module" src="${ASSETS}${entry}"></script>
</head>
<body>
<div id="app"><main>
${main}
<noscript><p>${translated(
    language,
    'The pages need JavaScript. Everything is also available over Git and the API.',
  )}</p></noscript>
</main></div>
</body>
</html>
`.text
}

function property(name: string, content: string): Html {
  return html`<meta property="${name}" content="${content}">\n`
}
