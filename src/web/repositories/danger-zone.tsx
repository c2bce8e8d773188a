import type { VNode } from 'preact'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton } from '../components/action-form.tsx'
import { ConfirmedForm } from '../components/confirmed-form.tsx'
import { Field, fieldOf } from '../components/field.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'

interface DangerProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly repository: Repository
  readonly reload: () => void
}

/** Actions that one click cannot undo. Transfers and deletions are for owners. */
export function DangerZone(props: DangerProps): VNode {
  const { of, session } = useApi()
  const { name, repository } = props
  const collaborator = session.user?.username ?? ''
  const level = useLoad(
    (signal) =>
      of(CollaboratorService).getRepositoryPermission({ ...name, collaborator }, { signal }),
    [],
  )
  return (
    <section class="box" aria-labelledby="danger">
      <h3 id="danger">Danger zone</h3>
      {!repository.archived && <Rename {...props} />}
      <Show of={level}>
        {({ permission }) =>
          permission === 'owner' && !repository.archived && <Transfer {...props} />
        }
      </Show>
      <Archive {...props} />
      {level.value?.permission === 'owner' && <Deletion {...props} />}
    </section>
  )
}

function Rename({ name, repository }: DangerProps): VNode {
  const { of } = useApi()
  return (
    <ConfirmedForm
      action="Rename the repository"
      name={repository.fullName}
      act={async (form) => {
        const request = { ...name, name: fieldOf(form, 'name') }
        const { fullName } = await of(RepositoryService).editRepository(request)
        goTo(`/${fullName}/settings`)
      }}
    >
      <p>The former address leads to the new one until another repository takes the name.</p>
      <Field label="New name" name="name" autocapitalize="none" autocomplete="off" required />
    </ConfirmedForm>
  )
}

function Transfer({ name, repository, reload }: DangerProps): VNode {
  const { of } = useApi()
  const recipient = repository.repoTransfer?.recipient?.login
  if (recipient !== undefined)
    return (
      <p>
        {recipient} has been asked to take the repository.{' '}
        <ActionButton
          text="Cancel the transfer"
          act={async () => {
            await of(RepositoryService).rejectRepositoryTransfer(name)
            reload()
          }}
        />
      </p>
    )
  return (
    <ConfirmedForm
      action="Transfer the repository"
      name={repository.fullName}
      act={async (form) => {
        const request = { ...name, newOwner: fieldOf(form, 'owner') }
        const { fullName, repoTransfer } = await of(RepositoryService).transferRepository(request)
        if (repoTransfer) reload()
        else goTo(`/${fullName}`)
      }}
    >
      <p>
        The new owner may do everything with the repository. A user is asked first. Your own rights
        may end.
      </p>
      <Field label="New owner" name="owner" autocapitalize="none" autocomplete="off" required />
    </ConfirmedForm>
  )
}

function Archive({ name, repository, reload }: DangerProps): VNode {
  const { of } = useApi()
  const edit = async (archived: boolean) => {
    await of(RepositoryService).editRepository({ ...name, archived })
    reload()
  }
  if (repository.archived)
    return (
      <p>
        <ActionButton text="Restore the repository" act={() => edit(false)} />
      </p>
    )
  return (
    <ConfirmedForm
      action="Archive the repository"
      name={repository.fullName}
      act={() => edit(true)}
    >
      <p>Everybody may read the repository as before, and nobody may change anything.</p>
    </ConfirmedForm>
  )
}

function Deletion({ name, repository }: DangerProps): VNode {
  const { of } = useApi()
  return (
    <ConfirmedForm
      action="Delete the repository"
      name={repository.fullName}
      act={async () => {
        await of(RepositoryService).deleteRepository(name)
        goTo('/')
      }}
    >
      <p>
        The commits, pull requests, releases and settings are deleted. Only a backup of the server
        has them then.
      </p>
    </ConfirmedForm>
  )
}
