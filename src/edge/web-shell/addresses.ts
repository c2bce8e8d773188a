import type { ShellText } from './texts.ts'

/** The resource that the address of a page names. */
export type PageAddress =
  | { readonly kind: 'home' }
  /** A page that is the same on every instance. */
  | { readonly kind: 'fixed'; readonly title: ShellText }
  | { readonly kind: 'account'; readonly owner: string }
  | { readonly kind: 'repository'; readonly owner: string; readonly repo: string }
  | { readonly kind: 'unknown' }

/** First segments of paths that belong to the API and to tools. */
const OTHER_PATHS: ReadonlySet<string> = new Set([
  '.well-known',
  'api',
  'attachments',
  'file',
  'login',
  'schema',
])

/** Folders of a repository that REST serves, with web pages or without. */
const SERVED_BY_REST: ReadonlySet<string> = new Set([
  'archive',
  'atom',
  'attachments',
  'raw',
  'releases.atom',
])

/** Folders of a repository that have pages. */
const REPOSITORY_PAGES: ReadonlySet<string> = new Set([
  '_delete',
  '_edit',
  '_new',
  '_upload',
  'blame',
  'branches',
  'commit',
  'commits',
  'compare',
  'issues',
  'labels',
  'milestones',
  'pulls',
  'queue',
  'releases',
  'search',
  'settings',
  'src',
  'tags',
])

const FIXED_PAGES: Readonly<Record<string, ShellText>> = {
  '/explore': 'Explore',
  '/explore/code': 'Search code',
  '/user/login': 'Sign in',
  '/user/sign_up': 'Create an account',
  '/user/settings': 'Settings',
  '/user/settings/tokens': 'Access tokens',
  '/user/settings/keys': 'Keys',
  '/user/login/callback': 'Sign in',
  '/reset-password': 'Set a new password',
  '/memos': 'Memos',
  '/verify-email': 'Confirm your address',
  '/user/settings/applications': 'Applications',
  '/user/settings/emails': 'E-mail',
  '/issues': 'Issues and pull requests',
  '/notifications': 'Notifications',
  '/user/settings/security': 'Security',
  '/user/settings/sessions': 'Sessions',
  '/user/settings/storage': 'Storage',
}

/** Pages below `/-/`, which no account can be named. They show a stranger the same for every name. */
const OWN_PAGES: ReadonlyMap<string, ShellText> = new Map([
  ['admin', 'Administration'],
  ['components', 'Components of the pages'],
  ['import', 'Import a repository'],
  ['organizations', 'Organisations'],
])

/**
 * Reads the path of a navigation. Returns undefined if the path belongs to another part of the
 * server.
 *
 * @param path as in the request line, without the query.
 */
export function readPageAddress(path: string): PageAddress | undefined {
  const trimmed = path.replace(/\/+$/, '')
  if (trimmed === '') return { kind: 'home' }
  const title = FIXED_PAGES[trimmed]
  if (title !== undefined) return { kind: 'fixed', title }
  const [owner = '', repo, folder, ...rest] = trimmed.slice(1).split('/').map(decoded)
  if (owner === '-' && repo === 'api') return { kind: 'fixed', title: 'API' }
  if (owner === 'user' && repo === 'settings' && folder === 'hooks')
    return { kind: 'fixed', title: 'Webhooks' }
  if (OTHER_PATHS.has(owner)) return undefined
  if (owner === '-') {
    const title = OWN_PAGES.get(repo ?? '')
    return title === undefined ? { kind: 'unknown' } : { kind: 'fixed', title }
  }
  // The feed of a repository, which REST serves. New repositories have no such name.
  if (repo?.endsWith('.atom') && folder === undefined) return undefined
  if (repo === undefined) return { kind: 'account', owner }
  if (folder !== undefined && isChange(folder, rest)) return undefined
  if (folder === undefined || REPOSITORY_PAGES.has(folder))
    return { kind: 'repository', owner, repo }
  return SERVED_BY_REST.has(folder) ? undefined : { kind: 'unknown' }
}

/** Changes as text, whose addresses are those of pages with an ending. REST serves them. */
const CHANGES: Readonly<Record<string, RegExp>> = {
  pulls: /^\d+\.(diff|patch)$/,
  commit: /\.(diff|patch)$/,
}

function isChange(folder: string, [name = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && Object.hasOwn(CHANGES, folder) && CHANGES[folder]?.test(name) === true
}

/** Returns a segment without percent-encoding. No name has an invalid one, so that it stays. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
