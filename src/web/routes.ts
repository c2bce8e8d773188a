import type { ComponentType } from 'preact'

/** What an address gives its page. */
export interface PageProps {
  readonly owner: string
  readonly repo: string
  /** The segments after the part of the address that names the page, without percent-encoding. */
  readonly rest: readonly string[]
  readonly query: URLSearchParams
}

export type Page = ComponentType<PageProps>

/** Each page is a script of its own. */
const PAGES = {
  home: () => import('./pages/home.tsx'),
  explore: () => import('./pages/explore.tsx'),
  login: () => import('./pages/login.tsx'),
  settings: () => import('./pages/settings.tsx'),
  account: () => import('./pages/account.tsx'),
  code: () => import('./pages/code.tsx'),
  commits: () => import('./pages/commits.tsx'),
  commit: () => import('./pages/commit.tsx'),
  branches: () => import('./pages/branches.tsx'),
  tags: () => import('./pages/tags.tsx'),
  releases: () => import('./pages/releases.tsx'),
  pulls: () => import('./pages/pulls.tsx'),
  pull: () => import('./pages/pull.tsx'),
  compare: () => import('./pages/compare.tsx'),
} satisfies Record<string, () => Promise<{ readonly default: Page }>>

/** The page of an address. */
export interface Route {
  readonly name: keyof typeof PAGES
  readonly props: PageProps
}

/** The pages below a repository. */
const REPOSITORY_PAGES: Readonly<Record<string, Route['name']>> = {
  src: 'code',
  commits: 'commits',
  commit: 'commit',
  branches: 'branches',
  tags: 'tags',
  releases: 'releases',
  pulls: 'pulls',
  compare: 'compare',
}

const FIXED: Readonly<Record<string, Route['name']>> = {
  '': 'home',
  explore: 'explore',
  'user/login': 'login',
  'user/settings': 'settings',
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

/** Loads the script of a page. */
export async function loadPage(name: Route['name']): Promise<Page> {
  return (await PAGES[name]()).default
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
