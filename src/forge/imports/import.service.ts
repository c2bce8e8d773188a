import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { ImportService, ProjectImportSchema } from '#gen/branchline/v1/import_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { httpBodies, setFileHeaders } from '../core/wire/http-bodies.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import { atSecond } from '../core/wire/times.ts'
import { readUpload } from '../core/wire/uploads.ts'
import { migrateRepository } from '../repositories/lifecycle/migrate.ts'
import { importedKinds, migrationDraft } from '../repositories/lifecycle/mirror.service.ts'
import { repositoryMessage } from '../repositories/lifecycle/repository.message.ts'
import { importArchive } from './archive-import.ts'
import { archiveRules } from './archive-upload.ts'
import type { Count } from './import-progress.ts'
import { exportProject } from './project-export.ts'
import {
  cancelProjectImport,
  getProjectImport,
  type ImportView,
  listProjectImports,
  watchProjectImport,
} from './project-imports.ts'

/** Implements ImportService. */
function importService(app: App): ServiceImpl<typeof ImportService> {
  return {
    async startImport(request, context) {
      const caller = signedIn(callerOf(context))
      const { service } = request
      const draft = migrationDraft(request, { service, kinds: importedKinds(request) })
      const { owner, repository } = await migrateRepository(app, caller, draft, context.signal)
      const name = { owner: owner.name, repo: repository.name }
      return importMessage(await getProjectImport(app, caller, name))
    },

    async *exportRepository({ owner, repo }, context) {
      const caller = signedIn(callerOf(context))
      const { name, chunks } = await exportProject(app, caller, { owner, repo })
      setFileHeaders(context, 'attachment', name)
      yield* httpBodies('application/x-tar', chunks)
    },

    async importRepository(requests, context) {
      return readUpload(requests, archiveRules(app), async (request, file) => {
        const caller = signedIn(callerOf(context))
        const target = { ownerName: request.owner, name: request.repoName }
        const content = async () => (await file()).content
        const { signal } = context
        return repositoryMessage(
          app,
          caller,
          await importArchive(app, caller, target, content, signal),
        )
      })
    },

    async getImport({ owner, repo }, context) {
      return importMessage(await getProjectImport(app, callerOf(context), { owner, repo }))
    },

    async *watchImport({ owner, repo }, context) {
      const caller = callerOf(context)
      const views = watchProjectImport(app, caller, { owner, repo }, context.signal)
      for await (const view of views) yield importMessage(view)
    },

    async cancelImport({ owner, repo }, context) {
      await cancelProjectImport(app, signedIn(callerOf(context)), { owner, repo })
      return {}
    },

    async listImports(request, context) {
      const page = readNumberedPage(app.settings, request)
      const { imports, total } = await listProjectImports(app, signedIn(callerOf(context)), page)
      return { imports: imports.map(importMessage), total: BigInt(total), limit: page.limit }
    },
  }
}

function importMessage(view: ImportView) {
  const { counts, problems } = view
  return create(ProjectImportSchema, {
    id: BigInt(view.id),
    state: view.state,
    service: view.service,
    progress: {
      objects: countMessage(counts.objects),
      labels: countMessage(counts.labels),
      milestones: countMessage(counts.milestones),
      issues: countMessage(counts.issues),
      comments: countMessage(counts.comments),
      pullRequests: countMessage(counts.pull_requests),
      reviews: countMessage(counts.reviews),
      releases: countMessage(counts.releases),
      assets: countMessage(counts.assets),
      attachments: countMessage(counts.attachments),
    },
    errors: problems.map(({ kind, ref, message }) => ({ kind, ref, message })),
    message: view.message,
    ...(view.waitingUntil !== undefined && { waitingUntil: timestampFromMs(view.waitingUntil) }),
    createdAt: atSecond(view.createTime),
    ...(view.endTime !== null && { endedAt: atSecond(view.endTime) }),
    repositoryId: BigInt(view.repositoryId),
  })
}

function countMessage({ done, total }: Count) {
  return { done: BigInt(done), total: BigInt(total) }
}

export const imports = defineService(ImportService, importService)
