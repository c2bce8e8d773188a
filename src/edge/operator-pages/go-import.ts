import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'

/** The path of a repository or of a package in one. Names have no other characters. */
const PATH = /^\/([A-Za-z0-9._-]+)\/([A-Za-z0-9._-]+)(?:\/[^?]*)?$/

/** First segments of paths that belong to no account. */
const OTHER_PATHS: ReadonlySet<string> = new Set(['api', 'attachments', 'file'])

/**
 * Creates the handler that gives the Go toolchain the repository of an import path
 * (https://go.dev/ref/mod#vcs-find).
 *
 * The handler does not look the repository up, so that the response is the same for repositories
 * that exist, that the client may not see, and that do not exist. Git then asks for credentials.
 *
 * @param publicUrl base of links, without a trailing slash.
 * @returns a handler that answers requests of the toolchain only, and returns whether a request was
 *   one.
 */
export function createGoImport(
  publicUrl: () => string,
): (request: HttpRequest, response: HttpResponse) => boolean {
  return (request, response) => {
    const { method, url = '' } = request
    const queryStart = url.indexOf('?')
    if (queryStart < 0 || (method !== 'GET' && method !== 'HEAD')) return false
    if (new URLSearchParams(url.slice(queryStart)).get('go-get') !== '1') return false
    const [, owner, repository] = PATH.exec(url.slice(0, queryStart)) ?? []
    if (owner === undefined || repository === undefined || OTHER_PATHS.has(owner)) return false
    const base = publicUrl()
    const path = `/${owner}/${repository.replace(/\.git$/i, '')}`
    const body = page(base.replace(/^https?:\/\//, '') + path, `${base}${path}.git`)
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'content-security-policy': "default-src 'none'",
    })
    // Node omits the body of a response to HEAD.
    response.end(body)
    return true
  }
}

function page(importPath: string, repositoryUrl: string): string {
  return `<!doctype html>
<html>
<head><meta name="go-import" content="${importPath} git ${repositoryUrl}"></head>
<body>go get ${importPath}</body>
</html>
`
}
