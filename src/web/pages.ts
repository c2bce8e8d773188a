import type { ComponentType } from 'preact'
import { loadScript } from './api/scripts.ts'
import type { PageName, PageProps } from './routes.ts'

export type Page = ComponentType<PageProps>

/** Each page is a script of its own. */
const PAGES: Readonly<Record<PageName, () => Promise<Page>>> = {
  home: async () => (await import('./repositories/home.page.tsx')).Home,
  explore: async () => (await import('./repositories/explore.page.tsx')).Explore,
  'explore-code': async () => (await import('./code/explore-code.page.tsx')).ExploreCodePage,
  login: async () => (await import('./accounts/login.page.tsx')).Login,
  'sign-up': async () => (await import('./accounts/sign-up.page.tsx')).SignUp,
  profile: async () => (await import('./accounts/profile.page.tsx')).ProfilePage,
  tokens: async () => (await import('./accounts/tokens.page.tsx')).TokensPage,
  keys: async () => (await import('./accounts/keys.page.tsx')).KeysPage,
  'login-callback': async () => (await import('./accounts/login-callback.page.tsx')).LoginCallback,
  'reset-password': async () =>
    (await import('./accounts/reset-password.page.tsx')).ResetPasswordPage,
  memos: async () => (await import('./memos/memos.page.tsx')).MemosPage,
  'verify-email': async () => (await import('./accounts/verify-email.page.tsx')).VerifyEmailPage,
  applications: async () => (await import('./accounts/applications.page.tsx')).ApplicationsPage,
  emails: async () => (await import('./accounts/emails.page.tsx')).EmailsPage,
  notifications: async () =>
    (await import('./notifications/notifications.page.tsx')).NotificationsPage,
  security: async () => (await import('./accounts/security.page.tsx')).SecurityPage,
  sessions: async () => (await import('./accounts/sessions.page.tsx')).SessionsPage,
  storage: async () => (await import('./accounts/storage.page.tsx')).StoragePage,
  'user-webhooks': async () => (await import('./webhooks/user-webhooks.page.tsx')).UserWebhooks,
  account: async () => (await import('./accounts/account.page.tsx')).AccountPage,
  code: async () => (await import('./code/code.page.tsx')).CodePage,
  blame: async () => (await import('./code/blame.page.tsx')).BlamePage,
  'edit-file': async () => (await import('./code/edit-file.page.tsx')).EditFilePage,
  'new-file': async () => (await import('./code/new-file.page.tsx')).NewFilePage,
  'upload-files': async () => (await import('./code/upload-files.page.tsx')).UploadFilesPage,
  'delete-file': async () => (await import('./code/delete-file.page.tsx')).DeleteFilePage,
  search: async () => (await import('./code/search.page.tsx')).SearchPage,
  commits: async () => (await import('./code/commits.page.tsx')).CommitsPage,
  commit: async () => (await import('./code/commit.page.tsx')).CommitPage,
  branches: async () => (await import('./code/branches.page.tsx')).BranchesPage,
  tags: async () => (await import('./code/tags.page.tsx')).TagsPage,
  releases: async () => (await import('./repositories/releases.page.tsx')).ReleasesPage,
  issues: async () => (await import('./issues/issues.page.tsx')).IssuesPage,
  issue: async () => (await import('./issues/issue.page.tsx')).IssuePage,
  'new-issue': async () => (await import('./issues/new-issue.page.tsx')).NewIssuePage,
  labels: async () => (await import('./issues/labels.page.tsx')).LabelsPage,
  milestones: async () => (await import('./issues/milestones.page.tsx')).MilestonesPage,
  dashboard: async () => (await import('./issues/dashboard.page.tsx')).DashboardPage,
  pulls: async () => (await import('./pulls/pulls.page.tsx')).PullsPage,
  pull: async () => (await import('./pulls/pull.page.tsx')).PullPage,
  'pull-commits': async () => (await import('./pulls/pull-commits.page.tsx')).PullCommitsPage,
  'pull-files': async () => (await import('./pulls/pull-files.page.tsx')).PullFilesPage,
  'merge-queue': async () => (await import('./pulls/merge-queue.page.tsx')).MergeQueuePage,
  compare: async () => (await import('./code/compare.page.tsx')).ComparePage,
  'general-settings': async () =>
    (await import('./repositories/general-settings.page.tsx')).GeneralSettings,
  'branch-rules': async () =>
    (await import('./repositories/branch-rules.page.tsx')).BranchRulesPage,
  collaborators: async () =>
    (await import('./repositories/collaborators.page.tsx')).CollaboratorsPage,
  'repository-webhooks': async () =>
    (await import('./webhooks/repository-webhooks.page.tsx')).WebhooksPage,
  'deploy-keys': async () => (await import('./repositories/deploy-keys.page.tsx')).DeployKeysPage,
  'tag-rules': async () => (await import('./repositories/tag-rules.page.tsx')).TagRulesPage,
  maintenance: async () => (await import('./repositories/maintenance.page.tsx')).MaintenancePage,
  'git-hooks': async () => (await import('./repositories/git-hooks.page.tsx')).GitHooksPage,
  organizations: async () =>
    (await import('./organizations/organizations.page.tsx')).OrganizationsPage,
  'organization-general': async () =>
    (await import('./organizations/organization-general.page.tsx')).OrganizationGeneral,
  'organization-members': async () =>
    (await import('./organizations/organization-members.page.tsx')).OrganizationMembers,
  'organization-teams': async () =>
    (await import('./organizations/organization-teams.page.tsx')).OrganizationTeams,
  'organization-storage': async () =>
    (await import('./organizations/organization-storage.page.tsx')).OrganizationStorage,
  'organization-webhooks': async () =>
    (await import('./webhooks/organization-webhooks.page.tsx')).OrganizationWebhooks,
  administration: async () =>
    (await import('./administration/administration.page.tsx')).AdministrationPage,
  'administration-account': async () =>
    (await import('./administration/administration-account.page.tsx')).AdministrationAccountPage,
  'administration-maintenance': async () =>
    (await import('./administration/administration-maintenance.page.tsx'))
      .AdministrationMaintenancePage,
  'administration-metrics': async () =>
    (await import('./administration/administration-metrics.page.tsx')).AdministrationMetricsPage,
  'administration-storage': async () =>
    (await import('./administration/administration-storage.page.tsx')).AdministrationStoragePage,
  'administration-providers': async () =>
    (await import('./administration/administration-providers.page.tsx'))
      .AdministrationProvidersPage,
  components: async () => (await import('./explorer/components.page.tsx')).ComponentsPage,
  import: async () => (await import('./repositories/import.page.tsx')).ImportPage,
  api: async () => (await import('./explorer/api.page.tsx')).ApiPage,
}

/** Loads the script of a page, as `loadScript` does. */
export async function loadPage(name: PageName): Promise<Page> {
  return await loadScript(PAGES[name])
}
