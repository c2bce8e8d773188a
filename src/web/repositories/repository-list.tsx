import type { VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { Time } from '../components/time.tsx'

/** Repositories, one below the other. */
export function RepositoryList({ repositories }: { repositories: readonly Repository[] }): VNode {
  if (repositories.length === 0) return <p>No repositories.</p>
  return (
    <ul class="list">
      {repositories.map((repository) => (
        <li key={repository.fullName}>
          <a href={`/${repository.fullName}`}>{repository.fullName}</a>{' '}
          {repository.private && <span class="tag">private</span>}
          {repository.archived && <span class="tag">archived</span>}
          {repository.description !== '' && <p>{repository.description}</p>}
          <p class="facts">
            Updated <Time at={repository.updatedAt} />
          </p>
        </li>
      ))}
    </ul>
  )
}
