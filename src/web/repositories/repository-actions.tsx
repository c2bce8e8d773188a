import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm, Field, fieldOf, Select } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Menu } from '../components/menu.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'

/** The most entries that the API has on one page. */
const PAGE = 50

interface ActionsProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly repository: Repository
  /** The username of who is signed in. */
  readonly user: string
  readonly reload: () => void
}

/** Actions of signed-in users on a repository. */
export function RepositoryActions(props: ActionsProps): VNode {
  const { of } = useApi()
  const { name, repository, reload } = props
  const { starsCount, watchersCount } = repository
  const state = useLoad(
    (signal) => of(RepositoryService).getViewerState(name, { signal }),
    [name.owner, name.repo],
  )
  const changed = () => {
    state.reload()
    reload()
  }
  return (
    <div class="actions">
      <Show of={state}>
        {({ starred, watched }) => (
          <>
            <ActionButton
              text={
                starred
                  ? t('Unstar ({count})', { count: starsCount })
                  : t('Star ({count})', { count: starsCount })
              }
              act={async () => {
                const service = of(StarService)
                await (starred ? service.unstarRepository(name) : service.starRepository(name))
                changed()
              }}
            />
            <ActionButton
              text={
                watched
                  ? t('Unwatch ({count})', { count: watchersCount })
                  : t('Watch ({count})', { count: watchersCount })
              }
              act={async () => {
                const service = of(SubscriptionService)
                await (watched
                  ? service.deleteRepositorySubscription(name)
                  : service.setRepositorySubscription(name))
                changed()
              }}
            />
          </>
        )}
      </Show>
      <Fork {...props} />
    </div>
  )
}

function Fork(props: ActionsProps): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <Menu
      className=""
      isPanel
      button={
        <>
          <Icon name="git-fork" /> {t('Fork ({count})', { count: props.repository.forksCount })}
        </>
      }
      onOpen={() => setOpen(true)}
    >
      {isOpen && <ForkForm {...props} />}
    </Menu>
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
            <p>
              {t('You own the repository, and you are in no organisation that could own a fork.')}
            </p>
          )
        return (
          <ActionForm label={t('Fork')} submit={t('Create the fork')} act={fork}>
            <Select
              label={t('Owner of the fork')}
              name="owner"
              value={owners[0] ?? ''}
              options={owners.map((owner) => [owner, owner])}
            />
            <Field
              label={t('Name of the fork')}
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
