import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Hook, type HookDelivery, HookDelivery_State } from '#gen/branchline/v1/hook_pb.ts'
import { ActionButton } from './action-form.tsx'
import type { HookStore } from './hook-store.ts'
import { Show, useLoad } from './load.tsx'
import { Pager } from './pager.tsx'
import { Scrolling } from './scrolling.tsx'
import { Time } from './time.tsx'

/** Time after which the page looks for the result of a first attempt. */
const LOOK_AGAIN_MS = 2000

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
  useEffect(() => {
    const isFirst = ({ state, attemptCount }: HookDelivery) =>
      state === HookDelivery_State.PENDING && attemptCount === 0
    if (!value?.deliveries.some(isFirst)) return
    const timer = setTimeout(reload, LOOK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [value, reload])
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
  const [isOpen, setOpen] = useState(false)
  const [kind, text] = STATES[state]
  return (
    <details
      class="file"
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>
        <span class="path">{event}</span>
        <span class={`tag ${kind}`}>{text}</span>
        {responseStatus > 0 && <span>{responseStatus}</span>}
        <Time at={createdAt} />
      </summary>
      {isOpen && <DeliveryDetails {...props} />}
    </details>
  )
}

function DeliveryDetails({ store, hook, delivery, onSent }: DeliveryProps): VNode {
  const details = useLoad(
    (signal) => store.delivery(hook.id, delivery.id, signal),
    [delivery.state, delivery.attemptCount],
  )
  return (
    <div class="inside">
      <Show of={details}>
        {(value) => (
          <>
            <dl>
              <dt>Delivery</dt>
              <dd>{value.id}</dd>
              <dt>Attempts</dt>
              <dd>{value.attemptCount.toLocaleString()}</dd>
              {value.attemptCount > 0 && (
                <>
                  <dt>Last attempt</dt>
                  <dd>
                    <Time at={value.lastAttemptAt} />, {value.durationMs.toLocaleString()} ms
                  </dd>
                </>
              )}
              {value.error !== '' && (
                <>
                  <dt>Failure</dt>
                  <dd>{value.error}</dd>
                </>
              )}
            </dl>
            <Body title="Request" first={`POST ${value.requestUrl}`} text={value.requestBody} />
            {value.responseStatus > 0 && (
              <Body
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
    </div>
  )
}

function Body(props: { title: string; first: string; text: string }): VNode {
  const { title, first, text } = props
  return (
    <>
      <h5>{title}</h5>
      <p>{first}</p>
      {text !== '' && (
        <Scrolling label={`Body of the ${title.toLowerCase()}`}>
          <pre>{indented(text)}</pre>
        </Scrolling>
      )}
    </>
  )
}

/** Returns JSON with line breaks, and any other text as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
