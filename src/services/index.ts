import type { ConnectRouter } from '@connectrpc/connect'
import { AccessTokenService } from '#gen/branchline/v1/access_token_service_pb.ts'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import { EventService } from '#gen/branchline/v1/event_service_pb.ts'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import { IdentityProviderService } from '#gen/branchline/v1/identity_provider_service_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { MemoService } from '#gen/branchline/v1/memo_service_pb.ts'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { TagProtectionService } from '#gen/branchline/v1/tag_protection_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { TwoFactorService } from '#gen/branchline/v1/two_factor_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { App } from '../domain/app.ts'
import { accessTokenService } from './accounts/access-tokens.ts'
import { accountMethods } from './accounts/accounts.ts'
import { adminService } from './accounts/admin.ts'
import { authService } from './accounts/auth.ts'
import { blockMethods } from './accounts/blocks.ts'
import { gpgKeyService } from './accounts/gpg-keys.ts'
import { identityProviderService } from './accounts/identity-providers.ts'
import { linkedIdentityMethods } from './accounts/linked-identities.ts'
import { personalAccessTokenMethods } from './accounts/personal-access-tokens.ts'
import { publicKeyService } from './accounts/public-keys.ts'
import { serverService } from './accounts/server-version.ts'
import { twoFactorService } from './accounts/two-factor.ts'
import { userSettingMethods } from './accounts/user-settings.ts'
import { userWebhookMethods } from './accounts/user-webhooks.ts'
import { userMethods } from './accounts/users.ts'
import { eventService } from './memos/events.ts'
import { memoService } from './memos/memos.ts'
import { notificationMethods } from './memos/notifications.ts'
import { userStatsMethods } from './memos/user-stats.ts'
import { organizationService } from './organizations/organizations.ts'
import { issueCommentService } from './pulls/issue-comments.ts'
import { issueService } from './pulls/issues.ts'
import { pullFileService } from './pulls/pull-files.ts'
import { pullMergeService } from './pulls/pull-merges.ts'
import { pullRequestService } from './pulls/pull-requests.ts'
import { reviewService } from './pulls/reviews.ts'
import { branchProtectionService } from './repos/branch-protections.ts'
import { branchService } from './repos/branches.ts'
import { collaboratorService } from './repos/collaborators.ts'
import { commitStatusService } from './repos/commit-statuses.ts'
import { commitService } from './repos/commits.ts'
import { contentChangeMethods } from './repos/content-changes.ts'
import { contentMethods } from './repos/contents.ts'
import { deployKeyService } from './repos/deploy-keys.ts'
import { forkService } from './repos/forks.ts'
import { gitHookService } from './repos/git-hooks.ts'
import { gitObjectService } from './repos/git-objects.ts'
import { labelService } from './repos/labels.ts'
import { milestoneService } from './repos/milestones.ts'
import { mirrorService } from './repos/mirrors.ts'
import { releaseService } from './repos/releases.ts'
import { repositoryService } from './repos/repositories.ts'
import { repositoryEventService } from './repos/repository-events.ts'
import { tagProtectionService } from './repos/tag-protections.ts'
import { tagService } from './repos/tags.ts'
import { teamService } from './repos/teams.ts'
import { topicService } from './repos/topics.ts'

/**
 * Registers everything that this server implements. Every service is whole: a method that is
 * missing does not compile.
 */
export function registerServices(router: ConnectRouter, app: App): void {
  router.service(AccessTokenService, accessTokenService(app))
  router.service(AccountService, { ...accountMethods(app), ...blockMethods(app) })
  router.service(AdminService, adminService(app))
  router.service(AuthService, authService(app))
  router.service(BranchProtectionService, branchProtectionService(app))
  router.service(BranchService, branchService(app))
  router.service(CollaboratorService, collaboratorService(app))
  router.service(CommitService, commitService(app))
  router.service(CommitStatusService, commitStatusService(app))
  router.service(ContentService, { ...contentMethods(app), ...contentChangeMethods(app) })
  router.service(DeployKeyService, deployKeyService(app))
  router.service(EventService, eventService(app))
  router.service(GitHookService, gitHookService(app))
  router.service(GitObjectService, gitObjectService(app))
  router.service(GpgKeyService, gpgKeyService(app))
  router.service(ForkService, forkService(app))
  router.service(IdentityProviderService, identityProviderService(app))
  router.service(IssueCommentService, issueCommentService(app))
  router.service(IssueService, issueService(app))
  router.service(LabelService, labelService(app))
  router.service(MemoService, memoService(app))
  router.service(MilestoneService, milestoneService(app))
  router.service(OrganizationService, organizationService(app))
  router.service(PublicKeyService, publicKeyService(app))
  router.service(MirrorService, mirrorService(app))
  router.service(PullFileService, pullFileService(app))
  router.service(PullMergeService, pullMergeService(app))
  router.service(PullRequestService, pullRequestService(app))
  router.service(ReleaseService, releaseService(app))
  router.service(RepositoryEventService, repositoryEventService(app))
  router.service(RepositoryService, repositoryService(app))
  router.service(ReviewService, reviewService(app))
  router.service(ServerService, serverService(app))
  router.service(TagProtectionService, tagProtectionService(app))
  router.service(TagService, tagService(app))
  router.service(TeamService, teamService(app))
  router.service(TopicService, topicService(app))
  router.service(TwoFactorService, twoFactorService(app))
  router.service(UserService, {
    ...userMethods(app),
    ...userStatsMethods(app),
    ...userSettingMethods(app),
    ...linkedIdentityMethods(app),
    ...personalAccessTokenMethods(app),
    ...userWebhookMethods(app),
    ...notificationMethods(app),
  })
}
