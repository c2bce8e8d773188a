import type { VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { codeHref, repositoryHref, subjectOf } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Confirmed } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { mayWriteRefs, NewRef } from './new-ref.tsx'

/** The tags of a repository. */
export function TagsPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Tags" title={t('Tags')}>
      {(repository) => <Tags repository={repository} page={pageOf(query)} />}
    </RepositoryFrame>
  )
}

function Tags({ repository, page }: { repository: Repository; page: number }): VNode {
  const { of } = useApi()
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  const list = useLoad((signal) => of(TagService).listTags({ ...name, page }, { signal }), [page])
  return (
    <Show of={list}>
      {({ tags, total, limit }) => (
        <>
          <NewRef repository={repository} kind="tag" />
          {tags.length === 0 && <p class="empty">{t('No tags.')}</p>}
          <ul class="list">
            {tags.map((tag) => (
              <li key={tag.name}>
                <a href={codeHref(name, { kind: 'tag', name: tag.name }, '')}>{tag.name}</a>
                <p class="facts">
                  {subjectOf(tag.message)}{' '}
                  {tag.commit && (
                    <a href={`${repositoryHref(name)}/commit/${tag.commit.sha}`}>
                      <code>{tag.commit.sha.slice(0, 10)}</code>
                    </a>
                  )}
                </p>
                {mayWriteRefs(repository) && (
                  <Confirmed
                    action={t('Delete')}
                    about={tag.name}
                    question={t('Clones keep the tag.')}
                    isSmall
                    act={async () => {
                      await of(TagService).deleteTag({ ...name, tag: tag.name })
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
