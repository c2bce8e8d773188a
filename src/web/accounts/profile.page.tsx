import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
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
      <dt>Username</dt>
      <dd>{user.username}</dd>
      <dt>Role</dt>
      <dd>{user.role === User_Role.ADMIN ? 'administrator' : 'user'}</dd>
      <dt>Account created</dt>
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
      <h2 id="profile">Profile</h2>
      <ActionForm act={save} submit="Save the profile" done="The profile is saved.">
        <Field
          label="Display name"
          name="displayName"
          defaultValue={user.displayName}
          maxLength={128}
          autocomplete="name"
        />
        <Field
          label="E-mail address"
          name="email"
          type="email"
          defaultValue={user.email}
          autocomplete="email"
          hint="Only you and administrators see the address. Commits with the address are shown as yours."
        />
        <TextArea
          label="Description"
          name="description"
          rows={3}
          defaultValue={user.description}
          maxLength={1024}
        />
        <PresentOwnerFields purpose="For a new e-mail address." />
      </ActionForm>
    </section>
  )
}

function Avatar({ user }: { user: User }): VNode {
  const change = useUserChange()
  const upload = async (form: HTMLFormElement) => {
    const file = new FormData(form).get('avatar')
    if (!(file instanceof File) || file.size === 0)
      throw new ConnectError('no picture is chosen', Code.InvalidArgument)
    if (file.size > MAX_AVATAR_BYTES)
      throw new ConnectError('the picture is larger than 1 MiB', Code.InvalidArgument)
    const bytes = toBase64(new Uint8Array(await file.arrayBuffer()))
    await change({ name: user.name, avatarUrl: `data:${file.type};base64,${bytes}` })
  }
  return (
    <section aria-labelledby="avatar">
      <h2 id="avatar">Picture</h2>
      {hasPicture(user) && (
        <AccountPicture
          key={String(user.updateTime?.seconds)}
          name={user.name}
          alt="The present one"
        />
      )}
      <ActionForm act={upload} submit="Upload the picture" done="The picture is saved." isEmptied>
        <Field
          label="New picture (PNG, JPEG, GIF or WebP, at most 1 MiB)"
          name="avatar"
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
          required
        />
      </ActionForm>
      {user.avatarUrl !== '' && (
        <Confirmed
          action="Remove the picture"
          question="The account gets a generated picture again."
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
      <h2 id="password">Password</h2>
      <p>
        A new password ends all your other sessions, in every browser. Personal access tokens stay
        valid.
      </p>
      <ActionForm
        act={save}
        submit="Change the password"
        done="The password is changed. All other sessions have ended."
        isEmptied
      >
        <PresentOwnerFields purpose="Empty if the account has no password." />
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
      <h2 id="danger">Danger zone</h2>
      <ConfirmedForm action="Delete the account" name={user.username} act={remove}>
        <p>
          Your profile, settings, sessions, tokens, keys and webhooks are deleted, and others may
          take your username. Your comments in repositories of others stay, without your name. Only
          a backup of the server has what is deleted.
        </p>
        <p>
          The server refuses while you are the only owner of an organisation, or the only
          administrator of the server.
        </p>
        <Checkbox
          label="Also delete my repositories and memos, with the comments of others"
          name="content"
        />
        <PresentOwnerFields />
      </ConfirmedForm>
    </section>
  )
}
