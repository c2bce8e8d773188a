import type { VNode } from 'preact'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService, type ListIssuesResponse } from '#gen/branchline/v1/issue_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Icon } from '../components/icon.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { Later, Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { Writer } from '../components/person.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { RowList } from '../keyboard/row-list.tsx'
import { plural, T, t } from '../language/texts.tsx'
import { PullTags, pullStateOf } from '../pulls/pull-tags.tsx'
import { RowBox, Selectable } from './bulk-form.tsx'
import { FilterForm, type Filters, filtersOf, queryOf } from './list-filters.tsx'

const STATES = ['open', 'closed', 'all'] as const

const STATE_TEXTS = { open: t('Open @state'), closed: t('Closed'), all: t('All') } as const

const loadSavedViews = async () => (await import('./saved-views.tsx')).SavedViews

/** What a list has: issues or pull requests. */
interface ListKind {
  /** As ListIssues names it, and as the address of the list ends. */
  readonly type: 'issues' | 'pulls'
  readonly kind: 'issue' | 'pull request'
  /** The page that opens one, below the repository. */
  readonly newPath: string
  readonly newText: string
  /** The label of the field for the query. */
  readonly search: string
  /** What an empty list says. */
  readonly empty: string
}

interface IssueListProps {
  readonly repository: Repository
  readonly name: { readonly owner: string; readonly repo: string }
  readonly query: URLSearchParams
  readonly kind: ListKind
  /** What stands before a list without filters. */
  readonly first?: VNode
}

/** The issues or the pull requests of a repository: filters, orders, views, and changes of several. */
export function IssueList({ repository, name, query, kind, first }: IssueListProps): VNode {
  const page = pageOf(query)
  const kept = filtersOf(query)
  const { q = '' } = kept
  // A query may ask for a state itself.
  const state = STATES.find((known) => known === query.get('state')) ?? (q === '' ? 'open' : 'all')
  const { list, totals } = useLists(name, { kind, kept, state, page })
  const isWriter = repository.permissions?.push === true && !repository.archived
  const base = `${repositoryHref(name)}/${kind.type}`
  const hrefOf = (filters: Filters & { readonly state: string }) =>
    `${base}?${new URLSearchParams(filters)}`
  return (
    <>
      <Actions name={name} kind={kind} isArchived={repository.archived} />
      {Object.keys(kept).length === 0 && page === 1 && first}
      <Later
        load={loadSavedViews}
        with={{ name, folder: kind.type, query: queryOf(kept), isWriter }}
      />
      <FilterForm
        kept={kept}
        search={kind.search}
        hasPulls={kind.type === 'pulls'}
        onFilter={(filters) => goTo(hrefOf({ state, ...filters }))}
      />
      <StateTabs
        state={state}
        hrefOf={(known) => hrefOf({ ...kept, state: known })}
        totals={totals.value ?? {}}
      />
      <Show of={list}>
        {({ issues, total, limit }) => (
          <>
            {issues.length === 0 && <p class="empty">{kind.empty}</p>}
            <Selectable
              name={name}
              kind={kind.kind}
              isSelectable={isWriter}
              isEmpty={issues.length === 0}
              onChange={() => {
                list.reload()
                totals.reload()
              }}
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

/** Loads a page of a list, and how many open and closed ones its filters find. */
function useLists(
  name: IssueListProps['name'],
  asked: { kind: ListKind; kept: Filters; state: string; page: number },
) {
  const { of } = useApi()
  const { kind, kept, state, page } = asked
  const { labels = '', milestones = '', author = '', assignee = '', sort = '' } = kept
  const { type } = kind
  const people = { createdBy: author, assignedBy: assignee }
  const request = { ...name, type, labels, milestones, ...people, sort, query: queryOf(kept) }
  const keys = Object.entries(kept).flat().join('\0')
  const pullStates = type === 'pulls'
  const list = useLoad(
    (signal) => of(IssueService).listIssues({ ...request, state, page, pullStates }, { signal }),
    [state, keys, page],
  )
  const totals = useLoad(
    async (signal) => {
      const totalOf = async (known: string) =>
        of(IssueService).listIssues({ ...request, state: known, limit: 1 }, { signal })
      const [open, closed] = await Promise.all([totalOf('open'), totalOf('closed')])
      return { open: totalText(open), closed: totalText(closed) }
    },
    [keys],
  )
  return { list, totals }
}

/** The ways to labels and milestones, and the button that opens an issue or a pull request. */
function Actions(props: {
  name: IssueListProps['name']
  kind: ListKind
  isArchived: boolean
}): VNode {
  const { session } = useApi()
  const { name, kind, isArchived } = props
  const base = repositoryHref(name)
  return (
    <p class="actions">
      <a href={`${base}/labels`}>
        <Icon name="tag" /> {t('Labels')}
      </a>
      <a href={`${base}/milestones`}>
        <Icon name="milestone" /> {t('Milestones')}
      </a>
      <span class="space" />
      {session.user && !isArchived && (
        <a class="button main" href={`${base}/${kind.newPath}`}>
          {kind.newText}
        </a>
      )}
    </p>
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
    <nav class="tabs" aria-label={t('Filter')}>
      {STATES.map((known) => (
        <a key={known} href={hrefOf(known)} aria-current={known === state ? 'page' : undefined}>
          {STATE_TEXTS[known]}
          {totals[known] !== undefined && <span class="number"> {totals[known]}</span>}
        </a>
      ))}
    </nav>
  )
}

interface IssueRowProps {
  readonly issue: Issue
  readonly href: string
  readonly hrefOfLabel: (name: string) => string
  readonly isSelectable: boolean
}

function IssueRow({ issue, href, hrefOfLabel, isSelectable }: IssueRowProps): VNode {
  const { pullRequest: pull } = issue
  return (
    <li>
      {isSelectable && <RowBox number={issue.number} />}{' '}
      <StateTag state={pullStateOf(issue)} isPull={pull !== undefined} />{' '}
      <a href={href} data-row>
        {issue.title} #{issue.number.toString()}
      </a>{' '}
      {issue.labels.map((label) => (
        <LabelTag key={label.name} label={label} href={hrefOfLabel(label.name)} />
      ))}
      {pull && <PullTags pull={pull} />}
      <p class="facts">
        <Writer of={issue} />, <T text="updated {time}" time={<Time at={issue.updatedAt} />} />
        {factsOf(issue).map((fact) => `, ${fact}`)}
      </p>
    </li>
  )
}

/** Returns what a row says about an issue beside its author and its state. */
function factsOf({ milestone, assignees, comments, pullRequest: pull }: Issue): string[] {
  const names = assignees.map(({ login }) => login).join(', ')
  return [
    ...(pull ? [`${pull.headBranch} → ${pull.baseBranch}`] : []),
    ...(milestone ? [t('milestone {title}', { title: milestone.title })] : []),
    ...(names !== '' ? [t('assigned to {names}', { names })] : []),
    ...(comments > 0n ? [plural(comments, '{count} comment', '{count} comments')] : []),
  ]
}
