import type { VNode } from 'preact'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { IssueList } from './issue-list.tsx'
import { PinnedIssues } from './pinned-issues.tsx'

const KIND = {
  type: 'issues',
  kind: 'issue',
  newPath: 'issues/new',
  newText: t('New issue'),
  search: t('Search issues'),
  empty: t('No issues.'),
} as const

/** The issues of a repository. The address has the filters. */
export function IssuesPage({ owner, repo, query }: PageProps): VNode {
  const name = { owner, repo }
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Issues" title={t('Issues')}>
      {(repository) => (
        <IssueList
          repository={repository}
          name={name}
          query={query}
          kind={KIND}
          first={<PinnedIssues name={name} />}
        />
      )}
    </RepositoryFrame>
  )
}
