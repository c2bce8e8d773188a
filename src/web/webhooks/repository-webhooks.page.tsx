import type { VNode } from 'preact'
import { HookService } from '#gen/branchline/v1/hook_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { type Api, useApi } from '../api/client.ts'
import { pageOf } from '../components/page.tsx'
import { RepositorySettings } from '../repositories/repository-settings.tsx'
import type { PageProps } from '../routes.ts'
import { type WebhookStore, Webhooks } from './webhooks.tsx'

/** The webhooks of a repository. */
export function WebhooksPage({ owner, repo, rest, query }: PageProps): VNode {
  const api = useApi()
  return (
    <RepositorySettings owner={owner} repo={repo} page="Webhooks">
      {({ archived, empty }) => (
        <Webhooks
          store={storeOf(api, { owner, repo }, empty)}
          place={rest[0] ?? ''}
          page={pageOf(query)}
          isFrozen={archived}
        />
      )}
    </RepositorySettings>
  )
}

function storeOf(
  { of }: Api,
  name: { owner: string; repo: string },
  isEmpty: boolean,
): WebhookStore {
  const service = of(HookService)
  return {
    base: `${repositoryHref(name)}/settings/hooks`,
    list: (page, signal) => service.listRepositoryHooks({ ...name, page }, { signal }),
    get: (id, signal) => service.getRepositoryHook({ ...name, id }, { signal }),
    create: (draft) => service.createRepositoryHook({ ...name, ...draft }),
    edit: (id, { type: _, ...changes }) => service.editRepositoryHook({ ...name, id, ...changes }),
    remove: (id) => service.deleteRepositoryHook({ ...name, id }),
    // A test is about the head of the default branch.
    test: isEmpty ? undefined : (id) => service.testRepositoryHook({ ...name, id }),
    deliveries: (id, page, signal) =>
      service.listRepositoryHookDeliveries({ ...name, id, page }, { signal }),
    delivery: (id, deliveryId, signal) =>
      service.getRepositoryHookDelivery({ ...name, id, deliveryId }, { signal }),
    redeliver: (id, deliveryId) =>
      service.redeliverRepositoryHookDelivery({ ...name, id, deliveryId }),
  }
}
