import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { OAuth2Application, OAuth2Grant } from '#gen/branchline/v1/oauth2_application_pb.ts'
import { OAuth2ApplicationService } from '#gen/branchline/v1/oauth2_application_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ShownOnce } from '../components/command.tsx'
import { Time } from '../components/formats.tsx'
import {
  ActionForm,
  Confirmed,
  ConfirmedForm,
  Field,
  fieldOf,
  TextArea,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { SettingsFrame } from './account-settings.tsx'
import { scopesText } from './scopes.tsx'

/** The most grants of one answer. */
const MAX_GRANTS = 50

/** The applications to which the user has granted access, and those of the user. */
export function ApplicationsPage({ query }: PageProps): VNode {
  return (
    <SettingsFrame tab="Applications">
      {() => (
        <>
          <Grants />
          <Applications page={pageOf(query)} />
        </>
      )}
    </SettingsFrame>
  )
}

function Grants(): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(OAuth2ApplicationService).listOAuth2Grants({ limit: MAX_GRANTS }, { signal }),
    [],
  )
  return (
    <section aria-labelledby="grants">
      <h2 id="grants">{t('Applications that act for you')}</h2>
      <Show of={list}>
        {({ grants, total }) => (
          <>
            {total === 0n && <p class="empty">{t('No application acts for you.')}</p>}
            <ul class="list">
              {grants.map((grant) => (
                <GrantItem key={String(grant.id)} grant={grant} onRevoked={list.reload} />
              ))}
            </ul>
            {total > grants.length && <p>{t('The API lists the others.')}</p>}
          </>
        )}
      </Show>
    </section>
  )
}

function GrantItem({ grant, onRevoked }: { grant: OAuth2Grant; onRevoked: () => void }): VNode {
  const { of } = useApi()
  const revoke = async () => {
    await of(OAuth2ApplicationService).revokeOAuth2Grant({ id: grant.id })
    onRevoked()
  }
  return (
    <li>
      <strong>{grant.applicationName}</strong>
      <p>{t('May: {scopes}', { scopes: scopesText(grant.scopes) || t('know who you are') })}</p>
      <p class="facts">
        <T
          text="Since {start}, last sign-in {last}"
          start={<Time at={grant.createdAt} />}
          last={<Time at={grant.updatedAt} />}
        />
      </p>
      <Confirmed
        action={t('Revoke the access')}
        about={t('of {name}', { name: grant.applicationName })}
        question={t('The tokens of the application stop working at once.')}
        act={revoke}
      />
    </li>
  )
}

function Applications({ page }: { page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(OAuth2ApplicationService).listOAuth2Applications({ page }, { signal }),
    [page],
  )
  return (
    <section aria-labelledby="applications">
      <h2 id="applications">{t('Your own applications')}</h2>
      <p>{t('An application signs users of this server in by OAuth 2.0 or OpenID Connect.')}</p>
      <Show of={list}>
        {({ applications, total, limit }) => (
          <>
            {total === 0n && <p class="empty">{t('You have no applications.')}</p>}
            <ul class="list">
              {applications.map((application) => (
                <ApplicationItem
                  key={String(application.id)}
                  application={application}
                  onDeleted={list.reload}
                />
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      <NewApplication onCreated={list.reload} />
    </section>
  )
}

function ApplicationItem(props: { application: OAuth2Application; onDeleted: () => void }): VNode {
  const { application, onDeleted } = props
  const { of } = useApi()
  const [secret, setSecret] = useState('')
  const { id, name, clientId } = application
  // Each edit makes a new secret, and this one changes nothing else.
  const renew = async () =>
    setSecret((await of(OAuth2ApplicationService).editOAuth2Application({ id })).clientSecret)
  const remove = async () => {
    await of(OAuth2ApplicationService).deleteOAuth2Application({ id })
    onDeleted()
  }
  return (
    <li>
      <strong>{name}</strong>{' '}
      {!application.confidentialClient && <span class="tag">{t('without a secret')}</span>}
      <dl>
        <dt>{t('Client id')}</dt>
        <dd>
          <code>{clientId}</code>
        </dd>
        <dt>{t('Redirect URIs')}</dt>
        {application.redirectUris.map((uri) => (
          <dd key={uri}>{uri}</dd>
        ))}
        <dt>{t('Created')}</dt>
        <dd>
          <Time at={application.created} />
        </dd>
      </dl>
      {secret !== '' && (
        <ShownOnce name={t('New client secret of {name}', { name })} secret={secret} />
      )}
      {application.confidentialClient && (
        <Confirmed
          action={t('Replace the client secret')}
          about={t('of {name}', { name })}
          question={t(
            'The application has to use the new secret. The old one stops working at once.',
          )}
          act={renew}
        />
      )}
      <ConfirmedForm action={t('Delete the application {name}', { name })} name={name} act={remove}>
        <p>
          {t('Users can no longer sign in to the application. Its tokens stop working at once.')}
        </p>
      </ConfirmedForm>
    </li>
  )
}

function NewApplication({ onCreated }: { onCreated: () => void }): VNode {
  const { of } = useApi()
  const [secret, setSecret] = useState('')
  const create = async (form: HTMLFormElement) => {
    const { clientSecret } = await of(OAuth2ApplicationService).createOAuth2Application({
      name: fieldOf(form, 'name'),
      confidentialClient: fieldOf(form, 'confidential') === 'on',
      redirectUris: fieldOf(form, 'uris').split(/\s+/).filter(Boolean),
    })
    setSecret(clientSecret)
    onCreated()
  }
  return (
    <>
      <h3>{t('New application')}</h3>
      {secret !== '' && <ShownOnce name={t('Client secret')} secret={secret} />}
      <ActionForm
        act={create}
        submit={t('Create the application')}
        done={t('It is in the list.')}
        isEmptied
      >
        <Field label={t('Name of the application')} name="name" maxLength={255} required />
        <TextArea
          label={t('Redirect URIs, one on each line')}
          name="uris"
          rows={3}
          required
          spellcheck={false}
          hint={t(
            'Where users return to after the sign-in, such as https://app.example.org/callback.',
          )}
        />
        <label class="choice">
          <input type="checkbox" name="confidential" defaultChecked />{' '}
          {t('The application runs on a server, and keeps a secret')}
        </label>
      </ActionForm>
    </>
  )
}
