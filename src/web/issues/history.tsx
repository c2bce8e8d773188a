import type { ComponentChildren, VNode } from 'preact'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import type { TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { ownHref } from '../addresses.ts'
import { type Api, allPages, PAGE } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import type { PullName } from '../pulls/reviews.ts'
import { REASONS } from './issue-state.tsx'

/** Reads what has happened to an issue beside comments, oldest first. */
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
  return all.filter((entry) => wordsOf(entry) !== undefined)
}

/** One thing that has happened to an issue. */
export function HistoryEntry({ entry }: { entry: TimelineComment }): VNode {
  return (
    <p class="happened">
      <strong>{entry.user?.login}</strong> {wordsOf(entry)} <Time at={entry.createdAt} />
    </p>
  )
}

/** Returns what somebody did; undefined for what the page does not show. */
function wordsOf(entry: TimelineComment): ComponentChildren | undefined {
  return aboutOthers(entry) ?? aboutFacts(entry) ?? SIMPLE[entry.type]
}

const SIMPLE: Readonly<Record<string, string>> = {
  unlock: 'unlocked the conversation',
  pin: 'pinned the issue',
  unpin: 'unpinned the issue',
  unduplicate: 'removed the mark as a duplicate',
}

function aboutFacts(entry: TimelineComment): ComponentChildren | undefined {
  const { type, body } = entry
  switch (type) {
    case 'close':
      return `closed the issue${closingOf(entry)}`
    case 'reopen':
      return 'opened the issue again'
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
      return assignmentOf(entry.removedAssignee, entry.user, entry.assignee)
    case 'change_title':
      return `changed the title from “${entry.oldTitle}” to “${entry.newTitle}”`
    case 'change_issue_ref':
      return `changed the branch from ${entry.oldRef || 'none'} to ${entry.newRef || 'none'}`
    case 'added_deadline':
      return `set the due date ${body}`
    case 'modified_deadline':
      return `changed the due date from ${body.split('|')[1]} to ${body.split('|')[0]}`
    case 'removed_deadline':
      return `removed the due date ${body}`
    case 'lock':
      return `locked the conversation${body === '' ? '' : `: ${body}`}`
    default:
      return undefined
  }
}

function closingOf({ body, refCommitSha }: TimelineComment): string {
  const reason = REASONS.find(([known]) => known === body)?.[1]
  const commit = refCommitSha === '' ? '' : ` by ${refCommitSha.slice(0, 10)}`
  return `${reason === undefined ? '' : ` ${reason}`}${commit}`
}

function assignmentOf(
  isRemoved: boolean,
  user: Account | undefined,
  assignee: Account | undefined,
): string {
  const isOwn = user?.login === assignee?.login
  if (isRemoved) return isOwn ? 'is no longer assigned' : `removed the assignee ${assignee?.login}`
  return isOwn ? 'took the issue on' : `assigned ${assignee?.login}`
}

/** The entries that name another conversation, or a commit. */
function aboutOthers(entry: TimelineComment): ComponentChildren | undefined {
  const { type, refIssue, dependentIssue } = entry
  switch (type) {
    case 'issue_ref':
    case 'pull_ref':
    case 'comment_ref':
      return withIssue(
        entry.refAction === 'closes' ? 'will close the issue by' : 'named the issue in',
        refIssue,
      )
    case 'commit_ref':
      return <NamedCommit html={entry.body} />
    case 'add_dependency':
      return withIssue('made a dependency with', dependentIssue)
    case 'remove_dependency':
      return withIssue('removed the dependency with', dependentIssue)
    case 'duplicate':
      return withIssue('marked the issue as a duplicate of', refIssue)
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
function NamedCommit({ html }: { html: string }): VNode {
  const link = new DOMParser().parseFromString(html, 'text/html').querySelector('a')
  const href = link?.getAttribute('href') ?? ''
  const subject = link?.textContent ?? ''
  return (
    <>
      named the issue in the commit{' '}
      {href.startsWith('/') ? (
        <a href={ownHref(`${location.origin}${href}`)}>{subject}</a>
      ) : (
        subject
      )}
    </>
  )
}
