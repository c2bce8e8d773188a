import type { VNode } from 'preact'
import { UserHookService } from '#gen/branchline/v1/user_hook_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { SettingsFrame } from '../accounts/account-settings.tsx'
import { type Api, useApi } from '../api/client.ts'
import { pageOf } from '../components/pager.tsx'
import type { PageProps } from '../routes.ts'
import { AccountWebhooks } from './account-webhooks.tsx'
import type { HookStore } from './webhook-store.ts'
import { Hooks } from './webhooks.tsx'

const BASE = '/user/settings/hooks'

/** The webhooks of the user: those of all repositories, and those of memos and pull requests. */
export default function UserWebhooks({ rest, query }: PageProps): VNode {
  return (
    <SettingsFrame tab="Webhooks">
      {(user) => <Webhooks user={user} rest={rest} query={query} />}
    </SettingsFrame>
  )
}

function Webhooks(props: { user: User } & Pick<PageProps, 'rest' | 'query'>): VNode {
  const { user, rest, query } = props
  const api = useApi()
  const [place = '', id] = rest
  const accountHooks = <AccountWebhooks user={user} base={`${BASE}/account`} place={id ?? ''} />
  if (place === 'account') return accountHooks
  return (
    <>
      <h2>Webhooks of your repositories</h2>
      <Hooks store={storeOf(api)} place={place} page={pageOf(query)} isFrozen={false} />
      {place === '' && accountHooks}
    </>
  )
}

function storeOf({ of }: Api): HookStore {
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
