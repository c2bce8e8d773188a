import type { DescMethod, JsonValue } from '@bufbuild/protobuf'
import { AccessTokenService } from '#gen/branchline/v1/access_token_service_pb.ts'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { BranchService } from '#gen/branchline/v1/branch_service_pb.ts'
import { CodeSearchService } from '#gen/branchline/v1/code_search_service_pb.ts'
import { CollaboratorService } from '#gen/branchline/v1/collaborator_service_pb.ts'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { CommitStatusService } from '#gen/branchline/v1/commit_status_service_pb.ts'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { ConversationService } from '#gen/branchline/v1/conversation_service_pb.ts'
import { DeployKeyService } from '#gen/branchline/v1/deploy_key_service_pb.ts'
import { FeedService } from '#gen/branchline/v1/feed_service_pb.ts'
import { FollowService } from '#gen/branchline/v1/follow_service_pb.ts'
import { ForkService } from '#gen/branchline/v1/fork_service_pb.ts'
import { GitHookService } from '#gen/branchline/v1/git_hook_service_pb.ts'
import { GitObjectService } from '#gen/branchline/v1/git_object_service_pb.ts'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import { HookService } from '#gen/branchline/v1/hook_service_pb.ts'
import { ImportService } from '#gen/branchline/v1/import_service_pb.ts'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import { IssueAttachmentService } from '#gen/branchline/v1/issue_attachment_service_pb.ts'
import { IssueCommentService } from '#gen/branchline/v1/issue_comment_service_pb.ts'
import { IssueEventService } from '#gen/branchline/v1/issue_event_service_pb.ts'
import { IssueExchangeService } from '#gen/branchline/v1/issue_exchange_service_pb.ts'
import { IssuePinService } from '#gen/branchline/v1/issue_pin_service_pb.ts'
import { IssueQueryService } from '#gen/branchline/v1/issue_query_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { IssueTemplateService } from '#gen/branchline/v1/issue_template_service_pb.ts'
import { IssueTransferService } from '#gen/branchline/v1/issue_transfer_service_pb.ts'
import { IssueViewService } from '#gen/branchline/v1/issue_view_service_pb.ts'
import { LabelService } from '#gen/branchline/v1/label_service_pb.ts'
import { LanguageService } from '#gen/branchline/v1/language_service_pb.ts'
import { LfsService } from '#gen/branchline/v1/lfs_service_pb.ts'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { MarkupService } from '#gen/branchline/v1/markup_service_pb.ts'
import { MergeQueueService } from '#gen/branchline/v1/merge_queue_service_pb.ts'
import { MilestoneService } from '#gen/branchline/v1/milestone_service_pb.ts'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { NotificationService } from '#gen/branchline/v1/notification_service_pb.ts'
import { OAuth2ApplicationService } from '#gen/branchline/v1/oauth2_application_service_pb.ts'
import { OrganizationHookService } from '#gen/branchline/v1/organization_hook_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { PullFileService } from '#gen/branchline/v1/pull_file_service_pb.ts'
import { PullMergeService } from '#gen/branchline/v1/pull_merge_service_pb.ts'
import { PullRequestService } from '#gen/branchline/v1/pull_request_service_pb.ts'
import { PullStackService } from '#gen/branchline/v1/pull_stack_service_pb.ts'
import { QuotaGroupService } from '#gen/branchline/v1/quota_group_service_pb.ts'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { ReactionService } from '#gen/branchline/v1/reaction_service_pb.ts'
import { ReleaseNoteService } from '#gen/branchline/v1/release_note_service_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { RepositoryEventService } from '#gen/branchline/v1/repository_event_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { ReviewService } from '#gen/branchline/v1/review_service_pb.ts'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { SshService } from '#gen/branchline/v1/ssh_service_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { StopwatchService } from '#gen/branchline/v1/stopwatch_service_pb.ts'
import { SubIssueService } from '#gen/branchline/v1/sub_issue_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { SuggestionService } from '#gen/branchline/v1/suggestion_service_pb.ts'
import { SystemHookService } from '#gen/branchline/v1/system_hook_service_pb.ts'
import { TagProtectionService } from '#gen/branchline/v1/tag_protection_service_pb.ts'
import { TagService } from '#gen/branchline/v1/tag_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { TemplateService } from '#gen/branchline/v1/template_service_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { TrackedTimeService } from '#gen/branchline/v1/tracked_time_service_pb.ts'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { UserHookService } from '#gen/branchline/v1/user_hook_service_pb.ts'
import { ViewedFileService } from '#gen/branchline/v1/viewed_file_service_pb.ts'

const accounts = AccountService.method
const tokens = AccessTokenService.method
const admin = AdminService.method
const organizations = OrganizationService.method
const teams = TeamService.method
const repositories = RepositoryService.method
const collaborators = CollaboratorService.method
const contents = ContentService.method
const commits = CommitService.method
const branches = BranchService.method
const branchProtections = BranchProtectionService.method
const hooks = GitHookService.method
const objects = GitObjectService.method
const statuses = CommitStatusService.method
const tags = TagService.method
const tagProtections = TagProtectionService.method
const releaseNotes = ReleaseNoteService.method
const releases = ReleaseService.method
const deployKeys = DeployKeyService.method
const publicKeys = PublicKeyService.method
const gpgKeys = GpgKeyService.method
const labels = LabelService.method
const milestones = MilestoneService.method
const forks = ForkService.method
const pulls = PullRequestService.method
const pullFiles = PullFileService.method
const pullMerges = PullMergeService.method
const mergeQueues = MergeQueueService.method
const reviews = ReviewService.method
const suggestions = SuggestionService.method
const pullStacks = PullStackService.method
const viewedFiles = ViewedFileService.method
const issues = IssueService.method
const issueExchange = IssueExchangeService.method
const issuePins = IssuePinService.method
const issueQueries = IssueQueryService.method
const issueTransfers = IssueTransferService.method
const subIssues = SubIssueService.method
const issueViews = IssueViewService.method
const issueTemplates = IssueTemplateService.method
const attachments = IssueAttachmentService.method
const trackedTimes = TrackedTimeService.method
const stopwatches = StopwatchService.method
const issueComments = IssueCommentService.method
const maintenance = MaintenanceService.method
const mirrors = MirrorService.method
const webhooks = HookService.method
const organizationHooks = OrganizationHookService.method
const userHooks = UserHookService.method
const subscriptions = SubscriptionService.method
const notifications = NotificationService.method
const systemHooks = SystemHookService.method
const applications = OAuth2ApplicationService.method
const codeSearch = CodeSearchService.method
const feeds = FeedService.method
const languages = LanguageService.method
const lfs = LfsService.method
const topics = TopicService.method
const templates = TemplateService.method
const instance = InstanceService.method
const ssh = SshService.method
const quotas = QuotaService.method
const quotaGroups = QuotaGroupService.method
const follows = FollowService.method
const stars = StarService.method
const emails = UserEmailService.method
const conversations = ConversationService.method
const reactions = ReactionService.method

/** What the calls of the story need that only chance knows. */
export interface StoryProps {
  /** URL of a repository on another server. */
  readonly upstream: string
  /** Text of a token of bob. */
  readonly token: string
  /** Id of the object of the tag `v1`, once it is there. */
  readonly tagObject: string
}

/** One call over REST. `path` begins behind `/api/v1`. */
export interface Step {
  readonly method: DescMethod
  /** `bob by password` and `token` are bob. */
  readonly who: 'ada' | 'bob' | 'carol' | 'bob by password' | 'token'
  readonly verb: string
  readonly path: string
  readonly body?: JsonValue
}

/** In the form of OpenSSH. */
const SSH_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl bob@work'
const DEPLOY_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f'

/** Of bob@example.org, made on 1 January 2026. */
const GPG_KEY = `-----BEGIN PGP PUBLIC KEY BLOCK-----

xjMEaVW5ABYJKwYBBAHaRw8BAQdAGDb3OzlZqv3jXK3mnFPACPe+i0/x//OE
8Kz03TYAoeTNFUJvYiA8Ym9iQGV4YW1wbGUub3JnPsLAEwQTFgoAhQWCaVW5
AAMLCQcJEDjRwPqPHJKORRQAAAAAABwAIHNhbHRAbm90YXRpb25zLm9wZW5w
Z3Bqcy5vcmcP7NWlaPLQJzXJlr0ZQ0Sk5iZwSuGMhu7W+4xWFF5ZMgUVCggO
DAQWAAIBAhkBApsDAh4BFiEEQ0Z3HCP7rdXyvvniONHA+o8cko4AAGwXAQCy
8YBkD2bHURQrlOQSQza+QjU1BbUTvnyWg6v65EwElQEAqe95xG9xlNDD625L
HQFzsSwxS89oDE7tFR8oJiCWngDOOARpVbkAEgorBgEEAZdVAQUBAQdAHnLZ
KVopq+KOg2U7kWTs+PkPyTPbG2VqBwcZw1JEJ20DAQgHwr4EGBYKAHAFgmlV
uQAJEDjRwPqPHJKORRQAAAAAABwAIHNhbHRAbm90YXRpb25zLm9wZW5wZ3Bq
cy5vcmf48nKJ+VFWfkv2prvXaF+o4blJbNvOZtum90PsKqWZAwKbDBYhBENG
dxwj+63V8r754jjRwPqPHJKOAADdhQD+KRkyYzJyXloYKUQvnnetH0Pl+LMg
1UM8O71jLvhj4Z8BAMxVS4REqq6oC166gRem1JvVtQORzAfeptjT9Bb+vFgO
=fIZ6
-----END PGP PUBLIC KEY BLOCK-----`

const base64 = (text: string) => Buffer.from(text).toString('base64')

/**
 * Id of the blob `one` with a line end, which is what `printf 'one\n' | git hash-object --stdin`
 * prints.
 */
const BLOB = '5626abf0f72e58d7a153368ba57db4c673c0e171'

/** A call of each method of the forge, each on what those before it have left behind. */
export const STORY: readonly ((props: StoryProps) => Step)[] = [
  bob(ServerService.method.getVersion, 'GET /version'),
  bob(instance.getApiSettings, 'GET /settings/api'),
  bob(instance.getRepositorySettings, 'GET /settings/repository'),
  bob(instance.getUiSettings, 'GET /settings/ui'),
  bob(instance.getAttachmentSettings, 'GET /settings/attachment'),
  bob(instance.getNodeInfo, 'GET /nodeinfo'),
  bob(templates.listGitignoreTemplates, 'GET /gitignore/templates'),
  bob(templates.getGitignoreTemplate, 'GET /gitignore/templates/Go'),
  bob(templates.getLicenseTemplate, 'GET /licenses/0BSD'),
  bob(templates.listLabelTemplates, 'GET /label/templates'),
  bob(templates.getLabelTemplate, 'GET /label/templates/Default'),
  // Accounts
  bob(accounts.getAuthenticatedAccount, 'GET /user'),
  bob(accounts.updateAccountSettings, 'PATCH /user/settings', { location: 'Bern' }),
  bob(accounts.getAccountSettings, 'GET /user/settings'),
  bob(emails.listUserEmails, 'GET /user/emails'),
  bob(emails.deleteUserEmails, 'DELETE /user/emails', { emails: [] }),
  bob(accounts.updateAccountSettings, 'PATCH /user/settings', { location: '' }),
  bob(accounts.searchAccounts, 'GET /users/search?q=car'),
  bob(accounts.blockUser, 'PUT /user/blocks/carol?note=loud'),
  bob(accounts.listBlockedUsers, 'GET /user/blocks'),
  bob(accounts.checkBlockedUser, 'GET /user/blocks/carol'),
  bob(accounts.unblockUser, 'DELETE /user/blocks/carol'),
  by('carol', follows.followUser, 'PUT /user/following/bob'),
  bob(follows.listMyFollowers, 'GET /user/followers'),
  by('carol', follows.listMyFollowing, 'GET /user/following'),
  by('carol', follows.checkFollowing, 'GET /user/following/bob'),
  bob(follows.listUserFollowers, 'GET /users/bob/followers'),
  bob(follows.listUserFollowing, 'GET /users/carol/following'),
  bob(follows.checkUserFollowing, 'GET /users/carol/following/bob'),
  by('carol', follows.unfollowUser, 'DELETE /user/following/bob'),
  by('ada', admin.adminCreateUser, 'POST /admin/users', {
    username: 'fay',
    email: 'fay@example.org',
    password: 'correct horse battery',
  }),
  by('ada', admin.adminEditUser, 'PATCH /admin/users/fay', { full_name: 'Fay', restricted: true }),
  by('ada', admin.adminRenameUser, 'POST /admin/users/fay/rename', { new_username: 'faye' }),
  by('ada', admin.adminListUsers, 'GET /admin/users?limit=2'),
  by('ada', admin.adminPurgeContributions, 'DELETE /admin/users/faye/contributions'),
  by('ada', admin.adminDeleteUser, 'DELETE /admin/users/faye'),
  by('bob by password', tokens.createAccessToken, 'POST /users/bob/tokens', {
    name: 'tea',
    scopes: ['read:user'],
  }),
  by('bob by password', tokens.listAccessTokens, 'GET /users/bob/tokens'),
  by('bob by password', tokens.deleteAccessToken, 'DELETE /users/bob/tokens/tea'),
  by('token', tokens.getCurrentAccessToken, 'GET /token'),
  by('token', tokens.deleteCurrentAccessToken, 'DELETE /token'),
  bob(publicKeys.createPublicKey, 'POST /user/keys', { title: 'work', key: SSH_KEY }),
  bob(publicKeys.getPublicKey, 'GET /user/keys/1'),
  bob(publicKeys.listMyPublicKeys, 'GET /user/keys'),
  bob(publicKeys.listUserPublicKeys, 'GET /users/bob/keys'),
  bob(publicKeys.deletePublicKey, 'DELETE /user/keys/1'),
  by('ada', admin.adminCreatePublicKey, 'POST /admin/users/carol/keys', {
    title: 'home',
    key: SSH_KEY,
  }),
  by('ada', admin.adminDeletePublicKey, 'DELETE /admin/users/carol/keys/2'),
  bob(gpgKeys.getGpgKeyToken, 'GET /user/gpg_key_token'),
  bob(gpgKeys.createGpgKey, 'POST /user/gpg_keys', { armored_public_key: GPG_KEY }),
  bob(gpgKeys.getGpgKey, 'GET /user/gpg_keys/1'),
  bob(gpgKeys.listMyGpgKeys, 'GET /user/gpg_keys'),
  bob(gpgKeys.listUserGpgKeys, 'GET /users/bob/gpg_keys'),
  bob(gpgKeys.deleteGpgKey, 'DELETE /user/gpg_keys/1'),
  bob(applications.createOAuth2Application, 'POST /user/applications/oauth2', {
    name: 'Woodpecker',
    confidential_client: true,
    redirect_uris: ['https://ci.example.org/authorize'],
  }),
  bob(applications.getOAuth2Application, 'GET /user/applications/oauth2/4'),
  bob(applications.listOAuth2Applications, 'GET /user/applications/oauth2'),
  bob(applications.editOAuth2Application, 'PATCH /user/applications/oauth2/4', { name: 'CI' }),
  bob(applications.deleteOAuth2Application, 'DELETE /user/applications/oauth2/4'),
  bob(applications.listOAuth2Grants, 'GET /user/grants/oauth2'),
  by('ada', applications.adminCreateOAuth2Application, 'POST /admin/applications/oauth2', {
    name: 'Drone',
    redirect_uris: ['https://drone.example.org/login'],
  }),
  by('ada', applications.adminGetOAuth2Application, 'GET /admin/applications/oauth2/5'),
  by('ada', applications.adminListOAuth2Applications, 'GET /admin/applications/oauth2'),
  by('ada', applications.adminEditOAuth2Application, 'PATCH /admin/applications/oauth2/5', {
    confidential_client: true,
  }),
  by('ada', applications.adminDeleteOAuth2Application, 'DELETE /admin/applications/oauth2/5'),
  // An organisation with a team
  bob(organizations.createOrganization, 'POST /orgs', {
    username: 'guild',
    full_name: 'The Guild',
  }),
  bob(organizations.editOrganization, 'PATCH /orgs/guild', { description: 'Turns things' }),
  bob(organizations.getOrganization, 'GET /orgs/guild'),
  bob(organizations.listOrganizations, 'GET /orgs'),
  bob(organizations.listMyOrganizations, 'GET /user/orgs'),
  bob(organizations.listUserOrganizations, 'GET /users/bob/orgs'),
  bob(organizations.getOrganizationPermissions, 'GET /users/bob/orgs/guild/permissions'),
  by('ada', admin.adminListOrganizations, 'GET /admin/orgs'),
  by('ada', admin.adminGetMetrics, 'GET /admin/metrics?names=branchline_streams'),
  by('ada', maintenance.adminListMaintenance, 'GET /admin/maintenance'),
  by('ada', lfs.adminSweepLfsObjects, 'POST /admin/maintenance/lfs'),
  bob(ssh.getSshHostKeys, 'GET /meta/ssh-host-keys'),
  by('ada', ssh.adminListSshSessions, 'GET /admin/ssh/sessions'),
  by('ada', ssh.adminDeleteSshSession, 'DELETE /admin/ssh/sessions/1'),
  by('ada', admin.adminListUserOrganizations, 'GET /admin/users/bob/orgs'),
  by('ada', quotaGroups.adminCreateQuotaRule, 'POST /admin/quota/rules', {
    name: 'files',
    limit: 1000,
    subjects: ['size:assets:all', 'size:git:lfs'],
  }),
  by('ada', quotaGroups.adminEditQuotaRule, 'PATCH /admin/quota/rules/files', { limit: -1 }),
  by('ada', quotaGroups.adminGetQuotaRule, 'GET /admin/quota/rules/files'),
  by('ada', quotaGroups.adminListQuotaRules, 'GET /admin/quota/rules'),
  by('ada', quotaGroups.adminCreateQuotaGroup, 'POST /admin/quota/groups', {
    name: 'guests',
    rules: [{ name: 'all', limit: 1000000000, subjects: ['size:all'] }],
  }),
  by('ada', quotaGroups.adminAddQuotaGroupRule, 'PUT /admin/quota/groups/guests/rules/files'),
  by('ada', quotaGroups.adminGetQuotaGroup, 'GET /admin/quota/groups/guests'),
  by('ada', quotaGroups.adminListQuotaGroups, 'GET /admin/quota/groups'),
  by('ada', quotaGroups.adminAddQuotaGroupUser, 'PUT /admin/quota/groups/guests/users/bob'),
  by('ada', quotaGroups.adminListQuotaGroupUsers, 'GET /admin/quota/groups/guests/users'),
  by('ada', quotas.adminGetUserQuota, 'GET /admin/users/bob/quota'),
  bob(quotas.getMyQuota, 'GET /user/quota'),
  bob(quotas.checkMyQuota, 'GET /user/quota/check?subject=size:all'),
  bob(quotas.listMyQuotaAttachments, 'GET /user/quota/attachments'),
  bob(quotas.listMyQuotaArtifacts, 'GET /user/quota/artifacts'),
  bob(quotas.listMyQuotaPackages, 'GET /user/quota/packages'),
  bob(quotas.getOrganizationQuota, 'GET /orgs/guild/quota'),
  bob(quotas.checkOrganizationQuota, 'GET /orgs/guild/quota/check?subject=size:all'),
  bob(quotas.listOrganizationQuotaAttachments, 'GET /orgs/guild/quota/attachments'),
  bob(quotas.listOrganizationQuotaArtifacts, 'GET /orgs/guild/quota/artifacts'),
  bob(quotas.listOrganizationQuotaPackages, 'GET /orgs/guild/quota/packages'),
  by('ada', quotas.adminListUsage, 'GET /admin/usage'),
  by('ada', quotaGroups.adminRemoveQuotaGroupUser, 'DELETE /admin/quota/groups/guests/users/bob'),
  by('ada', quotaGroups.adminSetUserQuotaGroups, 'POST /admin/users/bob/quota/groups', {
    groups: ['guests'],
  }),
  by('ada', quotaGroups.adminRemoveQuotaGroupRule, 'DELETE /admin/quota/groups/guests/rules/files'),
  by('ada', quotaGroups.adminDeleteQuotaRule, 'DELETE /admin/quota/rules/files'),
  by('ada', quotaGroups.adminDeleteQuotaGroup, 'DELETE /admin/quota/groups/guests'),
  bob(accounts.blockOrganizationUser, 'PUT /orgs/guild/blocks/ada'),
  bob(accounts.listOrganizationBlockedUsers, 'GET /orgs/guild/blocks'),
  bob(accounts.checkOrganizationBlockedUser, 'GET /orgs/guild/blocks/ada'),
  bob(accounts.unblockOrganizationUser, 'DELETE /orgs/guild/blocks/ada'),
  bob(applications.createOrganizationOAuth2Application, 'POST /orgs/guild/applications/oauth2', {
    name: 'Shop',
    redirect_uris: ['com.example.shop:/back'],
  }),
  bob(applications.getOrganizationOAuth2Application, 'GET /orgs/guild/applications/oauth2/6'),
  bob(applications.listOrganizationOAuth2Applications, 'GET /orgs/guild/applications/oauth2'),
  bob(applications.editOrganizationOAuth2Application, 'PATCH /orgs/guild/applications/oauth2/6', {
    name: 'Store',
  }),
  bob(applications.deleteOrganizationOAuth2Application, 'DELETE /orgs/guild/applications/oauth2/6'),
  bob(teams.createTeam, 'POST /orgs/guild/teams', {
    name: 'crew',
    units_map: { 'repo.code': 'write' },
  }),
  bob(teams.editTeam, 'PATCH /teams/2', { description: 'Who is there' }),
  bob(teams.getTeam, 'GET /teams/2'),
  bob(teams.listOrganizationTeams, 'GET /orgs/guild/teams'),
  bob(teams.searchTeams, 'GET /orgs/guild/teams/search?q=crew'),
  bob(teams.addTeamMember, 'PUT /teams/2/members/carol'),
  bob(teams.listTeamMembers, 'GET /teams/2/members'),
  bob(teams.getTeamMember, 'GET /teams/2/members/carol'),
  by('carol', teams.listMyTeams, 'GET /user/teams'),
  bob(organizations.listOrganizationMembers, 'GET /orgs/guild/members'),
  bob(organizations.checkOrganizationMember, 'GET /orgs/guild/members/carol'),
  bob(organizations.publicizeMember, 'PUT /orgs/guild/public_members/bob'),
  bob(organizations.listPublicMembers, 'GET /orgs/guild/public_members'),
  bob(organizations.checkPublicMember, 'GET /orgs/guild/public_members/bob'),
  bob(organizations.concealMember, 'DELETE /orgs/guild/public_members/bob'),
  bob(labels.createOrganizationLabel, 'POST /orgs/guild/labels', { name: 'help', color: '00aabb' }),
  bob(labels.editOrganizationLabel, 'PATCH /orgs/guild/labels/1', { description: 'Wanted' }),
  bob(labels.getOrganizationLabel, 'GET /orgs/guild/labels/1'),
  bob(labels.listOrganizationLabels, 'GET /orgs/guild/labels'),
  bob(labels.deleteOrganizationLabel, 'DELETE /orgs/guild/labels/1'),
  // Repositories
  bob(repositories.createOrganizationRepository, 'POST /orgs/guild/repos', {
    name: 'engine',
    auto_init: true,
  }),
  bob(repositories.listOrganizationRepositories, 'GET /orgs/guild/repos'),
  bob(teams.addTeamRepository, 'PUT /teams/2/repos/guild/engine'),
  bob(teams.listTeamRepositories, 'GET /teams/2/repos'),
  bob(teams.getTeamRepository, 'GET /teams/2/repos/guild/engine'),
  bob(teams.listRepositoryTeams, 'GET /repos/guild/engine/teams'),
  bob(teams.getRepositoryTeam, 'GET /repos/guild/engine/teams/crew'),
  bob(teams.removeRepositoryTeam, 'DELETE /repos/guild/engine/teams/crew'),
  bob(teams.addRepositoryTeam, 'PUT /repos/guild/engine/teams/crew'),
  bob(teams.removeTeamRepository, 'DELETE /teams/2/repos/guild/engine'),
  bob(repositories.createUserRepository, 'POST /user/repos', {
    name: 'garden',
    description: 'Grows',
    auto_init: true,
  }),
  bob(repositories.editRepository, 'PATCH /repos/bob/garden', {
    website: 'https://garden.example.org',
  }),
  bob(repositories.getRepository, 'GET /repos/bob/garden'),
  bob(repositories.getRepositoryById, 'GET /repositories/2'),
  by('carol', stars.starRepository, 'PUT /user/starred/bob/garden'),
  by('carol', stars.checkStarredRepository, 'GET /user/starred/bob/garden'),
  by('carol', stars.listMyStarredRepositories, 'GET /user/starred'),
  bob(stars.listUserStarredRepositories, 'GET /users/carol/starred'),
  bob(stars.listStargazers, 'GET /repos/bob/garden/stargazers'),
  by('carol', stars.unstarRepository, 'DELETE /user/starred/bob/garden'),
  bob(repositories.searchRepositories, 'GET /repos/search?q=garden'),
  bob(repositories.listMyRepositories, 'GET /user/repos'),
  bob(repositories.listUserRepositories, 'GET /users/bob/repos'),
  bob(collaborators.addCollaborator, 'PUT /repos/bob/garden/collaborators/carol', {
    permission: 'write',
  }),
  bob(collaborators.listCollaborators, 'GET /repos/bob/garden/collaborators'),
  bob(collaborators.checkCollaborator, 'GET /repos/bob/garden/collaborators/carol'),
  bob(
    collaborators.getRepositoryPermission,
    'GET /repos/bob/garden/collaborators/carol/permission',
  ),
  bob(collaborators.listAssignees, 'GET /repos/bob/garden/assignees'),
  bob(collaborators.checkAssignee, 'GET /repos/bob/garden/assignees/carol'),
  bob(collaborators.listReviewers, 'GET /repos/bob/garden/reviewers'),
  bob(collaborators.deleteCollaborator, 'DELETE /repos/bob/garden/collaborators/carol'),
  // What is in them
  bob(contents.createFile, 'POST /repos/guild/engine/contents/plan.md', {
    content: base64('one\n'),
    new_branch: 'plan',
  }),
  bob(branchProtections.createBranchProtection, 'POST /repos/guild/engine/branch_protections', {
    rule_name: 'main',
    enable_status_check: true,
    status_check_contexts: ['ci'],
  }),
  bob(contents.createFile, 'POST /repos/bob/garden/contents/docs/plan.md', {
    content: base64('one\n'),
  }),
  bob(contents.getContents, 'GET /repos/bob/garden/contents/docs/plan.md'),
  bob(objects.getGitBlob, `GET /repos/bob/garden/git/blobs/${BLOB}`),
  bob(contents.updateFile, 'PUT /repos/bob/garden/contents/docs/plan.md', {
    content: base64('two\n'),
    sha: BLOB,
    new_branch: 'later',
  }),
  bob(contents.changeFiles, 'POST /repos/bob/garden/contents', {
    files: [{ operation: 'create', path: 'docs/list.md', content: base64('three\n') }],
    message: 'Write a list',
  }),
  bob(contents.deleteFile, 'DELETE /repos/bob/garden/contents/docs/plan.md', { sha: BLOB }),
  bob(commits.listCommits, 'GET /repos/bob/garden/commits'),
  bob(commits.getCommit, 'GET /repos/bob/garden/git/commits/main'),
  bob(commits.compareCommits, 'GET /repos/bob/garden/compare/main...later'),
  bob(branches.listBranches, 'GET /repos/bob/garden/branches'),
  bob(branches.getBranch, 'GET /repos/bob/garden/branches/main'),
  bob(branches.createBranch, 'POST /repos/bob/garden/branches', {
    new_branch_name: 'beds',
    old_ref_name: 'later',
  }),
  bob(branches.moveBranch, 'PUT /repos/bob/garden/branches/beds', {
    new_commit_id: 'main',
    force: true,
  }),
  bob(branches.renameBranch, 'PATCH /repos/bob/garden/branches/beds', { name: 'paths' }),
  bob(branches.deleteBranch, 'DELETE /repos/bob/garden/branches/paths'),
  bob(branchProtections.createBranchProtection, 'POST /repos/bob/garden/branch_protections', {
    rule_name: 'main',
    enable_push: true,
    enable_push_whitelist: true,
    push_whitelist_usernames: ['bob'],
    required_approvals: 1,
  }),
  bob(branchProtections.editBranchProtection, 'PATCH /repos/bob/garden/branch_protections/main', {
    enable_status_check: true,
    status_check_contexts: ['ci/*'],
  }),
  bob(
    branchProtections.reorderBranchProtections,
    'POST /repos/bob/garden/branch_protections/priority',
    { ids: [2] },
  ),
  bob(branchProtections.getBranchProtection, 'GET /repos/bob/garden/branch_protections/main'),
  bob(branchProtections.listBranchProtections, 'GET /repos/bob/garden/branch_protections'),
  bob(branchProtections.deleteBranchProtection, 'DELETE /repos/bob/garden/branch_protections/main'),
  by('ada', hooks.editGitHook, 'PATCH /repos/bob/garden/hooks/git/update', { content: 'exit 0\n' }),
  by('ada', hooks.getGitHook, 'GET /repos/bob/garden/hooks/git/update'),
  by('ada', hooks.listGitHooks, 'GET /repos/bob/garden/hooks/git'),
  by('ada', hooks.deleteGitHook, 'DELETE /repos/bob/garden/hooks/git/update'),
  bob(objects.listGitRefs, 'GET /repos/bob/garden/git/refs'),
  bob(objects.getGitTree, 'GET /repos/bob/garden/git/trees/main?recursive=true'),
  bob(tags.createTag, 'POST /repos/bob/garden/tags', { tag_name: 'v1', message: 'The first' }),
  bob(tags.listTags, 'GET /repos/bob/garden/tags'),
  bob(tags.getTag, 'GET /repos/bob/garden/tags/v1'),
  ({ tagObject }) =>
    step('bob', objects.getAnnotatedTag, `GET /repos/bob/garden/git/tags/${tagObject}`),
  bob(tags.deleteTag, 'DELETE /repos/bob/garden/tags/v1'),
  bob(tagProtections.createTagProtection, 'POST /repos/bob/garden/tag_protections', {
    name_pattern: 'v*',
    whitelist_usernames: ['bob'],
  }),
  bob(tagProtections.editTagProtection, 'PATCH /repos/bob/garden/tag_protections/1', {
    name_pattern: 'w*',
  }),
  bob(tagProtections.getTagProtection, 'GET /repos/bob/garden/tag_protections/1'),
  bob(tagProtections.listTagProtections, 'GET /repos/bob/garden/tag_protections'),
  bob(tagProtections.deleteTagProtection, 'DELETE /repos/bob/garden/tag_protections/1'),
  bob(statuses.createCommitStatus, 'POST /repos/bob/garden/statuses/main', {
    state: 'success',
    context: 'ci/build',
  }),
  bob(statuses.listCommitStatuses, 'GET /repos/bob/garden/statuses/main'),
  bob(statuses.getCombinedStatus, 'GET /repos/bob/garden/commits/main/status'),
  bob(releaseNotes.generateReleaseNotes, 'POST /repos/bob/garden/releases/generate-notes', {
    tag_name: 'spring',
  }),
  bob(releases.createRelease, 'POST /repos/bob/garden/releases', { tag_name: 'spring' }),
  bob(releases.deleteReleaseByTag, 'DELETE /repos/bob/garden/releases/tags/spring'),
  bob(releases.createRelease, 'POST /repos/bob/garden/releases', {
    tag_name: 'summer',
    name: 'Summer',
    draft: true,
  }),
  bob(releases.editRelease, 'PATCH /repos/bob/garden/releases/2', {
    body: 'In bloom',
    draft: false,
  }),
  bob(releases.createReleaseAsset, 'POST /repos/bob/garden/releases/2/assets?name=seeds', ['rose']),
  bob(releases.editReleaseAsset, 'PATCH /repos/bob/garden/releases/2/assets/1', {
    name: 'seeds.json',
  }),
  bob(releases.getReleaseAsset, 'GET /repos/bob/garden/releases/2/assets/1'),
  bob(releases.listReleaseAssets, 'GET /repos/bob/garden/releases/2/assets'),
  bob(releases.getRelease, 'GET /repos/bob/garden/releases/2'),
  bob(releases.getLatestRelease, 'GET /repos/bob/garden/releases/latest'),
  bob(releases.getReleaseByTag, 'GET /repos/bob/garden/releases/tags/summer'),
  bob(releases.listReleases, 'GET /repos/bob/garden/releases'),
  bob(releases.deleteReleaseAsset, 'DELETE /repos/bob/garden/releases/2/assets/1'),
  bob(releases.deleteRelease, 'DELETE /repos/bob/garden/releases/2'),
  // What is about them
  bob(labels.createRepositoryLabel, 'POST /repos/bob/garden/labels', {
    name: 'kind/bug',
    color: '#f00',
  }),
  bob(labels.editRepositoryLabel, 'PATCH /repos/bob/garden/labels/2', { exclusive: true }),
  bob(labels.getRepositoryLabel, 'GET /repos/bob/garden/labels/2'),
  bob(labels.listRepositoryLabels, 'GET /repos/bob/garden/labels'),
  bob(labels.deleteRepositoryLabel, 'DELETE /repos/bob/garden/labels/2'),
  bob(milestones.createMilestone, 'POST /repos/bob/garden/milestones', {
    title: 'harvest',
    due_on: '2026-09-01T12:00:00Z',
  }),
  bob(milestones.editMilestone, 'PATCH /repos/bob/garden/milestones/harvest', { state: 'closed' }),
  bob(milestones.getMilestone, 'GET /repos/bob/garden/milestones/1'),
  bob(milestones.listMilestones, 'GET /repos/bob/garden/milestones?state=all'),
  bob(milestones.deleteMilestone, 'DELETE /repos/bob/garden/milestones/1'),
  bob(languages.getRepositoryLanguages, 'GET /repos/bob/garden/languages'),
  bob(lfs.listLfsObjects, 'GET /repos/bob/garden/lfs/objects'),
  bob(lfs.listLfsLocks, 'GET /repos/bob/garden/lfs/locks'),
  bob(codeSearch.searchCode, 'GET /repos/bob/garden/code/search?q=three&path=docs'),
  bob(codeSearch.searchAllCode, 'GET /code/search?q=nothing-has-this'),
  bob(feeds.getActivityFeed, 'GET /repos/bob/garden/feeds/activity'),
  bob(feeds.getReleaseFeed, 'GET /repos/bob/garden/feeds/releases'),
  bob(feeds.getBranchFeed, 'GET /repos/bob/garden/feeds/branches/main'),
  bob(topics.replaceRepositoryTopics, 'PUT /repos/bob/garden/topics', { topics: ['flowers'] }),
  bob(topics.addRepositoryTopic, 'PUT /repos/bob/garden/topics/trees'),
  bob(topics.listRepositoryTopics, 'GET /repos/bob/garden/topics'),
  bob(topics.searchTopics, 'GET /topics/search?q=e'),
  bob(topics.removeRepositoryTopic, 'DELETE /repos/bob/garden/topics/flowers'),
  bob(topics.removeRepositoryTopic, 'DELETE /repos/bob/garden/topics/trees'),
  bob(deployKeys.createDeployKey, 'POST /repos/bob/garden/keys', {
    title: 'ci',
    key: DEPLOY_KEY,
    read_only: true,
  }),
  bob(deployKeys.getDeployKey, 'GET /repos/bob/garden/keys/1'),
  bob(deployKeys.listDeployKeys, 'GET /repos/bob/garden/keys'),
  bob(deployKeys.deleteDeployKey, 'DELETE /repos/bob/garden/keys/1'),
  // Inactive, so that nothing is sent
  bob(webhooks.createRepositoryHook, 'POST /repos/bob/garden/hooks', {
    type: 'gitea',
    config: { url: 'http://127.0.0.1/in', content_type: 'json', secret: 'seed' },
    events: ['push', 'pull_request'],
  }),
  bob(webhooks.editRepositoryHook, 'PATCH /repos/bob/garden/hooks/1', { branch_filter: 'main' }),
  bob(webhooks.getRepositoryHook, 'GET /repos/bob/garden/hooks/1'),
  bob(webhooks.listRepositoryHooks, 'GET /repos/bob/garden/hooks'),
  bob(webhooks.testRepositoryHook, 'POST /repos/bob/garden/hooks/1/tests'),
  bob(webhooks.listRepositoryHookDeliveries, 'GET /repos/bob/garden/hooks/1/deliveries'),
  bob(webhooks.deleteRepositoryHook, 'DELETE /repos/bob/garden/hooks/1'),
  bob(organizationHooks.createOrganizationHook, 'POST /orgs/guild/hooks', {
    type: 'slack',
    config: { url: 'http://127.0.0.1/in', content_type: 'json', channel: '#tulips' },
    events: ['repository'],
  }),
  bob(organizationHooks.editOrganizationHook, 'PATCH /orgs/guild/hooks/2', {
    config: { color: '#0f0' },
  }),
  bob(organizationHooks.getOrganizationHook, 'GET /orgs/guild/hooks/2'),
  bob(organizationHooks.listOrganizationHooks, 'GET /orgs/guild/hooks'),
  bob(organizationHooks.listOrganizationHookDeliveries, 'GET /orgs/guild/hooks/2/deliveries'),
  bob(organizationHooks.deleteOrganizationHook, 'DELETE /orgs/guild/hooks/2'),
  bob(userHooks.createUserHook, 'POST /user/hooks', {
    type: 'slack',
    config: { url: 'http://127.0.0.1/in', content_type: 'json', channel: '#tulips' },
    events: ['repository'],
  }),
  bob(userHooks.editUserHook, 'PATCH /user/hooks/3', { config: { color: '#0f0' } }),
  bob(userHooks.getUserHook, 'GET /user/hooks/3'),
  bob(userHooks.listUserHooks, 'GET /user/hooks'),
  bob(userHooks.listUserHookDeliveries, 'GET /user/hooks/3/deliveries'),
  bob(userHooks.deleteUserHook, 'DELETE /user/hooks/3'),
  by('ada', systemHooks.createSystemHook, 'POST /admin/hooks', {
    type: 'slack',
    config: { url: 'http://127.0.0.1/in', content_type: 'json', channel: '#tulips' },
    events: ['repository'],
  }),
  by('ada', systemHooks.editSystemHook, 'PATCH /admin/hooks/4', { config: { color: '#0f0' } }),
  by('ada', systemHooks.getSystemHook, 'GET /admin/hooks/4'),
  by('ada', systemHooks.listSystemHooks, 'GET /admin/hooks'),
  by('ada', systemHooks.listSystemHookDeliveries, 'GET /admin/hooks/4/deliveries'),
  by('ada', systemHooks.deleteSystemHook, 'DELETE /admin/hooks/4'),
  // A pull request, its reviews, and its merge
  bob(pulls.createPullRequest, 'POST /repos/guild/engine/pulls', {
    head: 'plan',
    base: 'main',
    title: 'Make a plan',
    reviewers: ['carol'],
  }),
  bob(pulls.editPullRequest, 'PATCH /repos/guild/engine/pulls/1', {
    body: 'One is enough.',
    assignees: ['bob'],
    due_date: '2026-09-01T12:00:00Z',
  }),
  bob(pulls.listPullRequests, 'GET /repos/guild/engine/pulls'),
  bob(pulls.getPullRequestByBranches, 'GET /repos/guild/engine/pulls/main/plan'),
  bob(pullFiles.listPullRequestCommits, 'GET /repos/guild/engine/pulls/1/commits'),
  bob(pullFiles.listPullRequestFiles, 'GET /repos/guild/engine/pulls/1/files'),
  bob(reviews.withdrawReviewRequests, 'DELETE /repos/guild/engine/pulls/1/requested_reviewers', {
    reviewers: ['carol'],
  }),
  bob(reviews.requestReviewers, 'POST /repos/guild/engine/pulls/1/requested_reviewers', {
    reviewers: ['carol'],
  }),
  by('carol', reviews.createReview, 'POST /repos/guild/engine/pulls/1/reviews', {
    body: 'Too much to say',
  }),
  by('carol', reviews.deleteReview, 'DELETE /repos/guild/engine/pulls/1/reviews/3'),
  by('carol', reviews.createReview, 'POST /repos/guild/engine/pulls/1/reviews', {
    body: 'A question',
    comments: [{ path: 'plan.md', body: 'Why one?', new_position: 1 }],
  }),
  by('carol', reviews.createReviewComment, 'POST /repos/guild/engine/pulls/1/reviews/4/comments', {
    path: 'plan.md',
    body: 'And then?',
    new_position: 1,
  }),
  by('carol', reviews.submitReview, 'POST /repos/guild/engine/pulls/1/reviews/4', {
    event: 'APPROVED',
    body: 'Good',
  }),
  bob(reviews.replyToReviewComment, 'POST /repos/guild/engine/pulls/1/comments/2/replies', {
    body: 'Then two.',
  }),
  bob(reviews.resolveReviewComment, 'POST /repos/guild/engine/pulls/comments/2/resolve'),
  bob(reviews.getReviewComment, 'GET /repos/guild/engine/pulls/1/reviews/4/comments/2'),
  bob(reviews.unresolveReviewComment, 'POST /repos/guild/engine/pulls/comments/2/unresolve'),
  bob(reviews.listReviewComments, 'GET /repos/guild/engine/pulls/1/reviews/4/comments'),
  by('carol', reviews.editReviewComment, 'PATCH /repos/guild/engine/pulls/1/reviews/4/comments/2', {
    body: 'And what then?\n\n```suggestion\nTwo.\n```',
  }),
  bob(reviews.listReviewCommentEdits, 'GET /repos/guild/engine/pulls/1/reviews/4/comments/2/edits'),
  bob(
    reviews.deleteReviewCommentEdit,
    'DELETE /repos/guild/engine/pulls/1/reviews/4/comments/2/edits/1',
  ),
  bob(viewedFiles.markFilesViewed, 'PUT /repos/guild/engine/pulls/1/viewed_files', {
    paths: ['plan.md'],
  }),
  bob(suggestions.applySuggestions, 'POST /repos/guild/engine/pulls/1/suggestions', {
    comments: [2],
  }),
  bob(viewedFiles.listViewedFiles, 'GET /repos/guild/engine/pulls/1/viewed_files'),
  bob(viewedFiles.unmarkFilesViewed, 'DELETE /repos/guild/engine/pulls/1/viewed_files', {
    paths: ['plan.md'],
  }),
  bob(reviews.deleteReviewComment, 'DELETE /repos/guild/engine/pulls/1/reviews/4/comments/2'),
  bob(reviews.dismissReview, 'POST /repos/guild/engine/pulls/1/reviews/4/dismissals', {
    message: 'Not so fast',
  }),
  bob(reviews.undismissReview, 'POST /repos/guild/engine/pulls/1/reviews/4/undismissals'),
  bob(reviews.getReview, 'GET /repos/guild/engine/pulls/1/reviews/4'),
  bob(reviews.listReviews, 'GET /repos/guild/engine/pulls/1/reviews'),
  bob(labels.createRepositoryLabel, 'POST /repos/guild/engine/labels', {
    name: 'kind/plan',
    color: '#0f0',
  }),
  bob(issues.addIssueLabels, 'POST /repos/guild/engine/issues/1/labels', { labels: ['kind/plan'] }),
  bob(issues.replaceIssueLabels, 'PUT /repos/guild/engine/issues/1/labels', { labels: [3] }),
  bob(issues.listIssueLabels, 'GET /repos/guild/engine/issues/1/labels'),
  bob(issues.removeIssueLabel, 'DELETE /repos/guild/engine/issues/1/labels/3'),
  bob(issues.clearIssueLabels, 'DELETE /repos/guild/engine/issues/1/labels'),
  bob(issues.editIssue, 'PATCH /repos/guild/engine/issues/1', { title: 'Make one plan' }),
  bob(issues.listIssues, 'GET /repos/guild/engine/issues?type=pulls&state=all'),
  bob(issues.searchIssues, 'GET /repos/issues/search?type=pulls&created=true'),
  bob(issues.getIssue, 'GET /repos/guild/engine/issues/1'),
  bob(pulls.createPullRequest, 'POST /repos/guild/engine/pulls', {
    title: 'Take what is new',
    body: 'Before it is planned any further.',
    head: 'main',
    base: 'plan',
    reviewers: ['carol'],
    assignees: ['bob'],
    due_date: '2026-09-01T12:00:00Z',
  }),
  bob(issues.addIssueDependency, 'POST /repos/guild/engine/issues/1/dependencies', { index: 2 }),
  bob(issues.listIssueDependencies, 'GET /repos/guild/engine/issues/1/dependencies'),
  bob(issues.removeIssueDependency, 'DELETE /repos/guild/engine/issues/1/dependencies', {
    index: 2,
  }),
  by('carol', issueComments.createIssueComment, 'POST /repos/guild/engine/issues/1/comments', {
    body: 'Why not two?',
  }),
  by('carol', issueComments.editIssueComment, 'PATCH /repos/guild/engine/issues/comments/1', {
    body: 'Why not three?',
  }),
  bob(issueComments.getIssueComment, 'GET /repos/guild/engine/issues/comments/1'),
  bob(issueComments.listIssueComments, 'GET /repos/guild/engine/issues/1/comments'),
  bob(issueComments.listCommentEdits, 'GET /repos/guild/engine/issues/comments/1/edits'),
  bob(issueComments.deleteCommentEdit, 'DELETE /repos/guild/engine/issues/comments/1/edits/1'),
  bob(issueComments.listRepositoryComments, 'GET /repos/guild/engine/issues/comments?limit=5'),
  bob(reactions.createIssueReaction, 'POST /repos/guild/engine/issues/1/reactions', {
    content: 'heart',
  }),
  bob(reactions.listIssueReactions, 'GET /repos/guild/engine/issues/1/reactions'),
  bob(conversations.getConversation, 'GET /repos/guild/engine/issues/1/conversation'),
  bob(reactions.countReactions, 'GET /repos/guild/engine/issues/1/reaction_counts'),
  bob(reactions.deleteIssueReaction, 'DELETE /repos/guild/engine/issues/1/reactions', {
    content: 'heart',
  }),
  bob(
    reactions.createIssueCommentReaction,
    'POST /repos/guild/engine/issues/comments/1/reactions',
    { content: '+1' },
  ),
  bob(reactions.listIssueCommentReactions, 'GET /repos/guild/engine/issues/comments/1/reactions'),
  bob(
    reactions.deleteIssueCommentReaction,
    'DELETE /repos/guild/engine/issues/comments/1/reactions',
    { content: '+1' },
  ),
  bob(issues.lockIssue, 'PUT /repos/guild/engine/issues/1/lock', { lock_reason: 'Resolved' }),
  bob(issues.unlockIssue, 'DELETE /repos/guild/engine/issues/1/lock'),
  bob(issues.listIssueTimeline, 'GET /repos/guild/engine/issues/1/timeline?limit=2'),
  bob(attachments.createIssueAttachment, 'POST /repos/guild/engine/issues/1/assets?name=plan', [
    'a',
  ]),
  bob(attachments.getIssueAttachment, 'GET /repos/guild/engine/issues/1/assets/1'),
  bob(attachments.editIssueAttachment, 'PATCH /repos/guild/engine/issues/1/assets/1', {
    name: 'plan.json',
  }),
  bob(attachments.listIssueAttachments, 'GET /repos/guild/engine/issues/1/assets'),
  bob(attachments.deleteIssueAttachment, 'DELETE /repos/guild/engine/issues/1/assets/1'),
  by(
    'carol',
    attachments.createIssueCommentAttachment,
    'POST /repos/guild/engine/issues/comments/1/assets?name=map',
    ['b'],
  ),
  bob(attachments.getIssueCommentAttachment, 'GET /repos/guild/engine/issues/comments/1/assets/2'),
  by(
    'carol',
    attachments.editIssueCommentAttachment,
    'PATCH /repos/guild/engine/issues/comments/1/assets/2',
    { name: 'map.json' },
  ),
  bob(attachments.listIssueCommentAttachments, 'GET /repos/guild/engine/issues/comments/1/assets'),
  by(
    'carol',
    attachments.deleteIssueCommentAttachment,
    'DELETE /repos/guild/engine/issues/comments/1/assets/2',
  ),
  by('carol', attachments.createIssueUpload, 'POST /repos/guild/engine/issue_uploads?name=late', [
    'c',
  ]),
  by('carol', issueComments.deleteIssueComment, 'DELETE /repos/guild/engine/issues/comments/1'),
  by('carol', subscriptions.setRepositorySubscription, 'PUT /repos/guild/engine/subscription'),
  by('carol', subscriptions.getRepositorySubscription, 'GET /repos/guild/engine/subscription'),
  by('carol', repositories.getViewerState, 'GET /repos/guild/engine/viewer'),
  bob(subscriptions.listRepositorySubscribers, 'GET /repos/guild/engine/subscribers'),
  by('carol', subscriptions.listMySubscriptions, 'GET /user/subscriptions'),
  bob(subscriptions.listUserSubscriptions, 'GET /users/carol/subscriptions'),
  by(
    'carol',
    subscriptions.deleteRepositorySubscription,
    'DELETE /repos/guild/engine/subscription',
  ),
  by(
    'ada',
    subscriptions.addIssueSubscription,
    'PUT /repos/guild/engine/issues/1/subscriptions/ada',
  ),
  bob(subscriptions.listIssueSubscribers, 'GET /repos/guild/engine/issues/1/subscriptions'),
  by(
    'ada',
    subscriptions.checkIssueSubscription,
    'GET /repos/guild/engine/issues/1/subscriptions/check',
  ),
  by(
    'ada',
    subscriptions.deleteIssueSubscription,
    'DELETE /repos/guild/engine/issues/1/subscriptions/ada',
  ),
  bob(notifications.listNotificationThreads, 'GET /notifications?all=true'),
  bob(notifications.getNotificationThread, 'GET /notifications/threads/3'),
  bob(notifications.listRepositoryNotificationThreads, 'GET /repos/guild/engine/notifications'),
  bob(notifications.markNotificationThread, 'PATCH /notifications/threads/3'),
  bob(notifications.getNotificationCount, 'GET /notifications/new'),
  bob(
    notifications.markRepositoryNotificationThreads,
    'PUT /repos/guild/engine/notifications?all=true&to-status=unread',
  ),
  bob(notifications.markNotificationThreads, 'PUT /notifications'),
  bob(pullMerges.updatePullRequestHead, 'POST /repos/guild/engine/pulls/1/update'),
  bob(pullStacks.restackPullRequests, 'POST /repos/guild/engine/pulls/1/restack'),
  bob(pullMerges.listMergeMessages, 'GET /repos/guild/engine/pulls/1/merge/messages'),
  bob(pullMerges.mergePullRequest, 'POST /repos/guild/engine/pulls/1/merge', {
    merge_when_checks_succeed: true,
  }),
  bob(pullMerges.cancelAutoMerge, 'DELETE /repos/guild/engine/pulls/1/merge'),
  bob(branchProtections.editBranchProtection, 'PATCH /repos/guild/engine/branch_protections/main', {
    enable_merge_queue: true,
    merge_queue_only_contexts: ['ci'],
    merge_queue_wait_seconds: 3600,
  }),
  bob(mergeQueues.enqueuePullRequest, 'POST /repos/guild/engine/pulls/1/merge_queue', {}),
  bob(mergeQueues.getMergeQueue, 'GET /repos/guild/engine/merge_queue/main'),
  bob(mergeQueues.dequeuePullRequest, 'DELETE /repos/guild/engine/pulls/1/merge_queue'),
  bob(mergeQueues.getMergeQueueEntry, 'GET /repos/guild/engine/pulls/1/merge_queue'),
  bob(branchProtections.editBranchProtection, 'PATCH /repos/guild/engine/branch_protections/main', {
    enable_merge_queue: false,
  }),
  bob(pullMerges.mergePullRequest, 'POST /repos/guild/engine/pulls/1/merge', {
    Do: 'squash',
    force_merge: true,
  }),
  bob(pullMerges.checkPullRequestMerged, 'GET /repos/guild/engine/pulls/1/merge'),
  bob(pulls.getPullRequest, 'GET /repos/guild/engine/pulls/1'),
  bob(pullFiles.getCommitPullRequest, 'GET /repos/guild/engine/commits/main/pull'),
  bob(issues.batchEditIssues, 'POST /repos/guild/engine/issues:batchEdit', {
    numbers: [99],
    state: 'open',
  }),
  bob(issues.createIssue, 'POST /repos/guild/engine/issues', {
    title: 'The plan has a gap',
    body: 'Between the first step and the third one.',
    labels: ['kind/plan'],
  }),
  bob(issues.addIssueAssignees, 'POST /repos/guild/engine/issues/3/assignees', {
    assignees: ['bob'],
  }),
  bob(issues.checkIssueAssignee, 'GET /repos/guild/engine/issues/3/assignees/bob'),
  bob(issues.setIssueDeadline, 'POST /repos/guild/engine/issues/3/deadline', {
    due_date: '2026-09-01T12:00:00Z',
  }),
  bob(issues.addIssueBlock, 'POST /repos/guild/engine/issues/3/blocks', { index: 2 }),
  bob(issues.listIssueBlocks, 'GET /repos/guild/engine/issues/3/blocks'),
  bob(issuePins.pinIssue, 'POST /repos/guild/engine/issues/3/pin'),
  bob(issuePins.moveIssuePin, 'PATCH /repos/guild/engine/issues/3/pin/2'),
  bob(issuePins.listPinnedIssues, 'GET /repos/guild/engine/issues/pinned'),
  bob(issueQueries.findSimilarIssues, 'POST /repos/guild/engine/similar_issues', {
    title: 'no like',
    body: '',
  }),
  bob(issuePins.unpinIssue, 'DELETE /repos/guild/engine/issues/3/pin'),
  bob(issuePins.pinIssue, 'POST /repos/guild/engine/issues/2/pin'),
  bob(issuePins.listPinnedPullRequests, 'GET /repos/guild/engine/pulls/pinned'),
  bob(issuePins.unpinIssue, 'DELETE /repos/guild/engine/issues/2/pin'),
  bob(issuePins.getNewPinAllowed, 'GET /repos/guild/engine/new_pin_allowed'),
  bob(
    issueQueries.queryIssues,
    'GET /repos/guild/engine/issues:query?query=label:kind/plan&facets=labels,states',
  ),
  bob(
    issueQueries.explainIssueQuery,
    'GET /repos/guild/engine/issue_query?query=is:open+(label:kind/*+OR+-plan)&position=5',
  ),
  bob(issueViews.createIssueView, 'POST /repos/guild/engine/issue_views', {
    name: 'Plans',
    query: 'is:open label:kind/plan',
  }),
  bob(issueViews.editIssueView, 'PATCH /repos/guild/engine/issue_views/1', { name: 'Open plans' }),
  bob(issueViews.getIssueView, 'GET /repos/guild/engine/issue_views/1'),
  bob(issueViews.listIssueViews, 'GET /repos/guild/engine/issue_views'),
  bob(issueViews.deleteIssueView, 'DELETE /repos/guild/engine/issue_views/1'),
  bob(issueViews.createUserIssueView, 'POST /user/issue_views', {
    name: 'Mine',
    query: 'author:@me',
  }),
  bob(issueViews.editUserIssueView, 'PATCH /user/issue_views/2', { query: 'assignee:@me' }),
  bob(issueViews.getUserIssueView, 'GET /user/issue_views/2'),
  bob(issueViews.listUserIssueViews, 'GET /user/issue_views'),
  bob(issueViews.deleteUserIssueView, 'DELETE /user/issue_views/2'),
  bob(issueTemplates.listIssueTemplates, 'GET /repos/guild/engine/issue_templates'),
  bob(issueTemplates.getIssueConfig, 'GET /repos/guild/engine/issue_config'),
  bob(issueTemplates.validateIssueConfig, 'GET /repos/guild/engine/issue_config/validate'),
  bob(issueTemplates.renderIssueTemplate, 'POST /repos/guild/engine/issue_templates/render', {}),
  bob(trackedTimes.listIssueTrackedTimes, 'GET /repos/guild/engine/issues/3/times'),
  bob(trackedTimes.addTrackedTime, 'POST /repos/guild/engine/issues/3/times', { time: 60 }),
  bob(trackedTimes.resetTrackedTimes, 'DELETE /repos/guild/engine/issues/3/times'),
  bob(trackedTimes.deleteTrackedTime, 'DELETE /repos/guild/engine/issues/3/times/1'),
  bob(trackedTimes.listRepositoryTrackedTimes, 'GET /repos/guild/engine/times'),
  bob(trackedTimes.listUserTrackedTimes, 'GET /repos/guild/engine/times/bob'),
  bob(trackedTimes.listMyTrackedTimes, 'GET /user/times'),
  bob(stopwatches.startStopwatch, 'POST /repos/guild/engine/issues/3/stopwatch/start'),
  bob(stopwatches.stopStopwatch, 'POST /repos/guild/engine/issues/3/stopwatch/stop'),
  bob(stopwatches.deleteStopwatch, 'DELETE /repos/guild/engine/issues/3/stopwatch/delete'),
  bob(stopwatches.listMyStopwatches, 'GET /user/stopwatches'),
  bob(issues.removeIssueBlock, 'DELETE /repos/guild/engine/issues/3/blocks', { index: 2 }),
  bob(issues.removeIssueAssignees, 'DELETE /repos/guild/engine/issues/3/assignees', {
    assignees: ['bob'],
  }),
  bob(issues.createIssue, 'POST /repos/guild/engine/issues', { title: 'About the garden' }),
  bob(issueExchange.importIssues, 'POST /repos/bob/garden/issue_import', {
    records: [{ kind: 'issue', number: 50, title: 'From elsewhere', user: { login: 'mole' } }],
  }),
  bob(issueExchange.getIssueImport, 'GET /repos/bob/garden/issue_import/1'),
  bob(issueExchange.exportIssues, 'GET /repos/bob/garden/issue_export'),
  bob(subIssues.addSubIssue, 'POST /repos/guild/engine/issues/3/sub_issues', { index: 4 }),
  bob(subIssues.listSubIssues, 'GET /repos/guild/engine/issues/3/sub_issues'),
  bob(subIssues.getParentIssue, 'GET /repos/guild/engine/issues/4/parent'),
  bob(subIssues.moveSubIssue, 'PATCH /repos/guild/engine/issues/3/sub_issues/1', { index: 4 }),
  bob(subIssues.removeSubIssue, 'DELETE /repos/guild/engine/issues/3/sub_issues', { index: 4 }),
  bob(issueTransfers.transferIssue, 'POST /repos/guild/engine/issues/4:transfer', {
    owner: 'bob',
    repo: 'garden',
    confirm_public: true,
  }),
  bob(issues.deleteIssue, 'DELETE /repos/guild/engine/issues/3'),
  // Copies, and what becomes of it all
  by('carol', forks.createFork, 'POST /repos/bob/garden/forks', { name: 'patch' }),
  bob(forks.listForks, 'GET /repos/bob/garden/forks'),
  by('carol', forks.mergeUpstream, 'POST /repos/carol/patch/merge-upstream', { branch: 'main' }),
  ({ upstream }) =>
    step('bob', mirrors.migrateRepository, 'POST /repos/migrate', {
      clone_addr: upstream,
      repo_name: 'mirror',
      mirror: true,
    }),
  bob(mirrors.syncMirror, 'POST /repos/bob/mirror/mirror-sync'),
  bob(maintenance.requestRepositoryMaintenance, 'POST /repos/bob/garden/maintenance', {
    steps: ['refs'],
  }),
  by('ada', maintenance.purgeRepositoryObjects, 'POST /repos/bob/garden/maintenance/purge'),
  bob(mirrors.listPushMirrors, 'GET /repos/bob/garden/push_mirrors'),
  bob(mirrors.createPushMirror, 'POST /repos/bob/garden/push_mirrors', {
    remote_address: 'http://127.0.0.1:1/garden.git',
    interval: '8h',
  }),
  bob(mirrors.syncPushMirrors, 'POST /repos/bob/garden/push_mirrors-sync'),
  bob(contents.createFile, 'POST /repos/bob/garden/contents/.editorconfig', {
    content: base64('[*.md]\nindent_style = space\nindent_size = 2\n'),
  }),
  bob(contents.getEditorConfig, 'GET /repos/bob/garden/editorconfig/docs/plan.md'),
  bob(contents.listFilePaths, 'GET /repos/bob/garden/file_paths'),
  bob(contents.getBlame, 'GET /repos/bob/garden/blame/.editorconfig'),
  bob(contents.createFile, 'POST /repos/bob/garden/contents/CODEOWNERS', {
    content: base64('docs/.* @bob @nobody\n*.md @bob\n'),
  }),
  bob(reviews.listCodeOwnerErrors, 'GET /repos/bob/garden/codeowners/errors'),
  bob(repositories.transferRepository, 'POST /repos/bob/garden/transfer', { new_owner: 'carol' }),
  by('carol', repositories.rejectRepositoryTransfer, 'POST /repos/bob/garden/transfer/reject'),
  bob(repositories.transferRepository, 'POST /repos/bob/mirror/transfer', { new_owner: 'carol' }),
  by('carol', repositories.acceptRepositoryTransfer, 'POST /repos/bob/mirror/transfer/accept'),
  bob(repositories.deleteRepository, 'DELETE /repos/guild/engine'),
  bob(teams.removeTeamMember, 'DELETE /teams/2/members/carol'),
  bob(teams.deleteTeam, 'DELETE /teams/2'),
  bob(organizations.removeOrganizationMember, 'DELETE /orgs/guild/members/carol'),
  bob(organizations.deleteOrganization, 'DELETE /orgs/guild'),
  by('ada', admin.adminCreateOrganization, 'POST /admin/users/carol/orgs', { username: 'club' }),
  by('ada', admin.adminCreateRepository, 'POST /admin/users/carol/repos', {
    name: 'shed',
    auto_init: true,
    template: true,
  }),
  by('carol', repositories.generateRepository, 'POST /repos/carol/shed/generate', {
    owner: 'carol',
    name: 'plot',
    git_content: true,
  }),
]

/**
 * Methods whose answers are no JSON, or that take what only another program can make, or that an
 * event must precede.
 */
export const UNTOLD: readonly DescMethod[] = [
  applications.revokeOAuth2Grant,
  webhooks.getRepositoryHookDelivery,
  webhooks.redeliverRepositoryHookDelivery,
  organizationHooks.getOrganizationHookDelivery,
  organizationHooks.redeliverOrganizationHookDelivery,
  userHooks.getUserHookDelivery,
  userHooks.redeliverUserHookDelivery,
  systemHooks.getSystemHookDelivery,
  systemHooks.redeliverSystemHookDelivery,
  ...Object.values(MarkupService.method),
  mirrors.getPushMirror,
  mirrors.deletePushMirror,
  // Estimates from a sample, and the times of steps.
  maintenance.getRepositoryMaintenance,
  // An object comes over the protocol of Git LFS.
  lfs.deleteLfsObject,
  commits.getCommitDiff,
  commits.getComparisonDiff,
  // Hundreds of licences, which a new version of the package changes.
  templates.listLicenseTemplates,
  contents.getRawFile,
  contents.getArchive,
  issueTemplates.getPullRequestTemplate,
  emails.addUserEmails,
  emails.verifyUserEmail,
  gpgKeys.verifyGpgKey,
  pullFiles.getPullRequestDiff,
  releases.getAttachment,
  attachments.downloadAttachment,
  RepositoryEventService.method.watchRepository,
  // How far an import is differs from run to run.
  ...Object.values(ImportService.method),
  ...Object.values(IssueEventService.method),
  ServerService.method.getSigningKey,
]

function bob(method: DescMethod, request: string, body?: JsonValue): () => Step {
  return by('bob', method, request, body)
}

function by(who: Step['who'], method: DescMethod, request: string, body?: JsonValue): () => Step {
  return () => step(who, method, request, body)
}

/** @param request verb and path. */
function step(who: Step['who'], method: DescMethod, request: string, body?: JsonValue): Step {
  const [verb = '', path = ''] = request.split(' ')
  return { method, who, verb, path, ...(body !== undefined && { body }) }
}
