import type { VNode } from 'preact'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { useApi } from '../api/client.ts'
import {
  ActionForm,
  Checkbox,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
  Select,
} from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { ORGANIZATION_VISIBILITIES, OrganizationSettings } from './organization-settings.tsx'

/** The settings of an organisation itself. */
export function OrganizationGeneral({ owner }: PageProps): VNode {
  return (
    <OrganizationSettings org={owner} page="General">
      {(organization, reload) => (
        <>
          <Description organization={organization} reload={reload} />
          <Deletion name={organization.name} />
        </>
      )}
    </OrganizationSettings>
  )
}

function Description(props: { organization: Organization; reload: () => void }): VNode {
  const { of } = useApi()
  const { organization, reload } = props
  const save = async (form: HTMLFormElement) => {
    await of(OrganizationService).editOrganization({
      org: organization.name,
      fullName: fieldOf(form, 'fullName'),
      description: fieldOf(form, 'description'),
      email: fieldOf(form, 'email'),
      website: fieldOf(form, 'website'),
      location: fieldOf(form, 'location'),
      visibility: fieldOf(form, 'visibility'),
      repoAdminChangeTeamAccess: isChecked(form, 'teams'),
    })
    reload()
  }
  return (
    <ActionForm label={t('Description')} submit={t('Save')} done={t('Saved.')} act={save}>
      <Field label={t('Display name')} name="fullName" defaultValue={organization.fullName} />
      <Field label={t('Description')} name="description" defaultValue={organization.description} />
      <Field
        label={t('E-mail address')}
        name="email"
        type="email"
        defaultValue={organization.email}
      />
      <Field label={t('Website')} name="website" type="url" defaultValue={organization.website} />
      <Field label={t('Location')} name="location" defaultValue={organization.location} />
      <Select
        label={t('Visibility')}
        name="visibility"
        value={organization.visibility}
        options={ORGANIZATION_VISIBILITIES}
      />
      <Checkbox
        label={t('Administrators of a repository choose its teams')}
        name="teams"
        isChecked={organization.repoAdminChangeTeamAccess}
      />
    </ActionForm>
  )
}

function Deletion({ name }: { name: string }): VNode {
  const { of } = useApi()
  return (
    <section class="box" aria-labelledby="danger">
      <h3 id="danger">{t('Danger zone')}</h3>
      <ConfirmedForm
        action={t('Delete the organisation')}
        name={name}
        act={async () => {
          await of(OrganizationService).deleteOrganization({ org: name })
          goTo('/-/organizations')
        }}
      >
        <p>
          {t(
            'The organisation must have no repositories. Its teams are deleted too, and its name is free afterwards.',
          )}
        </p>
      </ConfirmedForm>
    </section>
  )
}
