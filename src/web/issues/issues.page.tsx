import type { VNode } from 'preact'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

const STATES = ['open', 'closed', 'all'] as const

/** The issues of a repository. The address has the filters. */
export function IssuesPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Issues" title="Issues">
      {(repository) => <Issues repository={repository} name={{ owner, repo }} query={query} />}
    </RepositoryFrame>
  )
}

interface IssuesProps {
  readonly repository: Repository
  readonly name: { owner: string; repo: string }
  readonly query: URLSearchParams
}

function Issues({ repository, name, query }: IssuesProps): VNode {
  const { of, session } = useApi()
  const page = pageOf(query)
  const state = STATES.find((known) => known === query.get('state')) ?? 'open'
  const [labels, q] = [query.get('labels') ?? '', query.get('q') ?? '']
  const list = useLoad(
    (signal) =>
      of(IssueService).listIssues({ ...name, type: 'issues', state, labels, q, page }, { signal }),
    [state, labels, q, page],
  )
  const base = `${repositoryHref(name)}/issues`
  return (
    <>
      {session.user && !repository.archived && (
        <p>
          <a href={`${base}/new`}>New issue</a>
        </p>
      )}
      <search>
        <form
          class="row"
          onSubmit={onSubmit((form) =>
            goTo(`${base}?${new URLSearchParams({ state, q: fieldOf(form, 'q') })}`),
          )}
        >
          <Field label="Search issues" name="q" type="search" defaultValue={q} maxLength={256} />
          <button type="submit">Search</button>
        </form>
      </search>
      <nav class="tabs" aria-label="Filter">
        {STATES.map((known) => (
          <a
            key={known}
            href={`${base}?${new URLSearchParams({ state: known, ...(q !== '' && { q }) })}`}
            aria-current={known === state ? 'page' : undefined}
          >
            {known[0]?.toUpperCase() + known.slice(1)}
          </a>
        ))}
      </nav>
      <Show of={list}>
        {({ issues, total, limit }) => (
          <>
            {issues.length === 0 && <p>No issues.</p>}
            <ul class="list">
              {issues.map((issue) => (
                <li key={String(issue.number)}>
                  <span class={`tag ${issue.state}`}>{issue.state}</span>{' '}
                  <a href={`${base}/${issue.number}`}>
                    {issue.title} #{issue.number.toString()}
                  </a>{' '}
                  {issue.labels.map((label) => (
                    <a
                      key={label.name}
                      class="tag"
                      href={`${base}?${new URLSearchParams({ state, labels: label.name })}`}
                    >
                      {label.name}
                    </a>
                  ))}
                  <p class="facts">
                    {issue.user?.login}, updated <Time at={issue.updatedAt} />
                    {issue.comments > 0n &&
                      `, ${issue.comments} ${issue.comments === 1n ? 'comment' : 'comments'}`}
                  </p>
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </>
  )
}
