import type { VNode } from 'preact'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Field, fieldOf, NewForm, Select } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf, SignInLink, useTitle } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { ORGANIZATION_VISIBILITIES } from './organization-settings.tsx'

/** The organisations of the user, and the form that creates one. */
export function OrganizationsPage({ query }: PageProps): VNode {
  const { session } = useApi()
  useTitle(t('Your organisations'))
  return (
    <>
      <h1>{t('Your organisations')}</h1>
      {session.user ? (
        <Organizations page={pageOf(query)} />
      ) : (
        <p>
          {t('This page is for signed-in users:')} <SignInLink />
        </p>
      )}
    </>
  )
}

function Organizations({ page }: { page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(OrganizationService).listMyOrganizations({ page }, { signal }),
    [page],
  )
  return (
    <>
      <Show of={list}>
        {({ organizations, total, limit }) => (
          <>
            {organizations.length === 0 && <p>{t('You are in no organisation.')}</p>}
            <ul class="list">
              {organizations.map(({ name, fullName, description }) => (
                <li key={name}>
                  <a href={`/${name}`}>{name}</a> {fullName}
                  {description !== '' && <p>{description}</p>}
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      <NewOrganization />
    </>
  )
}

function NewOrganization(): VNode {
  const { of } = useApi()
  return (
    <NewForm label={t('New organisation')}>
      <p>{t('An organisation owns repositories, and its teams say who may do what.')}</p>
      <ActionForm
        label={t('New organisation')}
        submit={t('Create the organisation')}
        act={async (form) => {
          const { name } = await of(OrganizationService).createOrganization({
            username: fieldOf(form, 'name'),
            fullName: fieldOf(form, 'fullName'),
            description: fieldOf(form, 'description'),
            visibility: fieldOf(form, 'visibility'),
          })
          goTo(`/${name}`)
        }}
      >
        <Field label={t('Name')} name="name" autocapitalize="none" autocomplete="off" required />
        <Field label={t('Display name (optional)')} name="fullName" />
        <Field label={t('Description (optional)')} name="description" />
        <Select
          label={t('Visibility')}
          name="visibility"
          value="public"
          options={ORGANIZATION_VISIBILITIES}
        />
      </ActionForm>
    </NewForm>
  )
}
