import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Repository } from '#gen/branchline/v1/repository_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { TemplateService } from '#gen/branchline/v1/template_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Avatar } from '../components/avatar.tsx'
import { Time } from '../components/formats.tsx'
import { ActionForm, Checkbox, Field, fieldOf, isChecked, NewForm } from '../components/forms.tsx'
import { useLoad } from '../components/load.tsx'
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
  const [isOpen, setOpen] = useState(false)
  const create = async (form: HTMLFormElement) => {
    const gitignores = fieldOf(form, 'gitignores').trim()
    const license = fieldOf(form, 'license').trim()
    const draft = {
      name: fieldOf(form, 'name'),
      description: fieldOf(form, 'description'),
      private: isChecked(form, 'private'),
      autoInit: isChecked(form, 'readme') || gitignores !== '' || license !== '',
      gitignores,
      license,
    }
    const { fullName } = await (organization === undefined
      ? service.createUserRepository(draft)
      : service.createOrganizationRepository({ ...draft, org: organization }))
    goTo(`/${fullName}`)
  }
  return (
    <NewForm label={t('New repository')} onOpen={() => setOpen(true)}>
      <ActionForm label={t('New repository')} submit={t('Create the repository')} act={create}>
        <Field label={t('Name')} name="name" autocapitalize="none" required />
        <Field label={t('Description (optional)')} name="description" />
        <Checkbox label={t('Private')} name="private" />
        <Checkbox label={t('Begin with a README')} name="readme" />
        <FirstFiles isOpen={isOpen} />
      </ActionForm>
    </NewForm>
  )
}

/** The fields for the files of the first commit, which offer what the server knows once they are seen. */
function FirstFiles({ isOpen }: { isOpen: boolean }): VNode {
  const { of } = useApi()
  const known = useLoad(
    async (signal) => {
      if (!isOpen) return { gitignores: [], licenses: [] }
      const service = of(TemplateService)
      const [{ names }, { licenses }] = await Promise.all([
        service.listGitignoreTemplates({}, { signal }),
        service.listLicenseTemplates({}, { signal }),
      ])
      return { gitignores: names, licenses: licenses.map(({ key }) => key) }
    },
    [isOpen],
  )
  const offered = (id: string, names: readonly string[] = []) => (
    <datalist id={id}>
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  )
  return (
    <>
      <Field
        label={t('Files that Git ignores (optional)')}
        name="gitignores"
        list="gitignores"
        autocapitalize="none"
        autocomplete="off"
        hint={t('Languages and tools, separated by commas, such as Node')}
      />
      {offered('gitignores', known.value?.gitignores)}
      <Field
        label={t('Licence (optional)')}
        name="license"
        list="licenses"
        autocapitalize="none"
        autocomplete="off"
        hint={t('An identifier of SPDX, such as MIT')}
      />
      {offered('licenses', known.value?.licenses)}
    </>
  )
}
