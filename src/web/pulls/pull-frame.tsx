import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { codeHref, repositoryHref } from '../addresses.ts'
import { Time } from '../components/formats.tsx'
import { goInstead } from '../components/navigation.ts'
import { NotFound, useIsKnownMissing } from '../components/page.tsx'
import { writerOf } from '../components/person.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useConversation, type WholeConversation } from '../conversations/whole-conversation.ts'
import { T, t } from '../language/texts.tsx'
import { FrameOf } from '../repositories/repository.tsx'
import { useRepositoryEvents } from '../repositories/repository-events.ts'
import type { PageProps } from '../routes.ts'
import { PullState } from './pull-state.tsx'
import type { PullName } from './reviews.ts'

/** What the tabs of a pull request have in common. */
export interface PullTabProps {
  readonly name: PullName
  readonly whole: WholeConversation
  readonly repository: Repository
  readonly pull: PullRequest
  /** Grows when something has happened. */
  readonly version: number
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

/** Loads the pull request together with its repository. */
function NumberedPull({ name, tab, children }: PullProps): VNode {
  const whole = useConversation(name)
  const { value } = whole
  const title = t('Pull request {number}', { number: name.index.toString() })
  return (
    <FrameOf
      owner={name.owner}
      repo={name.repo}
      tab="Pull requests"
      title={title}
      repository={{ ...whole, value: value?.repository }}
    >
      {() =>
        value &&
        (value.pull ? (
          <Pull name={name} tab={tab} whole={value} pull={value.pull} reload={whole.reload}>
            {children}
          </Pull>
        ) : (
          <IssueInstead name={name} title={value.issue?.title ?? ''} />
        ))
      }
    </FrameOf>
  )
}

/** Leads to the issue that has the number. */
function IssueInstead({ name, title }: { name: PullName; title: string }): VNode {
  const href = `${repositoryHref(name)}/issues/${name.index}`
  useEffect(() => goInstead(href), [href])
  return (
    <p>
      <T
        text="Number {number} is an issue: {link}."
        number={name.index.toString()}
        link={<a href={href}>{title}</a>}
      />
    </p>
  )
}

interface LoadedPullProps extends PullProps {
  readonly whole: WholeConversation
  readonly pull: PullRequest
  readonly reload: () => void
}

function Pull({ name, whole, pull, tab, reload, children }: LoadedPullProps): VNode {
  const { repository, cursor } = whole
  const head = pull.head?.sha ?? ''
  const { version, isCut } = useRepositoryEvents({ ...name, head, cursor }, reload)
  useSettledPull(pull, reload)
  return (
    <>
      <PullHeader name={name} pull={pull} tab={tab} />
      <p role="status" class={isCut ? 'note' : 'hidden'}>
        {isCut && t('Reconnecting. Your drafts are kept.')}
      </p>
      {children({ repository, name, whole, pull, version, onChange: reload })}
    </>
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
function useSettledPull(pull: PullRequest, reload: () => void): void {
  const isChecked = pull.mergeability !== PullRequest_Mergeability.CHECKING
  const commits = `${pull.head?.sha} ${pull.base?.sha}`
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
