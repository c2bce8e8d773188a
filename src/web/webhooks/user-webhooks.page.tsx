import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { UserHookService } from '#gen/branchline/v1/user_hook_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type UserWebhook,
  type UserWebhookDelivery,
  UserWebhookDelivery_State,
} from '#gen/branchline/v1/user_webhook_pb.ts'
import { SettingsFrame } from '../accounts/account-settings.tsx'
import { type Api, useApi } from '../api/client.ts'
import { Command } from '../components/command.tsx'
import { ActionButton, ActionForm, ConfirmedForm, Field, fieldOf } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { pageOf } from '../components/page.tsx'
import { T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { DeliveryBody, DeliveryFacts, DeliverySummary, useSecondLook } from './delivery.tsx'
import { type WebhookStore, Webhooks } from './webhooks.tsx'

const BASE = '/user/settings/hooks'

/** The webhooks of the user: those of all repositories, and those of memos and pull requests. */
export function UserWebhooks({ rest, query }: PageProps): VNode {
  return (
    <SettingsFrame tab="Webhooks">
      {(user) => <WebhooksOfUser user={user} rest={rest} query={query} />}
    </SettingsFrame>
  )
}

function WebhooksOfUser(props: { user: User } & Pick<PageProps, 'rest' | 'query'>): VNode {
  const { user, rest, query } = props
  const api = useApi()
  const [place = '', id] = rest
  const accountWebhooks = <AccountWebhooks user={user} base={`${BASE}/account`} place={id ?? ''} />
  if (place === 'account') return accountWebhooks
  return (
    <>
      <h2>{t('Webhooks of your repositories')}</h2>
      <Webhooks store={storeOf(api)} place={place} page={pageOf(query)} isFrozen={false} />
      {place === '' && accountWebhooks}
    </>
  )
}

function storeOf({ of }: Api): WebhookStore {
  const service = of(UserHookService)
  return {
    base: BASE,
    list: (page, signal) => service.listUserHooks({ page }, { signal }),
    get: (id, signal) => service.getUserHook({ id }, { signal }),
    create: (draft) => service.createUserHook(draft),
    edit: (id, { type: _, ...changes }) => service.editUserHook({ id, ...changes }),
    remove: (id) => service.deleteUserHook({ id }),
    test: undefined,
    deliveries: (id, page, signal) => service.listUserHookDeliveries({ id, page }, { signal }),
    delivery: (id, deliveryId, signal) =>
      service.getUserHookDelivery({ id, deliveryId }, { signal }),
    redeliver: (id, deliveryId) => service.redeliverUserHookDelivery({ id, deliveryId }),
  }
}

/** The deliveries that the page shows. The server stores about as many. */
const MAX_DELIVERIES = 100

const STATES = {
  [UserWebhookDelivery_State.STATE_UNSPECIFIED]: ['', ''],
  [UserWebhookDelivery_State.PENDING]: ['', t('waiting')],
  [UserWebhookDelivery_State.DELIVERED]: ['success', t('delivered')],
  [UserWebhookDelivery_State.FAILED]: ['failure', t('failed @state')],
} as const

/** The webhooks about the user's memos and pull requests: the list, a new one, or one of them. */
function AccountWebhooks(props: {
  user: User
  /** The address before the ids of webhooks. */
  base: string
  /** The rest of the address: empty, `new`, or an id. */
  place: string
}): VNode {
  const { user, base, place } = props
  const { of } = useApi()
  const service = of(UserService)
  const list = useLoad(
    (signal) => service.listUserWebhooks({ parent: user.name }, { signal }),
    [user.name],
  )
  if (place === 'new')
    return (
      <>
        <h2>{t('New webhook of your account')}</h2>
        <WebhookForm
          act={async (webhook) => {
            const { name } = await service.createUserWebhook({ parent: user.name, webhook })
            goTo(`${base}/${idOf(name)}`)
          }}
        />
      </>
    )
  return (
    <>
      <h2>{t('Webhooks of your account')}</h2>
      <Show of={list}>
        {({ webhooks }) => {
          if (place === '') return <List base={base} webhooks={webhooks} />
          const webhook = webhooks.find(({ name }) => idOf(name) === place)
          return webhook ? (
            <OneWebhook base={base} webhook={webhook} onChange={list.reload} />
          ) : (
            <p>
              <T
                text="There is no such webhook. {all}"
                all={<a href="/user/settings/hooks">{t('All webhooks')}</a>}
              />
            </p>
          )
        }}
      </Show>
    </>
  )
}

function List({ base, webhooks }: { base: string; webhooks: readonly UserWebhook[] }): VNode {
  return (
    <>
      <p>
        {t(
          'They receive events about your memos, and about the pull requests in which you take part. Requests are signed as Standard Webhooks describes.',
        )}
      </p>
      {webhooks.length === 0 && <p>{t('Your account has no webhooks.')}</p>}
      <ul class="list">
        {webhooks.map(({ name, url, displayName, disabled }) => (
          <li key={name}>
            <a href={`${base}/${idOf(name)}`}>{displayName || url}</a>{' '}
            {disabled && <span class="tag closed">{t('off')}</span>}
            {displayName !== '' && <p class="facts">{url}</p>}
          </li>
        ))}
      </ul>
      <a href={`${base}/new`}>{t('New webhook of your account')}</a>
    </>
  )
}

function WebhookForm(props: {
  webhook?: UserWebhook
  act: (webhook: { url: string; displayName: string }) => Promise<unknown>
}): VNode {
  const { webhook, act } = props
  return (
    <ActionForm
      label={t('Webhook of your account')}
      submit={webhook ? t('Save the webhook') : t('Create the webhook')}
      done={t('Saved.')}
      act={(form) => act({ url: fieldOf(form, 'url'), displayName: fieldOf(form, 'displayName') })}
    >
      <Field
        label={t('Address')}
        name="url"
        type="url"
        maxLength={2048}
        required
        defaultValue={webhook?.url ?? ''}
        hint={t('An HTTP or HTTPS address of another machine.')}
      />
      <Field
        label={t('Name (optional)')}
        name="displayName"
        maxLength={128}
        defaultValue={webhook?.displayName ?? ''}
      />
    </ActionForm>
  )
}

function OneWebhook(props: { base: string; webhook: UserWebhook; onChange: () => void }): VNode {
  const { webhook, onChange } = props
  const { name, url, displayName, disabled } = webhook
  const { of } = useApi()
  const service = of(UserService)
  return (
    <>
      <p>
        <a href="/user/settings/hooks">{t('All webhooks')}</a>
      </p>
      <h3>{displayName || url}</h3>
      {disabled && (
        <p class="note">
          {t(
            'The server turned the webhook off, since its target answered that it is gone. Save the address to turn the webhook on again.',
          )}
        </p>
      )}
      <details>
        <summary>{t('Change the webhook')}</summary>
        <WebhookForm
          webhook={webhook}
          act={async (fields) => {
            const updateMask = { paths: ['url', 'display_name'] }
            await service.updateUserWebhook({ webhook: { name, ...fields }, updateMask })
            onChange()
          }}
        />
      </details>
      <SigningSecret name={name} />
      <Deliveries webhook={webhook} />
      <section class="box" aria-labelledby="danger">
        <h3 id="danger">{t('Danger zone')}</h3>
        <ConfirmedForm
          action={t('Delete the webhook')}
          name={url}
          act={async () => {
            await service.deleteUserWebhook({ name })
            goTo('/user/settings/hooks')
          }}
        >
          <p>{t('Its deliveries are deleted too.')}</p>
        </ConfirmedForm>
      </section>
    </>
  )
}

/** The receiver checks signatures with it. */
function SigningSecret({ name }: { name: string }): VNode {
  const { of } = useApi()
  const [secret, setSecret] = useState('')
  if (secret !== '') return <Command label={t('Secret for signatures')} text={secret} />
  const show = async () => {
    setSecret((await of(UserService).getUserWebhookSigningSecret({ name })).signingSecret)
  }
  return (
    <p>
      <ActionButton text={t('Show the secret for signatures')} act={show} />
    </p>
  )
}

function Deliveries({ webhook }: { webhook: UserWebhook }): VNode {
  const { name, disabled } = webhook
  const { of } = useApi()
  const service = of(UserService)
  const list = useLoad(
    (signal) =>
      service.listUserWebhookDeliveries({ parent: name, pageSize: MAX_DELIVERIES }, { signal }),
    [name],
  )
  const { value, reload } = list
  const isWaiting = value?.deliveries.some(
    ({ state, attemptCount }) => state === UserWebhookDelivery_State.PENDING && attemptCount === 0,
  )
  useSecondLook(value, isWaiting === true, reload)
  return (
    <section aria-labelledby="deliveries">
      <h4 id="deliveries">{t('Recent deliveries')}</h4>
      <p class="row">
        {!disabled && (
          <ActionButton
            text={t('Send a test')}
            act={() => service.testUserWebhook({ name }).then(reload)}
          />
        )}
        <button type="button" onClick={reload}>
          {t('Look again')}
        </button>
      </p>
      <Show of={list}>
        {({ deliveries }) => (
          <>
            {deliveries.length === 0 && <p class="empty">{t('No deliveries.')}</p>}
            {deliveries.map((delivery) => (
              <Delivery key={delivery.name} webhook={webhook} delivery={delivery} onSent={reload} />
            ))}
          </>
        )}
      </Show>
    </section>
  )
}

function Delivery(props: {
  webhook: UserWebhook
  delivery: UserWebhookDelivery
  onSent: () => void
}): VNode {
  const { webhook, delivery, onSent } = props
  const { name, eventType, state, responseStatus, createTime, requestBody } = delivery
  const { of } = useApi()
  const isFinished = state !== UserWebhookDelivery_State.PENDING
  return (
    <DeliverySummary
      event={eventType}
      progress={STATES[state]}
      responseStatus={responseStatus}
      createdAt={createTime}
    >
      {() => (
        <>
          <DeliveryFacts
            id={idOf(name)}
            attemptCount={delivery.attemptCount}
            lastAttemptAt={delivery.lastAttemptTime}
            error={delivery.error}
          />
          <DeliveryBody kind="request" first={`POST ${webhook.url}`} text={requestBody} />
          {isFinished && !webhook.disabled && (
            <p>
              <ActionButton
                text={t('Deliver again')}
                about={eventType}
                act={() => of(UserService).redeliverUserWebhookDelivery({ name }).then(onSent)}
              />
            </p>
          )}
        </>
      )}
    </DeliverySummary>
  )
}

function idOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}
