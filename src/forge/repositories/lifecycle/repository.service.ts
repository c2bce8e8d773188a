import type { ServiceImpl } from '@connectrpc/connect'
import {
  type EditRepositoryRequest,
  RepositoryService,
} from '#gen/branchline/v1/repository_service_pb.ts'
import type { App } from '../../app.ts'
import { type Caller, signedIn } from '../../core/access.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import {
  listMyRepositories,
  listOrganizationRepositories,
  listRepositoriesOf,
  searchRepositories,
} from '../search/repository-search.ts'
import { createRepository } from './create-repository.ts'
import { generateRepository } from './generate-repository.ts'
import { acceptTransfer, rejectTransfer, transferRepository } from './ownership-transfers.ts'
import { deleteRepository, getRepository, getRepositoryById } from './repositories.ts'
import { repositoryMessage, repositoryMessages } from './repository.message.ts'
import { editRepository, type RepositoryEdit } from './repository-settings.ts'
import { getViewerState, type RepositoryPage } from './repository-views.ts'

type RepositoryMethods = ServiceImpl<typeof RepositoryService>

/** Implements RepositoryService. */
function repositoryService(app: App): RepositoryMethods {
  return { ...singleMethods(app), ...listMethods(app), ...transferMethods(app) }
}

function singleMethods(
  app: App,
): Pick<
  RepositoryMethods,
  | 'createUserRepository'
  | 'createOrganizationRepository'
  | 'generateRepository'
  | 'getRepository'
  | 'getRepositoryById'
  | 'getViewerState'
  | 'editRepository'
  | 'deleteRepository'
> {
  return {
    async createUserRepository(request, context) {
      const caller = signedIn(callerOf(context))
      return repositoryMessage(app, caller, await createRepository(app, caller, '', request))
    },

    async createOrganizationRepository({ org, ...draft }, context) {
      const caller = signedIn(callerOf(context))
      return repositoryMessage(app, caller, await createRepository(app, caller, org, draft))
    },

    async generateRepository({ templateOwner: owner, templateRepo: repo, ...draft }, context) {
      const caller = signedIn(callerOf(context))
      const made = await generateRepository(app, caller, { owner, repo }, draft)
      return repositoryMessage(app, caller, made)
    },

    async getRepository({ owner, repo }, context) {
      const caller = callerOf(context)
      return repositoryMessage(app, caller, await getRepository(app, caller, { owner, repo }))
    },

    async getRepositoryById({ id }, context) {
      const caller = callerOf(context)
      return repositoryMessage(app, caller, await getRepositoryById(app, caller, Number(id)))
    },

    getViewerState: (name, context) => getViewerState(app, signedIn(callerOf(context)), name),

    async editRepository(request, context) {
      const caller = callerOf(context)
      const { owner, repo } = request
      return repositoryMessage(
        app,
        caller,
        await editRepository(app, caller, { owner, repo }, readEdit(request)),
      )
    },

    async deleteRepository({ owner, repo }, context) {
      await deleteRepository(app, callerOf(context), { owner, repo })
      return {}
    },
  }
}

function listMethods(
  app: App,
): Pick<
  RepositoryMethods,
  | 'searchRepositories'
  | 'listMyRepositories'
  | 'listUserRepositories'
  | 'listOrganizationRepositories'
> {
  const messages = (caller: Caller, { repositories }: RepositoryPage) =>
    repositoryMessages(app, caller, repositories)
  const listMessage = (caller: Caller, page: RepositoryPage, limit: number) => ({
    repositories: messages(caller, page),
    total: BigInt(page.total),
    limit,
  })
  return {
    async searchRepositories(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      const query = {
        ...request,
        uid: Number(request.uid),
        priorityOwnerId: Number(request.priorityOwnerId),
        teamId: Number(request.teamId),
        starredBy: Number(request.starredBy),
      }
      const found = await searchRepositories(app, caller, query, page)
      const results = { ok: true, data: messages(caller, found) }
      return { results, total: BigInt(found.total), limit: page.limit }
    },

    async listMyRepositories(request, context) {
      const caller = signedIn(callerOf(context))
      const page = readNumberedPage(app.settings, request)
      return listMessage(caller, await listMyRepositories(app, caller, page), page.limit)
    },

    async listUserRepositories(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return listMessage(
        caller,
        await listRepositoriesOf(app, caller, request.username, page),
        page.limit,
      )
    },

    async listOrganizationRepositories(request, context) {
      const caller = callerOf(context)
      const page = readNumberedPage(app.settings, request)
      return listMessage(
        caller,
        await listOrganizationRepositories(app, caller, request.org, page),
        page.limit,
      )
    },
  }
}

function transferMethods(
  app: App,
): Pick<
  RepositoryMethods,
  'transferRepository' | 'acceptRepositoryTransfer' | 'rejectRepositoryTransfer'
> {
  return {
    async transferRepository({ owner, repo, newOwner, teamIds }, context) {
      const caller = signedIn(callerOf(context))
      const draft = { newOwner, teamIds: teamIds.map(Number) }
      return repositoryMessage(
        app,
        caller,
        await transferRepository(app, caller, { owner, repo }, draft),
      )
    },

    async acceptRepositoryTransfer({ owner, repo }, context) {
      const caller = signedIn(callerOf(context))
      return repositoryMessage(app, caller, await acceptTransfer(app, caller, { owner, repo }))
    },

    async rejectRepositoryTransfer({ owner, repo }, context) {
      const caller = signedIn(callerOf(context))
      return repositoryMessage(app, caller, await rejectTransfer(app, caller, { owner, repo }))
    },
  }
}

function readEdit(request: EditRepositoryRequest): RepositoryEdit {
  return {
    ...request,
    switches: {
      template: request.template,
      has_issues: request.hasIssues,
      has_dependencies: request.internalTracker?.enableIssueDependencies,
      close_issues_in_any_branch: request.closeIssuesViaCommitInAnyBranch,
      lfs_locks_enforced: request.lfsLocksEnforced,
      has_pull_requests: request.hasPullRequests,
      has_releases: request.hasReleases,
      ignore_whitespace_conflicts: request.ignoreWhitespaceConflicts,
      allow_merge_commits: request.allowMergeCommits,
      allow_rebase: request.allowRebase,
      allow_rebase_explicit: request.allowRebaseExplicit,
      allow_squash_merge: request.allowSquashMerge,
      allow_fast_forward_only_merge: request.allowFastForwardOnlyMerge,
      allow_merge_update: request.allowMergeUpdate,
      allow_rebase_update: request.allowRebaseUpdate,
      allow_manual_merge: request.allowManualMerge,
      autodetect_manual_merge: request.autodetectManualMerge,
      default_delete_branch_after_merge: request.defaultDeleteBranchAfterMerge,
      default_allow_maintainer_edit: request.defaultAllowMaintainerEdit,
      rebase_stacks: request.rebaseStacks,
    },
  }
}

export const repositories = defineService(RepositoryService, repositoryService)
