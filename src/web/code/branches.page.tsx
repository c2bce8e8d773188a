import type { VNode } from 'preact'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref, subjectOf } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Confirmed } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { mayWriteRefs, NewRef } from './new-ref.tsx'

/** The branches of a repository. */
export function BranchesPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Branches" title={t('Branches')}>
      {(repository) => <Branches repository={repository} page={pageOf(query)} />}
    </RepositoryFrame>
  )
}

function Branches({ repository, page }: { repository: Repository; page: number }): VNode {
  const { of } = useApi()
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const list = useLoad(
    (signal) => of(BranchService).listBranches({ ...name, page }, { signal }),
    [page],
  )
  return (
    <Show of={list}>
      {({ branches, total, limit }) => (
        <>
          <NewRef repository={repository} kind="branch" />
          {branches.length === 0 && <p class="empty">{t('No branches.')}</p>}
          <ul class="list">
            {branches.map((branch) => (
              <li key={branch.name}>
                <a href={codeHref(name, { kind: 'branch', name: branch.name }, '')}>
                  {branch.name}
                </a>{' '}
                {branch.name === repository.defaultBranch && (
                  <span class="tag">{t('default @branch')}</span>
                )}
                {branch.protected && <span class="tag">{t('protected @branch')}</span>}
                <p class="facts">
                  {subjectOf(branch.commit?.message ?? '')} <Time at={branch.commit?.timestamp} />{' '}
                  {branch.name !== repository.defaultBranch && (
                    <a
                      href={`${repositoryHref(name)}/compare/${encodeURIComponent(repository.defaultBranch)}...${encodeURIComponent(branch.name)}`}
                    >
                      {t('Compare')}
                      <span class="hidden"> {branch.name}</span>
                    </a>
                  )}
                </p>
                {branch.name !== repository.defaultBranch && mayWriteRefs(repository) && (
                  <Confirmed
                    action={t('Delete')}
                    about={branch.name}
                    question={t('Commits that no other branch has are lost.')}
                    isSmall
                    act={async () => {
                      await of(BranchService).deleteBranch({ ...name, branch: branch.name })
                      list.reload()
                    }}
                  />
                )}
              </li>
            ))}
          </ul>
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
