import { hash } from 'node:crypto'
import { Html, html } from '../../platform/http/html.ts'
import type { EndpointReply } from './exchange.ts'

const STYLE = `
body { margin: 0; background: #f4f5f7; color: #1c1e21; font: 16px/1.5 system-ui, sans-serif; }
main { box-sizing: border-box; max-width: 26rem; margin: 8vh auto 2rem; padding: 1.5rem 2rem;
  background: #fff; border: 1px solid #d9dce1; border-radius: 8px; overflow-wrap: anywhere; }
h1 { margin-top: 0; font-size: 1.3rem; line-height: 1.3; }
label { display: block; margin: .8rem 0; }
input { display: block; box-sizing: border-box; width: 100%; padding: .5rem; font: inherit;
  border: 1px solid #8a9099; border-radius: 4px; }
button { margin: .8rem .5rem 0 0; padding: .5rem 1rem; font: inherit; cursor: pointer;
  border: 1px solid #8a9099; border-radius: 4px; background: #fff; }
button.main { color: #fff; background: #1f5fbf; border-color: #1f5fbf; }
.problem { padding: .5rem .8rem; background: #fdecea; border-left: 4px solid #b3261e; }
.note { color: #4d535b; font-size: .9rem; }
@media (prefers-color-scheme: dark) {
  body { background: #16181b; color: #e6e8eb; }
  main { background: #1f2226; border-color: #3a3f45; }
  input, button { background: #16181b; color: inherit; }
  .problem { background: #4a1f1c; }
  .note { color: #aab0b8; }
}`

const STYLE_HASH = hash('sha256', STYLE, 'base64')

/** Content of a page of the sign-in. */
interface PageContent {
  readonly status: number
  readonly title: string
  readonly main: Html
  /**
   * Where the forms of the page may lead besides this server. Browsers apply this to redirects after
   * a form too.
   */
  readonly formTargets?: readonly URL[]
  readonly headers?: EndpointReply['headers']
}

/**
 * Returns a page without scripts. No other page may frame it (RFC 9700 section 4.16), and its
 * address, which has the parameters of the request, is no referrer of requests to other servers
 * (section 4.2.4).
 */
export function pageReply({
  status,
  title,
  main,
  formTargets = [],
  headers,
}: PageContent): EndpointReply {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    ["form-action 'self'", ...formTargets.map(sourceOf)].join(' '),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body><main>
<h1>${title}</h1>
${main}
</main></body>
</html>
`
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      // With `no-referrer`, browsers would send `Origin: null` with the forms of the page.
      'referrer-policy': 'same-origin',
      ...headers,
    },
    body: page.text,
  }
}

/** Returns the source expression for a URL. It has no form for IPv6 (CSP 3 section 2.3.1). */
function sourceOf({ protocol, hostname, origin }: URL): string {
  const isWeb = protocol === 'http:' || protocol === 'https:'
  return isWeb && !hostname.startsWith('[') ? origin : protocol
}
