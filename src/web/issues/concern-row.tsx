import type { VNode } from 'preact'
import type { Issue } from '#gen/branchline/v1/issue_pb.ts'
import { ownHref } from '../addresses.ts'
import { Time } from '../components/formats.tsx'
import { LabelTag } from '../components/label-tag.tsx'
import { Writer } from '../components/person.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { plural, T, t } from '../language/texts.tsx'
import { PullTags } from '../pulls/pull-tags.tsx'

/** A row of an issue or a pull request in a list of several repositories. */
export function ConcernRow({ issue }: { issue: Issue }): VNode {
  const { pullRequest: pull } = issue
  return (
    <li>
      <span class="tag">{t(pull ? 'pull request' : 'issue')}</span>{' '}
      <a href={ownHref(issue.htmlUrl)} data-row>
        {issue.title} {issue.repository?.fullName}#{issue.number.toString()}
      </a>{' '}
      {issue.labels.map((label) => (
        <LabelTag key={String(label.id)} label={label} />
      ))}
      {pull?.draft && issue.state === 'open' && <StateTag state="draft" isPull />}
      {pull && <PullTags pull={pull} />}
      <p class="facts">
        <Writer of={issue} />, <T text="updated {time}" time={<Time at={issue.updatedAt} />} />
        {issue.comments > 0n &&
          `, ${plural(issue.comments, '{count} comment', '{count} comments')}`}
      </p>
    </li>
  )
}
