import type { VNode } from 'preact'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullStackService } from '#gen/branchline/v1/pull_stack_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ActionButton } from '../components/forms.tsx'
import { StateTag } from '../components/state-tag.tsx'
import { say } from '../components/toast.tsx'
import { plural, t } from '../language/texts.tsx'
import type { PullName } from './reviews.ts'

interface StackProps {
  readonly repository: Repository
  readonly name: PullName
  readonly pull: PullRequest
  readonly onChange: () => void
}

/** The stack of a pull request, from the lowest, and how to rebase those above. */
export function PullStack({ repository, name, pull, onChange }: StackProps): VNode {
  const { of, session } = useApi()
  const isEditor =
    repository.permissions?.push === true || session.user?.username === pull.user?.login
  const hasAbove = pull.stack.at(-1)?.number !== pull.number
  const restack = async () => {
    const { heads } = await of(PullStackService).restackPullRequests(name)
    say(
      heads.length === 0
        ? t('All pull requests above follow this one already.')
        : plural(heads.length, 'Rebased {count} pull request.', 'Rebased {count} pull requests.'),
    )
    onChange()
  }
  return (
    <section class="box" aria-labelledby="stack">
      <h3 id="stack">{t('Stack, from the lowest')}</h3>
      <ol class="list">
        {pull.stack.map(({ number, title, state }) => (
          <li key={String(number)}>
            <StateTag state={state} isPull />{' '}
            <a
              href={`${repositoryHref(name)}/pulls/${number}`}
              aria-current={number === pull.number ? 'page' : undefined}
            >
              {title} <span class="number">#{String(number)}</span>
            </a>
          </li>
        ))}
      </ol>
      {isEditor && hasAbove && !repository.archived && (
        <p class="buttons">
          <ActionButton text={t('Rebase those above')} act={restack} />
        </p>
      )}
    </section>
  )
}
