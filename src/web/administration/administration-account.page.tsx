import type { VNode } from 'preact'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import {
  ActionForm,
  Checkbox,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { Administration } from './administration.tsx'

const LIST = '/-/admin'

/** One account, for administrators of the instance. */
export function AdministrationAccountPage({ rest }: PageProps): VNode {
  const username = rest[0] ?? ''
  return (
    <Administration title={t('Account {user}', { user: username })}>
      <p>
        <a href={LIST}>{t('All accounts')}</a>
      </p>
      <AccountSettings username={username} />
    </Administration>
  )
}

interface AccountProps {
  readonly user: User
  readonly reload: () => void
}

function AccountSettings({ username }: { username: string }): VNode {
  const { of, session } = useApi()
  const account = useLoad(
    (signal) => of(UserService).getUser({ name: `users/${username}` }, { signal }),
    [username],
  )
  return (
    <Show of={account} isPage>
      {(user) => (
        <>
          <p class="facts">
            <T
              text="{user}, created {time}"
              user={<a href={`/${user.username}`}>{user.username}</a>}
              time={<Time at={user.createTime} />}
            />
          </p>
          <Rights user={user} reload={account.reload} />
          {user.username === session.user?.username ? (
            <p>
              {t('Another administrator can set your password here, rename you or delete you.')}
            </p>
          ) : (
            <>
              <Password user={user} />
              <DangerZone user={user} />
            </>
          )}
        </>
      )}
    </Show>
  )
}

function Rights({ user, reload }: AccountProps): VNode {
  const { of } = useApi()
  const save = async (form: HTMLFormElement) => {
    await of(AdminService).adminEditUser({
      username: user.username,
      email: fieldOf(form, 'email'),
      fullName: fieldOf(form, 'fullName'),
      admin: isChecked(form, 'admin'),
      active: isChecked(form, 'active'),
    })
    reload()
  }
  return (
    <ActionForm label={t('Account')} submit={t('Save the account')} done={t('Saved.')} act={save}>
      <Field
        label={t('E-mail address')}
        name="email"
        type="email"
        autocomplete="off"
        required={user.email !== ''}
        defaultValue={user.email}
      />
      <Field
        label={t('Display name')}
        name="fullName"
        autocomplete="off"
        defaultValue={user.displayName}
      />
      <Checkbox
        label={t('Administrator of the server')}
        name="admin"
        isChecked={user.role === User_Role.ADMIN}
      />
      <Checkbox
        label={t('Active')}
        name="active"
        isChecked={user.state !== State.ARCHIVED}
        hint={t('An account that is not active is archived: nobody can sign in.')}
      />
    </ActionForm>
  )
}

function Password({ user: { username } }: { user: User }): VNode {
  const { of } = useApi()
  return (
    <>
      <h2>{t('Password')}</h2>
      <ActionForm
        label={t('Password')}
        submit={t('Set the password')}
        done={t('The password is set.')}
        isEmptied
        act={(form) =>
          of(AdminService).adminEditUser({ username, password: fieldOf(form, 'password') })
        }
      >
        <Field
          label={t('New password')}
          name="password"
          type="password"
          autocomplete="new-password"
          required
          hint={t('Every session and token of the account ends.')}
        />
      </ActionForm>
    </>
  )
}

function DangerZone({ user: { username } }: { user: User }): VNode {
  const { of } = useApi()
  const service = of(AdminService)
  return (
    <section class="box" aria-labelledby="danger">
      <h2 id="danger">{t('Danger zone')}</h2>
      <ConfirmedForm
        action={t('Rename the account')}
        name={username}
        act={async (form) => {
          const newUsername = fieldOf(form, 'name')
          await service.adminRenameUser({ username, newUsername })
          goTo(`${LIST}/accounts/${encodeURIComponent(newUsername)}`)
        }}
      >
        <p>{t('The former name leads to the new one until another account takes the name.')}</p>
        <Field
          label={t('New name')}
          name="name"
          autocapitalize="none"
          autocomplete="off"
          required
        />
      </ConfirmedForm>
      <ConfirmedForm
        action={t('Delete the account')}
        name={username}
        act={async (form) => {
          await service.adminDeleteUser({ username, purge: isChecked(form, 'purge') })
          goTo(LIST)
        }}
      >
        <p>{t('The sessions, tokens, keys and settings of the account are deleted.')}</p>
        <Checkbox
          label={t('Delete the repositories, memos and comments of the account too')}
          name="purge"
        />
      </ConfirmedForm>
    </section>
  )
}
