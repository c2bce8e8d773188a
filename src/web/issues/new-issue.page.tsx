import type { VNode } from 'preact'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, useAction } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { SignInLink } from '../components/page.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'

/** The form for a new issue. The address may have its title and its description. */
export function NewIssuePage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Issues" title="New issue">
      {() => <NewIssue name={{ owner, repo }} query={query} />}
    </RepositoryFrame>
  )
}

interface NewIssueProps {
  readonly name: { owner: string; repo: string }
  readonly query: URLSearchParams
}

function NewIssue({ name, query }: NewIssueProps): VNode {
  const { of, session } = useApi()
  const opening = useAction(async (form: HTMLFormElement) => {
    const request = { ...name, title: fieldOf(form, 'title'), body: fieldOf(form, 'body') }
    const { number } = await of(IssueService).createIssue(request)
    goTo(`${repositoryHref(name)}/issues/${number}`)
  })
  return (
    <>
      <h2>New issue</h2>
      {session.user ? (
        <form onSubmit={onSubmit(opening.run)}>
          {opening.failure && <FailureNote failure={opening.failure} />}
          <Field
            label="Title"
            name="title"
            defaultValue={query.get('title') ?? ''}
            maxLength={255}
            required
          />
          <label>
            Description
            <textarea name="body" rows={10} defaultValue={query.get('body') ?? ''} />
          </label>
          <p class="buttons">
            <button class="main" type="submit" disabled={opening.isRunning}>
              Open the issue
            </button>
          </p>
        </form>
      ) : (
        <p>
          <SignInLink /> to open an issue.
        </p>
      )}
    </>
  )
}
