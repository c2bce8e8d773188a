/** What an address gives its page. */
export interface PageProps {
  readonly owner: string
  readonly repo: string
  /** The segments after the part of the address that names the page, without percent-encoding. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

/** The names of the pages, which are files in `pages/`. */
export type PageName =
  | 'home'
  | 'explore'
  | 'login'
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
  | 'account'
  | 'code'
  | 'commits'
  | 'commit'
  | 'branches'
  | 'tags'
  | 'releases'
  | 'pulls'
  | 'pull'
  | 'compare'

/** The page of an address. */
export interface Route {
  readonly name: PageName
  readonly props: PageProps
}

/** The pages below a repository. */
const REPOSITORY_PAGES: Readonly<Record<string, PageName>> = {
  src: 'code',
  commits: 'commits',
  commit: 'commit',
  branches: 'branches',
  tags: 'tags',
  releases: 'releases',
  pulls: 'pulls',
  compare: 'compare',
}

const FIXED: Readonly<Record<string, PageName>> = {
  '': 'home',
  explore: 'explore',
  'user/login': 'login',
  'user/settings': 'profile',
  'user/settings/tokens': 'tokens',
  'user/settings/keys': 'keys',
  'user/login/callback': 'login-callback',
  'reset-password': 'reset-password',
  memos: 'memos',
  'verify-email': 'verify-email',
  'user/settings/applications': 'applications',
  'user/settings/emails': 'emails',
  notifications: 'notifications',
  'user/settings/security': 'security',
}

/** Returns the page of an address of this server; undefined if the address has none. */
export function routeOf({ pathname, searchParams: query }: URL): Route | undefined {
  const path = pathname.replace(/^\/+|\/+$/g, '')
  const fixed = FIXED[path]
  if (fixed) return { name: fixed, props: { owner: '', repo: '', rest: [], query } }
  const [owner = '', repo = '', folder, ...rest] = path.split('/').map(decoded)
  const props = { owner, repo, rest, query }
  if (repo === '') return { name: 'account', props }
  if (folder === undefined) return { name: 'code', props }
  const name = REPOSITORY_PAGES[folder]
  if (name === undefined) return undefined
  return { name: name === 'pulls' && rest.length > 0 ? 'pull' : name, props }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
