import type { VNode } from 'preact'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Checkbox, isChecked } from '../components/choices.tsx'
import { Field, fieldOf } from '../components/field.tsx'
import { goTo } from '../components/navigation.ts'

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
    <details class="narrow">
      <summary>New repository</summary>
      <ActionForm label="New repository" submit="Create the repository" act={create}>
        <Field label="Name" name="name" autocapitalize="none" required />
        <Field label="Description (optional)" name="description" />
        <Checkbox label="Private" name="private" />
        <Checkbox label="Begin with a README" name="readme" />
      </ActionForm>
    </details>
  )
}
