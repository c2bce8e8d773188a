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
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { suffices } from '../../core/levels.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { gitTime, verificationMessage } from '../commits/commit.service.ts'
import type { CommitView } from '../commits/commits.ts'
import { createBranch, deleteBranch, moveBranch, renameBranch } from '../content/branch-changes.ts'
import { gitUrls } from '../lifecycle/repository.message.ts'
import { type BranchView, getBranch, listBranches } from './branches.ts'

/** Implements BranchService. */
function branchService(app: App): ServiceImpl<typeof BranchService> {
  return {
    async listBranches(request, context) {
      const page = readNumberedPage(app.settings, request)
      const { owner, repo, q: part } = request
      const { branches, total } = await listBranches(
        app,
        callerOf(context),
        { owner, repo },
        part,
        page,
      )
      return {
        branches: branches.map((view) => branchMessage(app, view)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async getBranch({ owner, repo, branch }, context) {
      return branchMessage(app, await getBranch(app, callerOf(context), { owner, repo }, branch))
    },

    async createBranch(
      { owner, repo, newBranchName: newName, oldRefName: oldRef, oldBranchName },
      context,
    ) {
      const draft = { newName, oldRef, oldBranch: oldBranchName }
      return branchMessage(
        app,
        await createBranch(app, signedIn(callerOf(context)), { owner, repo }, draft),
      )
    },

    async deleteBranch({ owner, repo, branch }, context) {
      await deleteBranch(app, signedIn(callerOf(context)), { owner, repo }, branch)
      return {}
    },

    async moveBranch({ owner, repo, branch, newCommitId: newCommit, oldCommitId, force }, context) {
      const draft = { newCommit, oldCommitId, force }
      await moveBranch(app, signedIn(callerOf(context)), { owner, repo }, branch, draft)
      return {}
    },

    async renameBranch({ owner, repo, branch, name }, context) {
      await renameBranch(app, signedIn(callerOf(context)), { owner, repo }, branch, name)
      return {}
    },
  }
}

/**
 * Returns the message of a branch. Only administrators of the repository see the name of the rule.
 */
function branchMessage(app: App, { name, head, protection }: BranchView): BranchMessage {
  const { rule, userCanPush, userCanMerge, userCanPassQueue } = protection
  return create(BranchSchema, {
    name,
    commit: payloadCommit(app, head),
    userCanPush,
    userCanMerge,
    ...(rule && {
      protected: true,
      requiredApprovals: BigInt(rule.required_approvals),
      enableStatusCheck: rule.enable_status_check,
      statusCheckContexts: [...rule.status_check_contexts],
      enableMergeQueue: rule.enable_merge_queue,
      userCanBypassMergeQueue: userCanPassQueue,
      effectiveBranchProtectionName: suffices(head.open.access, 'admin') ? rule.rule_name : '',
    }),
  })
}

function payloadCommit(
  app: App,
  { open, commit, author, committer, verification }: CommitView,
): PayloadCommit {
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

function payloadUser(
  { name, email }: CommitView['commit']['author'],
  account: CommitView['author'],
): PayloadUser {
  return create(PayloadUserSchema, { name, email, username: account?.name ?? '' })
}

export const branches = defineService(BranchService, branchService)
