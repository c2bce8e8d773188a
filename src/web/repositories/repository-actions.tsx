import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { useApi } from '../api/client.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  Field,
  fieldOf,
  isChecked,
  Select,
} from '../components/forms.tsx'
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
      {repository.template && <Template {...props} />}
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
  const fork = async (form: HTMLFormElement) => {
    const owner = fieldOf(form, 'owner')
    const organization = owner === user ? '' : owner
    const request = { ...name, organization, name: fieldOf(form, 'name') }
    const { fullName } = await of(ForkService).createFork(request)
    goTo(`/${fullName}`)
  }
  return (
    <Owners user={user}>
      {(all) => {
        const owners = all.filter((owner) => owner !== name.owner)
        if (owners.length === 0)
          return (
            <p>
              {t('You own the repository, and you are in no organisation that could own a fork.')}
            </p>
          )
        return (
          <ActionForm label={t('Fork')} submit={t('Create the fork')} act={fork}>
            <OwnerField label={t('Owner of the fork')} owners={owners} />
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
    </Owners>
  )
}

/** Begins a new repository as a copy of a template. */
function Template(props: ActionsProps): VNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <Menu
      className=""
      isPanel
      button={
        <>
          <Icon name="copy" /> {t('Use this template')}
        </>
      }
      onOpen={() => setOpen(true)}
    >
      {isOpen && <TemplateForm {...props} />}
    </Menu>
  )
}

function TemplateForm({ name, user }: ActionsProps): VNode {
  const { of } = useApi()
  const generate = async (form: HTMLFormElement) => {
    const { fullName } = await of(RepositoryService).generateRepository({
      templateOwner: name.owner,
      templateRepo: name.repo,
      owner: fieldOf(form, 'owner'),
      name: fieldOf(form, 'name'),
      private: isChecked(form, 'private'),
      gitContent: true,
      topics: isChecked(form, 'topics'),
      labels: isChecked(form, 'labels'),
    })
    goTo(`/${fullName}`)
  }
  return (
    <Owners user={user}>
      {(owners) => (
        <ActionForm
          label={t('Use this template')}
          submit={t('Create the repository')}
          act={generate}
        >
          <OwnerField label={t('Owner of the repository')} owners={owners} />
          <Field
            label={t('Name of the repository')}
            name="name"
            autocapitalize="none"
            autocomplete="off"
            required
          />
          <Checkbox label={t('Private')} name="private" />
          <Checkbox label={t('With the topics of the template')} name="topics" isChecked />
          <Checkbox label={t('With the labels of the template')} name="labels" isChecked />
        </ActionForm>
      )}
    </Owners>
  )
}

/** Loads who may own a new repository of a user: the user and the organisations of the user. */
function Owners(props: { user: string; children: (owners: readonly string[]) => VNode }): VNode {
  const { of } = useApi()
  const organizations = useLoad(
    (signal) => of(OrganizationService).listMyOrganizations({ limit: PAGE }, { signal }),
    [],
  )
  return (
    <Show of={organizations}>
      {({ organizations: own }) => props.children([props.user, ...own.map(({ name }) => name)])}
    </Show>
  )
}

function OwnerField({ label, owners }: { label: string; owners: readonly string[] }): VNode {
  return (
    <Select
      label={label}
      name="owner"
      value={owners[0] ?? ''}
      options={owners.map((owner) => [owner, owner])}
    />
  )
}
