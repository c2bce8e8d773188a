import type { VNode } from 'preact'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import type { PullRequest } from '#gen/branchline/v1/pull_request_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { repositoryHref, subjectOf } from '../addresses.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { type Api, PAGE, useApi } from '../api/client.ts'
import { failureOf } from '../api/failure.ts'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { plural, T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { CommitList } from './commit-list.tsx'
import { Diff, useDiff } from './diff.tsx'

/** The id of a commit, which is no base of a pull request. */
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/

/** Commits and changes of a branch compared with another one, and the form of a pull request. */
export function ComparePage({ owner, repo, rest }: PageProps): VNode {
  const basehead = rest.join('/')
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Pull requests" title={basehead || t('Compare')}>
      {(repository) =>
        basehead === '' ? (
          <BranchChoice repository={repository} name={{ owner, repo }} />
        ) : (
          <Comparison repository={repository} basehead={basehead} />
        )
      }
    </RepositoryFrame>
  )
}

/** Chooses what is compared. The branches are offered, as many as the API has on one page. */
function BranchChoice(props: {
  repository: Repository
  name: { owner: string; repo: string }
}): VNode {
  const { of } = useApi()
  const { repository, name } = props
  const branches = useLoad(
    (signal) => of(BranchService).listBranches({ ...name, limit: PAGE }, { signal }),
    [],
  )
  const compare = (form: HTMLFormElement) => {
    const [base, head] = [fieldOf(form, 'base').trim(), fieldOf(form, 'head').trim()]
    goTo(
      `${repositoryHref(name)}/compare/${encodeURIComponent(base)}...${encodeURIComponent(head)}`,
    )
  }
  const field = { list: 'branches', autocomplete: 'off', required: true } as const
  return (
    <>
      <h2>{t('Compare branches')}</h2>
      <form onSubmit={onSubmit(compare)}>
        <Field
          label={t('Branch that gets the changes')}
          name="base"
          defaultValue={repository.defaultBranch}
          {...field}
        />
        <Field
          label={t('Branch with the changes')}
          name="head"
          hint={t('With the owner and a colon before the branch of a fork.')}
          {...field}
        />
        <datalist id="branches">
          {branches.value?.branches.map((known) => (
            <option key={known.name} value={known.name} />
          ))}
        </datalist>
        <button class="main" type="submit">
          {t('Compare the branches')}
        </button>
      </form>
    </>
  )
}

function Comparison({ repository, basehead }: { repository: Repository; basehead: string }): VNode {
  const { of, session } = useApi()
  const name = { owner: repository.owner?.login ?? '', repo: repository.name }
  // Without a base, the default branch is compared.
  const [base, head] = basehead.includes('...')
    ? basehead.split('...')
    : [repository.defaultBranch, basehead]
  const request = { ...name, basehead: `${base}...${head}` }
  const comparison = useLoad(
    (signal) => of(CommitService).compareCommits(request, { signal }),
    [basehead],
  )
  const diff = useDiff(
    (signal) => of(CommitService).getComparisonDiff({ ...request, format: 'diff' }, { signal }),
    [basehead],
  )
  return (
    <>
      <h2>{t('Compare {base} with {head}', { base: base ?? '', head: head ?? '' })}</h2>
      <Show of={comparison}>
        {({ commits, totalCommits }) => (
          <>
            {totalCommits > 0n && session.user && !COMMIT.test(base ?? '') && (
              <NewPull
                name={name}
                base={base ?? ''}
                head={head ?? ''}
                title={subjectOf(commits.at(-1)?.commit?.message ?? '')}
              />
            )}
            <h3>{plural(totalCommits, '{count} commit', '{count} commits')}</h3>
            <CommitList {...name} commits={commits} />
            {totalCommits > commits.length && (
              <p class="note">
                {plural(
                  commits.length,
                  'Only the newest {count} commit are listed.',
                  'Only the newest {count} commits are listed.',
                )}
              </p>
            )}
            {totalCommits > 0n && <Show of={diff}>{(files) => <Diff {...files} />}</Show>}
          </>
        )}
      </Show>
    </>
  )
}

function NewPull(props: {
  name: { owner: string; repo: string }
  base: string
  head: string
  title: string
}): VNode {
  const api = useApi()
  const { name, base, head, title } = props
  const existing = useLoad(
    (signal) => findOpenPull(api, { ...name, base, head }, signal),
    [base, head],
  )
  const pulls = `${repositoryHref(name)}/pulls`
  const creation = useAction(async (form: HTMLFormElement) => {
    const [title, body] = [fieldOf(form, 'title'), fieldOf(form, 'body')]
    const request = { ...name, base, head, title, body }
    try {
      const { number } = await api.of(PullRequestService).createPullRequest(request)
      goTo(`${pulls}/${number}`)
    } catch (error) {
      if (failureOf(error).reason === 'PULL_REQUEST_EXISTS') existing.reload()
      throw error
    }
  })
  if (existing.value === undefined) return <Show of={existing}>{() => null}</Show>
  if (existing.value !== null) {
    const { number, title } = existing.value
    return (
      <p class="note">
        <T
          text="These branches have an open pull request: {pull}"
          pull={<a href={`${pulls}/${number}`}>{`${title} #${number}`}</a>}
        />
      </p>
    )
  }
  return (
    <form onSubmit={onSubmit(creation.run)}>
      {creation.failure && <FailureNote failure={creation.failure} />}
      <Field label={t('Title')} name="title" defaultValue={title} required />
      <label>
        {t('Description (optional)')}
        <textarea name="body" rows={5} />
      </label>
      <button class="main" type="submit" disabled={creation.isRunning}>
        {t('Open a pull request')}
      </button>
    </form>
  )
}

interface Branches {
  readonly owner: string
  readonly repo: string
  readonly base: string
  /** `branch`, `owner:branch` or `owner/repo:branch`. */
  readonly head: string
}

/** Finds the open pull request between two branches; null if there is none. */
async function findOpenPull(
  { of }: Api,
  branches: Branches,
  signal: AbortSignal,
): Promise<PullRequest | null> {
  const { owner, repo, base, head } = branches
  const list = { owner, repo, baseBranch: base, state: 'open', limit: PAGE }
  const { pullRequests, total } = await of(PullRequestService).listPullRequests(list, { signal })
  // The list answers without an error, but only where it is short.
  if (total <= pullRequests.length)
    return pullRequests.find((pull) => isFrom(pull, `${owner}/${repo}`, head)) ?? null
  try {
    const pull = await of(PullRequestService).getPullRequestByBranches(
      { owner, repo, base, head },
      { signal },
    )
    return pull.state === 'open' ? pull : null
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return null
    throw error
  }
}

function isFrom({ head }: PullRequest, base: string, text: string): boolean {
  const end = text.indexOf(':')
  const where = end < 0 ? base : text.slice(0, end)
  const { fullName = '', owner } = head?.repo ?? {}
  const name = where.includes('/') ? fullName : (owner?.login ?? '')
  return head?.ref === text.slice(end + 1) && name.toLowerCase() === where.toLowerCase()
}
