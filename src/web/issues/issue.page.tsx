import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import type { IssueComment, TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Later, type Loaded, Show, useLoad } from '../components/load.tsx'
import { goInstead } from '../components/navigation.ts'
import { NotFound, useIsKnownMissing } from '../components/page.tsx'
import { writerAccount } from '../components/person.tsx'
import { commentEntry, NewComment, readComments } from '../conversations/comments.tsx'
import type { Discussion } from '../conversations/discussion.ts'
import { EntryView } from '../conversations/entry.tsx'
import { HistoryEntry, readHistory } from '../conversations/history.tsx'
import { Participants } from '../conversations/participants.tsx'
import { ReactionContext, useReactionCounts } from '../conversations/reaction-counts.ts'
import { T, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { RepositoryFrame } from '../repositories/repository.tsx'
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

/** Loads the issue beside its repository. */
function NumberedIssue({ name }: { name: PullName }): VNode {
  const { of } = useApi()
  const issue = useLoad((signal) => of(IssueService).getIssue(name, { signal }), [])
  const title = t('Issue {number}', { number: name.index.toString() })
  return (
    <RepositoryFrame owner={name.owner} repo={name.repo} tab="Issues" title={title}>
      {(repository) => <IssueView repository={repository} name={name} issue={issue} />}
    </RepositoryFrame>
  )
}

interface IssueProps {
  readonly repository: Repository
  readonly name: PullName
}

/** Returns where to look instead: a number is a pull request, or the issue has another repository now. */
function hrefElsewhere(name: PullName, { value, failure }: Loaded<Issue>): string | undefined {
  if (value?.pullRequest) return `${repositoryHref(name)}/pulls/${name.index}`
  if (failure?.reason !== 'ISSUE_TRANSFERRED') return undefined
  const { owner = '', repo = '', number = '' } = failure.metadata
  return `${repositoryHref({ owner, repo })}/issues/${number}`
}

function IssueView({
  repository,
  name,
  issue,
}: IssueProps & { readonly issue: Loaded<Issue> }): VNode {
  const elsewhere = hrefElsewhere(name, issue)
  useEffect(() => {
    if (elsewhere !== undefined) goInstead(elsewhere)
  }, [elsewhere])
  const { version, isCut } = useRepositoryEvents(name, name.index, '', issue.reload)
  return (
    <Show of={issue} isPage>
      {(value) =>
        value.pullRequest ? (
          <p>
            <T
              text="Number {number} is a pull request: {link}."
              number={value.number.toString()}
              link={<a href={`${repositoryHref(name)}/pulls/${value.number}`}>{value.title}</a>}
            />
          </p>
        ) : (
          <>
            <h2>
              {value.title} <span class="number">#{value.number.toString()}</span>
            </h2>
            <StateLine name={name} issue={value} />
            <p role="status" class={isCut ? 'note' : 'hidden'}>
              {isCut && t('Reconnecting. Your drafts are kept.')}
            </p>
            <Conversation
              repository={repository}
              name={name}
              issue={value}
              version={version}
              onChange={issue.reload}
            />
          </>
        )
      }
    </Show>
  )
}

interface ConversationProps extends IssueProps {
  readonly issue: Issue
  /** Grows when something has happened. */
  readonly version: number
  readonly onChange: () => void
}

function Conversation(props: ConversationProps): VNode {
  const { repository, name, issue, version, onChange } = props
  const api = useApi()
  const comments = useLoad((signal) => readComments(api, name, signal), [version])
  const history = useLoad((signal) => readHistory(api, name, signal), [version])
  const discussion = discussionOf(props, api.session.user?.username, comments.reload)
  const isAuthor = api.session.user !== undefined && api.session.user.username === issue.user?.login
  const opening = {
    key: '',
    who: issue.user?.login ?? '',
    account: issue.user,
    originalAuthor: issue.originalAuthor,
    did: 'opened' as const,
    at: issue.createdAt,
    body: issue.body,
    assets: issue.assets,
    threads: [],
  }
  const reactions = useReactionCounts(name, version)
  return (
    <ReactionContext.Provider value={reactions}>
      <div class="conversation">
        <div>
          <EntryView name={name} entry={opening} discussion={discussion} onChange={onChange} />
          <Show of={comments}>
            {(said) => (
              <>
                {inOrder(said, history.value ?? []).map((one) =>
                  'type' in one ? (
                    <HistoryEntry
                      key={`${one.type}-${one.id}`}
                      entry={one}
                      name={name}
                      kind="issue"
                    />
                  ) : (
                    <EntryView
                      key={one.id}
                      name={name}
                      entry={commentEntry(one)}
                      discussion={discussion}
                      onChange={comments.reload}
                    />
                  ),
                )}
              </>
            )}
          </Show>
          <Later load={loadSubIssues} with={{ name, isWriter: discussion.canModerate, version }} />
          <Later
            load={loadDependencies}
            with={{
              name,
              isWriter: discussion.canModerate,
              version,
              onChange: history.reload,
            }}
          />
          {(discussion.canModerate || isAuthor) && !repository.archived && (
            <Later load={loadStateForm} with={{ name, issue, onChange }} />
          )}
          <NewComment name={name} discussion={discussion} onSent={comments.reload} />
        </div>
        <div class="side">
          <Later load={loadDetails} with={{ repository, name, issue, onChange }} />
          <Participants
            said={[writerAccount(issue), ...(comments.value ?? []).map(writerAccount)]}
          />
          {discussion.canModerate && (
            <Later load={loadAdministration} with={{ repository, name, issue, onChange }} />
          )}
        </div>
      </div>
    </ReactionContext.Provider>
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
  { repository, name, issue }: ConversationProps,
  username: string | undefined,
  reload: () => void,
): Discussion {
  const { archived, permissions } = repository
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
    reload,
  }
}
