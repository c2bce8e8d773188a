import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm } from './action-form.tsx'
import { Select } from './choices.tsx'
import { Field, fieldOf } from './field.tsx'
import { Show, useLoad } from './load.tsx'
import { goTo } from './navigation.ts'

/** The most entries that the API has on one page. */
const PAGE = 50

interface ActionsProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly repository: Repository
  /** The username of who is signed in. */
  readonly user: string
  readonly reload: () => void
}

/** What everybody who is signed in can do with a repository. */
export function RepositoryActions(props: ActionsProps): VNode {
  return (
    <div class="actions">
      <Star {...props} />
      <Watch {...props} />
      <Fork {...props} />
    </div>
  )
}

function Star({ name, repository, user, reload }: ActionsProps): VNode {
  const service = useApi().of(StarService)
  const { starsCount } = repository
  const state = useLoad(
    (signal) =>
      isAmong({
        user,
        count: starsCount,
        list: () =>
          service
            .listStargazers({ ...name, limit: PAGE }, { signal })
            .then(({ users, total }) => ({ users, total })),
        check: () => service.checkStarredRepository(name, { signal }),
      }),
    [starsCount],
  )
  return (
    <Show of={state}>
      {(isStarred) => (
        <ActionButton
          text={`${isStarred ? 'Unstar' : 'Star'} (${starsCount.toLocaleString()})`}
          act={async () => {
            await (isStarred ? service.unstarRepository(name) : service.starRepository(name))
            reload()
          }}
        />
      )}
    </Show>
  )
}

function Watch({ name, repository, user, reload }: ActionsProps): VNode {
  const service = useApi().of(SubscriptionService)
  const { watchersCount } = repository
  const state = useLoad(
    (signal) =>
      isAmong({
        user,
        count: watchersCount,
        list: () =>
          service
            .listRepositorySubscribers({ ...name, limit: PAGE }, { signal })
            .then(({ subscribers, total }) => ({ users: subscribers, total })),
        check: () => service.getRepositorySubscription(name, { signal }),
      }),
    [watchersCount],
  )
  return (
    <Show of={state}>
      {(isWatched) => (
        <ActionButton
          text={`${isWatched ? 'Unwatch' : 'Watch'} (${watchersCount.toLocaleString()})`}
          act={async () => {
            await (isWatched
              ? service.deleteRepositorySubscription(name)
              : service.setRepositorySubscription(name))
            reload()
          }}
        />
      )}
    </Show>
  )
}

/**
 * Returns whether the user is in a list of users. The API answers the question about one user with
 * a failure if the user is not, so that only a list that is too long leads to the question.
 */
async function isAmong(question: {
  user: string
  /** How many users the list had when the page was loaded. */
  count: bigint
  list: () => Promise<{ readonly users: readonly Account[]; readonly total: bigint }>
  check: () => Promise<unknown>
}): Promise<boolean> {
  const { user, count, list, check } = question
  if (count === 0n) return false
  const { users, total } = await list()
  if (users.some(({ login }) => login === user)) return true
  if (total <= PAGE) return false
  return check().then(
    () => true,
    (error: unknown) => {
      if (ConnectError.from(error).code === Code.NotFound) return false
      throw error
    },
  )
}

function Fork(props: ActionsProps): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Fork ({props.repository.forksCount.toLocaleString()})</summary>
      {isOpen && <ForkForm {...props} />}
    </details>
  )
}

function ForkForm({ name, repository, user }: ActionsProps): VNode {
  const { of } = useApi()
  const organizations = useLoad(
    (signal) => of(OrganizationService).listMyOrganizations({ limit: PAGE }, { signal }),
    [],
  )
  const fork = async (form: HTMLFormElement) => {
    const owner = fieldOf(form, 'owner')
    const organization = owner === user ? '' : owner
    const request = { ...name, organization, name: fieldOf(form, 'name') }
    const { fullName } = await of(ForkService).createFork(request)
    goTo(`/${fullName}`)
  }
  return (
    <Show of={organizations}>
      {({ organizations: own }) => {
        const owners = [user, ...own.map(({ name: organization }) => organization)].filter(
          (owner) => owner !== name.owner,
        )
        if (owners.length === 0)
          return (
            <p>You own the repository, and you are in no organisation that could own a fork.</p>
          )
        return (
          <ActionForm label="Fork" submit="Create the fork" act={fork}>
            <Select
              label="Owner of the fork"
              name="owner"
              value={owners[0] ?? ''}
              options={owners.map((owner) => [owner, owner])}
            />
            <Field
              label="Name of the fork"
              name="name"
              autocapitalize="none"
              autocomplete="off"
              required
              defaultValue={repository.name}
            />
          </ActionForm>
        )
      }}
    </Show>
  )
}
