import type { VNode } from 'preact'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionButton, ActionForm, Field, fieldOf, Select } from '../components/forms.tsx'
import { type Loaded, Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { levelText } from '../components/values.ts'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

const LEVELS = [
  ['read', t('Read')],
  ['write', t('Write: push and merge')],
  ['admin', t('Administer: change settings too')],
] as const

/** The users who have access to one repository by name. */
export function CollaboratorsPage({ owner, repo, query }: PageProps): VNode {
  return (
    <RepositorySettings owner={owner} repo={repo} page="Collaborators">
      {({ archived }) => (
        <Collaborators name={{ owner, repo }} page={pageOf(query)} isFrozen={archived} />
      )}
    </RepositorySettings>
  )
}

interface RepositoryName {
  readonly owner: string
  readonly repo: string
}

interface Page {
  readonly people: readonly { readonly login: string; readonly level: string }[]
  readonly total: bigint
  readonly limit: number
}

function Collaborators(props: { name: RepositoryName; page: number; isFrozen: boolean }): VNode {
  const { of } = useApi()
  const { name, page, isFrozen } = props
  const service = of(CollaboratorService)
  const list = useLoad(
    async (signal): Promise<Page> => {
      const found = await service.listCollaborators({ ...name, page }, { signal })
      const people = found.collaborators.map(async ({ login }) => {
        const request = { ...name, collaborator: login }
        const { permission } = await service.getRepositoryPermission(request, { signal })
        return { login, level: permission }
      })
      return { people: await Promise.all(people), total: found.total, limit: found.limit }
    },
    [page],
  )
  return (
    <>
      <People name={name} list={list} page={page} isFrozen={isFrozen} />
      {!isFrozen && <NewCollaborator name={name} onAdded={list.reload} />}
    </>
  )
}

function People(props: {
  name: RepositoryName
  list: Loaded<Page>
  page: number
  isFrozen: boolean
}): VNode {
  const { name, list, page, isFrozen } = props
  return (
    <Show of={list}>
      {({ people, total, limit }) => (
        <>
          {people.length === 0 && <p class="empty">{t('No collaborators.')}</p>}
          <ul class="list">
            {people.map(({ login, level }) => (
              <li key={login}>
                <a href={`/${login}`}>{login}</a> <span class="tag">{levelText(level)}</span>
                {!isFrozen && (
                  <Change name={name} login={login} level={level} onChange={list.reload} />
                )}
              </li>
            ))}
          </ul>
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}

function Change(props: {
  name: RepositoryName
  login: string
  level: string
  onChange: () => void
}): VNode {
  const { of } = useApi()
  const { name, login, level, onChange } = props
  return (
    <div class="row">
      <ActionForm
        label={t('Access of {user}', { user: login })}
        submit={t('Change')}
        isRow
        act={async (form) => {
          const permission = fieldOf(form, 'level')
          await of(CollaboratorService).addCollaborator({
            ...name,
            collaborator: login,
            permission,
          })
          onChange()
        }}
      >
        <Select
          label={t('Access of {user}', { user: login })}
          name="level"
          value={level}
          options={LEVELS}
          isLabelHidden
        />
      </ActionForm>
      <ActionButton
        text={t('Remove')}
        about={login}
        act={async () => {
          await of(CollaboratorService).deleteCollaborator({ ...name, collaborator: login })
          onChange()
        }}
      />
    </div>
  )
}

function NewCollaborator({ name, onAdded }: { name: RepositoryName; onAdded: () => void }): VNode {
  const { of } = useApi()
  return (
    <>
      <h3>{t('Add a collaborator')}</h3>
      <ActionForm
        label={t('Add a collaborator')}
        submit={t('Add the collaborator')}
        done={t('Added.')}
        isEmptied
        act={async (form) => {
          const collaborator = fieldOf(form, 'username')
          const permission = fieldOf(form, 'level')
          await of(CollaboratorService).addCollaborator({ ...name, collaborator, permission })
          onAdded()
        }}
      >
        <Field
          label={t('Username')}
          name="username"
          autocapitalize="none"
          autocomplete="off"
          required
        />
        <Select label={t('Access')} name="level" value="write" options={LEVELS} />
      </ActionForm>
    </>
  )
}
