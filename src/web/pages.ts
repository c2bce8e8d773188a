import type { ComponentType } from 'preact'
import { loadScript } from './api/scripts.ts'
import type { PageName, PageProps } from './routes.ts'

export type Page = ComponentType<PageProps>

/** Each page is a script of its own. */
const PAGES: Readonly<Record<PageName, () => Promise<{ readonly default: Page }>>> = {
  home: () => import('./repositories/home.page.tsx'),
  explore: () => import('./repositories/explore.page.tsx'),
  login: () => import('./accounts/login.page.tsx'),
  'sign-up': () => import('./accounts/sign-up.page.tsx'),
  profile: () => import('./accounts/profile.page.tsx'),
  tokens: () => import('./accounts/tokens.page.tsx'),
  keys: () => import('./accounts/keys.page.tsx'),
  'login-callback': () => import('./accounts/login-callback.page.tsx'),
  'reset-password': () => import('./accounts/reset-password.page.tsx'),
  memos: () => import('./memos/memos.page.tsx'),
  'verify-email': () => import('./accounts/verify-email.page.tsx'),
  applications: () => import('./accounts/applications.page.tsx'),
  emails: () => import('./accounts/emails.page.tsx'),
  notifications: () => import('./notifications/notifications.page.tsx'),
  security: () => import('./accounts/security.page.tsx'),
  sessions: () => import('./accounts/sessions.page.tsx'),
  'user-webhooks': () => import('./webhooks/user-webhooks.page.tsx'),
  account: () => import('./accounts/account.page.tsx'),
  code: () => import('./code/code.page.tsx'),
  blame: () => import('./code/blame.page.tsx'),
  commits: () => import('./code/commits.page.tsx'),
  commit: () => import('./code/commit.page.tsx'),
  branches: () => import('./code/branches.page.tsx'),
  tags: () => import('./code/tags.page.tsx'),
  releases: () => import('./repositories/releases.page.tsx'),
  pulls: () => import('./pulls/pulls.page.tsx'),
  pull: () => import('./pulls/pull.page.tsx'),
  compare: () => import('./code/compare.page.tsx'),
  'general-settings': () => import('./repositories/general-settings.page.tsx'),
  'branch-rules': () => import('./repositories/branch-rules.page.tsx'),
  collaborators: () => import('./repositories/collaborators.page.tsx'),
  webhooks: () => import('./webhooks/repository-webhooks.page.tsx'),
  'deploy-keys': () => import('./repositories/deploy-keys.page.tsx'),
  'tag-rules': () => import('./repositories/tag-rules.page.tsx'),
  'git-hooks': () => import('./repositories/git-hooks.page.tsx'),
  organizations: () => import('./organizations/organizations.page.tsx'),
  'organization-general': () => import('./organizations/organization-general.page.tsx'),
  'organization-members': () => import('./organizations/organization-members.page.tsx'),
  'organization-teams': () => import('./organizations/organization-teams.page.tsx'),
  'organization-webhooks': () => import('./webhooks/organization-webhooks.page.tsx'),
  administration: () => import('./administration/administration.page.tsx'),
  'administration-account': () => import('./administration/administration-account.page.tsx'),
  'administration-metrics': () => import('./administration/administration-metrics.page.tsx'),
  'administration-providers': () => import('./administration/administration-providers.page.tsx'),
  import: () => import('./repositories/import.page.tsx'),
  api: () => import('./explorer/api.page.tsx'),
}

/** Loads the script of a page, as `loadScript` does. */
export async function loadPage(name: PageName): Promise<Page> {
  return (await loadScript(PAGES[name])).default
}
