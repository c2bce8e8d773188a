import type { VNode } from 'preact'
import type { Hook } from '#gen/branchline/v1/hook_pb.ts'
import { ConfirmedForm } from '../components/confirmed-form.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { Pager } from '../components/pager.tsx'
import { Deliveries } from './webhook-deliveries.tsx'
import { HookForm } from './webhook-form.tsx'
import type { HookStore } from './webhook-store.ts'

/** The list of webhooks, the form of a new one, or one with its deliveries. */
export function Hooks(props: {
  store: HookStore
  /** The rest of the address after the list: empty, `new`, or a number. */
  place: string
  page: number
  isFrozen: boolean
}): VNode {
  const { store, place, page, isFrozen } = props
  if (place === 'new' && !isFrozen)
    return (
      <HookForm
        act={async (draft) => {
          const { id } = await store.create(draft)
          goTo(`${store.base}/${id}`)
        }}
      />
    )
  if (/^[1-9]\d{0,17}$/.test(place))
    return <OneHook store={store} id={BigInt(place)} page={page} isFrozen={isFrozen} />
  return <HookList store={store} page={page} isFrozen={isFrozen} />
}

function HookList(props: { store: HookStore; page: number; isFrozen: boolean }): VNode {
  const { store, page, isFrozen } = props
  const list = useLoad((signal) => store.list(page, signal), [page])
  return (
    <>
      <p>
        The server sends events to the address of a webhook, for example to build what was pushed.
      </p>
      <Show of={list}>
        {({ hooks, total, limit }) => (
          <>
            {hooks.length === 0 && <p>No webhooks.</p>}
            <ul class="list">
              {hooks.map(({ id, config, events, type, active }) => (
                <li key={String(id)}>
                  <a href={`${store.base}/${id}`}>{config?.url}</a> <span class="tag">{type}</span>
                  {!active && <span class="tag">off</span>}
                  <p class="facts">{events.join(', ')}</p>
                </li>
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
      {!isFrozen && <a href={`${store.base}/new`}>New webhook</a>}
    </>
  )
}

function OneHook(props: { store: HookStore; id: bigint; page: number; isFrozen: boolean }): VNode {
  const { store, id, page, isFrozen } = props
  const hook = useLoad((signal) => store.get(id, signal), [])
  return (
    <>
      <p>
        <a href={store.base}>All webhooks</a>
      </p>
      <Show of={hook} isPage>
        {(value) => (
          <>
            <h3>{value.config?.url}</h3>
            {!isFrozen && (
              <details>
                <summary>Change the webhook</summary>
                <HookForm
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

function Deletion({ store, hook }: { store: HookStore; hook: Hook }): VNode {
  return (
    <section class="box" aria-labelledby="danger">
      <h3 id="danger">Danger zone</h3>
      <ConfirmedForm
        action="Delete the webhook"
        name={hook.config?.url ?? ''}
        act={async () => {
          await store.remove(hook.id)
          goTo(store.base)
        }}
      >
        <p>Its deliveries are deleted too.</p>
      </ConfirmedForm>
    </section>
  )
}
