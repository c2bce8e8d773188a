import type { VNode } from 'preact'
import type { Commit } from '#gen/branchline/v1/commit_pb.ts'
import { repositoryHref, subjectOf } from '../addresses.ts'
import { Avatar } from '../components/avatar.tsx'
import { Time } from '../components/formats.tsx'
import { T, t } from '../language/texts.tsx'

/** Commits, one below the other. */
export function CommitList(props: {
  owner: string
  repo: string
  commits: readonly Commit[]
}): VNode {
  const base = repositoryHref(props)
  if (props.commits.length === 0) return <p class="empty">{t('No commits.')}</p>
  return (
    <ul class="list">
      {props.commits.map(({ sha, commit, author }) => (
        <li key={sha}>
          <Avatar name={author?.login ?? commit?.author?.name ?? ''} account={author} />{' '}
          <a href={`${base}/commit/${sha}`}>
            {subjectOf(commit?.message ?? '') || t('No message')}
          </a>
          <p class="facts">
            <T
              text="{commit} by {author} {time}"
              commit={<code>{sha.slice(0, 10)}</code>}
              author={author?.login ?? commit?.author?.name}
              time={<Time at={commit?.author?.date} />}
            />
          </p>
        </li>
      ))}
    </ul>
  )
}
