import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type Hook, type HookDelivery, HookDelivery_State } from '#gen/branchline/v1/hook_pb.ts'
import {
  ActionButton,
  ActionForm,
  Checkbox,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
  Select,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import { DeliveryBody, DeliveryFacts, DeliverySummary, useSecondLook } from './delivery.tsx'

/** The list of webhooks, the form of a new one, or one with its deliveries. */
export function Webhooks(props: {
  store: WebhookStore
  /** The rest of the address after the list: empty, `new`, or a number. */
  place: string
  page: number
  isFrozen: boolean
}): VNode {
  const { store, place, page, isFrozen } = props
  if (place === 'new' && !isFrozen)
    return (
      <WebhookForm
        act={async (draft) => {
          const { id } = await store.create(draft)
          goTo(`${store.base}/${id}`)
        }}
      />
    )
  if (/^[1-9]\d{0,17}$/.test(place))
    return <OneWebhook store={store} id={BigInt(place)} page={page} isFrozen={isFrozen} />
  return <WebhookList store={store} page={page} isFrozen={isFrozen} />
}

function WebhookList(props: { store: WebhookStore; page: number; isFrozen: boolean }): VNode {
  const { store, page, isFrozen } = props
  const list = useLoad((signal) => store.list(page, signal), [page])
  return (
    <>
      <p>
        {t(
          'The server sends events to the address of a webhook, for example to build what was pushed.',
        )}
      </p>
      <Show of={list}>
        {({ hooks, total, limit }) => (
          <>
            {hooks.length === 0 && <p class="empty">{t('No webhooks.')}</p>}
            <ul class="list">
              {hooks.map(({ id, config, events, type, active }) => (
                <li key={String(id)}>
                  <a href={`${store.base}/${id}`}>{config?.url}</a>{' '}
                  <span class="tag">{typeText(type)}</span>
                  {!active && <span class="tag">{t('off')}</span>}
                  <p class="facts">{events.join(', ')}</p>
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      {!isFrozen && <a href={`${store.base}/new`}>{t('New webhook')}</a>}
    </>
  )
}

function OneWebhook(props: {
  store: WebhookStore
  id: bigint
  page: number
  isFrozen: boolean
}): VNode {
  const { store, id, page, isFrozen } = props
  const hook = useLoad((signal) => store.get(id, signal), [])
  return (
    <>
      <p>
        <a href={store.base}>{t('All webhooks')}</a>
      </p>
      <Show of={hook} isPage>
        {(value) => (
          <>
            <h3>{value.config?.url}</h3>
            {!isFrozen && (
              <details>
                <summary>{t('Change the webhook')}</summary>
                <WebhookForm
                  hook={value}
                  act={async (draft) => {
                    await store.edit(id, draft)
                    hook.reload()
                  }}
                />
              </details>
            )}
            <Deliveries store={store} hook={value} page={page} />
            {!isFrozen && <Deletion store={store} hook={value} />}
          </>
        )}
      </Show>
    </>
  )
}

function Deletion({ store, hook }: { store: WebhookStore; hook: Hook }): VNode {
  return (
    <section class="box" aria-labelledby="danger">
      <h3 id="danger">{t('Danger zone')}</h3>
      <ConfirmedForm
        action={t('Delete the webhook')}
        name={hook.config?.url ?? ''}
        act={async () => {
          await store.remove(hook.id)
          goTo(store.base)
        }}
      >
        <p>{t('Its deliveries are deleted too.')}</p>
      </ConfirmedForm>
    </section>
  )
}

/** Values of the form of a webhook. Absent values are not changed. */
interface WebhookDraft {
  readonly type: string
  readonly config: {
    readonly url: string
    readonly contentType: string
    readonly secret?: string
    readonly channel?: string
  }
  readonly events: string[]
  readonly branchFilter: string
  readonly authorizationHeader?: string
  readonly active: boolean
}

const TYPES = [
  ['gitea', t('JSON of Gitea and Forgejo')],
  ['slack', t('Message for Slack')],
  ['discord', t('Message for Discord')],
  ['msteams', t('Message for Microsoft Teams')],
] as const

/** Returns the words for a type of webhooks, or the type itself if the page does not know the type. */
function typeText(type: string): string {
  return TYPES.find(([known]) => known === type)?.[1] ?? type
}

const EVENTS = [
  ['push', t('Pushes')],
  ['create', t('New branches and tags')],
  ['delete', t('Deleted branches and tags')],
  ['pull_request', t('Everything about pull requests')],
  ['release', t('Releases')],
  ['status', t('Checks of commits')],
  ['fork', t('Forks')],
  ['repository', t('The repository itself')],
] as const

/** Creates a webhook, or changes one. */
function WebhookForm(props: {
  /** Undefined for a new one. */
  hook?: Hook
  act: (draft: WebhookDraft) => Promise<unknown>
}): VNode {
  const { hook, act } = props
  const [type, setType] = useState(hook?.type ?? 'gitea')
  return (
    <ActionForm
      label={t('Webhook')}
      submit={hook ? t('Save the webhook') : t('Create the webhook')}
      done={t('Saved.')}
      act={(form) => act(readDraft(form, hook))}
    >
      <Field
        label={t('Address')}
        name="url"
        type="url"
        maxLength={2048}
        required
        defaultValue={hook?.config?.url ?? ''}
        hint={t('An HTTP or HTTPS address of another machine.')}
      />
      {!hook && (
        <div onChange={(event) => setType((event.target as HTMLSelectElement).value)}>
          <Select label={t('Form @format')} name="type" value={type} options={TYPES} />
        </div>
      )}
      {type === 'slack' && (
        <Field
          label={t('Channel')}
          name="channel"
          required
          defaultValue={hook?.config?.channel ?? ''}
        />
      )}
      <Select
        label={t('Content type')}
        name="contentType"
        value={hook?.config?.contentType ?? 'json'}
        options={[
          ['json', 'JSON'],
          ['form', t('A form with JSON in the field “payload”')],
        ]}
      />
      <Secrets hook={hook} />
      <fieldset>
        <legend>{t('Events')}</legend>
        {EVENTS.map(([name, text]) => (
          <Checkbox
            key={name}
            label={text}
            name={name}
            isChecked={hook ? hook.events.includes(name) : name === 'push'}
          />
        ))}
        <span class="hint">{t('Without a choice, the webhook receives pushes.')}</span>
      </fieldset>
      <Field
        label={t('Branches (empty: all)')}
        name="filter"
        maxLength={255}
        defaultValue={hook?.branchFilter ?? ''}
        hint={t('A pattern, such as main or release/*.')}
      />
      <Checkbox label={t('Active')} name="active" isChecked={hook?.active ?? true} />
    </ActionForm>
  )
}

/** The server never returns secrets, so that an empty field changes none. */
function Secrets({ hook }: { hook: Hook | undefined }): VNode {
  return (
    <>
      <Field
        label={
          hook
            ? t('Secret for signatures (empty: unchanged)')
            : t('Secret for signatures (optional)')
        }
        name="secret"
        type="password"
        autocomplete="off"
        maxLength={255}
      />
      <Field
        label={
          hook ? t('Authorization header (empty: unchanged)') : t('Authorization header (optional)')
        }
        name="header"
        type="password"
        autocomplete="off"
        maxLength={1024}
      />
    </>
  )
}

function readDraft(form: HTMLFormElement, hook: Hook | undefined): WebhookDraft {
  const offered = EVENTS.map(([name]): string => name)
  const chosen = offered.filter((name) => isChecked(form, name))
  // Programs may have chosen events that the form does not offer.
  const others = hook?.events.filter((name) => !offered.includes(name)) ?? []
  const events = [...chosen, ...others]
  const [secret, channel] = [fieldOf(form, 'secret'), fieldOf(form, 'channel')]
  const header = fieldOf(form, 'header')
  return {
    type: hook?.type ?? fieldOf(form, 'type'),
    config: {
      url: fieldOf(form, 'url'),
      contentType: fieldOf(form, 'contentType'),
      ...(secret !== '' && { secret }),
      ...(channel !== '' && { channel }),
    },
    events: events.length > 0 ? events : ['push'],
    branchFilter: fieldOf(form, 'filter'),
    ...(header !== '' && { authorizationHeader: header }),
    active: isChecked(form, 'active'),
  }
}

const STATES = {
  [HookDelivery_State.STATE_UNSPECIFIED]: ['', ''],
  [HookDelivery_State.PENDING]: ['', t('waiting')],
  [HookDelivery_State.DELIVERED]: ['success', t('delivered')],
  [HookDelivery_State.FAILED]: ['failure', t('failed @state')],
} as const

/** The recent deliveries of a webhook. */
export function Deliveries(props: { store: WebhookStore; hook: Hook; page: number }): VNode {
  const { store, hook, page } = props
  const list = useLoad((signal) => store.deliveries(hook.id, page, signal), [page])
  const { value, reload } = list
  const isWaiting = value?.deliveries.some(
    ({ state, attemptCount }) => state === HookDelivery_State.PENDING && attemptCount === 0,
  )
  useSecondLook(value, isWaiting === true, reload)
  const { test } = store
  return (
    <section aria-labelledby="deliveries">
      <h4 id="deliveries">{t('Recent deliveries')}</h4>
      <p class="row">
        {test && hook.active && (
          <ActionButton text={t('Send a test')} act={() => test(hook.id).then(reload)} />
        )}
        <button type="button" onClick={reload}>
          {t('Look again')}
        </button>
      </p>
      <Show of={list}>
        {({ deliveries, total, limit }) => (
          <>
            {deliveries.length === 0 && <p class="empty">{t('No deliveries.')}</p>}
            {deliveries.map((delivery) => (
              <Delivery
                key={delivery.id}
                store={store}
                hook={hook}
                delivery={delivery}
                onSent={reload}
              />
            ))}
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </section>
  )
}

interface DeliveryProps {
  readonly store: WebhookStore
  readonly hook: Hook
  readonly delivery: HookDelivery
  readonly onSent: () => void
}

function Delivery(props: DeliveryProps): VNode {
  const { event, state, responseStatus, createdAt } = props.delivery
  return (
    <DeliverySummary
      event={event}
      progress={STATES[state]}
      responseStatus={responseStatus}
      createdAt={createdAt}
    >
      {() => <DeliveryDetails {...props} />}
    </DeliverySummary>
  )
}

function DeliveryDetails({ store, hook, delivery, onSent }: DeliveryProps): VNode {
  const details = useLoad(
    (signal) => store.delivery(hook.id, delivery.id, signal),
    [delivery.state, delivery.attemptCount],
  )
  return (
    <>
      <Show of={details}>
        {(value) => (
          <>
            <DeliveryFacts
              id={value.id}
              attemptCount={value.attemptCount}
              lastAttemptAt={value.lastAttemptAt}
              durationMs={value.durationMs}
              error={value.error}
            />
            <DeliveryBody
              kind="request"
              first={`POST ${value.requestUrl}`}
              text={value.requestBody}
            />
            {value.responseStatus > 0 && (
              <DeliveryBody
                kind="response"
                first={t('Status {status}', { status: String(value.responseStatus) })}
                text={value.responseBody}
              />
            )}
          </>
        )}
      </Show>
      {hook.active && (
        <p>
          <ActionButton
            text={t('Deliver again')}
            about={delivery.event}
            act={() => store.redeliver(hook.id, delivery.id).then(onSent)}
          />
        </p>
      )}
    </>
  )
}

/** The webhooks of a repository or an organisation. */
export interface WebhookStore {
  /** The address of the list of webhooks. */
  readonly base: string
  list(
    page: number,
    signal: AbortSignal,
  ): Promise<{ readonly hooks: readonly Hook[]; readonly total: bigint; readonly limit: number }>
  get(id: bigint, signal: AbortSignal): Promise<Hook>
  create(draft: WebhookDraft): Promise<Hook>
  edit(id: bigint, draft: WebhookDraft): Promise<Hook>
  remove(id: bigint): Promise<unknown>
  /** Sends a delivery to try a webhook. Undefined where nothing could be sent. */
  readonly test: ((id: bigint) => Promise<unknown>) | undefined
  deliveries(
    id: bigint,
    page: number,
    signal: AbortSignal,
  ): Promise<{
    readonly deliveries: readonly HookDelivery[]
    readonly total: bigint
    readonly limit: number
  }>
  delivery(id: bigint, deliveryId: string, signal: AbortSignal): Promise<HookDelivery>
  redeliver(id: bigint, deliveryId: string): Promise<unknown>
}
