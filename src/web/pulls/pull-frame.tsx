import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Later, type Loaded, Show, useLoad } from '../components/load.tsx'
import { NotFound, useIsKnownMissing } from '../components/page.tsx'
import { writerOf } from '../components/person.tsx'
import { Tabs } from '../components/tabs.tsx'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import { useRepositoryEvents } from '../repositories/repository-events.ts'
import type { PageProps } from '../routes.ts'
import { PullState } from './pull-state.tsx'
import type { PullName } from './reviews.ts'

const loadIssueOfNumber = async () => (await import('./issue-of-number.tsx')).IssueOfNumber
/** What the tabs of a pull request have in common. */
export interface PullTabProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  /** Grows when something has happened. */
  readonly version: number
  /** Grows when something has happened to the checks, too. */
  readonly checks: number
  readonly onChange: () => void
}

interface FrameProps {
  readonly page: PageProps
  readonly children: (props: PullTabProps) => ComponentChildren
}

/** Frame of the tabs of a pull request. Each tab is a page of its own, with scripts of its own. */
export function PullFrame({ page: { owner, repo, rest }, children }: FrameProps): VNode {
  const [number = '', tab = ''] = rest
  const isNumber = /^[1-9]\d{0,17}$/.test(number)
  if (useIsKnownMissing() || !isNumber) return <NotFound />
  return (
    <NumberedPull name={{ owner, repo, index: BigInt(number) }} tab={tab}>
      {children}
    </NumberedPull>
  )
}

interface PullProps extends Pick<FrameProps, 'children'> {
  readonly name: PullName
  readonly tab: string
}

/** Loads the pull request beside its repository. */
function NumberedPull(props: PullProps): VNode {
  const { name } = props
  const { of } = useApi()
  const pull = useLoad((signal) => of(PullRequestService).getPullRequest(name, { signal }), [])
  const title = t('Pull request {number}', { number: name.index.toString() })
  return (
    <RepositoryFrame owner={name.owner} repo={name.repo} tab="Pull requests" title={title}>
      {(repository) => <Pull {...props} repository={repository} pull={pull} />}
    </RepositoryFrame>
  )
}

interface LoadedPullProps extends PullProps {
  readonly repository: Repository
  readonly pull: Loaded<PullRequest>
}

function Pull({ repository, name, pull, tab, children }: LoadedPullProps): VNode {
  const head = pull.value?.head?.sha ?? ''
  const { version, checks, isCut } = useRepositoryEvents(name, name.index, head, pull.reload)
  useSettledPull(pull.value, pull.reload)
  // The number may be that of an issue. Its service is loaded for this case only.
  if (pull.failure?.isMissing && !pull.value)
    return <Later load={loadIssueOfNumber} with={{ name }} />
  return (
    <Show of={pull}>
      {(value) => (
        <>
          <PullHeader name={name} pull={value} tab={tab} />
          <p role="status" class={isCut ? 'note' : 'hidden'}>
            {isCut && t('Reconnecting. Your drafts are kept.')}
          </p>
          {children({ repository, name, pull: value, version, checks, onChange: pull.reload })}
        </>
      )}
    </Show>
  )
}

function PullHeader({
  name,
  pull,
  tab,
}: {
  name: PullName
  pull: PullRequest
  tab: string
}): VNode {
  const base = `${repositoryHref(name)}/pulls/${name.index}`
  const tabs = [
    ['', t('Conversation')],
    ['commits', t('Commits')],
    ['files', t('Files')],
  ] as const
  return (
    <>
      <h2>
        {pull.title} <span class="number">#{name.index.toString()}</span>
      </h2>
      <p>
        <PullState pull={pull} />{' '}
        <T
          text="{who} wants to merge {head} into {base}, opened {time}"
          who={writerOf(pull)}
          head={<HeadName pull={pull} />}
          base={
            <a href={codeHref(name, { kind: 'branch', name: pull.base?.ref ?? '' }, '')}>
              {pull.base?.label}
            </a>
          }
          time={<Time at={pull.createdAt} />}
        />
      </p>
      <Tabs label={t('Pull request')}>
        {tabs.map(([path, text]) => (
          <a
            key={path}
            href={path === '' ? base : `${base}/${path}`}
            aria-current={path === tab ? 'page' : undefined}
          >
            {text}
          </a>
        ))}
      </Tabs>
    </>
  )
}

/** What a pull request wants to merge, with a link to the branch where that is one. */
function HeadName({ pull: { flow, head, agitTopic } }: { pull: PullRequest }): VNode {
  if (flow !== 0n || !head?.repo) return <>{agitTopic || head?.label}</>
  const at = { kind: 'branch', name: head.ref } as const
  return <a href={codeHref(nameOf(head.repo), at, '')}>{head.label}</a>
}

function nameOf({ owner, name }: Repository): { owner: string; repo: string } {
  return { owner: owner?.login ?? '', repo: name }
}

/** Each wait is twice as long as the one before. */
const FIRST_WAIT_MS = 2000
const MAX_WAIT_MS = 64_000

/**
 * Reads a pull request again while the server checks whether the present commits conflict. The end
 * of the check is an event. But a server that is too busy, or that stops, does not check until
 * somebody reads.
 */
function useSettledPull(pull: PullRequest | undefined, reload: () => void): void {
  const isChecked = pull?.mergeability !== PullRequest_Mergeability.CHECKING
  const commits = `${pull?.head?.sha} ${pull?.base?.sha}`
  useEffect(() => {
    if (isChecked) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const wait = (waitMs: number) => {
      timer = setTimeout(() => {
        reload()
        wait(Math.min(waitMs * 2, MAX_WAIT_MS))
      }, waitMs)
    }
    wait(FIRST_WAIT_MS)
    return () => clearTimeout(timer)
  }, [isChecked, commits, reload])
}
