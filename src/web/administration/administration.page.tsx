import type { VNode } from 'preact'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { ActionForm, Field, fieldOf, NewForm } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager, pageOf } from '../components/page.tsx'
import { numberText, plural, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { Administration } from './administration.tsx'

/** The accounts of the instance, and facts about the instance. For its administrators. */
export function AdministrationPage({ query }: PageProps): VNode {
  return (
    <Administration title={t('Administration')} page="/-/admin">
      <Facts />
      <Accounts page={pageOf(query)} />
    </Administration>
  )
}

function Facts(): VNode {
  const api = useApi()
  const facts = useLoad((signal) => readFacts(api, signal), [])
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">{t('The server')}</h2>
      <Show of={facts}>
        {(list) => (
          <dl class="facts-of-server">
            {list.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        )}
      </Show>
    </section>
  )
}

/** Returns what the API says about the instance, as names and texts. */
async function readFacts(
  { of }: Api,
  signal: AbortSignal,
): Promise<readonly (readonly [name: string, value: string])[]> {
  const options = { signal }
  const instance = of(InstanceService)
  const [version, node, repositories, files, organizations, found] = await Promise.all([
    of(ServerService).getVersion({}, options),
    instance.getNodeInfo({}, options),
    instance.getRepositorySettings({}, options),
    instance.getAttachmentSettings({}, options),
    of(AdminService).adminListOrganizations({ limit: 1 }, options),
    of(RepositoryService).searchRepositories({ limit: 1 }, options),
  ])
  const onOff = (isOn: boolean) => (isOn ? t('on @setting') : t('off @setting'))
  return [
    [t('Version'), version.version],
    [t('Organisations'), numberText(organizations.total)],
    [t('Repositories'), numberText(found.total)],
    [t('Registration'), node.openRegistrations ? t('everybody') : t('by administrators')],
    [t('Git over HTTP'), onOff(!repositories.httpGitDisabled)],
    [t('Import of repositories'), onOff(!repositories.migrationsDisabled)],
    [t('Mirrors'), onOff(!repositories.mirrorsDisabled)],
    [t('Largest file of a release'), t('{size} MiB', { size: files.maxSize })],
  ]
}

function Accounts({ page }: { page: number }): VNode {
  const { of } = useApi()
  const list = useLoad((signal) => of(AdminService).adminListUsers({ page }, { signal }), [page])
  return (
    <section aria-labelledby="accounts">
      <h2 id="accounts">{t('Accounts')}</h2>
      <NewAccount />
      <Show of={list}>
        {({ users, total, limit }) => (
          <>
            <p>{plural(total, '{count} account', '{count} accounts')}</p>
            <ul class="list">
              {users.map(({ login, fullName, isAdmin, active, restricted, email, created }) => (
                <li key={login}>
                  <a href={accountHref(login)}>{login}</a> {fullName}{' '}
                  {isAdmin && <span class="tag">{t('administrator')}</span>}
                  {!active && <span class="tag">{t('archived')}</span>}
                  {restricted && <span class="tag">{t('restricted')}</span>}
                  <p class="facts">
                    {email} <Time at={created} />
                  </p>
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </section>
  )
}

function accountHref(username: string): string {
  return `/-/admin/accounts/${encodeURIComponent(username)}`
}

function NewAccount(): VNode {
  const { of } = useApi()
  return (
    <NewForm label={t('New account')}>
      <ActionForm
        label={t('New account')}
        submit={t('Create the account')}
        act={async (form) => {
          const { login } = await of(AdminService).adminCreateUser({
            username: fieldOf(form, 'username'),
            email: fieldOf(form, 'email'),
            password: fieldOf(form, 'password'),
          })
          goTo(accountHref(login))
        }}
      >
        <Field
          label={t('Username')}
          name="username"
          autocapitalize="none"
          autocomplete="off"
          required
        />
        <Field label={t('E-mail address')} name="email" type="email" autocomplete="off" required />
        <Field
          label={t('Password')}
          name="password"
          type="password"
          autocomplete="new-password"
          required
          hint={t('Tell the password to the user, who can change it.')}
        />
      </ActionForm>
    </NewForm>
  )
}
