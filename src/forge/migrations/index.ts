import {
  type Migration,
  type MigrationRun,
  runMigrations,
} from '../../platform/database/migrate.ts'
import type { Db } from '../../platform/database/schema.ts'
import * as accounts from './0001-accounts.ts'
import * as memos from './0002-memos.ts'
import * as userEvents from './0003-user-events.ts'
import * as notifications from './0004-notifications.ts'
import * as webhooks from './0005-webhooks.ts'
import * as twoFactor from './0006-two-factor.ts'
import * as identityProviders from './0007-identity-providers.ts'
import * as passwordResets from './0008-password-resets.ts'
import * as userSettings from './0009-user-settings.ts'
import * as repositories from './0010-repositories.ts'
import * as permissions from './0011-permissions.ts'
import * as organizations from './0012-organizations.ts'
import * as repositorySettings from './0013-repository-settings.ts'
import * as forksAndMirrors from './0014-forks-and-mirrors.ts'
import * as tags from './0015-tags.ts'
import * as planning from './0016-planning.ts'
import * as keys from './0017-keys.ts'
import * as branchProtections from './0018-branch-protections.ts'
import * as releases from './0019-releases.ts'
import * as topics from './0020-topics.ts'
import * as gitHooks from './0021-git-hooks.ts'
import * as repositoryEvents from './0022-repository-events.ts'
import * as pullRequests from './0023-pull-requests.ts'
import * as privateEmails from './0024-private-emails.ts'
import * as webhookBounds from './0025-webhook-bounds.ts'
import * as mergeFollowUps from './0026-merge-follow-ups.ts'
import * as servers from './0027-servers.ts'
import * as hooks from './0028-hooks.ts'
import * as hookChats from './0029-hook-chats.ts'
import * as mails from './0030-mails.ts'
import * as oauth2Provider from './0031-oauth2-provider.ts'
import * as subscriptions from './0032-subscriptions.ts'
import * as notificationThreads from './0033-notification-threads.ts'
import * as starsAndFollowers from './0034-stars-and-followers.ts'
import * as conversations from './0035-conversations.ts'
import * as userEmails from './0036-user-emails.ts'
import * as pushMirrors from './0037-push-mirrors.ts'
import * as repositoryComments from './0038-repository-comments.ts'
import * as sessionAddresses from './0040-session-addresses.ts'
import * as repositoryCounts from './0041-repository-counts.ts'
import * as repositoryNameEnds from './0042-repository-name-ends.ts'
import * as sessionConfirmations from './0043-session-confirmations.ts'
import * as loginNames from './0044-login-names.ts'
import * as statementCounters from './0045-statement-counters.ts'
import * as repositoryCountShards from './0046-repository-count-shards.ts'
import * as repositoryMaintenance from './0050-repository-maintenance.ts'
import * as pendingUpdateIds from './0051-pending-update-ids.ts'
import * as issues from './0052-issues.ts'
import * as issuePins from './0053-issue-pins.ts'
import * as issueReferences from './0054-issue-references.ts'
import * as contributions from './0055-contributions.ts'
import * as issueMentions from './0056-issue-mentions.ts'
import * as dependencySwitch from './0057-dependency-switch.ts'
import * as issueAttachments from './0058-issue-attachments.ts'
import * as issueSettings from './0059-issue-settings.ts'
import * as search from './0060-search.ts'
import * as stateReasons from './0061-state-reasons.ts'
import * as commentEdits from './0062-comment-edits.ts'
import * as issueViews from './0063-issue-views.ts'
import * as subIssues from './0064-sub-issues.ts'
import * as issueTransfers from './0065-issue-transfers.ts'
import * as issueImports from './0066-issue-imports.ts'
import * as issueRequests from './0067-issue-requests.ts'
import * as keyUses from './0068-key-uses.ts'
import * as importReferences from './0072-import-references.ts'
import * as userCountShards from './0081-user-count-shards.ts'
import * as dueIssues from './0082-due-issues.ts'
import * as prunes from './0083-prunes.ts'
import * as looseBytes from './0084-loose-bytes.ts'
import * as objectStores from './0085-object-stores.ts'
import * as multipartUploads from './0086-multipart-uploads.ts'
import * as quotas from './0087-quotas.ts'
import * as quotaWarnings from './0088-quota-warnings.ts'
import * as mergeQueues from './0090-merge-queues.ts'
import * as pushedPullRequests from './0091-pushed-pull-requests.ts'
import * as lfsObjects from './0092-lfs-objects.ts'
import * as lfsLocks from './0093-lfs-locks.ts'
import * as projectImports from './0096-project-imports.ts'
import * as originalAuthors from './0097-original-authors.ts'
import * as lfsSweeps from './0098-lfs-sweeps.ts'
import * as lfsOfMirrors from './0099-lfs-of-mirrors.ts'
import * as codeIndex from './0100-code-index.ts'
import * as viewedFiles from './0101-viewed-files.ts'
import * as issueLists from './0107-issue-lists.ts'
import * as commitRules from './0111-commit-rules.ts'
import * as publicIssues from './0114-public-issues.ts'
import * as archiveImports from './0117-archive-imports.ts'
import * as stackRebases from './0119-stack-rebases.ts'
import * as connectionShards from './0120-connection-shards.ts'
import * as issueImportFiles from './0121-issue-import-files.ts'
import * as queryLeads from './0122-query-leads.ts'
import * as queuedStacks from './0123-queued-stacks.ts'
import * as queryRanges from './0124-query-ranges.ts'
import * as importWaits from './0125-import-waits.ts'
import * as pullProgressLeads from './0126-pull-progress-leads.ts'
import * as authorAdoptions from './0127-author-adoptions.ts'
import * as reviewCommentEdits from './0128-review-comment-edits.ts'
import * as searchWords from './0129-search-words.ts'
import * as userNameEnds from './0139-user-name-ends.ts'
import * as lfsReservations from './0140-lfs-reservations.ts'

/**
 * All migrations, in order. The position is the version, so new entries are added at the end only.
 *
 * The list is explicit, because a bundle has no folder to read, and because a merge of branches
 * could change an order by file names unnoticed.
 */
export const migrations: readonly Migration[] = [
  { name: '0001-accounts', ...accounts },
  { name: '0002-memos', ...memos },
  { name: '0003-user-events', ...userEvents },
  { name: '0004-notifications', ...notifications },
  { name: '0005-webhooks', ...webhooks },
  { name: '0006-two-factor', ...twoFactor },
  { name: '0007-identity-providers', ...identityProviders },
  { name: '0008-password-resets', ...passwordResets },
  { name: '0009-user-settings', ...userSettings },
  { name: '0010-repositories', ...repositories },
  { name: '0011-permissions', ...permissions },
  { name: '0012-organizations', ...organizations },
  { name: '0013-repository-settings', ...repositorySettings },
  { name: '0014-forks-and-mirrors', ...forksAndMirrors },
  { name: '0015-tags', ...tags },
  { name: '0016-planning', ...planning },
  { name: '0017-keys', ...keys },
  { name: '0018-branch-protections', ...branchProtections },
  { name: '0019-releases', ...releases },
  { name: '0020-topics', ...topics },
  { name: '0021-git-hooks', ...gitHooks },
  { name: '0022-repository-events', ...repositoryEvents },
  { name: '0023-pull-requests', ...pullRequests },
  { name: '0024-private-emails', ...privateEmails },
  { name: '0025-webhook-bounds', ...webhookBounds },
  { name: '0026-merge-follow-ups', ...mergeFollowUps },
  { name: '0027-servers', ...servers },
  { name: '0028-hooks', ...hooks },
  { name: '0029-hook-chats', ...hookChats },
  { name: '0030-mails', ...mails },
  { name: '0031-oauth2-provider', ...oauth2Provider },
  { name: '0032-subscriptions', ...subscriptions },
  { name: '0033-notification-threads', ...notificationThreads },
  { name: '0034-stars-and-followers', ...starsAndFollowers },
  { name: '0035-conversations', ...conversations },
  { name: '0036-user-emails', ...userEmails },
  { name: '0037-push-mirrors', ...pushMirrors },
  { name: '0038-repository-comments', ...repositoryComments },
  { name: '0040-session-addresses', ...sessionAddresses },
  { name: '0041-repository-counts', ...repositoryCounts },
  { name: '0042-repository-name-ends', ...repositoryNameEnds },
  { name: '0043-session-confirmations', ...sessionConfirmations },
  { name: '0044-login-names', ...loginNames },
  { name: '0045-statement-counters', ...statementCounters },
  { name: '0046-repository-count-shards', ...repositoryCountShards },
  { name: '0050-repository-maintenance', ...repositoryMaintenance },
  { name: '0051-pending-update-ids', ...pendingUpdateIds },
  { name: '0052-issues', ...issues },
  { name: '0053-issue-pins', ...issuePins },
  { name: '0054-issue-references', ...issueReferences },
  { name: '0055-contributions', ...contributions },
  { name: '0056-issue-mentions', ...issueMentions },
  { name: '0057-dependency-switch', ...dependencySwitch },
  { name: '0058-issue-attachments', ...issueAttachments },
  { name: '0059-issue-settings', ...issueSettings },
  { name: '0060-search', up: search.up, down: search.down },
  { name: '0061-state-reasons', ...stateReasons },
  { name: '0062-comment-edits', ...commentEdits },
  { name: '0063-issue-views', ...issueViews },
  { name: '0064-sub-issues', ...subIssues },
  { name: '0065-issue-transfers', ...issueTransfers },
  { name: '0066-issue-imports', ...issueImports },
  { name: '0067-issue-requests', ...issueRequests },
  { name: '0068-key-uses', ...keyUses },
  { name: '0072-import-references', ...importReferences },
  { name: '0081-user-count-shards', ...userCountShards },
  { name: '0082-due-issues', ...dueIssues },
  { name: '0083-prunes', ...prunes },
  { name: '0084-loose-bytes', ...looseBytes },
  { name: '0085-object-stores', ...objectStores },
  { name: '0086-multipart-uploads', ...multipartUploads },
  { name: '0087-quotas', ...quotas },
  { name: '0088-quota-warnings', ...quotaWarnings },
  { name: '0090-merge-queues', ...mergeQueues },
  { name: '0091-pushed-pull-requests', ...pushedPullRequests },
  { name: '0092-lfs-objects', ...lfsObjects },
  { name: '0093-lfs-locks', ...lfsLocks },
  { name: '0096-project-imports', ...projectImports },
  { name: '0097-original-authors', ...originalAuthors },
  { name: '0098-lfs-sweeps', ...lfsSweeps },
  { name: '0099-lfs-of-mirrors', ...lfsOfMirrors },
  { name: '0100-code-index', ...codeIndex },
  { name: '0101-viewed-files', ...viewedFiles },
  { name: '0107-issue-lists', ...issueLists },
  { name: '0111-commit-rules', ...commitRules },
  { name: '0114-public-issues', ...publicIssues },
  { name: '0117-archive-imports', ...archiveImports },
  { name: '0119-stack-rebases', ...stackRebases },
  { name: '0120-connection-shards', ...connectionShards },
  { name: '0121-issue-import-files', ...issueImportFiles },
  { name: '0122-query-leads', ...queryLeads },
  { name: '0123-queued-stacks', ...queuedStacks },
  { name: '0127-author-adoptions', ...authorAdoptions },
  // The position is the version, and 0127 came first.
  { name: '0124-query-ranges', ...queryRanges },
  { name: '0125-import-waits', ...importWaits },
  { name: '0126-pull-progress-leads', ...pullProgressLeads },
  { name: '0128-review-comment-edits', ...reviewCommentEdits },
  { name: '0129-search-words', ...searchWords },
  { name: '0139-user-name-ends', isAdditive: true, ...userNameEnds },
  { name: '0140-lfs-reservations', isAdditive: true, ...lfsReservations },
]

/** Migrates the schema of the forge to a version, as `runMigrations` does; to the newest when left out. */
export function migrate(db: Db, target?: number): Promise<MigrationRun> {
  return runMigrations(db, migrations, target)
}
