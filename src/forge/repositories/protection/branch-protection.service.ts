import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type BranchProtection as BranchProtectionMessage,
  BranchProtectionSchema,
} from '#gen/branchline/v1/branch_protection_pb.ts'
import {
  BranchProtectionService,
  type CreateBranchProtectionRequest,
  type EditBranchProtectionRequest,
} from '#gen/branchline/v1/branch_protection_service_pb.ts'
import type { App } from '../../app.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { textsOf } from '../../core/wire/list-values.ts'
import { atSecond } from '../../core/wire/times.ts'
import {
  type BranchProtectionView,
  createBranchProtection,
  deleteBranchProtection,
  editBranchProtection,
  getBranchProtection,
  listBranchProtections,
  type NamedList,
  type ProtectionEdit,
  reorderBranchProtections,
} from './branch-protections.ts'
import { isBranchGlob } from './patterns.ts'

/** Implements BranchProtectionService. */
function branchProtectionService(app: App): ServiceImpl<typeof BranchProtectionService> {
  return {
    async listBranchProtections({ owner, repo }, context) {
      const views = await listBranchProtections(app, callerOf(context), { owner, repo })
      return { branchProtections: views.map(branchProtectionMessage) }
    },

    async getBranchProtection({ owner, repo, name }, context) {
      return branchProtectionMessage(
        await getBranchProtection(app, callerOf(context), { owner, repo }, name),
      )
    },

    async createBranchProtection(request, context) {
      const { owner, repo, ruleName, branchName } = request
      const draft = draftOf(request)
      const name = ruleName || branchName
      return branchProtectionMessage(
        await createBranchProtection(app, callerOf(context), { owner, repo }, name, draft),
      )
    },

    async editBranchProtection(request, context) {
      const { owner, repo, name } = request
      const edit = editOf(request)
      return branchProtectionMessage(
        await editBranchProtection(app, callerOf(context), { owner, repo }, name, edit),
      )
    },

    async deleteBranchProtection({ owner, repo, name }, context) {
      await deleteBranchProtection(app, callerOf(context), { owner, repo }, name)
      return {}
    },

    async reorderBranchProtections({ owner, repo, ids }, context) {
      await reorderBranchProtections(app, callerOf(context), { owner, repo }, ids.map(Number))
      return {}
    },
  }
}

/** The fields that requests to create and edit a rule share, by their names in the domain. */
function settingsOf(request: CreateBranchProtectionRequest | EditBranchProtectionRequest) {
  const { priority, requiredApprovals, protectedFilePatterns, unprotectedFilePatterns } = request
  return {
    flags: {
      enable_push: request.enablePush,
      enable_push_whitelist: request.enablePushWhitelist,
      push_whitelist_deploy_keys: request.pushWhitelistDeployKeys,
      enable_force_push: request.enableForcePush,
      enable_force_push_allowlist: request.enableForcePushAllowlist,
      force_push_allowlist_deploy_keys: request.forcePushAllowlistDeployKeys,
      enable_merge_whitelist: request.enableMergeWhitelist,
      enable_bypass_allowlist: request.enableBypassAllowlist,
      enable_status_check: request.enableStatusCheck,
      enable_approvals_whitelist: request.enableApprovalsWhitelist,
      block_on_rejected_reviews: request.blockOnRejectedReviews,
      block_on_official_review_requests: request.blockOnOfficialReviewRequests,
      block_on_outdated_branch: request.blockOnOutdatedBranch,
      block_admin_merge_override: request.blockAdminMergeOverride,
      dismiss_stale_approvals: request.dismissStaleApprovals,
      ignore_stale_approvals: request.ignoreStaleApprovals,
      require_signed_commits: request.requireSignedCommits,
      enable_merge_queue: request.enableMergeQueue,
    },
    priority: priority === undefined ? undefined : Number(priority),
    requiredApprovals: requiredApprovals === undefined ? undefined : Number(requiredApprovals),
    protectedFilePatterns,
    unprotectedFilePatterns,
    commitRules: {
      commit_message_pattern: request.commitMessagePattern,
      commit_author_email_pattern: request.commitAuthorEmailPattern,
      branch_name_pattern: request.branchNamePattern,
      max_file_bytes: request.maxFileBytes === undefined ? undefined : Number(request.maxFileBytes),
    },
  }
}

function draftOf(request: CreateBranchProtectionRequest): ProtectionEdit {
  // Zero and negative numbers mean no particular priority.
  const settings = settingsOf(request)
  const approvers = [...request.approvalsWhitelistUsername, ...request.approvalsWhitelistUsernames]
  return {
    ...settings,
    priority: Math.max(settings.priority ?? 0, 0),
    statusCheckContexts: request.statusCheckContexts,
    queue: {
      ...queueNumbersOf(request),
      style: request.mergeQueueStyle,
      bypass: request.mergeQueueBypass,
      onlyContexts: request.mergeQueueOnlyContexts,
      headContexts: request.mergeQueueHeadContexts,
    },
    ...listsOf(request, approvers, (field, names = []) => ({ field, names })),
  }
}

function editOf(request: EditBranchProtectionRequest): ProtectionEdit {
  const {
    statusCheckContexts: contexts,
    mergeQueueOnlyContexts: only,
    mergeQueueHeadContexts: head,
  } = request
  const approvers = request.approvalsWhitelistUsername ?? request.approvalsWhitelistUsernames
  return {
    ...settingsOf(request),
    statusCheckContexts: contexts && textsOf('status_check_contexts', contexts),
    queue: {
      ...queueNumbersOf(request),
      style: request.mergeQueueStyle,
      bypass: request.mergeQueueBypass,
      onlyContexts: only && textsOf('merge_queue_only_contexts', only),
      headContexts: head && textsOf('merge_queue_head_contexts', head),
    },
    ...listsOf(
      request,
      approvers,
      (field, value) => value && { field, names: textsOf(field, value) },
    ),
  }
}

function queueNumbersOf(request: CreateBranchProtectionRequest | EditBranchProtectionRequest) {
  const numberOf = (value: bigint | undefined) => (value === undefined ? undefined : Number(value))
  return {
    maxGroup: numberOf(request.mergeQueueMaxGroup),
    parallel: numberOf(request.mergeQueueParallel),
    waitSeconds: numberOf(request.mergeQueueWaitSeconds),
    checkTimeoutSeconds: numberOf(request.mergeQueueCheckTimeoutSeconds),
  }
}

/** Reads the lists of a request by the permission that they grant. */
interface ListFields<List> {
  readonly pushWhitelistUsernames?: List
  readonly pushWhitelistTeams?: List
  readonly forcePushAllowlistUsernames?: List
  readonly forcePushAllowlistTeams?: List
  readonly mergeWhitelistUsernames?: List
  readonly mergeWhitelistTeams?: List
  readonly bypassAllowlistUsernames?: List
  readonly bypassAllowlistTeams?: List
  readonly approvalsWhitelistTeams?: List
}

/** @param approvers the approvals list, whose field has two names */
function listsOf<List>(
  request: ListFields<List>,
  approvers: List | undefined,
  read: (field: string, list: List | undefined) => NamedList | undefined,
): Pick<ProtectionEdit, 'users' | 'teams'> {
  return {
    users: {
      push: read('push_whitelist_usernames', request.pushWhitelistUsernames),
      force_push: read('force_push_allowlist_usernames', request.forcePushAllowlistUsernames),
      merge: read('merge_whitelist_usernames', request.mergeWhitelistUsernames),
      bypass: read('bypass_allowlist_usernames', request.bypassAllowlistUsernames),
      approvals: read('approvals_whitelist_username', approvers),
    },
    teams: {
      push: read('push_whitelist_teams', request.pushWhitelistTeams),
      force_push: read('force_push_allowlist_teams', request.forcePushAllowlistTeams),
      merge: read('merge_whitelist_teams', request.mergeWhitelistTeams),
      bypass: read('bypass_allowlist_teams', request.bypassAllowlistTeams),
      approvals: read('approvals_whitelist_teams', request.approvalsWhitelistTeams),
    },
  }
}

function branchProtectionMessage({
  rule,
  queueStyle,
  users,
  teams,
}: BranchProtectionView): BranchProtectionMessage {
  return create(BranchProtectionSchema, {
    id: BigInt(rule.id),
    ruleName: rule.rule_name,
    branchName: isBranchGlob(rule.rule_name) ? '' : rule.rule_name,
    priority: BigInt(rule.priority),
    enablePush: rule.enable_push,
    enablePushWhitelist: rule.enable_push_whitelist,
    pushWhitelistDeployKeys: rule.push_whitelist_deploy_keys,
    pushWhitelistUsernames: [...users.push],
    pushWhitelistTeams: [...teams.push],
    enableForcePush: rule.enable_force_push,
    enableForcePushAllowlist: rule.enable_force_push_allowlist,
    forcePushAllowlistDeployKeys: rule.force_push_allowlist_deploy_keys,
    forcePushAllowlistUsernames: [...users.force_push],
    forcePushAllowlistTeams: [...teams.force_push],
    enableMergeWhitelist: rule.enable_merge_whitelist,
    mergeWhitelistUsernames: [...users.merge],
    mergeWhitelistTeams: [...teams.merge],
    enableBypassAllowlist: rule.enable_bypass_allowlist,
    bypassAllowlistUsernames: [...users.bypass],
    bypassAllowlistTeams: [...teams.bypass],
    enableStatusCheck: rule.enable_status_check,
    statusCheckContexts: [...rule.status_check_contexts],
    requiredApprovals: BigInt(rule.required_approvals),
    enableApprovalsWhitelist: rule.enable_approvals_whitelist,
    approvalsWhitelistUsername: [...users.approvals],
    approvalsWhitelistTeams: [...teams.approvals],
    blockOnRejectedReviews: rule.block_on_rejected_reviews,
    blockOnOfficialReviewRequests: rule.block_on_official_review_requests,
    blockOnOutdatedBranch: rule.block_on_outdated_branch,
    blockAdminMergeOverride: rule.block_admin_merge_override,
    dismissStaleApprovals: rule.dismiss_stale_approvals,
    ignoreStaleApprovals: rule.ignore_stale_approvals,
    requireSignedCommits: rule.require_signed_commits,
    protectedFilePatterns: rule.protected_file_patterns,
    unprotectedFilePatterns: rule.unprotected_file_patterns,
    commitMessagePattern: rule.commit_message_pattern,
    commitAuthorEmailPattern: rule.commit_author_email_pattern,
    branchNamePattern: rule.branch_name_pattern,
    maxFileBytes: BigInt(rule.max_file_bytes),
    createdAt: atSecond(rule.create_time),
    updatedAt: atSecond(rule.update_time),
    enableMergeQueue: rule.enable_merge_queue,
    mergeQueueStyle: queueStyle,
    mergeQueueMaxGroup: BigInt(rule.merge_queue_max_group),
    mergeQueueParallel: BigInt(rule.merge_queue_parallel),
    mergeQueueWaitSeconds: BigInt(rule.merge_queue_wait_seconds),
    mergeQueueCheckTimeoutSeconds: BigInt(rule.merge_queue_check_timeout_seconds),
    mergeQueueOnlyContexts: [...rule.merge_queue_only_contexts],
    mergeQueueHeadContexts: [...rule.merge_queue_head_contexts],
    mergeQueueBypass: rule.merge_queue_bypass,
  })
}

export const branchProtections = defineService(BranchProtectionService, branchProtectionService)
