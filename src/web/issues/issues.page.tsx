import type { VNode } from 'preact'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService, type ListIssuesResponse } from '#gen/branchline/v1/issue_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { counted, Time } from '../components/formats.tsx'
import { Field, onSubmit, Select } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { Later, Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { Writer } from '../components/person.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { RowList } from '../keyboard/row-list.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { RowBox, Selectable } from './bulk-form.tsx'
import { PinnedIssues } from './pinned-issues.tsx'

const STATES = ['open', 'closed', 'all'] as const

/** The filters of the address, beside the state and the page. */
const FILTERS = ['q', 'author', 'assignee', 'labels', 'milestones', 'sort'] as const

type Filters = Partial<Record<(typeof FILTERS)[number], string>>

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

const loadSavedViews = async () => (await import('./saved-views.tsx')).SavedViews

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
  const kept = filtersOf(query)
  const { q = '' } = kept
  // A query may ask for a state itself.
  const state = STATES.find((known) => known === query.get('state')) ?? (q === '' ? 'open' : 'all')
  const { labels = '', milestones = '', author = '', assignee = '', sort = '' } = kept
  const people = { createdBy: author, assignedBy: assignee }
  const request = { ...name, type: 'issues', labels, milestones, ...people, sort, query: q }
  const keys = FILTERS.map((filter) => kept[filter])
  const list = useLoad(
    (signal) => of(IssueService).listIssues({ ...request, state, page }, { signal }),
    [state, ...keys, page],
  )
  const totals = useLoad(async (signal) => {
    const totalOf = async (known: string) =>
      of(IssueService).listIssues({ ...request, state: known, limit: 1 }, { signal })
    const [open, closed] = await Promise.all([totalOf('open'), totalOf('closed')])
    return { open: totalText(open), closed: totalText(closed) }
  }, keys)
  const isWriter = repository.permissions?.push === true && !repository.archived
  const base = `${repositoryHref(name)}/issues`
  const hrefOf = (filters: Filters & { readonly state: string }) =>
    `${base}?${new URLSearchParams(filters)}`
  return (
    <>
      <p class="actions">
        <a href={`${repositoryHref(name)}/labels`}>
          <Icon name="tag" /> Labels
        </a>
        <a href={`${repositoryHref(name)}/milestones`}>
          <Icon name="milestone" /> Milestones
        </a>
        <span class="space" />
        {session.user && !repository.archived && (
          <a class="button main" href={`${base}/new`}>
            New issue
          </a>
        )}
      </p>
      {Object.keys(kept).length === 0 && page === 1 && <PinnedIssues name={name} />}
      <Later load={loadSavedViews} with={{ name, query: q, isWriter }} />
      <FilterForm kept={kept} onFilter={(filters) => goTo(hrefOf({ state, ...filters }))} />
      <StateTabs
        state={state}
        hrefOf={(known) => hrefOf({ ...kept, state: known })}
        totals={totals.value ?? {}}
      />
      <Show of={list}>
        {({ issues, total, limit }) => (
          <>
            {issues.length === 0 && <p class="empty">No issues.</p>}
            <Selectable
              name={name}
              kind="issue"
              isSelectable={isWriter}
              isEmpty={issues.length === 0}
              onChange={list.reload}
            >
              <RowList>
                {issues.map((issue) => (
                  <IssueRow
                    key={String(issue.number)}
                    issue={issue}
                    href={`${base}/${issue.number}`}
                    hrefOfLabel={(labels) => hrefOf({ ...kept, state, labels })}
                    isSelectable={isWriter}
                  />
                ))}
              </RowList>
            </Selectable>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </>
  )
}

/** Returns the length of a list. The server counts up to a bound. */
function totalText({ total, totalCapped }: ListIssuesResponse): string {
  return `${total}${totalCapped ? '+' : ''}`
}

function StateTabs(props: {
  state: string
  hrefOf: (state: string) => string
  totals: Partial<Record<string, string>>
}): VNode {
  const { state, hrefOf, totals } = props
  return (
    <nav class="tabs" aria-label="Filter">
      {STATES.map((known) => (
        <a key={known} href={hrefOf(known)} aria-current={known === state ? 'page' : undefined}>
          {known[0]?.toUpperCase() + known.slice(1)}
          {totals[known] !== undefined && <span class="number"> {totals[known]}</span>}
        </a>
      ))}
    </nav>
  )
}

interface FilterFormProps {
  readonly kept: Filters
  readonly onFilter: (filters: Filters) => void
}

function FilterForm({ kept, onFilter }: FilterFormProps): VNode {
  const { q = '', author = '', assignee = '', labels = '', milestones = '', sort = '' } = kept
  return (
    <search>
      <form
        class="row filters"
        onSubmit={onSubmit((form) => onFilter(filtersOf(new FormData(form))))}
      >
        <Field label="Search issues" name="q" type="search" defaultValue={q} maxLength={1024} />
        <Field label="Author" name="author" defaultValue={author} maxLength={255} />
        <Field label="Assignee" name="assignee" defaultValue={assignee} maxLength={255} />
        <Field label="Labels" name="labels" defaultValue={labels} />
        <Field label="Milestones" name="milestones" defaultValue={milestones} />
        <Select label="Order" name="sort" value={sort} options={ORDERS} />
        <button type="submit">Search</button>
      </form>
    </search>
  )
}

interface IssueRowProps {
  readonly issue: Issue
  readonly href: string
  readonly hrefOfLabel: (name: string) => string
  readonly isSelectable: boolean
}

function IssueRow({ issue, href, hrefOfLabel, isSelectable }: IssueRowProps): VNode {
  return (
    <li>
      {isSelectable && <RowBox number={issue.number} />} <StateTag state={issue.state} />{' '}
      <a href={href} data-row>
        {issue.title} #{issue.number.toString()}
      </a>{' '}
      {issue.labels.map((label) => (
        <LabelTag key={label.name} label={label} href={hrefOfLabel(label.name)} />
      ))}
      <p class="facts">
        <Writer of={issue} />, updated <Time at={issue.updatedAt} />
        {issue.milestone && `, milestone ${issue.milestone.title}`}
        {issue.assignees.length > 0 &&
          `, assigned to ${issue.assignees.map(({ login }) => login).join(', ')}`}
        {issue.comments > 0n && `, ${counted(issue.comments, 'comment')}`}
      </p>
    </li>
  )
}

/** Returns the filters of an address or of the form that are not empty. */
function filtersOf(source: URLSearchParams | FormData): Filters {
  const filters: Filters = {}
  for (const filter of FILTERS) {
    const value = source.get(filter)
    if (typeof value === 'string' && value !== '') filters[filter] = value
  }
  return filters
}
