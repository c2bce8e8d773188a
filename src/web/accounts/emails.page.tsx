import type { VNode } from 'preact'
import { type UserEmail, UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { UserSetting_GeneralSetting } from '#gen/branchline/v1/user_setting_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm, Confirmed, Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { SettingsFrame } from './account-settings.tsx'
import { PresentOwnerFields, provePresence } from './credentials.tsx'

/** Which changes of pull requests the server mails, with the values of the API. */
const MAILS = {
  enabled: t('about everything that you are notified of'),
  onmention: t('when somebody mentions you'),
  disabled: t('never'),
} as const

/** The addresses of the user, and what the server does with them. */
export function EmailsPage(): VNode {
  return (
    <SettingsFrame tab="E-mail">
      {({ name }) => (
        <>
          <MailSettings user={name} />
          <Addresses />
        </>
      )}
    </SettingsFrame>
  )
}

function MailSettings({ user }: { user: string }): VNode {
  const { of } = useApi()
  const name = `${user}/settings/GENERAL`
  const settings = useLoad(
    async (signal) => {
      const { value } = await of(UserService).getUserSetting({ name }, { signal })
      return value.case === 'generalSetting' ? value.value : undefined
    },
    [name],
  )
  return (
    <section aria-labelledby="mails">
      <h2 id="mails">{t('Mails')}</h2>
      <Show of={settings}>{(value) => value && <MailForm name={name} settings={value} />}</Show>
    </section>
  )
}

function MailForm(props: { name: string; settings: UserSetting_GeneralSetting }): VNode {
  const { name, settings } = props
  const { of } = useApi()
  const save = (form: HTMLFormElement) =>
    of(UserService).updateUserSetting({
      setting: {
        name,
        value: {
          case: 'generalSetting',
          value: {
            emailNotifications: fieldOf(form, 'mails'),
            keepEmailPrivate: fieldOf(form, 'private') === 'on',
          },
        },
      },
      updateMask: {
        paths: ['general_setting.email_notifications', 'general_setting.keep_email_private'],
      },
    })
  return (
    <ActionForm act={save} submit={t('Save the settings')} done={t('The settings are saved.')}>
      <label>
        {t('Send me mails about pull requests')}
        <select name="mails">
          {Object.entries(MAILS).map(([value, text]) => (
            <option
              key={value}
              value={value}
              selected={value === (settings.emailNotifications || 'enabled')}
            >
              {text}
            </option>
          ))}
        </select>
      </label>
      <label class="choice">
        <input type="checkbox" name="private" defaultChecked={settings.keepEmailPrivate ?? false} />{' '}
        {t('Keep my address out of the commits that the server creates')}
      </label>
    </ActionForm>
  )
}

function Addresses(): VNode {
  const api = useApi()
  const { of } = api
  const list = useLoad((signal) => of(UserEmailService).listUserEmails({}, { signal }), [])
  const add = async (form: HTMLFormElement) => {
    await provePresence(api, form)
    await of(UserEmailService).addUserEmails({ emails: [fieldOf(form, 'email')], resend: true })
    list.reload()
  }
  return (
    <section aria-labelledby="addresses">
      <h2 id="addresses">{t('Addresses')}</h2>
      <p>
        <T
          text="Commits with a verified address are shown as yours. Your primary address is a part of the {profile}."
          profile={<a href="/user/settings">{t('profile')}</a>}
        />
      </p>
      <Show of={list}>
        {({ emails }) => (
          <>
            {emails.length === 0 && <p class="empty">{t('You have no addresses.')}</p>}
            <ul class="list">
              {emails.map((email) => (
                <AddressItem key={email.email} email={email} onDeleted={list.reload} />
              ))}
            </ul>
          </>
        )}
      </Show>
      <ActionForm
        act={add}
        submit={t('Add the address')}
        done={t('The server sends a mail. Open its link to verify the address.')}
        isEmptied
      >
        <Field
          label={t('Another address')}
          name="email"
          type="email"
          autocomplete="email"
          required
        />
        <PresentOwnerFields />
      </ActionForm>
    </section>
  )
}

function AddressItem(props: { email: UserEmail; onDeleted: () => void }): VNode {
  const { email, onDeleted } = props
  const { of } = useApi()
  const remove = async () => {
    await of(UserEmailService).deleteUserEmails({ emails: [email.email] })
    onDeleted()
  }
  return (
    <li>
      {email.email} {email.primary && <span class="tag">{t('primary')}</span>}{' '}
      <span class={email.verified ? 'tag success' : 'tag'}>
        {email.verified ? t('verified') : t('not verified')}
      </span>
      {!email.primary && (
        <div>
          <Confirmed
            action={t('Remove')}
            about={email.email}
            question={t('Commits with the address are not shown as yours any more.')}
            act={remove}
          />
        </div>
      )}
    </li>
  )
}
