// The server imports this file too, to name the scripts of a page before the browser asks for them.

/** Parameters of a page, from its address. */
export interface PageProps {
  readonly owner: string
  readonly repo: string
  /** The segments after the part of the address that names the page, without percent-encoding. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

/** The names of the pages. The file of a page ends with its name and `.page.tsx`. */
export type PageName =
  | 'home'
  | 'explore'
  | 'login'
  | 'sign-up'
  | 'profile'
  | 'tokens'
  | 'keys'
  | 'login-callback'
  | 'reset-password'
  | 'memos'
  | 'verify-email'
  | 'applications'
  | 'emails'
  | 'notifications'
  | 'security'
  | 'sessions'
  | 'storage'
  | 'user-webhooks'
  | 'account'
  | 'code'
  | 'blame'
  | 'search'
  | 'explore-code'
  | 'edit-file'
  | 'new-file'
  | 'upload-files'
  | 'delete-file'
  | 'commits'
  | 'commit'
  | 'branches'
  | 'tags'
  | 'releases'
  | 'issues'
  | 'issue'
  | 'new-issue'
  | 'labels'
  | 'milestones'
  | 'dashboard'
  | 'pulls'
  | 'pull'
  | 'pull-commits'
  | 'pull-files'
  | 'compare'
  | 'merge-queue'
  | 'general-settings'
  | 'branch-rules'
  | 'collaborators'
  | 'repository-webhooks'
  | 'deploy-keys'
  | 'tag-rules'
  | 'maintenance'
  | 'git-hooks'
  | 'organizations'
  | 'organization-general'
  | 'organization-members'
  | 'organization-teams'
  | 'organization-storage'
  | 'organization-webhooks'
  | 'administration'
  | 'administration-account'
  | 'administration-maintenance'
  | 'administration-metrics'
  | 'administration-providers'
  | 'administration-storage'
  | 'import'
  | 'components'
  | 'api'

/** The page of an address. */
export interface Route {
  readonly name: PageName
  readonly props: PageProps
}

/** The pages below a repository. */
const REPOSITORY_PAGES: Readonly<Record<string, PageName>> = {
  src: 'code',
  blame: 'blame',
  search: 'search',
  _edit: 'edit-file',
  _new: 'new-file',
  _upload: 'upload-files',
  _delete: 'delete-file',
  commits: 'commits',
  commit: 'commit',
  branches: 'branches',
  tags: 'tags',
  releases: 'releases',
  issues: 'issues',
  labels: 'labels',
  milestones: 'milestones',
  pulls: 'pulls',
  compare: 'compare',
  queue: 'merge-queue',
}

/** The tabs of a pull request. */
const PULL_TABS: Readonly<Record<string, PageName>> = {
  '': 'pull',
  commits: 'pull-commits',
  files: 'pull-files',
}

/** The pages of the settings of a repository. */
const SETTINGS_PAGES: Readonly<Record<string, PageName>> = {
  '': 'general-settings',
  branches: 'branch-rules',
  collaborators: 'collaborators',
  hooks: 'repository-webhooks',
  keys: 'deploy-keys',
  tags: 'tag-rules',
  maintenance: 'maintenance',
}

/** The pages of the settings of an organisation. */
const ORGANIZATION_PAGES: Readonly<Record<string, PageName>> = {
  '': 'organization-general',
  members: 'organization-members',
  teams: 'organization-teams',
  storage: 'organization-storage',
  hooks: 'organization-webhooks',
}

const FIXED: Readonly<Record<string, PageName>> = {
  '': 'home',
  explore: 'explore',
  'explore/code': 'explore-code',
  '-/admin': 'administration',
  '-/admin/maintenance': 'administration-maintenance',
  '-/admin/metrics': 'administration-metrics',
  '-/admin/identity-providers': 'administration-providers',
  '-/components': 'components',
  '-/admin/storage': 'administration-storage',
  '-/import': 'import',
  '-/organizations': 'organizations',
  'user/login': 'login',
  'user/sign_up': 'sign-up',
  'user/settings': 'profile',
  'user/settings/tokens': 'tokens',
  'user/settings/keys': 'keys',
  'user/login/callback': 'login-callback',
  'reset-password': 'reset-password',
  memos: 'memos',
  issues: 'dashboard',
  'verify-email': 'verify-email',
  'user/settings/applications': 'applications',
  'user/settings/emails': 'emails',
  notifications: 'notifications',
  'user/settings/security': 'security',
  'user/settings/sessions': 'sessions',
  'user/settings/storage': 'storage',
}

/** Returns the page of an address of this server; undefined if the address has none. */
export function routeOf({
  pathname,
  searchParams: query,
}: Pick<URL, 'pathname' | 'searchParams'>): Route | undefined {
  const path = pathname.replace(/^\/+|\/+$/g, '')
  const fixed = entryOf(FIXED, path)
  if (fixed) return { name: fixed, props: { owner: '', repo: '', rest: [], query } }
  const [owner = '', repo = '', folder, ...rest] = path.split('/').map(decoded)
  const props = { owner, repo, rest, query }
  if (owner === '-') return ownRoute(props, folder)
  if (owner === 'user' && repo === 'settings' && folder === 'hooks')
    return { name: 'user-webhooks', props }
  if (repo === '') return { name: 'account', props }
  if (folder === undefined) return { name: 'code', props }
  if (folder === 'settings') {
    const [page = '', ...below] = rest
    // No webhook has this number.
    if (page === 'hooks' && below[0] === 'git') return { name: 'git-hooks', props }
    const settings = entryOf(SETTINGS_PAGES, page)
    return settings && { name: settings, props: { ...props, rest: below } }
  }
  const name = entryOf(REPOSITORY_PAGES, folder)
  if (name === undefined) return undefined
  if (rest.length > 0 && name === 'pulls')
    return { name: entryOf(PULL_TABS, rest[1] ?? '') ?? 'pull', props }
  if (rest.length > 0 && name === 'issues')
    return { name: rest[0] === 'new' ? 'new-issue' : 'issue', props }
  return { name, props }
}

/** Returns the page of an address below `/-/`, which no account can be named. */
function ownRoute(props: PageProps, folder = ''): Route | undefined {
  if (props.repo === 'admin' && folder === 'accounts')
    return { name: 'administration-account', props }
  if (props.repo === 'api') {
    const names = folder === '' ? [] : [folder, ...props.rest]
    return { name: 'api', props: { ...props, owner: '', repo: '', rest: names } }
  }
  if (props.repo !== 'organizations') return undefined
  const [page = '', ...rest] = props.rest
  const name = entryOf(ORGANIZATION_PAGES, page)
  return name && { name, props: { ...props, owner: folder, repo: '', rest } }
}

/** Looks a segment up, which may be the name of something that all objects have. */
function entryOf(pages: Readonly<Record<string, PageName>>, segment: string): PageName | undefined {
  return Object.hasOwn(pages, segment) ? pages[segment] : undefined
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
