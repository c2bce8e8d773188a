import type { VNode } from 'preact'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { Storage } from '../accounts/storage.tsx'
import { useApi } from '../api/client.ts'
import { useLoad } from '../components/load.tsx'
import { pageOf } from '../components/page.tsx'
import type { PageProps } from '../routes.ts'
import { OrganizationSettings } from './organization-settings.tsx'

/** What the repositories of an organisation have stored, and the limits. */
export function OrganizationStorage({ owner, query }: PageProps): VNode {
  return (
    <OrganizationSettings org={owner} page="Storage">
      {({ name }) => <OfOrganization org={name} page={pageOf(query)} />}
    </OrganizationSettings>
  )
}

function OfOrganization({ org, page }: { org: string; page: number }): VNode {
  const { of } = useApi()
  const quotas = of(QuotaService)
  const quota = useLoad((signal) => quotas.getOrganizationQuota({ org }, { signal }), [org])
  const files = useLoad(
    (signal) => quotas.listOrganizationQuotaAttachments({ org, page }, { signal }),
    [org, page],
  )
  return <Storage quota={quota} files={files} page={page} />
}
