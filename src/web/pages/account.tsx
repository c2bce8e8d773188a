import type { VNode } from 'preact'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../parts/load.tsx'
import { NotFound, useIsKnownMissing } from '../parts/not-found.tsx'
import { OrganizationSummary } from '../parts/organization-summary.tsx'
import { useTitle } from '../parts/page-title.ts'
import { Pager, pageOf } from '../parts/pager.tsx'
import { RepositoryList } from '../parts/repository-list.tsx'
import type { PageProps } from '../routes.ts'

/** The repositories of a user or an organisation. */
export default function Account(props: PageProps): VNode {
  return useIsKnownMissing() ? <NotFound /> : <Repositories {...props} />
}

function Repositories({ owner, query }: PageProps): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  useTitle(owner)
  const list = useLoad(
    (signal) => of(RepositoryService).listUserRepositories({ username: owner, page }, { signal }),
    [owner, page],
  )
  return (
    <Show of={list} isPage>
      {({ repositories, total, limit }) => (
        <>
          <h1>{owner}</h1>
          <OrganizationSummary name={owner} />
          <RepositoryList repositories={repositories} />
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
