import type { VNode } from 'preact'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Avatar } from '../components/avatar.tsx'
import { Time } from '../components/formats.tsx'
import { ActionForm, Checkbox, Field, fieldOf, isChecked, NewForm } from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import { T, t } from '../language/texts.tsx'

/** Repositories, one below the other. */
export function RepositoryList({ repositories }: { repositories: readonly Repository[] }): VNode {
  if (repositories.length === 0) return <p class="empty">{t('No repositories.')}</p>
  return (
    <ul class="list">
      {repositories.map((repository) => (
        <li key={repository.fullName}>
          <Avatar name={repository.owner?.login ?? ''} account={repository.owner} />{' '}
          <a href={`/${repository.fullName}`}>{repository.fullName}</a>{' '}
          {repository.private && <span class="tag">{t('private')}</span>}
          {repository.archived && <span class="tag">{t('archived')}</span>}
          {repository.description !== '' && <p>{repository.description}</p>}
          <p class="facts">
            <T text="Updated {time}" time={<Time at={repository.updatedAt} />} />
          </p>
        </li>
      ))}
    </ul>
  )
}

/** Creates a repository of the user or of an organisation. */
export function NewRepository({ organization }: { organization?: string }): VNode {
  const service = useApi().of(RepositoryService)
  const create = async (form: HTMLFormElement) => {
    const draft = {
      name: fieldOf(form, 'name'),
      description: fieldOf(form, 'description'),
      private: isChecked(form, 'private'),
      autoInit: isChecked(form, 'readme'),
    }
    const { fullName } = await (organization === undefined
      ? service.createUserRepository(draft)
      : service.createOrganizationRepository({ ...draft, org: organization }))
    goTo(`/${fullName}`)
  }
  return (
    <NewForm label={t('New repository')}>
      <ActionForm label={t('New repository')} submit={t('Create the repository')} act={create}>
        <Field label={t('Name')} name="name" autocapitalize="none" required />
        <Field label={t('Description (optional)')} name="description" />
        <Checkbox label={t('Private')} name="private" />
        <Checkbox label={t('Begin with a README')} name="readme" />
      </ActionForm>
    </NewForm>
  )
}
