import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { PersonalAccessToken } from '#gen/branchline/v1/personal_access_token_pb.ts'
import { type User, User_Role } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { timestampDate } from '../api/timestamps.ts'
import { Command, ShownOnce } from '../components/command.tsx'
import { Time } from '../components/formats.tsx'
import { ActionForm, Confirmed, Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { SettingsFrame } from './account-settings.tsx'
import { PresentOwnerFields, provePresence } from './credentials.tsx'
import { ScopeFields, scopesOf, scopesText } from './scopes.tsx'

/** The most tokens of one answer. */
const MAX_TOKENS = 1000

/** The first one is the default. */
const LIFETIMES: readonly (readonly [days: number, text: string])[] = [
  [30, t('in 30 days')],
  [7, t('in 7 days')],
  [90, t('in 90 days')],
  [365, t('in a year')],
  [0, t('never')],
]

/** The personal access tokens of the user. */
export function TokensPage(): VNode {
  return <SettingsFrame tab="Access tokens">{(user) => <Tokens user={user} />}</SettingsFrame>
}

function Tokens({ user }: { user: User }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) =>
      of(UserService).listPersonalAccessTokens(
        { parent: user.name, pageSize: MAX_TOKENS },
        { signal },
      ),
    [user.name],
  )
  return (
    <>
      <p>
        {t(
          'Programs use a token instead of your password: for the API, and for Git over HTTPS as the password. A token does what its scopes permit, and nothing that you may not do.',
        )}
      </p>
      <NewToken user={user} onCreated={list.reload} />
      <h2>{t('Your tokens')}</h2>
      <Show of={list}>
        {({ personalAccessTokens, totalSize }) => (
          <>
            {totalSize === 0 && <p class="empty">{t('You have no tokens.')}</p>}
            <ul class="list">
              {personalAccessTokens.map((token) => (
                <TokenItem key={token.name} token={token} onDeleted={list.reload} />
              ))}
            </ul>
            {totalSize > MAX_TOKENS && <p>{t('The API lists the others.')}</p>}
          </>
        )}
      </Show>
    </>
  )
}

function NewToken({ user, onCreated }: { user: User; onCreated: () => void }): VNode {
  const api = useApi()
  const [token, setToken] = useState('')
  const create = async (form: HTMLFormElement) => {
    await provePresence(api, form)
    const created = await api.of(UserService).createPersonalAccessToken({
      parent: user.name,
      description: fieldOf(form, 'description'),
      expiresInDays: Number(fieldOf(form, 'days')),
      scopes: scopesOf(new FormData(form)),
    })
    setToken(created.token)
    onCreated()
  }
  return (
    <section aria-labelledby="new-token">
      <h2 id="new-token">{t('New token')}</h2>
      {token !== '' && (
        <ShownOnce name={t('Token')} secret={token}>
          <p>{t('Try the token, for example:')}</p>
          <Command
            label={t('Command that uses the token')}
            text={`curl -H 'authorization: Bearer ${token}' ${location.origin}/api/v1/user`}
          />
        </ShownOnce>
      )}
      <ActionForm act={create} submit={t('Create the token')} isEmptied>
        <Field
          label={t('Name')}
          name="description"
          maxLength={256}
          required
          hint={t('What the token is for, such as the name of a machine.')}
        />
        <label>
          {t('Expires')}
          <select name="days">
            {LIFETIMES.map(([days, text]) => (
              <option key={days} value={days}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <ScopeFields isAdmin={user.role === User_Role.ADMIN} />
        <PresentOwnerFields purpose={t('For a token that may change the account.')} />
      </ActionForm>
    </section>
  )
}

function TokenItem(props: { token: PersonalAccessToken; onDeleted: () => void }): VNode {
  const { token, onDeleted } = props
  const { of } = useApi()
  const name = token.description || t('without a name')
  const remove = async () => {
    await of(UserService).deletePersonalAccessToken({ name: token.name })
    onDeleted()
  }
  return (
    <li>
      <strong>{name}</strong> {isExpired(token) && <span class="tag closed">{t('expired')}</span>}
      <p>{t('May: {scopes}', { scopes: scopesText(token.scopes) })}</p>
      <p class="facts">
        <T
          text="Created {created}, expires {expires}, last used {used}"
          created={<Time at={token.createdAt} />}
          expires={token.expiresAt ? <Time at={token.expiresAt} /> : t('never')}
          used={token.lastUsedAt ? <Time at={token.lastUsedAt} /> : t('never')}
        />
      </p>
      <Confirmed
        action={t('Delete')}
        about={t('the token {name}', { name })}
        question={t('Programs that use the token lose their access at once.')}
        act={remove}
      />
    </li>
  )
}

function isExpired({ expiresAt }: PersonalAccessToken): boolean {
  return expiresAt !== undefined && timestampDate(expiresAt).getTime() < Date.now()
}
