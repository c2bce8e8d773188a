import { create, type DescMethod, type Message, type MessageInitShape } from '@bufbuild/protobuf'
import { AccessTokenService } from '#gen/branchline/v1/access_token_service_pb.ts'
import { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import { AdminService } from '#gen/branchline/v1/admin_service_pb.ts'
import { CodeSearchService } from '#gen/branchline/v1/code_search_service_pb.ts'
import { FollowService } from '#gen/branchline/v1/follow_service_pb.ts'
import { GpgKeyService } from '#gen/branchline/v1/gpg_key_service_pb.ts'
import { ImportService } from '#gen/branchline/v1/import_service_pb.ts'
import { InstanceService } from '#gen/branchline/v1/instance_service_pb.ts'
import { IssueEventService } from '#gen/branchline/v1/issue_event_service_pb.ts'
import { IssueService } from '#gen/branchline/v1/issue_service_pb.ts'
import { IssueViewService } from '#gen/branchline/v1/issue_view_service_pb.ts'
import { LfsService } from '#gen/branchline/v1/lfs_service_pb.ts'
import { MaintenanceService } from '#gen/branchline/v1/maintenance_service_pb.ts'
import { MarkupService } from '#gen/branchline/v1/markup_service_pb.ts'
import { MirrorService } from '#gen/branchline/v1/mirror_service_pb.ts'
import { NotificationService } from '#gen/branchline/v1/notification_service_pb.ts'
import { OAuth2ApplicationService } from '#gen/branchline/v1/oauth2_application_service_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { PublicKeyService } from '#gen/branchline/v1/public_key_service_pb.ts'
import { QuotaGroupService } from '#gen/branchline/v1/quota_group_service_pb.ts'
import { QuotaService } from '#gen/branchline/v1/quota_service_pb.ts'
import { ReleaseService } from '#gen/branchline/v1/release_service_pb.ts'
import { RepositoryService } from '#gen/branchline/v1/repository_service_pb.ts'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { SshService } from '#gen/branchline/v1/ssh_service_pb.ts'
import { StarService } from '#gen/branchline/v1/star_service_pb.ts'
import { StopwatchService } from '#gen/branchline/v1/stopwatch_service_pb.ts'
import { SubscriptionService } from '#gen/branchline/v1/subscription_service_pb.ts'
import { SystemHookService } from '#gen/branchline/v1/system_hook_service_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { TemplateService } from '#gen/branchline/v1/template_service_pb.ts'
import { TopicService } from '#gen/branchline/v1/topic_service_pb.ts'
import { TrackedTimeService } from '#gen/branchline/v1/tracked_time_service_pb.ts'
import { UserEmailService } from '#gen/branchline/v1/user_email_service_pb.ts'
import { UserHookService } from '#gen/branchline/v1/user_hook_service_pb.ts'
import type { AccountNeeds } from './model.ts'

/**
 * A method about the caller's own things, the instance, or nothing in particular, and a call that
 * changes nothing.
 */
export interface AccountRow {
  readonly method: DescMethod
  readonly needs: AccountNeeds
  /** It asks for what is not there, or for what nobody gets. */
  readonly request: Message
  /** Whether the call takes away the token that it is made by. */
  readonly endsToken: boolean
}

const NOBODY = 'nobody-of-that-name'
const NO_NUMBER = 999_999n

const anybody: AccountNeeds = { signedIn: false, scopes: [] }
const signedIn: AccountNeeds = { ...anybody, signedIn: true }
const readers: AccountNeeds = { ...signedIn, scopes: ['read:user'] }
const owners: AccountNeeds = { ...readers, privateData: true }
const writers: AccountNeeds = { ...owners, scopes: ['write:user'] }
const followers: AccountNeeds = { ...readers, scopes: ['write:user'] }
const visitors: AccountNeeds = { ...anybody, scopes: ['read:user'] }
const administrators: AccountNeeds = {
  ...signedIn,
  scopes: ['write:admin'],
  byAdministrators: true,
}
/** Webhooks also receive data of repositories. */
const hookWriters: AccountNeeds = { ...writers, scopes: ['write:user', 'read:repository'] }
const administratorsWhoLook: AccountNeeds = { ...administrators, scopes: ['read:admin'] }
const byPassword: AccountNeeds = { ...signedIn, byPassword: true }
const ofOrganizations: AccountNeeds = { ...anybody, scopes: ['read:organization'] }
const notified: AccountNeeds = { ...signedIn, scopes: ['read:notification'] }
const marking: AccountNeeds = { ...signedIn, scopes: ['write:notification'] }
const ofRepositories: AccountNeeds = { ...anybody, scopes: ['read:repository'] }

const accounts = AccountService.method
const tokens = AccessTokenService.method
const admin = AdminService.method
const gpgKeys = GpgKeyService.method
const publicKeys = PublicKeyService.method
const applications = OAuth2ApplicationService.method
const organizations = OrganizationService.method
const repositories = RepositoryService.method
const userHooks = UserHookService.method
const issueViews = IssueViewService.method
const subscriptions = SubscriptionService.method
const notifications = NotificationService.method
const systemHooks = SystemHookService.method
const follows = FollowService.method
const stars = StarService.method
const emails = UserEmailService.method
const quotas = QuotaService.method
const quotaGroups = QuotaGroupService.method

export const ACCOUNT_ROWS: readonly AccountRow[] = [
  row(ServerService.method.getVersion, anybody),
  row(ServerService.method.getSigningKey, anybody),
  ...Object.values(TemplateService.method).map((method) => row(method, anybody)),
  ...Object.values(MarkupService.method).map((method) => row(method, signedIn)),
  ...Object.values(InstanceService.method).map((method) => row(method, anybody)),

  row(accounts.getAuthenticatedAccount, readers),
  row(accounts.getAccountSettings, owners),
  row(accounts.updateAccountSettings, writers, { location: 'x'.repeat(51) }),
  row(accounts.searchAccounts, readers),
  row(accounts.listBlockedUsers, owners),
  row(accounts.checkBlockedUser, owners, { username: NOBODY }),
  row(accounts.blockUser, writers, { username: NOBODY }),
  row(accounts.unblockUser, writers, { username: NOBODY }),

  row(TrackedTimeService.method.listMyTrackedTimes, owners),
  row(StopwatchService.method.listMyStopwatches, owners),

  row(emails.listUserEmails, owners),
  row(emails.addUserEmails, writers),
  row(emails.deleteUserEmails, writers),
  row(emails.verifyUserEmail, writers, { token: 'none' }),
  row(follows.listMyFollowers, readers),
  row(follows.listMyFollowing, readers),
  row(follows.checkFollowing, readers, { username: NOBODY }),
  row(follows.followUser, followers, { username: NOBODY }),
  row(follows.unfollowUser, followers, { username: NOBODY }),
  row(follows.listUserFollowers, visitors, { username: 'bob' }),
  row(follows.listUserFollowing, visitors, { username: 'bob' }),
  row(follows.checkUserFollowing, visitors, { username: 'bob', target: NOBODY }),

  row(tokens.listAccessTokens, byPassword, { username: 'bob' }),
  row(tokens.createAccessToken, byPassword, { username: 'bob' }),
  row(tokens.deleteAccessToken, byPassword, { username: 'bob', token: '0' }),
  row(tokens.getCurrentAccessToken, signedIn),
  { ...row(tokens.deleteCurrentAccessToken, signedIn), endsToken: true },

  row(quotas.getMyQuota, owners),
  row(quotas.checkMyQuota, owners, { subject: 'size:all' }),
  row(quotas.listMyQuotaAttachments, owners),
  row(quotas.listMyQuotaArtifacts, owners),
  row(quotas.listMyQuotaPackages, owners),
  row(quotas.adminGetUserQuota, administratorsWhoLook, { username: 'bob' }),
  row(quotas.adminListUsage, administratorsWhoLook),
  row(quotaGroups.adminListQuotaGroups, administratorsWhoLook),
  row(quotaGroups.adminCreateQuotaGroup, administrators, { name: '..' }),
  row(quotaGroups.adminGetQuotaGroup, administratorsWhoLook, { group: NOBODY }),
  row(quotaGroups.adminDeleteQuotaGroup, administrators, { group: NOBODY }),
  row(quotaGroups.adminAddQuotaGroupRule, administrators, { group: NOBODY, rule: NOBODY }),
  row(quotaGroups.adminRemoveQuotaGroupRule, administrators, { group: NOBODY, rule: NOBODY }),
  row(quotaGroups.adminListQuotaGroupUsers, administratorsWhoLook, { group: NOBODY }),
  row(quotaGroups.adminAddQuotaGroupUser, administrators, { group: NOBODY, username: 'bob' }),
  row(quotaGroups.adminRemoveQuotaGroupUser, administrators, { group: NOBODY, username: 'bob' }),
  row(quotaGroups.adminSetUserQuotaGroups, administrators, { username: NOBODY }),
  row(quotaGroups.adminListQuotaRules, administratorsWhoLook),
  row(quotaGroups.adminCreateQuotaRule, administrators, { name: '..' }),
  row(quotaGroups.adminGetQuotaRule, administratorsWhoLook, { rule: NOBODY }),
  row(quotaGroups.adminEditQuotaRule, administrators, { rule: NOBODY }),
  row(quotaGroups.adminDeleteQuotaRule, administrators, { rule: NOBODY }),

  row(admin.adminListUsers, administratorsWhoLook),
  row(admin.adminListOrganizations, administratorsWhoLook),
  row(admin.adminGetMetrics, administratorsWhoLook),
  row(LfsService.method.adminSweepLfsObjects, administrators),
  row(MaintenanceService.method.adminListMaintenance, administratorsWhoLook),
  row(MaintenanceService.method.purgeRepositoryObjects, administrators, {
    owner: 'bob',
    repo: 'no-such',
  }),
  row(SshService.method.getSshHostKeys, anybody),
  row(SshService.method.adminListSshSessions, administratorsWhoLook),
  row(SshService.method.adminDeleteSshSession, administrators, { id: NO_NUMBER }),
  row(admin.adminListUserOrganizations, administratorsWhoLook, { username: 'bob' }),
  row(admin.adminCreateOrganization, administrators, { owner: 'bob', username: '..' }),
  row(admin.adminCreateRepository, administrators, { username: 'bob', name: '..' }),
  row(
    admin.adminCreatePublicKey,
    { ...administrators, privateData: true },
    { username: 'bob', title: 'key', key: 'none' },
  ),
  row(
    admin.adminDeletePublicKey,
    { ...administrators, privateData: true },
    { username: 'bob', id: NO_NUMBER },
  ),
  row(admin.adminRenameUser, administrators, { username: NOBODY, newUsername: 'somebody' }),
  row(admin.adminCreateUser, administrators, { username: '..' }),
  row(admin.adminEditUser, administrators, { username: NOBODY }),
  row(admin.adminDeleteUser, administrators, { username: NOBODY }),
  row(admin.adminPurgeContributions, administrators, { username: NOBODY }),

  row(applications.listOAuth2Applications, owners),
  row(applications.createOAuth2Application, writers, { name: '' }),
  row(applications.getOAuth2Application, owners, { id: NO_NUMBER }),
  row(applications.editOAuth2Application, writers, { id: NO_NUMBER }),
  row(applications.deleteOAuth2Application, writers, { id: NO_NUMBER }),
  row(applications.listOAuth2Grants, owners),
  row(applications.revokeOAuth2Grant, writers, { id: NO_NUMBER }),
  row(applications.adminListOAuth2Applications, administratorsWhoLook),
  row(applications.adminCreateOAuth2Application, administrators, { name: '' }),
  row(applications.adminGetOAuth2Application, administratorsWhoLook, { id: NO_NUMBER }),
  row(applications.adminEditOAuth2Application, administrators, { id: NO_NUMBER }),
  row(applications.adminDeleteOAuth2Application, administrators, { id: NO_NUMBER }),

  row(publicKeys.listMyPublicKeys, owners),
  row(publicKeys.listUserPublicKeys, visitors, { username: 'bob' }),
  row(publicKeys.createPublicKey, writers, { title: 'key', key: 'none' }),
  row(publicKeys.getPublicKey, owners, { id: NO_NUMBER }),
  row(publicKeys.deletePublicKey, writers, { id: NO_NUMBER }),
  row(gpgKeys.listMyGpgKeys, owners),
  row(gpgKeys.listUserGpgKeys, visitors, { username: 'bob' }),
  row(gpgKeys.createGpgKey, writers, { armoredPublicKey: 'none' }),
  row(gpgKeys.getGpgKey, owners, { id: NO_NUMBER }),
  row(gpgKeys.deleteGpgKey, writers, { id: NO_NUMBER }),
  row(gpgKeys.getGpgKeyToken, owners),
  row(gpgKeys.verifyGpgKey, writers, { keyId: '0123456789ABCDEF', armoredSignature: 'none' }),

  row(issueViews.listUserIssueViews, owners),
  row(issueViews.getUserIssueView, owners, { id: NO_NUMBER }),
  row(issueViews.createUserIssueView, writers),
  row(issueViews.editUserIssueView, writers, { id: NO_NUMBER }),
  row(issueViews.deleteUserIssueView, writers, { id: NO_NUMBER }),
  row(userHooks.listUserHooks, owners),
  row(userHooks.getUserHook, owners, { id: NO_NUMBER }),
  row(userHooks.createUserHook, hookWriters, { type: 'none' }),
  row(userHooks.editUserHook, hookWriters, { id: NO_NUMBER }),
  row(userHooks.deleteUserHook, writers, { id: NO_NUMBER }),
  row(userHooks.listUserHookDeliveries, owners, { id: NO_NUMBER }),
  row(userHooks.getUserHookDelivery, owners, { id: NO_NUMBER, deliveryId: 'none' }),
  row(userHooks.redeliverUserHookDelivery, writers, { id: NO_NUMBER, deliveryId: 'none' }),
  row(systemHooks.listSystemHooks, administratorsWhoLook),
  row(systemHooks.getSystemHook, administratorsWhoLook, { id: NO_NUMBER }),
  row(systemHooks.createSystemHook, administrators, { type: 'none' }),
  row(systemHooks.editSystemHook, administrators, { id: NO_NUMBER }),
  row(systemHooks.deleteSystemHook, administrators, { id: NO_NUMBER }),
  row(systemHooks.listSystemHookDeliveries, administratorsWhoLook, { id: NO_NUMBER }),
  row(systemHooks.getSystemHookDelivery, administratorsWhoLook, {
    id: NO_NUMBER,
    deliveryId: 'none',
  }),
  row(systemHooks.redeliverSystemHookDelivery, administrators, {
    id: NO_NUMBER,
    deliveryId: 'none',
  }),

  row(
    organizations.createOrganization,
    { ...signedIn, scopes: ['write:organization'] },
    { username: '..' },
  ),
  row(organizations.listOrganizations, ofOrganizations),
  row(organizations.listMyOrganizations, {
    ...signedIn,
    scopes: ['read:user', 'read:organization'],
  }),
  row(
    organizations.listUserOrganizations,
    { ...anybody, scopes: ['read:user', 'read:organization'] },
    { username: 'bob' },
  ),
  row(TeamService.method.listMyTeams, owners),

  row(
    repositories.createUserRepository,
    { ...writers, scopes: ['write:repository', 'write:user'] },
    { name: '..' },
  ),
  row(repositories.searchRepositories, ofRepositories),
  row(CodeSearchService.method.searchAllCode, ofRepositories, { q: 'text' }),
  row(IssueService.method.searchIssues, { ...anybody, scopes: ['read:issue'] }),
  row(
    IssueEventService.method.watchIssues,
    { ...signedIn, scopes: ['read:issue'] },
    { cursor: NOBODY },
  ),
  row(TopicService.method.searchTopics, ofRepositories),
  row(repositories.listMyRepositories, { ...signedIn, scopes: ['read:repository', 'read:user'] }),
  row(
    repositories.listUserRepositories,
    { ...anybody, scopes: ['read:repository', 'read:user'] },
    { username: 'bob' },
  ),
  row(stars.listMyStarredRepositories, { ...signedIn, scopes: ['read:repository', 'read:user'] }),
  row(
    stars.listUserStarredRepositories,
    { ...anybody, scopes: ['read:repository', 'read:user'] },
    { username: 'bob' },
  ),
  row(notifications.listNotificationThreads, notified),
  row(notifications.markNotificationThreads, marking),
  row(notifications.getNotificationCount, notified),
  row(notifications.getNotificationThread, notified, { id: NO_NUMBER }),
  row(notifications.markNotificationThread, marking, { id: NO_NUMBER }),
  row(subscriptions.listMySubscriptions, {
    ...signedIn,
    scopes: ['read:repository', 'read:user'],
  }),
  row(
    subscriptions.listUserSubscriptions,
    { ...anybody, scopes: ['read:repository', 'read:user'] },
    { username: 'bob' },
  ),
  row(
    MirrorService.method.migrateRepository,
    { ...signedIn, scopes: ['write:repository'], privateData: true },
    { cloneAddr: 'file:///', repoName: 'copy' },
  ),
  row(
    ImportService.method.startImport,
    { ...signedIn, scopes: ['write:repository'], privateData: true },
    { cloneAddr: 'file:///', repoName: 'copy' },
  ),
  row(
    ImportService.method.importRepository,
    { ...signedIn, scopes: ['write:repository'], privateData: true },
    { repoName: 'a/b' },
  ),
  row(ImportService.method.listImports, {
    ...signedIn,
    scopes: ['read:repository'],
    privateData: true,
  }),

  // Of no release: whose it is decides about others.
  row(ReleaseService.method.getAttachment, ofRepositories, { uuid: 'none' }),
]

function row<M extends DescMethod>(
  method: M,
  needs: AccountNeeds,
  request?: MessageInitShape<M['input']>,
): AccountRow {
  return {
    method,
    needs,
    request: create<DescMethod['input']>(method.input, request),
    endsToken: false,
  }
}
