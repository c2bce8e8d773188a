import type { HttpRequest, HttpResponse } from '../http/requests.ts'

/** A repository, or a package somewhere in one. Names have no other characters. */
const PATH = /^\/([A-Za-z0-9._-]+)\/([A-Za-z0-9._-]+)(?:\/[^?]*)?$/

/** First segments of paths that belong to no account. */
const OTHER_PATHS: ReadonlySet<string> = new Set(['api', 'attachments', 'file'])

/**
 * Tells the Go toolchain where the repository of an import path is
 * (https://go.dev/ref/mod#vcs-find).
 *
 * Nothing is looked up: a repository that exists, one that the client may not know of, and none at
 * all are answered alike. What there is, is for Git to say, which asks for credentials.
 *
 * @param publicUrl base of links, without a slash at the end.
 * @returns a handler that says whether a request was one of the toolchain's; only then it answers.
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
    // Node leaves the body out of an answer to HEAD.
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
