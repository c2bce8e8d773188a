import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import type { IssueComment, TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Later, type Loaded } from '../components/load.tsx'
import { goInstead } from '../components/navigation.ts'
import { NotFound, useIsKnownMissing } from '../components/page.tsx'
import { writerAccount } from '../components/person.tsx'
import { commentEntry, NewComment } from '../conversations/comments.tsx'
import type { Discussion } from '../conversations/discussion.ts'
import { type Entry, EntryView } from '../conversations/entry.tsx'
import { HistoryEntry } from '../conversations/history.tsx'
import { Participants } from '../conversations/participants.tsx'
import { ReactionContext, useReactionCounts } from '../conversations/reaction-counts.ts'
import { useConversation, type WholeConversation } from '../conversations/whole-conversation.ts'
import { T, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { FrameOf } from '../repositories/repository.tsx'
import { useRepositoryEvents } from '../repositories/repository-events.ts'
import type { PageProps } from '../routes.ts'
import { StateLine } from './issue-state.tsx'

const loadDetails = async () => (await import('./issue.later.ts')).IssueDetails
const loadSubIssues = async () => (await import('./issue.later.ts')).SubIssues
const loadDependencies = async () => (await import('./issue.later.ts')).Dependencies
const loadStateForm = async () => (await import('./issue.later.ts')).StateForm
const loadAdministration = async () => (await import('./issue.later.ts')).IssueAdministration

/** One issue, with what was said about it. */
export function IssuePage({ owner, repo, rest }: PageProps): VNode {
  const [number = ''] = rest
  const isNumber = /^[1-9]\d{0,17}$/.test(number)
  if (useIsKnownMissing() || !isNumber) return <NotFound />
  return <NumberedIssue name={{ owner, repo, index: BigInt(number) }} />
}

/** Loads the issue together with its repository. */
function NumberedIssue({ name }: { name: PullName }): VNode {
  const whole = useConversation(name)
  const { value } = whole
  const elsewhere = hrefElsewhere(name, whole)
  useEffect(() => {
    if (elsewhere !== undefined) goInstead(elsewhere)
  }, [elsewhere])
  return (
    <FrameOf
      owner={name.owner}
      repo={name.repo}
      tab="Issues"
      title={t('Issue {number}', { number: name.index.toString() })}
      repository={{ ...whole, value: value?.repository }}
    >
      {() =>
        value &&
        (value.issue ? (
          <IssueView name={name} whole={value} issue={value.issue} onChange={whole.reload} />
        ) : (
          <PullInstead name={name} title={value.pull?.title ?? ''} />
        ))
      }
    </FrameOf>
  )
}

/** Returns where to look instead: a number is a pull request, or the issue has another repository now. */
function hrefElsewhere(
  name: PullName,
  { value, failure }: Loaded<WholeConversation>,
): string | undefined {
  if (value?.pull) return `${repositoryHref(name)}/pulls/${name.index}`
  if (failure?.reason !== 'ISSUE_TRANSFERRED') return undefined
  const { owner = '', repo = '', number = '' } = failure.metadata
  return `${repositoryHref({ owner, repo })}/issues/${number}`
}

function PullInstead({ name, title }: { name: PullName; title: string }): VNode {
  return (
    <p>
      <T
        text="Number {number} is a pull request: {link}."
        number={name.index.toString()}
        link={<a href={`${repositoryHref(name)}/pulls/${name.index}`}>{title}</a>}
      />
    </p>
  )
}

interface IssueProps {
  readonly name: PullName
  readonly whole: WholeConversation
  readonly issue: Issue
  readonly onChange: () => void
}

function IssueView(props: IssueProps): VNode {
  const { name, whole, issue, onChange } = props
  const watched = { ...name, head: '', cursor: whole.cursor }
  const { version, isCut } = useRepositoryEvents(watched, onChange)
  return (
    <>
      <h2>
        {issue.title} <span class="number">#{issue.number.toString()}</span>
      </h2>
      <StateLine name={name} issue={issue} />
      <p role="status" class={isCut ? 'note' : 'hidden'}>
        {isCut && t('Reconnecting. Your drafts are kept.')}
      </p>
      <Conversation {...props} version={version} />
    </>
  )
}

interface ConversationProps extends IssueProps {
  /** Grows when something has happened. */
  readonly version: number
}

function Conversation(props: ConversationProps): VNode {
  const { name, whole, issue, onChange } = props
  const { session } = useApi()
  const discussion = discussionOf(props, session.user?.username)
  const reactions = useReactionCounts(whole.reactions, onChange)
  return (
    <ReactionContext.Provider value={reactions}>
      <div class="conversation">
        <div>
          <EntryView
            name={name}
            entry={opening(issue)}
            discussion={discussion}
            onChange={onChange}
          />
          {inOrder(whole.comments, whole.events).map((one) =>
            'type' in one ? (
              <HistoryEntry key={`${one.type}-${one.id}`} entry={one} name={name} kind="issue" />
            ) : (
              <EntryView
                key={one.id}
                name={name}
                entry={commentEntry(one)}
                discussion={discussion}
                onChange={onChange}
              />
            ),
          )}
          <RelatedWork {...props} isWriter={discussion.canModerate} />
          <NewComment name={name} discussion={discussion} onSent={onChange} />
        </div>
        <Side {...props} isWriter={discussion.canModerate} />
      </div>
    </ReactionContext.Provider>
  )
}

function opening({ user, originalAuthor, createdAt, body, assets }: Issue): Entry {
  const entry = { key: '', did: 'opened' as const, threads: [] }
  return {
    ...entry,
    ...{ originalAuthor, body, assets, at: createdAt },
    who: user?.login ?? '',
    account: user,
  }
}

type PartProps = ConversationProps & { readonly isWriter: boolean }

/** Sub-issues and dependencies, and the form that closes the issue. */
function RelatedWork({ name, whole, issue, version, onChange, isWriter }: PartProps): VNode {
  const { session } = useApi()
  const isAuthor = session.user !== undefined && session.user.username === issue.user?.login
  return (
    <>
      <Later load={loadSubIssues} with={{ name, isWriter, version }} />
      <Later load={loadDependencies} with={{ name, isWriter, version, onChange }} />
      {(isWriter || isAuthor) && !whole.repository.archived && (
        <Later load={loadStateForm} with={{ name, issue, onChange }} />
      )}
    </>
  )
}

/** Facts about an issue, beside the conversation. */
function Side({ name, whole, issue, onChange, isWriter }: PartProps): VNode {
  const { repository, comments } = whole
  return (
    <div class="side">
      <Later load={loadDetails} with={{ repository, name, issue, onChange }} />
      <Participants said={[writerAccount(issue), ...comments.map(writerAccount)]} />
      {isWriter && <Later load={loadAdministration} with={{ repository, name, issue, onChange }} />}
    </div>
  )
}

/** Returns comments and what has happened beside them, oldest first. */
function inOrder(
  comments: readonly IssueComment[],
  history: readonly TimelineComment[],
): (IssueComment | TimelineComment)[] {
  const time = ({ createdAt }: IssueComment | TimelineComment) =>
    Number(createdAt?.seconds ?? 0n) * 1000 + (createdAt?.nanos ?? 0) / 1e6
  return [...comments, ...history].sort((one, other) => time(one) - time(other))
}

/** What the user may do in the conversation of an issue, which has no diff. */
function discussionOf(
  { name, whole, issue, onChange }: ConversationProps,
  username: string | undefined,
): Discussion {
  const { archived, permissions } = whole.repository
  const isWriter = permissions?.push === true && !archived
  return {
    name,
    head: '',
    threads: new Map(),
    pending: undefined,
    canComment: username !== undefined && !archived && (isWriter || !issue.isLocked),
    canResolve: false,
    canDismiss: false,
    canModerate: isWriter,
    canApply: false,
    chosen: new Set<bigint>(),
    choose() {
      throw new Error('issues have no suggestions')
    },
    drafts: `draft ${username} ${name.owner}/${name.repo}/${name.index} `,
    reload: onChange,
  }
}
