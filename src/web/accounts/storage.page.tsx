import type { VNode } from 'preact'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { useApi } from '../api/client.ts'
import { useLoad } from '../components/load.tsx'
import { pageOf } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { SettingsFrame } from './account-settings.tsx'
import { Storage } from './storage.tsx'

/** What the repositories of the user have stored, and the limits. */
export function StoragePage({ query }: PageProps): VNode {
  return <SettingsFrame tab="Storage">{() => <OwnStorage page={pageOf(query)} />}</SettingsFrame>
}

function OwnStorage({ page }: { page: number }): VNode {
  const { of } = useApi()
  const quotas = of(QuotaService)
  const quota = useLoad((signal) => quotas.getMyQuota({}, { signal }), [])
  const files = useLoad((signal) => quotas.listMyQuotaAttachments({ page }, { signal }), [page])
  return (
    <>
      <h2>{t('Storage')}</h2>
      <p>{t('Your repositories have stored this, whoever pushed or uploaded it.')}</p>
      <Storage quota={quota} files={files} page={page} />
    </>
  )
}
