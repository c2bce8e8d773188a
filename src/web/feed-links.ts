// The server imports this file too, to name the feeds in the first answer.

/** An Atom feed that belongs to a page. */
export interface FeedLink {
  readonly title: string
  readonly href: string
}

/**
 * Returns the feeds of a repository.
 *
 * @param fullName owner and name of the repository, such as `ada/tools`.
 * @param feeds.branch the branch whose commits have a feed; undefined for none.
 */
export function feedLinks(
  fullName: string,
  { hasReleases, branch }: { hasReleases: boolean; branch: string | undefined },
): FeedLink[] {
  const base = `/${encoded(fullName)}`
  const links = [{ title: `Activity of ${fullName}`, href: `${base}.atom` }]
  if (hasReleases) links.push({ title: `Releases of ${fullName}`, href: `${base}/releases.atom` })
  if (branch !== undefined)
    links.push({
      title: `Commits of ${branch} in ${fullName}`,
      href: `${base}/atom/branch/${encoded(branch)}`,
    })
  return links
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
