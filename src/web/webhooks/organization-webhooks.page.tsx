import type { VNode } from 'preact'
import { OrganizationHookService } from '#gen/branchline/v1/organization_hook_service_pb.ts'
import { type Api, useApi } from '../api/client.ts'
import { pageOf } from '../components/page.tsx'
import {
  OrganizationSettings,
  organizationSettingsHref,
} from '../organizations/organization-settings.tsx'
import type { PageProps } from '../routes.ts'
import { type WebhookStore, Webhooks } from './webhooks.tsx'

/** The webhooks of an organisation, which receive events of all its repositories. */
export function OrganizationWebhooks({ owner, rest, query }: PageProps): VNode {
  const api = useApi()
  return (
    <OrganizationSettings org={owner} page="Webhooks">
      {({ name }) => (
        <Webhooks
          store={storeOf(api, name)}
          place={rest[0] ?? ''}
          page={pageOf(query)}
          isFrozen={false}
        />
      )}
    </OrganizationSettings>
  )
}

function storeOf({ of }: Api, org: string): WebhookStore {
  const service = of(OrganizationHookService)
  return {
    base: `${organizationSettingsHref(org)}/hooks`,
    list: (page, signal) => service.listOrganizationHooks({ org, page }, { signal }),
    get: (id, signal) => service.getOrganizationHook({ org, id }, { signal }),
    create: (draft) => service.createOrganizationHook({ org, ...draft }),
    edit: (id, { type: _, ...changes }) => service.editOrganizationHook({ org, id, ...changes }),
    remove: (id) => service.deleteOrganizationHook({ org, id }),
    test: undefined,
    deliveries: (id, page, signal) =>
      service.listOrganizationHookDeliveries({ org, id, page }, { signal }),
    delivery: (id, deliveryId, signal) =>
      service.getOrganizationHookDelivery({ org, id, deliveryId }, { signal }),
    redeliver: (id, deliveryId) =>
      service.redeliverOrganizationHookDelivery({ org, id, deliveryId }),
  }
}
