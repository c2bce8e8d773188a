import type { VNode } from 'preact'
import { type Hook, type HookDelivery, HookDelivery_State } from '#gen/branchline/v1/hook_pb.ts'
import { ActionButton } from '../components/action-form.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager } from '../components/pager.tsx'
import { DeliveryBody, DeliveryFacts, DeliverySummary, useSecondLook } from './delivery.tsx'
import type { HookStore } from './webhook-store.ts'

const STATES = {
  [HookDelivery_State.STATE_UNSPECIFIED]: ['', ''],
  [HookDelivery_State.PENDING]: ['', 'waiting'],
  [HookDelivery_State.DELIVERED]: ['success', 'delivered'],
  [HookDelivery_State.FAILED]: ['failure', 'failed'],
} as const

/** The recent deliveries of a webhook. */
export function Deliveries(props: { store: HookStore; hook: Hook; page: number }): VNode {
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
      <h4 id="deliveries">Recent deliveries</h4>
      <p class="row">
        {test && hook.active && (
          <ActionButton text="Send a test" act={() => test(hook.id).then(reload)} />
        )}
        <button type="button" onClick={reload}>
          Look again
        </button>
      </p>
      <Show of={list}>
        {({ deliveries, total, limit }) => (
          <>
            {deliveries.length === 0 && <p>No deliveries.</p>}
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
  readonly store: HookStore
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
              title="Request"
              first={`POST ${value.requestUrl}`}
              text={value.requestBody}
            />
            {value.responseStatus > 0 && (
              <DeliveryBody
                title="Response"
                first={`Status ${value.responseStatus}`}
                text={value.responseBody}
              />
            )}
          </>
        )}
      </Show>
      {hook.active && (
        <p>
          <ActionButton
            text="Deliver again"
            about={delivery.event}
            act={() => store.redeliver(hook.id, delivery.id).then(onSent)}
          />
        </p>
      )}
    </>
  )
}
