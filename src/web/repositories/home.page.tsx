import type { VNode } from 'preact'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { FirstRun } from '../accounts/first-run.tsx'
import { SignUpLink } from '../accounts/sign-up-link.tsx'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { useTitle } from '../components/page-title.ts'
import { Pager, pageOf } from '../components/pager.tsx'
import { SignInLink } from '../components/sign-in-link.tsx'
import type { PageProps } from '../routes.ts'
import { NewRepository } from './new-repository.tsx'
import { NextSteps } from './next-steps.tsx'
import { RepositoryList } from './repository-list.tsx'

/** The first page: set-up on a new instance, a greeting for strangers, and otherwise repositories. */
export default function Home({ query }: PageProps): VNode {
  const { user } = useApi().session
  const { firstRun = 'no' } = document.documentElement.dataset
  if (user) return <Dashboard user={user} page={pageOf(query)} />
  return firstRun === 'no' ? <Greeting /> : <FirstRun isHere={firstRun === 'here'} />
}

function Greeting(): VNode {
  useTitle('Git repositories and pull requests')
  return (
    <>
      <h1>Branchline</h1>
      <p>A self-hosted home for Git repositories and pull requests.</p>
      <p>
        <SignInLink /> or <a href="/explore">explore the public repositories</a>.
      </p>
      <p>
        <SignUpLink />
      </p>
    </>
  )
}

function Dashboard({ user, page }: { user: User; page: number }): VNode {
  const { of } = useApi()
  useTitle('Your repositories')
  const list = useLoad(
    (signal) => of(RepositoryService).listMyRepositories({ page }, { signal }),
    [page],
  )
  return (
    <>
      <h1>Your repositories</h1>
      <NewRepository />
      <p>
        <a href="/-/import">Import a repository</a>,{' '}
        <a href="/-/organizations">your organisations</a>
      </p>
      <Show of={list}>
        {({ repositories, total, limit }) => (
          <>
            {total > 0n && <RepositoryList repositories={repositories} />}
            <Pager page={page} limit={limit} total={total} />
            {total === 0n && <NextSteps username={user.username} />}
          </>
        )}
      </Show>
    </>
  )
}
