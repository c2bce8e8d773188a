import type { VNode } from 'preact'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { counted, Time } from '../components/formats.tsx'
import { Field, onSubmit, Select } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { LabelName } from './label-name.tsx'

const STATES = ['open', 'closed', 'all'] as const

/** The filters of the address, beside the state and the page. */
const FILTERS = ['q', 'author', 'assignee', 'labels', 'milestones', 'sort'] as const

const ORDERS = [
  ['', 'Newest first'],
  ['oldest', 'Oldest first'],
  ['recentupdate', 'Last changed first'],
  ['leastupdate', 'Last changed last'],
  ['mostcomment', 'Most comments first'],
  ['leastcomment', 'Fewest comments first'],
  ['nearduedate', 'Earliest due date first'],
  ['farduedate', 'Latest due date first'],
] as const

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
  const kept = filtersOf(query)
  const { labels = '', milestones = '', author = '', assignee = '', sort = '', q = '' } = kept
  const list = useLoad(
    (signal) =>
      of(IssueService).listIssues(
        {
          ...name,
          type: 'issues',
          state,
          labels,
          milestones,
          createdBy: author,
          assignedBy: assignee,
          sort,
          q,
          page,
        },
        { signal },
      ),
    [state, ...FILTERS.map((filter) => kept[filter]), page],
  )
  const base = `${repositoryHref(name)}/issues`
  return (
    <>
      <p class="bar">
        {session.user && !repository.archived && <a href={`${base}/new`}>New issue</a>}
        <a href={`${repositoryHref(name)}/labels`}>Labels</a>
        <a href={`${repositoryHref(name)}/milestones`}>Milestones</a>
      </p>
      <search>
        <form
          class="row"
          onSubmit={onSubmit((form) =>
            goTo(`${base}?${new URLSearchParams({ state, ...filtersOf(new FormData(form)) })}`),
          )}
        >
          <Field label="Search issues" name="q" type="search" defaultValue={q} maxLength={256} />
          <Field label="Author" name="author" defaultValue={author} maxLength={255} />
          <Field label="Assignee" name="assignee" defaultValue={assignee} maxLength={255} />
          <Field label="Labels" name="labels" defaultValue={labels} />
          <Field label="Milestones" name="milestones" defaultValue={milestones} />
          <Select label="Order" name="sort" value={sort} options={ORDERS} />
          <button type="submit">Search</button>
        </form>
      </search>
      <nav class="tabs" aria-label="Filter">
        {STATES.map((known) => (
          <a
            key={known}
            href={`${base}?${new URLSearchParams({ ...kept, state: known })}`}
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
                      href={`${base}?${new URLSearchParams({ ...kept, state, labels: label.name })}`}
                    >
                      <LabelName label={label} />
                    </a>
                  ))}
                  <p class="facts">
                    {issue.user?.login}, updated <Time at={issue.updatedAt} />
                    {issue.milestone && `, milestone ${issue.milestone.title}`}
                    {issue.assignees.length > 0 &&
                      `, assigned to ${issue.assignees.map(({ login }) => login).join(', ')}`}
                    {issue.comments > 0n && `, ${counted(issue.comments, 'comment')}`}
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

/** Returns the filters of an address or of the form that are not empty. */
function filtersOf(source: URLSearchParams | FormData) {
  const filters: Partial<Record<(typeof FILTERS)[number], string>> = {}
  for (const filter of FILTERS) {
    const value = source.get(filter)
    if (typeof value === 'string' && value !== '') filters[filter] = value
  }
  return filters
}
