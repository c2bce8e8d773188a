import type { VNode } from 'preact'
import { IssueList } from '../issues/issue-list.tsx'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

const KIND = {
  type: 'pulls',
  kind: 'pull request',
  newPath: 'compare',
  newText: t('New pull request'),
  search: t('Search pull requests'),
  empty: t('No pull requests.'),
} as const

/** The pull requests of a repository. The address has the filters. */
export function PullsPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Pull requests" title={t('Pull requests')}>
      {(repository) => (
        <IssueList repository={repository} name={{ owner, repo }} query={query} kind={KIND} />
      )}
    </RepositoryFrame>
  )
}
