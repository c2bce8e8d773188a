import type { VNode } from 'preact'
import type { IssueComment, TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import { type PullRequest, PullRequest_Mergeability } from '#gen/branchline/v1/pull_request_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { loadScript } from '../api/scripts.ts'
import { Icon } from '../components/icon.tsx'
import { Later, useLoad } from '../components/load.tsx'
import { writerAccount } from '../components/person.tsx'
import { checkText } from '../components/values.ts'
import { commentEntry, NewComment } from '../conversations/comments.tsx'
import { type PullDiscussion, useDiscussion } from '../conversations/discussion.ts'
import { type Entry, EntryView } from '../conversations/entry.tsx'
import { Participants } from '../conversations/participants.tsx'
import { ReactionContext, useReactionCounts } from '../conversations/reaction-counts.ts'
import { ThreadCounts } from '../conversations/thread-counts.tsx'
import type { WholeConversation } from '../conversations/whole-conversation.ts'
import { t } from '../language/texts.tsx'
import type { PullTabProps } from './pull-frame.tsx'
import { PullState } from './pull-state.tsx'
import { type PullName, type ReviewWithThreads, SILENT } from './reviews.ts'

const loadDetails = async () => (await import('./pull.later.ts')).PullDetails

const loadStack = async () => (await import('./pull-stack.tsx')).PullStack

const loadChosenSuggestions = async () =>
  (await import('../conversations/suggestion.tsx')).ChosenSuggestions

const loadHistoryEntry = async () => (await import('../conversations/history.tsx')).HistoryEntry

const loadMergeBox = async () => (await import('./pull.later.ts')).MergeBox

/** Comments and reviews of a pull request, its checks, and its merge. */
export function Conversation(props: PullTabProps): VNode {
  const { name, whole, pull, version, repository, onChange } = props
  const { comments, reviews, reactions: counts } = whole
  const head = pull.head?.sha ?? ''
  const discussion = useDiscussion({ repository, name, pull, head, reviews, reload: onChange })
  const reactions = useReactionCounts(counts, onChange)
  return (
    <ReactionContext.Provider value={reactions}>
      <div class="conversation">
        <PullSummary pull={pull} />
        <div>
          <EntryView
            name={name}
            entry={opening(pull)}
            discussion={discussion}
            onChange={onChange}
          />
          <Said name={name} whole={whole} discussion={discussion} onChange={onChange} />
          <Later
            load={loadMergeBox}
            with={{ repository, name, pull, reviews, version, onChange }}
          />
          <NewComment name={name} discussion={discussion} onSent={onChange} />
        </div>
        <Side
          {...props}
          said={[
            writerAccount(pull),
            ...comments.map(writerAccount),
            ...reviews
              .filter(({ review }) => !SILENT.includes(review.state))
              .map(({ review }) => writerAccount(review)),
          ]}
        />
      </div>
    </ReactionContext.Provider>
  )
}

interface SaidProps {
  readonly name: PullName
  readonly whole: WholeConversation
  readonly discussion: PullDiscussion
  readonly onChange: () => void
}

/** Comments, reviews and what has happened, in their order. */
function Said({ name, whole, discussion, onChange }: SaidProps): VNode {
  const { comments, events } = whole
  const { value: HistoryEntry } = useLoad(() => loadScript(loadHistoryEntry), [])
  return (
    <>
      {inOrder([...entriesOf(comments, discussion.reviews), ...events]).map((one) =>
        'type' in one ? (
          HistoryEntry && (
            <HistoryEntry
              key={`${one.type}-${one.id}`}
              entry={one}
              name={name}
              kind="pull request"
            />
          )
        ) : (
          <EntryView
            key={one.key}
            name={name}
            entry={one}
            discussion={discussion}
            onChange={onChange}
          />
        ),
      )}
      <PendingNote name={name} discussion={discussion} />
      <ThreadCounts discussion={discussion} />
      {discussion.chosen.size > 0 && <Later load={loadChosenSuggestions} with={{ discussion }} />}
    </>
  )
}

type SideProps = PullTabProps & Parameters<typeof Participants>[0]

/** Facts about a pull request, beside the conversation. */
function Side({ repository, name, whole, pull, onChange, said }: SideProps): VNode {
  return (
    <div class="side">
      {pull.stack.length > 0 && (
        <Later load={loadStack} with={{ repository, name, pull, onChange }} />
      )}
      <Later load={loadDetails} with={{ repository, name, pull, onChange }} />
      {pull.head?.sha && <Checks statuses={whole.statuses} />}
      <Participants said={said} />
    </div>
  )
}

/** What stands between an open pull request and its merge, by the check for conflicts. */
const MERGEABILITY: Readonly<Partial<Record<PullRequest_Mergeability, string>>> = {
  [PullRequest_Mergeability.CONFLICT]: t('Conflicts with the target branch'),
  [PullRequest_Mergeability.CHECKING]: t('Looking for conflicts'),
  [PullRequest_Mergeability.MERGEABLE]: t('No conflicts'),
}

/** The state of a pull request, which stays in view, and the way to the merge. */
function PullSummary({ pull }: { pull: PullRequest }): VNode | null {
  if (pull.state !== 'open') return null
  return (
    <p class="summary">
      <PullState pull={pull} /> <strong>{pull.title}</strong>
      <span class="facts">{MERGEABILITY[pull.mergeability]}</span>
      <span class="space" />
      <a class="button" href="#merge">
        <Icon name="git-merge" /> {t('Go to the merge')}
      </a>
    </p>
  )
}

function opening({ user, originalAuthor, createdAt, body }: PullRequest): Entry {
  return {
    key: '',
    who: user?.login ?? '',
    account: user,
    originalAuthor,
    did: 'opened',
    at: createdAt,
    body,
    threads: [],
  }
}

/** Returns what a reviewer did. */
function didOf(state: string) {
  if (state === 'APPROVED') return 'approved the changes'
  return state === 'REQUEST_CHANGES' ? 'asked for changes' : 'reviewed'
}

/** Returns all comments and submitted reviews. */
function entriesOf(
  comments: readonly IssueComment[],
  reviews: readonly ReviewWithThreads[],
): Entry[] {
  return [
    ...comments.map(commentEntry),
    ...reviews.filter(({ review }) => !SILENT.includes(review.state)).map(entryOf),
  ]
}

/** Returns what was said and what has happened, oldest first. */
function inOrder(entries: readonly (Entry | TimelineComment)[]): (Entry | TimelineComment)[] {
  const secondsOf = (one: Entry | TimelineComment) =>
    ('type' in one ? one.createdAt : one.at)?.seconds ?? 0n
  return [...entries].sort((one, other) => Number(secondsOf(one) - secondsOf(other)))
}

function entryOf({ review, threads }: ReviewWithThreads): Entry {
  const { id, user, originalAuthor, team, submittedAt, body, state, dismissed } = review
  return {
    key: `review-${id}`,
    who: user?.login ?? team?.name ?? '',
    account: user,
    originalAuthor,
    did: `${didOf(state)}${dismissed ? ' (dismissed)' : ''}`,
    at: submittedAt,
    body,
    threads,
    review,
  }
}

function PendingNote(props: { name: PullName; discussion: PullDiscussion }): VNode | null {
  const { name, discussion } = props
  if (!discussion.pending) return null
  return (
    <p class="note">
      {t('You have a pending review.')}{' '}
      <a href={`${repositoryHref(name)}/pulls/${name.index}/files`}>
        {t('Submit the review among the files.')}
      </a>
    </p>
  )
}

/** The statuses that CI systems have reported for the head. */
function Checks({ statuses }: Pick<WholeConversation, 'statuses'>): VNode {
  return (
    <section class="box" aria-labelledby="checks">
      <h3 id="checks">{t('Checks')}</h3>
      {statuses.length === 0 ? (
        <p>{t('No system has reported a check.')}</p>
      ) : (
        <ul class="list">
          {statuses.map(({ context, status: state, description, targetUrl }) => (
            <li key={context}>
              <span class={`tag ${state}`}>{checkText(state)}</span>{' '}
              {/^https?:/.test(targetUrl) ? (
                <a href={targetUrl} rel="nofollow noopener noreferrer">
                  {context}
                </a>
              ) : (
                context
              )}{' '}
              {description}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
