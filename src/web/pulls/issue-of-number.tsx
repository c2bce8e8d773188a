import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Show, useLoad } from '../components/load.tsx'
import { goInstead } from '../components/navigation.ts'
import { NotFound } from '../components/page.tsx'
import { T } from '../language/texts.tsx'
import type { PullName } from './reviews.ts'

/** Leads to the issue that has a number, where no pull request has the number. */
export function IssueOfNumber({ name }: { name: PullName }): VNode {
  const { of } = useApi()
  const issue = useLoad((signal) => of(IssueService).getIssue(name, { signal }), [])
  const isIssue = issue.value !== undefined && !issue.value.pullRequest
  const href = `${repositoryHref(name)}/issues/${name.index}`
  useEffect(() => {
    if (isIssue) goInstead(href)
  }, [isIssue])
  return (
    <Show of={issue} isPage>
      {({ title }) =>
        isIssue ? (
          <p>
            <T
              text="Number {number} is an issue: {link}."
              number={name.index.toString()}
              link={<a href={href}>{title}</a>}
            />
          </p>
        ) : (
          <NotFound />
        )
      }
    </Show>
  )
}
