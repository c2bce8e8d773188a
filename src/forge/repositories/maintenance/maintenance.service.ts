import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  MaintenanceService,
  MaintenanceStepSchema,
  QueuedMaintenanceSchema,
  RepositoryMaintenanceSchema,
} from '#gen/branchline/v1/maintenance_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import type { RepositoryMaintenance } from '../schema.ts'
import {
  listMaintenanceQueue,
  type MaintenanceView,
  purgeObjects,
  type QueueEntry,
  requestMaintenance,
  viewMaintenance,
} from './maintenance-requests.ts'
import { parseSteps, readReports, type StepReport } from './step-reports.ts'

/** Implements MaintenanceService. */
function maintenanceService(app: App): ServiceImpl<typeof MaintenanceService> {
  return {
    async getRepositoryMaintenance({ owner, repo }, context) {
      const view = await viewMaintenance(app, callerOf(context), { owner, repo })
      return maintenanceMessage(view, app.settings.maintenance, app.clock.now())
    },

    async requestRepositoryMaintenance({ owner, repo, steps }, context) {
      await requestMaintenance(app, callerOf(context), { owner, repo }, steps)
      return {}
    },

    async purgeRepositoryObjects({ owner, repo }, context) {
      await purgeObjects(app, callerOf(context), { owner, repo })
      return {}
    },

    async adminListMaintenance(request) {
      const page = readNumberedPage(app.settings, request)
      const { entries, total } = await listMaintenanceQueue(app, page)
      const now = app.clock.now()
      return {
        repositories: entries.map((entry) => queuedMessage(entry, now)),
        total: BigInt(total),
        limit: page.limit,
      }
    },
  }
}

function maintenanceMessage({ state, due, row }: MaintenanceView, automatic: boolean, now: number) {
  const { packs, looseBytes, graphMs } = state
  const bytes = (of: typeof packs) =>
    of.reduce((sum, pack) => sum + pack.bytes + pack.indexBytes, 0)
  return create(RepositoryMaintenanceSchema, {
    automatic,
    looseObjects: BigInt(state.looseObjects),
    looseBytes: BigInt(looseBytes),
    packs: packs.length,
    packsBytes: BigInt(bytes(packs)),
    sharedPacks: packs.filter(({ isShared }) => isShared).length,
    ownedBytes: BigInt(bytes(packs.filter(({ isLinked }) => !isLinked)) + looseBytes),
    looseRefs: state.looseRefs,
    multiPackIndex: state.hasMultiPackIndex,
    bitmap: state.hasBitmap,
    ...(graphMs !== undefined && { commitGraphAt: timestampFromMs(Math.floor(graphMs)) }),
    due: [...due],
    ...(row && rowFields(row, now)),
  })
}

function rowFields(row: RepositoryMaintenance, now: number) {
  const { check_time } = row
  return {
    ...troubleFields(row, now),
    steps: Object.entries(readReports(row.steps)).map(([name, run]) => stepMessage(name, run)),
    ...(check_time !== null && { nextCheckAt: timestampFromMs(check_time) }),
  }
}

function troubleFields(
  { requested, failures, error, pause_time }: RepositoryMaintenance,
  now: number,
) {
  return {
    requested: parseSteps(requested),
    failures,
    error,
    ...(pause_time !== null && pause_time > now && { pausedUntil: timestampFromMs(pause_time) }),
  }
}

function stepMessage(name: string, { startTime, durationMs, error }: StepReport) {
  return create(MaintenanceStepSchema, {
    name,
    startedAt: timestampFromMs(startTime),
    seconds: durationMs / 1000,
    error,
  })
}

function queuedMessage({ fullName, row }: QueueEntry, now: number) {
  const { repository_id, check_time } = row
  return create(QueuedMaintenanceSchema, {
    id: BigInt(repository_id),
    fullName,
    ...(check_time !== null && { dueAt: timestampFromMs(check_time) }),
    ...troubleFields(row, now),
  })
}

export const maintenance = defineService(MaintenanceService, maintenanceService)
