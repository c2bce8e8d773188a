import { fromJson } from '@bufbuild/protobuf'
import { StructSchema } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { IssueExchangeService } from '#gen/branchline/v1/issue_exchange_service_pb.ts'
import type { App } from '../app.ts'
import { signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { atSecond } from '../core/wire/times.ts'
import { exportIssues } from './issue-export.ts'
import { getImport, importIssues, isDone, leftOutOf } from './issue-import.ts'

/** Implements IssueExchangeService. */
function issueExchangeService(app: App): ServiceImpl<typeof IssueExchangeService> {
  return {
    async *exportIssues({ owner, repo, afterNumber }, context) {
      const records = exportIssues(app, callerOf(context), { owner, repo }, Number(afterNumber))
      for await (const record of records) yield fromJson(StructSchema, record)
    },

    async importIssues({ owner, repo, ...request }, context) {
      const caller = signedIn(callerOf(context))
      const id = await importIssues(app, caller, { owner, repo }, request, context.signal)
      return { id: BigInt(id) }
    },

    async getIssueImport({ owner, repo, id }, context) {
      const caller = signedIn(callerOf(context))
      const found = await getImport(app, caller, { owner, repo }, Number(id))
      return {
        id: BigInt(found.id),
        state: isDone(found) ? 'done' : 'running',
        total: found.total,
        done: found.done,
        createdAt: atSecond(found.create_time),
        files: found.files,
        filesDone: found.files_done,
        problems: [...leftOutOf(found)],
      }
    },
  }
}

export const issueExchange = defineService(IssueExchangeService, issueExchangeService)
