import type { VNode } from 'preact'
import type { Issue, IssueLink } from '#gen/branchline/v1/issue_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { Time } from '../components/formats.tsx'
import { writerOf } from '../components/person.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { T, t } from '../language/texts.tsx'
import type { PullName } from '../pulls/reviews.ts'

/** The reasons of closing, in words that follow the state or the button that closes. */
export const REASONS = [
  ['completed', t('as completed')],
  ['not_planned', t('as not planned')],
  ['duplicate', t('as a duplicate')],
] as const

/** Whether an issue is open, why it is closed, who opened it, and what it is a part of. */
export function StateLine({ name, issue }: { name: PullName; issue: Issue }): VNode {
  const { state, stateReason, duplicateOf, parent } = issue
  const reason = REASONS.find(([known]) => known === stateReason)?.[1]
  return (
    <p>
      <StateTag state={state} />
      {reason !== undefined && ' '}
      {duplicateOf ? (
        <T
          text="as a duplicate of {issue}"
          issue={<LinkedIssue name={name} link={duplicateOf} />}
        />
      ) : (
        reason
      )}
      {reason === undefined ? ' ' : ', '}
      <T text="{who} opened it {time}" who={writerOf(issue)} time={<Time at={issue.createdAt} />} />
      {parent && (
        <>
          , <T text="a part of {issue}" issue={<LinkedIssue name={name} link={parent} />} />
        </>
      )}
    </p>
  )
}

/** A link to an issue, with the repository where that is another one. */
function LinkedIssue({ name, link }: { name: PullName; link: IssueLink }): VNode {
  const { owner = name.owner, name: repo = name.repo } = link.repository ?? {}
  const isHere = owner === name.owner && repo === name.repo
  return (
    <a href={`${repositoryHref({ owner, repo })}/issues/${link.number}`}>
      {isHere ? '' : `${owner}/${repo}`}#{link.number.toString()}
    </a>
  )
}
