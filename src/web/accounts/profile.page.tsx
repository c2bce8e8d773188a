import type { VNode } from 'preact'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { useApi } from '../api/client.ts'
import { Time, toBase64 } from '../components/formats.tsx'
import {
  ActionForm,
  Checkbox,
  Confirmed,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
  TextArea,
} from '../components/forms.tsx'
import { goTo } from '../components/navigation.ts'
import { t } from '../language/texts.tsx'
import { AccountPicture, hasPicture } from './account.tsx'
import { SettingsFrame } from './account-settings.tsx'
import {
  NewPasswordFields,
  newPasswordOf,
  PresentOwnerFields,
  provePresence,
} from './credentials.tsx'

/** The largest picture that the server stores. */
const MAX_AVATAR_BYTES = 1024 * 1024

/** Profile and password of the user. */
export function ProfilePage(): VNode {
  return (
    <SettingsFrame tab="Profile">
      {(user) => (
        <>
          <Facts user={user} />
          <ProfileForm user={user} />
          <Avatar user={user} />
          <PasswordForm user={user} />
          <AccountDeletion user={user} />
        </>
      )}
    </SettingsFrame>
  )
}

function Facts({ user }: { user: User }): VNode {
  return (
    <dl>
      <dt>{t('Username')}</dt>
      <dd>{user.username}</dd>
      <dt>{t('Role')}</dt>
      <dd>{user.role === User_Role.ADMIN ? t('administrator') : t('user')}</dd>
      <dt>{t('Account created')}</dt>
      <dd>
        <Time at={user.createTime} />
      </dd>
    </dl>
  )
}

type Changeable = 'displayName' | 'email' | 'description' | 'avatarUrl' | 'password'

/** Returns what changes fields of the account, and takes the result over. */
function useUserChange(): (
  user: Pick<User, 'name'> & Partial<Pick<User, Changeable>>,
) => Promise<void> {
  const { of, session } = useApi()
  return async ({ name, ...fields }) => {
    const paths = Object.keys(fields).map((field) =>
      field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
    const update = { user: { name, ...fields }, updateMask: { paths } }
    const changed = await of(UserService).updateUser(update)
    // A new password has ended all access tokens, and the one of this page too.
    if (fields.password !== undefined) await session.renew()
    session.changeUser(changed)
  }
}

function ProfileForm({ user }: { user: User }): VNode {
  const api = useApi()
  const change = useUserChange()
  const save = async (form: HTMLFormElement) => {
    const names = ['displayName', 'email', 'description'] as const
    // Only what differs: an instance may permit some changes to administrators only.
    const changes = names
      .map((name) => [name, fieldOf(form, name)] as const)
      .filter(([name, value]) => value !== user[name])
    if (changes.some(([name]) => name === 'email')) await provePresence(api, form)
    if (changes.length > 0) await change({ name: user.name, ...Object.fromEntries(changes) })
  }
  return (
    <section aria-labelledby="profile">
      <h2 id="profile">{t('Profile')}</h2>
      <ActionForm act={save} submit={t('Save the profile')} done={t('The profile is saved.')}>
        <Field
          label={t('Display name')}
          name="displayName"
          defaultValue={user.displayName}
          maxLength={128}
          autocomplete="name"
        />
        <Field
          label={t('E-mail address')}
          name="email"
          type="email"
          defaultValue={user.email}
          autocomplete="email"
          hint={t(
            'Only you and administrators see the address. Commits with the address are shown as yours.',
          )}
        />
        <TextArea
          label={t('Description')}
          name="description"
          rows={3}
          defaultValue={user.description}
          maxLength={1024}
        />
        <PresentOwnerFields purpose={t('For a new e-mail address.')} />
      </ActionForm>
    </section>
  )
}

function Avatar({ user }: { user: User }): VNode {
  const change = useUserChange()
  const upload = async (form: HTMLFormElement) => {
    const file = new FormData(form).get('avatar')
    if (!(file instanceof File) || file.size === 0)
      throw new ConnectError(t('no picture is chosen'), Code.InvalidArgument)
    if (file.size > MAX_AVATAR_BYTES)
      throw new ConnectError(t('the picture is larger than 1 MiB'), Code.InvalidArgument)
    const bytes = toBase64(new Uint8Array(await file.arrayBuffer()))
    await change({ name: user.name, avatarUrl: `data:${file.type};base64,${bytes}` })
  }
  return (
    <section aria-labelledby="avatar">
      <h2 id="avatar">{t('Picture')}</h2>
      {hasPicture(user) && (
        <AccountPicture
          key={String(user.updateTime?.seconds)}
          name={user.name}
          alt={t('The present one')}
        />
      )}
      <ActionForm
        act={upload}
        submit={t('Upload the picture')}
        done={t('The picture is saved.')}
        isEmptied
      >
        <Field
          label={t('New picture (PNG, JPEG, GIF or WebP, at most 1 MiB)')}
          name="avatar"
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
          required
        />
      </ActionForm>
      {user.avatarUrl !== '' && (
        <Confirmed
          action={t('Remove the picture')}
          question={t('The account gets a generated picture again.')}
          act={() => change({ name: user.name, avatarUrl: '' })}
        />
      )}
    </section>
  )
}

function PasswordForm({ user }: { user: User }): VNode {
  const api = useApi()
  const change = useUserChange()
  const save = async (form: HTMLFormElement) => {
    const password = newPasswordOf(form)
    await provePresence(api, form)
    await change({ name: user.name, password })
  }
  return (
    <section aria-labelledby="password">
      <h2 id="password">{t('Password')}</h2>
      <p>
        {t(
          'A new password ends all your other sessions, in every browser. Personal access tokens stay valid.',
        )}
      </p>
      <ActionForm
        act={save}
        submit={t('Change the password')}
        done={t('The password is changed. All other sessions have ended.')}
        isEmptied
      >
        <PresentOwnerFields purpose={t('Empty if the account has no password.')} />
        <NewPasswordFields />
      </ActionForm>
    </section>
  )
}

/** The deletion of the user's own account. */
function AccountDeletion({ user }: { user: User }): VNode {
  const api = useApi()
  const remove = async (form: HTMLFormElement) => {
    const force = isChecked(form, 'content')
    await provePresence(api, form)
    await api.of(UserService).deleteUser({ name: user.name, force })
    api.session.forget()
    goTo('/')
  }
  return (
    <section class="box" aria-labelledby="danger">
      <h2 id="danger">{t('Danger zone')}</h2>
      <ConfirmedForm action={t('Delete the account')} name={user.username} act={remove}>
        <p>
          {t(
            'Your profile, settings, sessions, tokens, keys and webhooks are deleted, and others may take your username. Your comments in repositories of others stay, without your name. Only a backup of the server has what is deleted.',
          )}
        </p>
        <p>
          {t(
            'The server refuses while you are the only owner of an organisation, or the only administrator of the server.',
          )}
        </p>
        <Checkbox
          label={t('Also delete my repositories and memos, with the comments of others')}
          name="content"
        />
        <PresentOwnerFields />
      </ConfirmedForm>
    </section>
  )
}
