import type { Kysely, Transaction } from 'kysely'
import type {
  FailedGuessesTable,
  IdentityProvidersTable,
  InstanceKeysTable,
  LinkedIdentitiesTable,
  PasswordResetsTable,
  PersonalAccessTokensTable,
  RecoveryCodesTable,
  SessionsTable,
  TwoFactorsTable,
} from '../../forge/accounts/credentials/schema.ts'
import type {
  AccountNamesTable,
  AccountRedirectsTable,
  AccountsTable,
  CreateRequestsTable,
  FollowsTable,
  GpgCertificatesTable,
  GpgKeysTable,
  MailsTable,
  PublicKeysTable,
  UserAvatarsTable,
  UserBlocksTable,
  UserCountsTable,
  UserEmailMailsTable,
  UserEmailsTable,
  UserSettingsTable,
} from '../../forge/accounts/schema.ts'
import type { UsersTable } from '../../forge/core/schema.ts'
import type {
  MemoCountsTable,
  MemosTable,
  MemoTagCountsTable,
  MemoTagsTable,
  NotificationsTable,
  UserEventLogsTable,
  UserEventsTable,
} from '../../forge/memos/schema.ts'
import type { NotificationThreadsTable } from '../../forge/notifications/schema.ts'
import type {
  OAuth2AccessTokensTable,
  OAuth2ApplicationsTable,
  OAuth2AuthorizationsTable,
  OAuth2GrantsTable,
} from '../../forge/oauth2/schema.ts'
import type {
  OrganizationMembersTable,
  OrganizationsTable,
  TeamMembersTable,
  TeamRepositoriesTable,
  TeamsTable,
} from '../../forge/organizations/schema.ts'
import type {
  AutoMergesTable,
  MergedCommitsTable,
  MergeFollowUpsTable,
  PullCommentsTable,
  PullDependenciesTable,
  PullMergeAttemptsTable,
  PullMessagesTable,
  PullNoticesTable,
  PullParticipantsTable,
  PullReactionsTable,
  PullRequestAssigneesTable,
  PullRequestLabelsTable,
  PullRequestsTable,
  PullTimelineTable,
  ReviewCommentsTable,
  ReviewsTable,
} from '../../forge/pulls/schema.ts'
import type {
  RepositoryEventLogsTable,
  RepositoryEventsTable,
} from '../../forge/repositories/activity/schema.ts'
import type {
  PullSubscriptionsTable,
  RepositorySubscriptionsTable,
} from '../../forge/repositories/activity/subscriptions.schema.ts'
import type {
  BranchProtectionsTable,
  BranchProtectionTeamsTable,
  BranchProtectionUsersTable,
  TagProtectionsTable,
  TagProtectionTeamsTable,
  TagProtectionUsersTable,
} from '../../forge/repositories/protection/schema.ts'
import type {
  BranchesTable,
  BranchRenamesTable,
  PendingRefUpdatesTable,
  TagsTable,
} from '../../forge/repositories/refs/schema.ts'
import type { ReleaseAssetsTable, ReleasesTable } from '../../forge/repositories/releases/schema.ts'
import type {
  CollaboratorsTable,
  CommitStatusContextsTable,
  CommitStatusesTable,
  DeployKeysTable,
  GitHooksTable,
  LabelsTable,
  MilestonesTable,
  MirrorsTable,
  PushMirrorsTable,
  RepositoriesTable,
  RepositoryCountsTable,
  RepositoryNameEndsTable,
  RepositoryRedirectsTable,
  RepositoryTopicsTable,
  RepositoryTransfersTable,
  StarsTable,
  TopicsTable,
} from '../../forge/repositories/schema.ts'
import type {
  UserWebhooksTable,
  WebhookDeliveriesTable,
  WebhookMessagesTable,
} from '../../forge/webhooks/schema.ts'

/** All tables, each typed in the file of its subject. */
export interface Schema {
  account_names: AccountNamesTable
  account_redirects: AccountRedirectsTable
  accounts: AccountsTable
  auto_merges: AutoMergesTable
  branch_protection_teams: BranchProtectionTeamsTable
  branch_protection_users: BranchProtectionUsersTable
  branch_protections: BranchProtectionsTable
  branch_renames: BranchRenamesTable
  branches: BranchesTable
  collaborators: CollaboratorsTable
  commit_status_contexts: CommitStatusContextsTable
  commit_statuses: CommitStatusesTable
  create_requests: CreateRequestsTable
  data_folders: DataFoldersTable
  deploy_keys: DeployKeysTable
  failed_guesses: FailedGuessesTable
  follows: FollowsTable
  git_hooks: GitHooksTable
  gpg_certificates: GpgCertificatesTable
  gpg_keys: GpgKeysTable
  identity_providers: IdentityProvidersTable
  instance_keys: InstanceKeysTable
  labels: LabelsTable
  linked_identities: LinkedIdentitiesTable
  memo_counts: MemoCountsTable
  memo_tag_counts: MemoTagCountsTable
  memo_tags: MemoTagsTable
  memos: MemosTable
  milestones: MilestonesTable
  mirrors: MirrorsTable
  notification_threads: NotificationThreadsTable
  push_mirrors: PushMirrorsTable
  notifications: NotificationsTable
  oauth2_access_tokens: OAuth2AccessTokensTable
  oauth2_applications: OAuth2ApplicationsTable
  oauth2_authorizations: OAuth2AuthorizationsTable
  oauth2_grants: OAuth2GrantsTable
  organization_members: OrganizationMembersTable
  organizations: OrganizationsTable
  mails: MailsTable
  password_resets: PasswordResetsTable
  pending_ref_updates: PendingRefUpdatesTable
  personal_access_tokens: PersonalAccessTokensTable
  public_keys: PublicKeysTable
  pull_comments: PullCommentsTable
  pull_dependencies: PullDependenciesTable
  pull_merge_attempts: PullMergeAttemptsTable
  merge_follow_ups: MergeFollowUpsTable
  merged_commits: MergedCommitsTable
  pull_messages: PullMessagesTable
  pull_notices: PullNoticesTable
  pull_participants: PullParticipantsTable
  pull_reactions: PullReactionsTable
  pull_request_assignees: PullRequestAssigneesTable
  pull_request_labels: PullRequestLabelsTable
  pull_requests: PullRequestsTable
  pull_subscriptions: PullSubscriptionsTable
  pull_timeline: PullTimelineTable
  recovery_codes: RecoveryCodesTable
  release_assets: ReleaseAssetsTable
  releases: ReleasesTable
  repositories: RepositoriesTable
  repository_counts: RepositoryCountsTable
  repository_event_logs: RepositoryEventLogsTable
  repository_events: RepositoryEventsTable
  repository_name_ends: RepositoryNameEndsTable
  repository_redirects: RepositoryRedirectsTable
  repository_subscriptions: RepositorySubscriptionsTable
  repository_topics: RepositoryTopicsTable
  repository_transfers: RepositoryTransfersTable
  review_comments: ReviewCommentsTable
  reviews: ReviewsTable
  sessions: SessionsTable
  stars: StarsTable
  tag_protection_teams: TagProtectionTeamsTable
  tag_protection_users: TagProtectionUsersTable
  tag_protections: TagProtectionsTable
  tags: TagsTable
  team_members: TeamMembersTable
  team_repositories: TeamRepositoriesTable
  teams: TeamsTable
  topics: TopicsTable
  two_factors: TwoFactorsTable
  user_avatars: UserAvatarsTable
  user_blocks: UserBlocksTable
  user_counts: UserCountsTable
  user_email_mails: UserEmailMailsTable
  user_emails: UserEmailsTable
  user_event_logs: UserEventLogsTable
  user_events: UserEventsTable
  user_settings: UserSettingsTable
  user_webhooks: UserWebhooksTable
  users: UsersTable
  webhook_deliveries: WebhookDeliveriesTable
  webhook_messages: WebhookMessagesTable
}

/** A handle for queries. Can also be a transaction. */
export type Db = Kysely<Schema>

/**
 * A handle that exists only inside a transaction. Functions with several statements that belong
 * together require this type.
 */
export type Tx = Transaction<Schema>

/** The data folder that belongs to a PostgreSQL database, which has one row. SQLite has none. */
export interface DataFoldersTable {
  /** The content of the file `postgresql` in the folder. */
  id: string
}
