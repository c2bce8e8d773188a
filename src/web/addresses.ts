/** The name of a branch or tag, or the id of a commit, as addresses of pages have it. */
export interface RefName {
  readonly kind: 'branch' | 'tag' | 'commit'
  readonly name: string
}

/** Returns a path for an address. Slashes stay. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** Returns the address of a repository. */
export function repositoryHref({ owner, repo }: { owner: string; repo: string }): string {
  return `/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`
}

/**
 * Returns the address of a file or folder. The slashes of the ref are encoded, so that the end of
 * its name is known without a question.
 */
export function codeHref(
  repository: { owner: string; repo: string },
  { kind, name }: RefName,
  path: string,
): string {
  const end = path === '' ? '' : `/${encodePath(path)}`
  return `${repositoryHref(repository)}/src/${kind}/${encodeURIComponent(name)}${end}`
}

/** Returns the address of the page that shows who wrote the lines of a file. */
export function blameHref(
  repository: { owner: string; repo: string },
  { kind, name }: RefName,
  path: string,
): string {
  const ref = `${kind}/${encodeURIComponent(name)}`
  return `${repositoryHref(repository)}/blame/${ref}/${encodePath(path)}`
}

/** Returns the address on this server of a URL below the public URL, which may have another host. */
export function ownHref(url: string): string {
  const { pathname, search, hash } = new URL(url)
  // An address with two slashes at its beginning is that of another host.
  return pathname.replace(/^\/+/, '/') + search + hash
}

/**
 * Returns where the sign-in leads: a path of this server, so that no link through the sign-in leads to
 * another one.
 */
export function ownTarget(query: URLSearchParams): string {
  const url = URL.parse(query.get('redirect_to') ?? '/', location.origin)
  return url?.origin === location.origin ? ownHref(url.href) : '/'
}

/** Returns the first line of a commit message. */
export function subjectOf(message: string): string {
  return message.split('\n', 1)[0] ?? ''
}

/** Returns where relative addresses lead in a text of a conversation. */
export function markupBase(name: { owner: string; repo: string }): { page: string; raw: string } {
  return {
    page: codeHref(name, { kind: 'branch', name: 'HEAD' }, ''),
    raw: `${repositoryHref(name)}/raw/commit/HEAD`,
  }
}
