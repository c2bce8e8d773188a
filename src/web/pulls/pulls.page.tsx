import type { VNode } from 'preact'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { Writer } from '../components/person.tsx'
import { RowBox, Selectable } from '../issues/bulk-form.tsx'
import { RowList } from '../keyboard/row-list.tsx'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { PullState } from './pull-state.tsx'

const STATES = ['open', 'closed', 'all'] as const

const STATE_TEXTS = { open: t('Open @state'), closed: t('Closed'), all: t('All') } as const

/** The pull requests of a repository. The address has the filters. */
export function PullsPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Pull requests" title={t('Pull requests')}>
      {(repository) => <Pulls repository={repository} name={{ owner, repo }} query={query} />}
    </RepositoryFrame>
  )
}

function Pulls({
  repository,
  name,
  query,
}: {
  repository: Repository
  name: { owner: string; repo: string }
  query: URLSearchParams
}): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const state = STATES.find((known) => known === query.get('state')) ?? 'open'
  const poster = query.get('poster') ?? ''
  const list = useLoad(
    (signal) =>
      of(PullRequestService).listPullRequests({ ...name, state, poster, page }, { signal }),
    [state, poster, page],
  )
  const isWriter = repository.permissions?.push === true && !repository.archived
  const base = `${repositoryHref(name)}/pulls`
  return (
    <>
      <nav class="tabs" aria-label={t('Filter')}>
        {STATES.map((known) => (
          <a
            key={known}
            href={`${base}?state=${known}`}
            aria-current={known === state ? 'page' : undefined}
          >
            {STATE_TEXTS[known]}
          </a>
        ))}
      </nav>
      <Show of={list}>
        {({ pullRequests, total, limit }) => (
          <>
            {pullRequests.length === 0 && <p class="empty">{t('No pull requests.')}</p>}
            <Selectable
              name={name}
              kind="pull request"
              isSelectable={isWriter}
              isEmpty={pullRequests.length === 0}
              onChange={list.reload}
            >
              <RowList>
                {pullRequests.map((pull) => (
                  <PullRow
                    key={String(pull.number)}
                    pull={pull}
                    href={`${base}/${pull.number}`}
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

interface PullRowProps {
  readonly pull: PullRequest
  readonly href: string
  readonly isSelectable: boolean
}

function PullRow({ pull, href, isSelectable }: PullRowProps): VNode {
  return (
    <li>
      {isSelectable && <RowBox number={pull.number} />} <PullState pull={pull} />{' '}
      <a href={href} data-row>
        {pull.title} #{pull.number.toString()}
      </a>{' '}
      {pull.labels.map((label) => (
        <LabelTag key={String(label.id)} label={label} />
      ))}
      <p class="facts">
        <Writer of={pull} />, <T text="updated {time}" time={<Time at={pull.updatedAt} />} />,{' '}
        {pull.agitTopic || pull.head?.label} → {pull.base?.label}
      </p>
    </li>
  )
}
