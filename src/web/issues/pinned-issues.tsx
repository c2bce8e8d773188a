import type { VNode } from 'preact'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { t } from '../language/texts.tsx'

/** The issues that administrators of a repository have pinned, above its list. */
export function PinnedIssues({ name }: { name: { owner: string; repo: string } }): VNode {
  const { of } = useApi()
  const pinned = useLoad(
    async (signal) => (await of(IssuePinService).listPinnedIssues(name, { signal })).issues,
    [name.owner, name.repo],
  )
  return (
    <Show of={pinned}>
      {(issues) =>
        issues.length > 0 && (
          <section class="box" aria-labelledby="pinned">
            <h2 id="pinned">{t('Pinned')}</h2>
            <ul class="list">
              {issues.map((issue) => (
                <li key={String(issue.id)}>
                  <StateTag state={issue.state} />{' '}
                  <a href={`${repositoryHref(name)}/issues/${issue.number}`}>
                    {issue.title} #{issue.number.toString()}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        )
      }
    </Show>
  )
}
