import type { VNode } from 'preact'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf, SignInLink, useTitle } from '../components/page.tsx'
import { RowList } from '../keyboard/row-list.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { ConcernRow } from './concern-row.tsx'
import { useConcerns } from './concerns.ts'

const STATES = [
  ['open', t('Open @state')],
  ['closed', t('Closed')],
] as const

/** What the user has to do with an issue or pull request: the value in the address, and the words. */
const VIEWS = [
  ['assigned', t('Assigned to me')],
  ['created', t('Created by me')],
  ['mentioned', t('Mentions me')],
  ['review_requested', t('Review requested')],
] as const

/** The issues and pull requests of all repositories that concern the user. */
export function DashboardPage({ query }: PageProps): VNode {
  const { session } = useApi()
  useTitle(t('Issues and pull requests'))
  return (
    <>
      <h1>{t('Issues and pull requests')}</h1>
      {session.user ? (
        <Dashboard query={query} />
      ) : (
        <p>
          <T text="{signIn} to see what concerns you." signIn={<SignInLink />} />
        </p>
      )}
    </>
  )
}

function Dashboard({ query }: Pick<PageProps, 'query'>): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const [state] = STATES.find(([known]) => known === query.get('state')) ?? STATES[0]
  const words = query.get('q') ?? ''
  const [view] = words ? [''] : (VIEWS.find(([known]) => known === query.get('view')) ?? VIEWS[0])
  const list = useLoad(
    (signal) =>
      of(IssueService).searchIssues(
        words
          ? { query: words, page }
          : {
              state,
              page,
              sort: 'recentupdate',
              assigned: view === 'assigned',
              created: view === 'created',
              mentioned: view === 'mentioned',
              reviewRequested: view === 'review_requested',
            },
        { signal },
      ),
    [words, state, view, page],
  )
  const isCut = useConcerns(list.reload)
  return (
    <>
      <Tabs label={t('Concerns')} name="view" options={VIEWS} chosen={{ view, state }} />
      {words ? (
        <p>
          <T text="Results of {query}" query={<code>{words}</code>} />
        </p>
      ) : (
        <Tabs label={t('State')} name="state" options={STATES} chosen={{ view, state }} />
      )}
      <p role="status" class={isCut ? 'note' : 'hidden'}>
        {isCut && t('Reconnecting. The list may be out of date.')}
      </p>
      <Show of={list}>
        {({ issues, total, limit }) => (
          <>
            {issues.length === 0 && <p class="empty">{t('Nothing here.')}</p>}
            <RowList>
              {issues.map((issue) => (
                <ConcernRow key={String(issue.id)} issue={issue} />
              ))}
            </RowList>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </>
  )
}

function Tabs(props: {
  label: string
  name: 'view' | 'state'
  options: readonly (readonly [value: string, text: string])[]
  chosen: { readonly view: string; readonly state: string }
}): VNode {
  const { label, name, options, chosen } = props
  return (
    <nav class="tabs" aria-label={label}>
      {options.map(([value, text]) => (
        <a
          key={value}
          href={`/issues?${new URLSearchParams({ ...chosen, [name]: value })}`}
          aria-current={value === chosen[name] ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  )
}
