import type { ComponentChildren, VNode } from 'preact'
import type {
  MaintenanceStep,
  RepositoryMaintenance,
} from '#gen/branchline/v1/maintenance_service_pb.ts'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { useApi } from '../api/client.ts'
import { counted, sizeText, Time } from '../components/formats.tsx'
import { ActionForm } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { Scrolling } from '../components/page.tsx'
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
            The server packs the objects of this repository
            {found.automatic ? ' by itself' : ' on request only'}, so that clones and fetches cost
            little. The content stays the same.
          </p>
          <State {...found} />
          <Steps steps={found.steps} />
          <ActionForm
            label="Run maintenance"
            submit="Run now"
            done="The server has the request. The steps run soon."
            act={async () => {
              await service.requestRepositoryMaintenance(name)
              state.reload()
            }}
          >
            <p>Owners can ask once an hour.</p>
          </ActionForm>
        </>
      )}
    </Show>
  )
}

function State(found: RepositoryMaintenance): VNode {
  const { bitmap, commitGraphAt, due, error, failures, nextCheckAt, pausedUntil, requested } = found
  const files = [bitmap && 'bitmap', found.multiPackIndex && 'common index'].filter(Boolean)
  return (
    <>
      {failures > 0 && (
        <p class="note">
          {counted(failures, 'step')} failed in a row: {error}.
          {pausedUntil && (
            <>
              {' '}
              The server tries again <Time at={pausedUntil} />.
            </>
          )}
        </p>
      )}
      <dl class="facts-of-server">
        <Fact name="Packs">
          {found.packs.toLocaleString()}, {sizeText(found.packsBytes)}
          {found.sharedPacks > 0 && `, ${found.sharedPacks} shared with forks`}
        </Fact>
        <Fact name="Objects outside packs">
          about {found.looseObjects.toLocaleString()}, {sizeText(found.looseBytes)}
        </Fact>
        <Fact name="Without files shared with forks">{sizeText(found.ownedBytes)}</Fact>
        <Fact name="Files for clones">{files.join(', ') || 'none'}</Fact>
        <Fact name="Graph of commits">{commitGraphAt ? <Time at={commitGraphAt} /> : 'none'}</Fact>
        <Fact name="Steps that are due">{due.join(', ') || 'none'}</Fact>
        {requested.length > 0 && <Fact name="Requested steps">{requested.join(', ')}</Fact>}
        {nextCheckAt && (
          <Fact name="Next look">
            <Time at={nextCheckAt} />
          </Fact>
        )}
      </dl>
    </>
  )
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
  if (steps.length === 0) return <p>No step has run.</p>
  return (
    <Scrolling label="Table of steps">
      <table class="figures">
        <caption>Latest run of each step</caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Start</th>
            <th scope="col">Seconds</th>
            <th scope="col">Result</th>
          </tr>
        </thead>
        <tbody>
          {steps.map(({ name, startedAt, seconds, error }) => (
            <tr key={name}>
              <td>{name}</td>
              <td>
                <Time at={startedAt} />
              </td>
              <td>{seconds.toLocaleString(undefined, { maximumFractionDigits: 1 })}</td>
              <td>{error || 'done'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  )
}
