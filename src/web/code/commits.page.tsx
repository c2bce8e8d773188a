import type { VNode } from 'preact'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { encodePath, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { CommitList } from './commit-list.tsx'
import { useIsPublic } from './download.tsx'
import { findRef } from './refs.tsx'

/** The history of a branch, a tag or a commit. */
export function CommitsPage({ owner, repo, rest, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Commits" title={t('Commits')}>
      {(repository) =>
        repository.empty ? (
          <p>{t('The repository is empty.')}</p>
        ) : (
          <History repository={repository} rest={rest} page={pageOf(query)} />
        )
      }
    </RepositoryFrame>
  )
}

const HEADINGS = {
  branch: 'Commits of branch {name}',
  tag: 'Commits of tag {name}',
  commit: 'Commits of commit {name}',
} as const

function History(props: { repository: Repository; rest: readonly string[]; page: number }): VNode {
  const api = useApi()
  const { repository, rest, page } = props
  const isPublic = useIsPublic(repository)
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const history = useLoad(
    async (signal) => {
      const { ref, path } = await findRef(api, repository, rest, signal)
      const request = { ...name, sha: ref.name, path, page, stat: false, files: false }
      return { ref, ...(await api.of(CommitService).listCommits(request, { signal })) }
    },
    [rest.join('/'), page],
  )
  return (
    <Show of={history} isPage>
      {({ ref, commits, total, limit }) => (
        <>
          <h2>{t(HEADINGS[ref.kind], { name: ref.name })}</h2>
          {ref.kind === 'branch' && isPublic && (
            <p>
              <a href={`${repositoryHref(name)}/atom/branch/${encodePath(ref.name)}`}>
                {t('Atom feed')}
              </a>
            </p>
          )}
          <CommitList {...name} commits={commits} />
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
