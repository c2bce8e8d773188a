import type { VNode } from 'preact'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { codeHref, repositoryHref, subjectOf } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

/** The tags of a repository. */
export function TagsPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Tags" title="Tags">
      {() => <Tags name={{ owner, repo }} page={pageOf(query)} />}
    </RepositoryFrame>
  )
}

function Tags({ name, page }: { name: { owner: string; repo: string }; page: number }): VNode {
  const { of } = useApi()
  const list = useLoad((signal) => of(TagService).listTags({ ...name, page }, { signal }), [page])
  return (
    <Show of={list}>
      {({ tags, total, limit }) => (
        <>
          {tags.length === 0 && <p class="empty">No tags.</p>}
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
              </li>
            ))}
          </ul>
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
