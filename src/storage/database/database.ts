import { type Expression, Kysely, type SqlBool, SqliteDialect, sql, type Transaction } from 'kysely'
import type { GpgCertificatesTable, GpgKeysTable } from '../accounts/gpg-keys.ts'
import type { IdentityProvidersTable } from '../accounts/identity-providers.ts'
import type { InstanceKeysTable } from '../accounts/instance-keys.ts'
import type { LinkedIdentitiesTable } from '../accounts/linked-identities.ts'
import type { PasswordResetsTable } from '../accounts/password-resets.ts'
import type { PersonalAccessTokensTable } from '../accounts/personal-access-tokens.ts'
import type { PublicKeysTable } from '../accounts/public-keys.ts'
import type { SessionsTable } from '../accounts/sessions.ts'
import type { RecoveryCodesTable, TwoFactorsTable } from '../accounts/two-factor.ts'
import type { UserBlocksTable } from '../accounts/user-blocks.ts'
import type { UserSettingsTable } from '../accounts/user-settings.ts'
import type {
  AccountNamesTable,
  AccountRedirectsTable,
  AccountsTable,
  CreateRequestsTable,
  UserAvatarsTable,
  UserCountsTable,
  UsersTable,
} from '../accounts/users.ts'
import type { MemosTable, MemoTagsTable } from '../memos/memos.ts'
import type { NotificationsTable } from '../memos/notifications.ts'
import type { UserEventLogsTable, UserEventsTable } from '../memos/user-events.ts'
import type { MemoCountsTable, MemoTagCountsTable } from '../memos/user-stats.ts'
import type {
  OrganizationMembersTable,
  OrganizationsTable,
} from '../organizations/organizations.ts'
import type { TeamMembersTable } from '../organizations/team-members.ts'
import type { TeamRepositoriesTable, TeamsTable } from '../organizations/teams.ts'
import type { AutoMergesTable } from '../pulls/auto-merges.ts'
import type { MergedCommitsTable, MergeFollowUpsTable } from '../pulls/merge-follow-ups.ts'
import type { PullCommentsTable } from '../pulls/pull-comments.ts'
import type { PullDependenciesTable } from '../pulls/pull-dependencies.ts'
import type { PullMergeAttemptsTable } from '../pulls/pull-merge-attempts.ts'
import type { PullMessagesTable } from '../pulls/pull-messages.ts'
import type { PullParticipantsTable } from '../pulls/pull-participants.ts'
import type {
  PullRequestAssigneesTable,
  PullRequestLabelsTable,
  PullRequestsTable,
} from '../pulls/pull-requests.ts'
import type { ReviewCommentsTable } from '../pulls/review-comments.ts'
import type { ReviewsTable } from '../pulls/reviews.ts'
import type {
  BranchProtectionsTable,
  BranchProtectionTeamsTable,
  BranchProtectionUsersTable,
} from '../repos/branch-protections.ts'
import type { BranchRenamesTable } from '../repos/branch-renames.ts'
import type { BranchesTable, PendingRefUpdatesTable } from '../repos/branches.ts'
import type { CollaboratorsTable } from '../repos/collaborators.ts'
import type { CommitStatusContextsTable, CommitStatusesTable } from '../repos/commit-statuses.ts'
import type { DeployKeysTable } from '../repos/deploy-keys.ts'
import type { GitHooksTable } from '../repos/git-hooks.ts'
import type { LabelsTable } from '../repos/labels.ts'
import type { MilestonesTable } from '../repos/milestones.ts'
import type { MirrorsTable } from '../repos/mirrors.ts'
import type { ReleaseAssetsTable } from '../repos/release-assets.ts'
import type { ReleasesTable } from '../repos/releases.ts'
import type { RepositoriesTable, RepositoryRedirectsTable } from '../repos/repositories.ts'
import type { RepositoryEventLogsTable, RepositoryEventsTable } from '../repos/repository-events.ts'
import type { RepositoryTransfersTable } from '../repos/repository-transfers.ts'
import type {
  TagProtectionsTable,
  TagProtectionTeamsTable,
  TagProtectionUsersTable,
} from '../repos/tag-protections.ts'
import type { TagsTable } from '../repos/tags.ts'
import type { RepositoryTopicsTable, TopicsTable } from '../repos/topics.ts'
import type { UserWebhooksTable } from '../webhooks/user-webhooks.ts'
import type {
  WebhookDeliveriesTable,
  WebhookMessagesTable,
} from '../webhooks/webhook-deliveries.ts'
import { type CallDeadline, currentDeadline } from './call-deadlines.ts'
import { openReader, type Reader } from './reader.ts'
import { type Database, Sqlite, type Statement } from './sqlite.ts'

/** The tables, each typed in the file that holds its queries. */
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
  deploy_keys: DeployKeysTable
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
  notifications: NotificationsTable
  organization_members: OrganizationMembersTable
  organizations: OrganizationsTable
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
  pull_participants: PullParticipantsTable
  pull_request_assignees: PullRequestAssigneesTable
  pull_request_labels: PullRequestLabelsTable
  pull_requests: PullRequestsTable
  recovery_codes: RecoveryCodesTable
  release_assets: ReleaseAssetsTable
  releases: ReleasesTable
  repositories: RepositoriesTable
  repository_event_logs: RepositoryEventLogsTable
  repository_events: RepositoryEventsTable
  repository_redirects: RepositoryRedirectsTable
  repository_topics: RepositoryTopicsTable
  repository_transfers: RepositoryTransfersTable
  review_comments: ReviewCommentsTable
  reviews: ReviewsTable
  sessions: SessionsTable
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
  user_event_logs: UserEventLogsTable
  user_events: UserEventsTable
  user_settings: UserSettingsTable
  user_webhooks: UserWebhooksTable
  users: UsersTable
  webhook_deliveries: WebhookDeliveriesTable
  webhook_messages: WebhookMessagesTable
}

/** A handle for queries. A transaction is one too. */
export type Db = Kysely<Schema>

/**
 * A handle that exists only inside a transaction. Functions whose statements belong together ask
 * for this type, so that a caller cannot run half of them.
 */
export type Tx = Transaction<Schema>

/** How long a statement waits for another process, such as a backup, to release the database. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Distinct statements kept prepared. The code base has a few hundred; lists with many shapes come
 * and go.
 */
const MAX_PREPARED_STATEMENTS = 512

/**
 * Opens the database file, creating it when it is missing.
 *
 * @param path file name, or `:memory:`.
 */
export function openDatabase(path: string): Db {
  const sqlite = new Sqlite(path)
  // Readers never wait for the writer, and a commit is one sequential write
  // (https://sqlite.org/wal.html).
  sqlite.pragma('journal_mode = WAL')
  // NORMAL would lose the last commits of a WAL database when the power fails. An answer that was
  // sent must stay true, so every commit is synced; reads, which dominate, pay nothing.
  sqlite.pragma('synchronous = FULL')
  sqlite.pragma('foreign_keys = ON')
  sqlite.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  // Nobody else could open a database in memory.
  const reader = path === ':memory:' ? undefined : openReader(path, BUSY_TIMEOUT_MS)
  const db = new Kysely<Schema>({
    dialect: new SqliteDialect({ database: withPreparedStatements(sqlite, reader) }),
  })
  if (reader) readers.set(db, reader)
  return db
}

const readers = new WeakMap<Db, Reader>()

/** The reader behind a handle; undefined for a transaction, which has to see its own changes. */
export function readerOf(db: Db): Reader | undefined {
  return readers.get(db)
}

/**
 * Runs `work` in one transaction: all of its statements take effect, or none. Fails when it would
 * be the first of a call whose deadline has passed.
 *
 * The handle passed in must be used for every statement of the work. SQLite has one connection
 * behind a mutex, so the outer handle would wait for this transaction to end, for ever; and
 * whatever the work waits for besides rows, every other query of the process waits for too.
 */
export function transaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const call = currentDeadline()
  if (!call) return db.transaction().execute(work)
  return runForCall(db, call, work)
}

/**
 * Once it is its turn, and not before it waits, a transaction is refused whose call has nobody
 * waiting for it.
 */
async function runForCall<T>(db: Db, call: CallDeadline, work: (tx: Tx) => Promise<T>): Promise<T> {
  const result = await db.transaction().execute((tx) => {
    call.begin()
    return work(tx)
  })
  call.commit()
  return result
}

/** Resolves when the database answers. */
export async function checkDatabase(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
}

/** Whether an error is a violated UNIQUE or PRIMARY KEY constraint. */
export function isUniqueViolation(error: unknown): boolean {
  return (
    error instanceof Sqlite.SqliteError &&
    (error.code === 'SQLITE_CONSTRAINT_UNIQUE' || error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
  )
}

/** Whether an error is that of a row that would hang off one that is not there, any more. */
export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code === 'SQLITE_CONSTRAINT_FOREIGNKEY'
}

/**
 * Whether a text has a part; the case of ASCII letters does not count.
 *
 * Not LIKE, which takes as many steps as both have characters, multiplied: milliseconds for one
 * text that is all one letter.
 */
export function containsSql(text: Expression<string>, part: string): Expression<SqlBool> {
  return sql`instr(lower(${text}), lower(${part})) > 0`
}

/**
 * The part of better-sqlite3 that Kysely uses, with statements kept between calls.
 *
 * Kysely prepares a statement for each execution, which costs more than a lookup by primary key
 * does.
 */
function withPreparedStatements(sqlite: Database, reader: Reader | undefined) {
  const statements = new Map<string, Statement>()
  return {
    close: () => {
      reader?.close()
      sqlite.close()
    },
    prepare(text: string): Statement {
      // Kysely runs the statement as soon as it has it.
      reader?.refresh()
      // Every transaction here writes. Taking the write lock at the start means waiting for another
      // process, such as the command line, instead of failing when a read inside the transaction
      // has gone stale.
      const sql = text === 'begin' ? 'begin immediate' : text
      const known = statements.get(sql)
      if (known) return known
      if (statements.size >= MAX_PREPARED_STATEMENTS) statements.clear()
      const statement = sqlite.prepare(sql)
      statements.set(sql, statement)
      return statement
    },
  }
}
