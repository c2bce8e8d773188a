import type { ComponentChildren, VNode } from 'preact'
import type {
  MaintenanceStep,
  RepositoryMaintenance,
} from '#gen/branchline/v1/maintenance_service_pb.ts'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { useApi } from '../api/client.ts'
import { sizeText, Time } from '../components/formats.tsx'
import { ActionForm } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Scrolling } from '../components/page.tsx'
import { stepsText } from '../components/values.ts'
import { numberText, plural, T, t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

/** The files of a repository on the server, and the steps that keep fetches from it cheap. */
export function MaintenancePage({ owner, repo }: PageProps): VNode {
  return (
    <RepositorySettings owner={owner} repo={repo} page="Maintenance">
      {() => <Maintenance owner={owner} repo={repo} />}
    </RepositorySettings>
  )
}

function Maintenance(name: { owner: string; repo: string }): VNode {
  const { of } = useApi()
  const service = of(MaintenanceService)
  const state = useLoad(
    (signal) => service.getRepositoryMaintenance(name, { signal }),
    [name.owner, name.repo],
  )
  return (
    <Show of={state}>
      {(found) => (
        <>
          <p>
            {found.automatic
              ? t(
                  'The server packs the objects of this repository by itself, so that clones and fetches cost little. The content stays the same.',
                )
              : t(
                  'The server packs the objects of this repository on request only, so that clones and fetches cost little. The content stays the same.',
                )}
          </p>
          <State {...found} />
          <Steps steps={found.steps} />
          <ActionForm
            label={t('Run maintenance')}
            submit={t('Run now')}
            done={t('The server has the request. The steps run soon.')}
            act={async () => {
              await service.requestRepositoryMaintenance(name)
              state.reload()
            }}
          >
            <p>{t('Owners can ask once an hour.')}</p>
          </ActionForm>
        </>
      )}
    </Show>
  )
}

function State(found: RepositoryMaintenance): VNode {
  const { bitmap, commitGraphAt, due, error, failures, nextCheckAt, pausedUntil, requested } = found
  const files = [bitmap && t('bitmap'), found.multiPackIndex && t('common index')].filter(Boolean)
  return (
    <>
      {failures > 0 && (
        <p class="note">
          {plural(
            failures,
            '{count} step failed in a row: {error}.',
            '{count} steps failed in a row: {error}.',
            { error },
          )}
          {pausedUntil && (
            <>
              {' '}
              <T text="The server tries again {time}." time={<Time at={pausedUntil} />} />
            </>
          )}
        </p>
      )}
      <dl class="facts-of-server">
        <Fact name={t('Packs')}>{packsText(found)}</Fact>
        <Fact name={t('Objects outside packs')}>
          {t('about {count}, {size}', {
            count: found.looseObjects,
            size: sizeText(found.looseBytes),
          })}
        </Fact>
        <Fact name={t('Without files shared with forks')}>{sizeText(found.ownedBytes)}</Fact>
        <Fact name={t('Files for clones')}>{files.join(', ') || t('none')}</Fact>
        <Fact name={t('Graph of commits')}>
          {commitGraphAt ? <Time at={commitGraphAt} /> : t('none')}
        </Fact>
        <Fact name={t('Steps that are due')}>{stepsText(due) || t('none')}</Fact>
        {requested.length > 0 && <Fact name={t('Requested steps')}>{stepsText(requested)}</Fact>}
        {nextCheckAt && (
          <Fact name={t('Next look')}>
            <Time at={nextCheckAt} />
          </Fact>
        )}
      </dl>
    </>
  )
}

function packsText({ packs, packsBytes, sharedPacks }: RepositoryMaintenance): string {
  const size = sizeText(packsBytes)
  return sharedPacks > 0
    ? t('{packs}, {size}, {shared} shared with forks', { packs, size, shared: sharedPacks })
    : `${numberText(packs)}, ${size}`
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Steps({ steps }: { steps: readonly MaintenanceStep[] }): VNode {
  if (steps.length === 0) return <p>{t('No step has run.')}</p>
  return (
    <Scrolling label={t('Table of steps')}>
      <table class="figures">
        <caption>{t('Latest run of each step')}</caption>
        <thead>
          <tr>
            <th scope="col">{t('Step')}</th>
            <th scope="col">{t('Start')}</th>
            <th scope="col">{t('Seconds')}</th>
            <th scope="col">{t('Result')}</th>
          </tr>
        </thead>
        <tbody>
          {steps.map(({ name, startedAt, seconds, error }) => (
            <tr key={name}>
              <td>{stepsText([name])}</td>
              <td>
                <Time at={startedAt} />
              </td>
              <td>{numberText(seconds, { maximumFractionDigits: 1 })}</td>
              <td>{error || t('done')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}
