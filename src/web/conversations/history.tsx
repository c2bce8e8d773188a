import type { VNode } from 'preact'
import type { TimelineComment } from '#gen/branchline/v1/issue_comment_pb.ts'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { ownHref, repositoryHref } from '../addresses.ts'
import { Time } from '../components/formats.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { T, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'

/** One thing that has happened to an issue or pull request, and what the words need. */
interface Happened {
  readonly entry: TimelineComment
  readonly name: PullName
  readonly kind: 'issue' | 'pull request'
}

/** One thing that has happened to an issue or pull request; nothing for what the page does not show. */
export function HistoryEntry(happened: Happened): VNode | null {
  const sentence = sentenceOf(happened)
  return sentence ? <p class="happened">{sentence}</p> : null
}

/** Returns what somebody did; undefined for what the page does not show. */
function sentenceOf(happened: Happened): VNode | undefined {
  return aboutOthers(happened) ?? aboutCommits(happened) ?? aboutFacts(happened)
}

/** Returns the parts that all sentences have. */
function partsOf({ user, createdAt }: TimelineComment) {
  return { who: <strong>{user?.login}</strong>, time: <Time at={createdAt} /> }
}

/** What an entry says that has no more words than its kind. */
const PLAIN = {
  unlock: '{who} unlocked the conversation {time}',
  unduplicate: '{who} removed the mark as a duplicate {time}',
  pull_scheduled_merge: '{who} scheduled the merge {time}',
  pull_cancel_scheduled_merge: '{who} cancelled the scheduled merge {time}',
  transferred: '{who} moved the issue from another repository {time}',
} as const

function isPlain(type: string): type is keyof typeof PLAIN {
  return Object.hasOwn(PLAIN, type)
}

function aboutFacts({ entry, kind }: Happened): VNode | undefined {
  const { type, body, label, milestone, oldMilestone } = entry
  const parts = partsOf(entry)
  if (isPlain(type)) return <T text={PLAIN[type]} {...parts} />
  switch (type) {
    case 'label': {
      if (!label) return undefined
      const did = body === '1' ? 'added' : 'removed'
      return (
        <T
          text={`{who} ${did} the label {label} {time}` as const}
          {...parts}
          label={<LabelTag label={label} />}
        />
      )
    }
    case 'milestone': {
      const did = milestone ? 'set' : 'removed'
      const { title = '' } = milestone ?? oldMilestone ?? {}
      return (
        <T text={`{who} ${did} the milestone {title} {time}` as const} {...parts} title={title} />
      )
    }
    case 'assignees':
      return assignmentOf({ entry, kind })
    case 'review_request':
      return requestOf(entry)
    case 'dismiss_review':
      return (
        <T
          text={`{who} dismissed a review${body && ': {reason}'} {time}` as const}
          {...parts}
          reason={body}
        />
      )
    case 'lock':
      return (
        <T
          text={`{who} locked the conversation${body && ': {reason}'} {time}` as const}
          {...parts}
          reason={body}
        />
      )
    case 'pin':
    case 'unpin':
      return <T text={`{who} ${type}ned the ${kind} {time}` as const} {...parts} />
    case 'pull_restack_failed':
      return (
        <T
          text="{who} could not rebase this pull request {reason} {time}"
          {...parts}
          reason={body}
        />
      )
    default:
      return aboutFields(entry)
  }
}

/** The entries about a text or a date that has changed. */
function aboutFields(entry: TimelineComment): VNode | undefined {
  const { type, body, oldTitle, newTitle, oldRef, newRef } = entry
  const parts = partsOf(entry)
  switch (type) {
    case 'change_title':
      return (
        <T
          text="{who} changed the title from “{from}” to “{to}” {time}"
          {...parts}
          from={oldTitle}
          to={newTitle}
        />
      )
    case 'change_issue_ref':
      return (
        <T
          text="{who} changed the branch from {from} to {to} {time}"
          {...parts}
          from={oldRef || t('none @branch')}
          to={newRef || t('none @branch')}
        />
      )
    case 'change_target_branch':
      return (
        <T
          text="{who} changed the target branch from {from} to {to} {time}"
          {...parts}
          from={oldRef}
          to={newRef}
        />
      )
    case 'added_deadline':
      return <T text="{who} set the due date {date} {time}" {...parts} date={body} />
    case 'modified_deadline': {
      const [to, from] = body.split('|')
      return (
        <T
          text="{who} changed the due date from {from} to {to} {time}"
          {...parts}
          from={from}
          to={to}
        />
      )
    }
    case 'removed_deadline':
      return <T text="{who} removed the due date {date} {time}" {...parts} date={body} />
    default:
      return undefined
  }
}

function assignmentOf({ entry, kind }: Omit<Happened, 'name'>): VNode {
  const { user, assignee, removedAssignee } = entry
  const parts = partsOf(entry)
  const isOwn = user?.login === assignee?.login
  if (isOwn && removedAssignee) return <T text="{who} is no longer assigned {time}" {...parts} />
  if (isOwn) return <T text={`{who} took the ${kind} on {time}` as const} {...parts} />
  const did = removedAssignee ? 'removed the assignee' : 'assigned'
  return (
    <T text={`{who} ${did} {assignee} {time}` as const} {...parts} assignee={assignee?.login} />
  )
}

function requestOf(entry: TimelineComment): VNode {
  const { assignee, assigneeTeam, removedAssignee } = entry
  const parts = partsOf(entry)
  const asked = removedAssignee ? 'no longer asks' : 'asked'
  if (assigneeTeam)
    return (
      <T
        text={`{who} ${asked} the team {team} for a review {time}` as const}
        {...parts}
        team={assigneeTeam.name}
      />
    )
  return (
    <T
      text={`{who} ${asked} {reviewer} for a review {time}` as const}
      {...parts}
      reviewer={assignee?.login ?? t('a team')}
    />
  )
}

/** How an issue was closed, by the reason. */
const CLOSED = {
  completed: ' as completed',
  not_planned: ' as not planned',
  duplicate: ' as a duplicate',
} as const

function isReason(text: string): text is keyof typeof CLOSED {
  return Object.hasOwn(CLOSED, text)
}

/** The entries that may name commits. */
function aboutCommits({ entry, name, kind }: Happened): VNode | undefined {
  const { type, body, refCommitSha: sha, oldCommitSha, isForcePush } = entry
  const parts = { ...partsOf(entry), commit: <Commit name={name} sha={sha} /> }
  const by = sha === '' ? '' : ' by {commit}'
  switch (type) {
    case 'close': {
      const how = isReason(body) ? CLOSED[body] : ''
      return kind === 'issue' ? (
        <T text={`{who} closed the issue${how}${by} {time}` as const} {...parts} />
      ) : (
        <T text={`{who} closed the pull request${by} {time}` as const} {...parts} />
      )
    }
    case 'reopen':
      return <T text={`{who} opened the ${kind} again${by} {time}` as const} {...parts} />
    case 'merge_pull':
      return <T text={`{who} merged the pull request${by} {time}` as const} {...parts} />
    case 'pull_push': {
      if (oldCommitSha === '')
        return <T text="{who} moved the branch to {commit} {time}" {...parts} />
      const href = `${repositoryHref(name)}/compare/${oldCommitSha}...${sha}`
      return (
        <T
          text={
            `{who} ${isForcePush ? 'force-pushed' : 'moved'} the branch from {old} to {commit} {compare} {time}` as const
          }
          {...parts}
          old={<Commit name={name} sha={oldCommitSha} />}
          compare={<a href={href}>{t('Compare')}</a>}
        />
      )
    }
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
function aboutOthers({ entry, kind }: Happened): VNode | undefined {
  const { type, body } = entry
  if (type === 'commit_ref')
    return (
      <T
        text={`{who} named the ${kind} in the commit {commit} {time}` as const}
        {...partsOf(entry)}
        commit={<NamedCommit html={body} />}
      />
    )
  const isDependency = type === 'add_dependency' || type === 'remove_dependency'
  const other = isDependency ? entry.dependentIssue : entry.refIssue
  const text = textAboutIssue(entry, kind)
  return (
    text && other && <T text={text} {...partsOf(entry)} issue={<LinkedIssue issue={other} />} />
  )
}

function textAboutIssue({ type, refAction }: TimelineComment, kind: Happened['kind']) {
  switch (type) {
    case 'issue_ref':
    case 'pull_ref':
    case 'comment_ref':
      return refAction === 'closes'
        ? (`{who} will close the ${kind} by {issue} {time}` as const)
        : (`{who} named the ${kind} in {issue} {time}` as const)
    case 'add_dependency':
      return '{who} made a dependency with {issue} {time}'
    case 'remove_dependency':
      return '{who} removed the dependency with {issue} {time}'
    case 'duplicate':
      return `{who} marked the ${kind} as a duplicate of {issue} {time}` as const
    case 'sub_issue_added':
      return '{who} added the sub-issue {issue} {time}'
    case 'sub_issue_removed':
      return '{who} removed the sub-issue {issue} {time}'
    case 'parent_added':
      return '{who} made the issue a part of {issue} {time}'
    case 'parent_removed':
      return '{who} removed the issue from {issue} {time}'
    default:
      return undefined
  }
}

function LinkedIssue({ issue }: { issue: Issue }): VNode {
  return (
    <a href={ownHref(issue.htmlUrl)}>
      {issue.title} #{issue.number.toString()}
    </a>
  )
}

/** The server writes a link to the commit with its subject. The document of a parser runs no scripts. */
function NamedCommit({ html }: { html: string }): VNode {
  const link = new DOMParser().parseFromString(html, 'text/html').querySelector('a')
  const href = link?.getAttribute('href') ?? ''
  const subject = link?.textContent ?? ''
  if (!href.startsWith('/')) return <span>{subject}</span>
  return <a href={ownHref(`${location.origin}${href}`)}>{subject}</a>
}
