import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type Branch as BranchMessage,
  BranchSchema,
  type PayloadCommit,
  PayloadCommitSchema,
  type PayloadUser,
  PayloadUserSchema,
} from '#gen/branchline/v1/branch_pb.ts'
import type { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { App } from '../domain/app.ts'
import { type BranchView, getBranch, listBranches } from '../domain/repos/branches.ts'
import type { CommitView } from '../domain/repos/commits.ts'
import { suffices } from '../domain/repos/permissions.ts'
import { callerOf } from './call.ts'
import { gitTime, verificationMessage } from './commits.ts'
import { gitUrls } from './git-urls.ts'
import { readNumberedPage } from './pages.ts'

/** Implements BranchService. */
export function branchService(app: App): ServiceImpl<typeof BranchService> {
  return {
    async listBranches(request, context) {
      const { offset, limit } = readNumberedPage(request)
      const { owner, repo, q: part } = request
      const { branches, total } = await listBranches(app, callerOf(context), owner, repo, part, offset, limit)
      return { branches: branches.map((view) => branchMessage(app, view)), total: BigInt(total), limit }
    },

    async getBranch({ owner, repo, branch }, context) {
      return branchMessage(app, await getBranch(app, callerOf(context), owner, repo, branch))
    },
  }
}

/** A branch as a caller sees it; no rule about branches matches it. */
function branchMessage(app: App, { name, head }: BranchView): BranchMessage {
  const mayWrite = suffices(head.open.access, 'write')
  return create(BranchSchema, {
    name,
    commit: payloadCommit(app, head),
    userCanPush: mayWrite,
    userCanMerge: mayWrite,
  })
}

function payloadCommit(app: App, { open, commit, author, committer, verification }: CommitView): PayloadCommit {
  return create(PayloadCommitSchema, {
    id: commit.id,
    message: commit.message,
    url: gitUrls(app, open).html(`/commit/${commit.id}`),
    author: payloadUser(commit.author, author),
    committer: payloadUser(commit.committer, committer),
    timestamp: gitTime(commit.author.time),
    ...(verification && { verification: verificationMessage(verification) }),
  })
}

function payloadUser({ name, email }: CommitView['commit']['author'], account: CommitView['author']): PayloadUser {
  return create(PayloadUserSchema, { name, email, username: account?.name ?? '' })
}
