import type { VNode } from 'preact'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'

/** The statuses that CI systems have reported for a commit. */
export function Checks(props: {
  name: { owner: string; repo: string }
  sha: string
  version: number
}): VNode | null {
  const { of } = useApi()
  const { name, sha, version } = props
  const status = useLoad(
    (signal) =>
      of(CommitStatusService).getCombinedStatus(
        { owner: name.owner, repo: name.repo, ref: sha },
        { signal },
      ),
    [sha, version],
  )
  if (sha === '') return null
  return (
    <section class="box" aria-labelledby="checks">
      <h3 id="checks">Checks</h3>
      <Show of={status}>
        {({ statuses }) =>
          statuses.length === 0 ? (
            <p>No system has reported a check.</p>
          ) : (
            <ul class="list">
              {statuses.map(({ context, status: state, description, targetUrl }) => (
                <li key={context}>
                  <span class={`tag ${state}`}>{state}</span>{' '}
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
          )
        }
      </Show>
    </section>
  )
}
