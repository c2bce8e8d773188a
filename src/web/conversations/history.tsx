import type { ComponentChildren, VNode } from 'preact'
import type { TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { ownHref, repositoryHref } from '../addresses.ts'
import { type Api, allPages, PAGE } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { REASONS } from '../issues/issue-state.tsx'
import type { PullName } from '../pulls/reviews.ts'

/** One thing that has happened to an issue or pull request, and what the words need. */
interface Happened {
  readonly entry: TimelineComment
  readonly name: PullName
  readonly kind: 'issue' | 'pull request'
}

/** Reads what has happened to an issue or pull request beside comments and reviews, oldest first. */
export async function readHistory(
  { of }: Api,
  name: PullName,
  signal: AbortSignal,
): Promise<TimelineComment[]> {
  const all = await allPages((page) =>
    of(IssueService)
      .listIssueTimeline({ ...name, page, limit: PAGE }, { signal })
      .then(({ entries: items, total }) => ({ items, total })),
  )
  return all.filter((entry) => wordsOf({ entry, name, kind: 'issue' }) !== undefined)
}

/** One thing that has happened to an issue or pull request. */
export function HistoryEntry(happened: Happened): VNode {
  const { entry } = happened
  return (
    <p class="happened">
      <strong>{entry.user?.login}</strong> {wordsOf(happened)} <Time at={entry.createdAt} />
    </p>
  )
}

/** Returns what somebody did; undefined for what the page does not show. */
function wordsOf(happened: Happened): ComponentChildren | undefined {
  return aboutOthers(happened) ?? aboutCommits(happened) ?? aboutFacts(happened)
}

function aboutFacts({ entry, kind }: Happened): ComponentChildren | undefined {
  const { type, body } = entry
  switch (type) {
    case 'label':
      return (
        entry.label && (
          <>
            {body === '1' ? 'added' : 'removed'} the label <LabelTag label={entry.label} />
          </>
        )
      )
    case 'milestone':
      return entry.milestone
        ? `set the milestone ${entry.milestone.title}`
        : `removed the milestone ${entry.oldMilestone?.title ?? ''}`
    case 'assignees':
      return assignmentOf({ entry, kind })
    case 'review_request':
      return requestOf(entry)
    case 'dismiss_review':
      return `dismissed a review${body === '' ? '' : `: ${body}`}`
    case 'change_title':
      return `changed the title from “${entry.oldTitle}” to “${entry.newTitle}”`
    case 'change_issue_ref':
      return `changed the branch from ${entry.oldRef || 'none'} to ${entry.newRef || 'none'}`
    case 'change_target_branch':
      return `changed the target branch from ${entry.oldRef} to ${entry.newRef}`
    case 'added_deadline':
      return `set the due date ${body}`
    case 'modified_deadline':
      return `changed the due date from ${body.split('|')[1]} to ${body.split('|')[0]}`
    case 'removed_deadline':
      return `removed the due date ${body}`
    case 'lock':
      return `locked the conversation${body === '' ? '' : `: ${body}`}`
    case 'unlock':
      return 'unlocked the conversation'
    case 'pin':
      return `pinned the ${kind}`
    case 'unpin':
      return `unpinned the ${kind}`
    case 'unduplicate':
      return 'removed the mark as a duplicate'
    case 'pull_scheduled_merge':
      return 'scheduled the merge'
    case 'pull_restack_failed':
      return `could not rebase this pull request ${body}`
    case 'pull_cancel_scheduled_merge':
      return 'cancelled the scheduled merge'
    default:
      return undefined
  }
}

function assignmentOf({ entry, kind }: Omit<Happened, 'name'>): string {
  const { user, assignee, removedAssignee } = entry
  const isOwn = user?.login === assignee?.login
  if (removedAssignee)
    return isOwn ? 'is no longer assigned' : `removed the assignee ${assignee?.login}`
  return isOwn ? `took the ${kind} on` : `assigned ${assignee?.login}`
}

function requestOf({ assignee, assigneeTeam, removedAssignee }: TimelineComment): string {
  const reviewer = assigneeTeam ? `the team ${assigneeTeam.name}` : (assignee?.login ?? 'a team')
  return removedAssignee
    ? `no longer asks ${reviewer} for a review`
    : `asked ${reviewer} for a review`
}

/** The entries that may name commits. */
function aboutCommits({ entry, name, kind }: Happened): ComponentChildren | undefined {
  const { type, body, refCommitSha: sha, oldCommitSha, isForcePush } = entry
  const by = sha !== '' && (
    <>
      {' '}
      by <Commit name={name} sha={sha} />
    </>
  )
  switch (type) {
    case 'close': {
      const reason = REASONS.find(([known]) => known === body)?.[1]
      return (
        <>
          closed the {kind}
          {reason !== undefined && ` ${reason}`}
          {by}
        </>
      )
    }
    case 'reopen':
      return (
        <>
          opened the {kind} again{by}
        </>
      )
    case 'merge_pull':
      return <>merged the pull request{by}</>
    case 'pull_push':
      return oldCommitSha === '' ? (
        <>
          moved the branch to <Commit name={name} sha={sha} />
        </>
      ) : (
        <>
          {isForcePush ? 'force-pushed' : 'moved'} the branch from{' '}
          <Commit name={name} sha={oldCommitSha} /> to <Commit name={name} sha={sha} />{' '}
          <a href={`${repositoryHref(name)}/compare/${oldCommitSha}...${sha}`}>Compare</a>
        </>
      )
    default:
      return undefined
  }
}

function Commit({ name, sha }: { name: PullName; sha: string }): VNode {
  return (
    <a href={`${repositoryHref(name)}/commit/${sha}`}>
      <code>{sha.slice(0, 10)}</code>
    </a>
  )
}

/** The entries that name another conversation, or a commit by its subject. */
function aboutOthers({ entry, kind }: Happened): ComponentChildren | undefined {
  const { type, refIssue, dependentIssue } = entry
  switch (type) {
    case 'issue_ref':
    case 'pull_ref':
    case 'comment_ref':
      return withIssue(
        entry.refAction === 'closes' ? `will close the ${kind} by` : `named the ${kind} in`,
        refIssue,
      )
    case 'commit_ref':
      return <NamedCommit html={entry.body} kind={kind} />
    case 'add_dependency':
      return withIssue('made a dependency with', dependentIssue)
    case 'remove_dependency':
      return withIssue('removed the dependency with', dependentIssue)
    case 'duplicate':
      return withIssue(`marked the ${kind} as a duplicate of`, refIssue)
    case 'transferred':
      return 'moved the issue from another repository'
    case 'sub_issue_added':
      return withIssue('added the sub-issue', refIssue)
    case 'sub_issue_removed':
      return withIssue('removed the sub-issue', refIssue)
    case 'parent_added':
      return withIssue('made the issue a part of', refIssue)
    case 'parent_removed':
      return withIssue('removed the issue from', refIssue)
    default:
      return undefined
  }
}

function withIssue(words: string, issue: Issue | undefined): ComponentChildren | undefined {
  return (
    issue && (
      <>
        {words}{' '}
        <a href={ownHref(issue.htmlUrl)}>
          {issue.title} #{issue.number.toString()}
        </a>
      </>
    )
  )
}

/** The server writes a link to the commit with its subject. The document of a parser runs no scripts. */
function NamedCommit({ html, kind }: { html: string; kind: Happened['kind'] }): VNode {
  const link = new DOMParser().parseFromString(html, 'text/html').querySelector('a')
  const href = link?.getAttribute('href') ?? ''
  const subject = link?.textContent ?? ''
  return (
    <>
      named the {kind} in the commit{' '}
      {href.startsWith('/') ? (
        <a href={ownHref(`${location.origin}${href}`)}>{subject}</a>
      ) : (
        subject
      )}
    </>
  )
}
