import { useEffect } from 'preact/hooks'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { useIsPublic } from '../code/download.tsx'
import { feedLinks } from '../feed-links.ts'

/**
 * Links the page to the feeds of its repository, so that feed readers find them. The server does so for
 * the first page. Feeds of private repositories need a token, which readers have from their users.
 */
export function useFeeds(repository: Repository): void {
  const isPublic = useIsPublic(repository)
  const { fullName, hasReleases, empty, defaultBranch } = repository
  useEffect(() => {
    removeFeeds()
    if (!isPublic) return
    const branch = empty ? undefined : defaultBranch
    for (const { title, href } of feedLinks(fullName, { hasReleases, branch })) {
      const link = document.createElement('link')
      Object.assign(link, { rel: 'alternate', type: 'application/atom+xml', title, href })
      document.head.append(link)
    }
    return removeFeeds
  }, [isPublic, fullName, hasReleases, empty, defaultBranch])
}

function removeFeeds(): void {
  for (const link of document.head.querySelectorAll('link[rel="alternate"]')) link.remove()
}
