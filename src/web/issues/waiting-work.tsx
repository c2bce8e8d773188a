import type { VNode } from 'preact'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { numberText, t } from '../language/texts.tsx'
import { ConcernRow } from './concern-row.tsx'
import { useConcerns } from './concerns.ts'

/** The rows of each list. The page of the list has the others. */
const LIMIT = 5

/** What waits: the view of the page with the whole list, the heading, and what is asked for. */
const LISTS = [
  ['review_requested', t('Reviews that wait for you'), { reviewRequested: true }],
  ['created', t('Your pull requests'), { created: true, type: 'pulls', pullStates: true }],
  ['assigned', t('Assigned to you'), { assigned: true }],
  ['mentioned', t('Mentions of you'), { mentioned: true }],
] as const

/** The open issues and pull requests that concern the user, live. */
export function WaitingWork(): VNode {
  const { of } = useApi()
  const lists = useLoad(
    (signal) =>
      Promise.all(
        LISTS.map(([, , asked]) =>
          of(IssueService).searchIssues(
            { ...asked, state: 'open', sort: 'recentupdate', limit: LIMIT },
            { signal },
          ),
        ),
      ),
    [],
  )
  const isCut = useConcerns(lists.reload)
  return (
    <>
      <p role="status" class={isCut ? 'note' : 'hidden'}>
        {isCut && t('Reconnecting. The lists may be out of date.')}
      </p>
      <Show of={lists}>
        {(found) => (
          <>
            {found.every(({ issues }) => issues.length === 0) && (
              <p class="empty">{t('No issue and no pull request waits for you.')}</p>
            )}
            {LISTS.map(([view, heading], i) => {
              const { issues = [], total = 0n } = found[i] ?? {}
              return (
                issues.length > 0 && (
                  <section key={view} aria-labelledby={`waiting-${view}`}>
                    <h2 id={`waiting-${view}`}>
                      {heading} <span class="tag">{numberText(total)}</span>
                    </h2>
                    <ul class="list">
                      {issues.map((issue) => (
                        <ConcernRow key={String(issue.id)} issue={issue} />
                      ))}
                    </ul>
                    {total > issues.length && (
                      <p>
                        <a href={`/issues?view=${view}&state=open`}>{t('All of this list')}</a>
                      </p>
                    )}
                  </section>
                )
              )
            })}
          </>
        )}
      </Show>
    </>
  )
}
