import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type MigrateRepositoryRequest,
  MirrorService,
  PushMirrorSchema,
} from '#gen/branchline/v1/mirror_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import { type MigrationDraft, migrateRepository } from './migrate.ts'
import { formatInterval, requestMirrorSync } from './mirrors.ts'
import {
  addPushMirror,
  deletePushMirror,
  getPushMirror,
  listPushMirrors,
  type PushMirrorView,
  requestPushMirrorSync,
} from './push-mirrors.ts'
import { repositoryMessage } from './repository.message.ts'

/** Implements MirrorService. */
function mirrorService(app: App): ServiceImpl<typeof MirrorService> {
  return {
    async migrateRepository(request, context) {
      const caller = signedIn(callerOf(context))
      const draft = migrationDraft(request, projectOf(request))
      return repositoryMessage(
        app,
        caller,
        await migrateRepository(app, caller, draft, context.signal),
      )
    },

    async syncMirror({ owner, repo }, context) {
      await requestMirrorSync(app, signedIn(callerOf(context)), { owner, repo })
      return {}
    },

    async listPushMirrors({ owner, repo, ...request }, context) {
      const page = readNumberedPage(app.settings, request)
      const { mirrors, repositoryName, total } = await listPushMirrors(
        app,
        callerOf(context),
        { owner, repo },
        page,
      )
      return {
        pushMirrors: mirrors.map((mirror) => pushMirrorMessage({ mirror, repositoryName })),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async createPushMirror(request, context) {
      const { owner, repo, interval, syncOnCommit } = request
      const draft = {
        address: request.remoteAddress,
        username: request.remoteUsername,
        password: request.remotePassword,
        interval,
        syncOnCommit,
      }
      return pushMirrorMessage(await addPushMirror(app, callerOf(context), { owner, repo }, draft))
    },

    async getPushMirror({ owner, repo, name }, context) {
      return pushMirrorMessage(await getPushMirror(app, callerOf(context), { owner, repo }, name))
    },

    async deletePushMirror({ owner, repo, name }, context) {
      await deletePushMirror(app, callerOf(context), { owner, repo }, name)
      return {}
    },

    async syncPushMirrors({ owner, repo }, context) {
      await requestPushMirrorSync(app, callerOf(context), { owner, repo })
      return {}
    },
  }
}

/** Returns what a request asks for. */
export function migrationDraft(
  request: MigrateRepositoryRequest,
  project: MigrationDraft['project'],
): MigrationDraft {
  const { cloneAddr, authUsername, authPassword, authToken } = request
  return {
    upstream: {
      address: cloneAddr,
      username: authUsername,
      password: authPassword,
      token: authToken,
    },
    ownerName: request.repoOwner,
    ownerId: Number(request.uid),
    name: request.repoName,
    description: request.description,
    private: request.private,
    mirror: request.mirror && !project,
    mirrorInterval: request.mirrorInterval,
    lfs: request.lfs,
    lfsEndpoint: request.lfsEndpoint,
    project,
  }
}

function projectOf(request: MigrateRepositoryRequest): MigrationDraft['project'] {
  const { service, mirror } = request
  const kinds = importedKinds(request)
  const hasRecords = kinds.some((kind) => kind !== 'wiki' && kind !== 'lfs')
  const isProject = hasRecords && !mirror && service !== '' && service !== 'git'
  return isProject ? { service, kinds } : undefined
}

/** Returns the kinds of records that a request asks for. */
export function importedKinds(request: MigrateRepositoryRequest): string[] {
  const { labels, milestones, issues, pullRequests, releases, wiki, lfs } = request
  const flags = { labels, milestones, issues, pull_requests: pullRequests, releases, wiki, lfs }
  return Object.entries(flags).flatMap(([kind, isWanted]) => (isWanted ? [kind] : []))
}

function pushMirrorMessage({ mirror, repositoryName }: PushMirrorView) {
  const { remote_name, url, error, interval_seconds, last_sync_time } = mirror
  return create(PushMirrorSchema, {
    repoName: repositoryName,
    remoteName: remote_name,
    remoteAddress: url,
    created: atSecond(mirror.create_time),
    ...(last_sync_time !== null && { lastUpdate: atSecond(last_sync_time) }),
    lastError: error,
    interval: formatInterval(interval_seconds),
    syncOnCommit: mirror.sync_on_commit === 1,
  })
}

export const mirrors = defineService(MirrorService, mirrorService)
