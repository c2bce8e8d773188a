import type { VNode } from 'preact'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { useApi } from '../api/client.ts'
import { CommitList } from '../code/commit-list.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import type { PageProps } from '../routes.ts'
import { PullFrame } from './pull-frame.tsx'
import type { PullName } from './reviews.ts'

/** The commits of a pull request. */
export function PullCommitsPage(props: PageProps): VNode {
  const page = pageOf(props.query)
  return (
    <PullFrame page={props}>
      {({ name, pull }) => <PullCommits key={pull.head?.sha} name={name} page={page} />}
    </PullFrame>
  )
}

function PullCommits({ name, page }: { name: PullName; page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) =>
      of(PullFileService).listPullRequestCommits({ ...name, page, files: false }, { signal }),
    [page],
  )
  return (
    <Show of={list}>
      {({ commits, total, limit }) => (
        <>
          <CommitList owner={name.owner} repo={name.repo} commits={commits} />
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}
