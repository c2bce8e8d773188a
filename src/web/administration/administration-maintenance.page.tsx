import type { VNode } from 'preact'
import type { QueuedMaintenance } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Pager, pageOf } from '../components/page.tsx'
import { stepsText } from '../components/values.ts'
import { plural, T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { Administration } from './administration.tsx'

/** The repositories that wait for maintenance or whose steps fail. */
export function AdministrationMaintenancePage({ query }: PageProps): VNode {
  return (
    <Administration title={t('Maintenance')} page="/-/admin/maintenance">
      <Queue page={pageOf(query)} />
    </Administration>
  )
}

function Queue({ page }: { page: number }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) => of(MaintenanceService).adminListMaintenance({ page }, { signal }),
    [page],
  )
  return (
    <Show of={list}>
      {({ repositories, total, limit }) => (
        <>
          {total === 0n ? (
            <p>{t('No repository waits for a step, and no step has failed.')}</p>
          ) : (
            <p>
              {t('Repositories that wait or whose latest step failed: {count}', { count: total })}
            </p>
          )}
          <ul class="list">
            {repositories.map((entry) => (
              <Entry key={String(entry.id)} {...entry} />
            ))}
          </ul>
          <Pager page={page} limit={limit} total={total} />
        </>
      )}
    </Show>
  )
}

function Entry({
  fullName,
  dueAt,
  requested,
  failures,
  error,
  pausedUntil,
}: QueuedMaintenance): VNode {
  const [owner = '', repo = ''] = fullName.split('/')
  return (
    <li>
      <a href={`${repositoryHref({ owner, repo })}/settings/maintenance`}>{fullName}</a>{' '}
      {failures > 0 && (
        <span class="tag">{plural(failures, '{count} failure', '{count} failures')}</span>
      )}
      {error !== '' && <p>{error}</p>}
      <p class="facts">
        {requested.length > 0 && `${t('requested: {steps}', { steps: stepsText(requested) })} `}
        {pausedUntil ? (
          <T text="paused, next try {time}" time={<Time at={pausedUntil} />} />
        ) : (
          dueAt && <T text="due {time}" time={<Time at={dueAt} />} />
        )}
      </p>
    </li>
  )
}
