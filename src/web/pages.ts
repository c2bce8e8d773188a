import type { ComponentType } from 'preact'
import { loadScript } from './api/scripts.ts'
import type { PageName, PageProps } from './routes.ts'

export type Page = ComponentType<PageProps>

/** Each page is a script of its own. */
const PAGES: Readonly<Record<PageName, () => Promise<{ readonly default: Page }>>> = {
  home: () => import('./pages/home.tsx'),
  explore: () => import('./pages/explore.tsx'),
  login: () => import('./pages/login.tsx'),
  'sign-up': () => import('./pages/sign-up.tsx'),
  profile: () => import('./pages/profile.tsx'),
  tokens: () => import('./pages/tokens.tsx'),
  keys: () => import('./pages/keys.tsx'),
  'login-callback': () => import('./pages/login-callback.tsx'),
  'reset-password': () => import('./pages/reset-password.tsx'),
  memos: () => import('./pages/memos.tsx'),
  'verify-email': () => import('./pages/verify-email.tsx'),
  applications: () => import('./pages/applications.tsx'),
  emails: () => import('./pages/emails.tsx'),
  notifications: () => import('./pages/notifications.tsx'),
  security: () => import('./pages/security.tsx'),
  sessions: () => import('./pages/sessions.tsx'),
  'user-webhooks': () => import('./pages/user-webhooks.tsx'),
  account: () => import('./pages/account.tsx'),
  code: () => import('./pages/code.tsx'),
  blame: () => import('./pages/blame.tsx'),
  commits: () => import('./pages/commits.tsx'),
  commit: () => import('./pages/commit.tsx'),
  branches: () => import('./pages/branches.tsx'),
  tags: () => import('./pages/tags.tsx'),
  releases: () => import('./pages/releases.tsx'),
  pulls: () => import('./pages/pulls.tsx'),
  pull: () => import('./pages/pull.tsx'),
  compare: () => import('./pages/compare.tsx'),
  'general-settings': () => import('./pages/general-settings.tsx'),
  'branch-rules': () => import('./pages/branch-rules.tsx'),
  collaborators: () => import('./pages/collaborators.tsx'),
  webhooks: () => import('./pages/webhooks.tsx'),
  'deploy-keys': () => import('./pages/deploy-keys.tsx'),
  'tag-rules': () => import('./pages/tag-rules.tsx'),
  'git-hooks': () => import('./pages/git-hooks.tsx'),
  organizations: () => import('./pages/organizations.tsx'),
  'organization-general': () => import('./pages/organization-general.tsx'),
  'organization-members': () => import('./pages/organization-members.tsx'),
  'organization-teams': () => import('./pages/organization-teams.tsx'),
  'organization-webhooks': () => import('./pages/organization-webhooks.tsx'),
  administration: () => import('./pages/administration.tsx'),
  'administration-account': () => import('./pages/administration-account.tsx'),
  'administration-metrics': () => import('./pages/administration-metrics.tsx'),
  'administration-providers': () => import('./pages/administration-providers.tsx'),
  import: () => import('./pages/import.tsx'),
  api: () => import('./pages/api.tsx'),
}

/** Loads the script of a page, as `loadScript` does. */
export async function loadPage(name: PageName): Promise<Page> {
  return (await loadScript(PAGES[name])).default
}
