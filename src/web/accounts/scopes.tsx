import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'

/** Description of the scopes of each category. */
const CATEGORIES = {
  repository: 'Repositories: code, branches, releases, webhooks, and the settings of repositories',
  issue: 'Issues and pull requests: comments, reviews, labels and milestones',
  user: 'Your account: profile, e-mail addresses, keys and tokens',
  organization: 'Organisations and their teams',
  notification: 'Your notifications',
  memo: 'Memos',
  misc: 'Facts about the server',
  admin: 'Administration: all accounts, and the settings of the server',
} as const

/** Returns the categories that an account can use. */
function categoriesFor(isAdmin: boolean): readonly (readonly [name: string, text: string])[] {
  return Object.entries(CATEGORIES).filter(([name]) => isAdmin || name !== 'admin')
}

/** The part of a form that chooses what a token permits. */
export function ScopeFields({ isAdmin }: { isAdmin: boolean }): VNode {
  return (
    <fieldset>
      <legend>What the token may do</legend>
      <label class="choice">
        <input type="checkbox" name="all" /> Everything that you may do, whatever is chosen below
      </label>
      {categoriesFor(isAdmin).map(([name, text]) => (
        <label key={name}>
          {text}
          <select name={`scope-${name}`}>
            <option value="">nothing</option>
            <option value="read">read</option>
            <option value="write">read and change</option>
          </select>
        </label>
      ))}
      <label class="choice">
        <input type="checkbox" name="public-only" /> Only what everybody may see
      </label>
    </fieldset>
  )
}

/**
 * Returns the scopes that a form has chosen.
 *
 * @throws ConnectError if there are none, which the API would take for all.
 */
export function scopesOf(form: FormData): string[] {
  const limit = form.has('public-only') ? ['public-only'] : []
  if (form.has('all')) return ['all', ...limit]
  const chosen = Object.keys(CATEGORIES).flatMap((category) => {
    const level = form.get(`scope-${category}`)
    return typeof level === 'string' && level !== '' ? [`${level}:${category}`] : []
  })
  if (chosen.length === 0)
    throw new ConnectError('the token may do nothing: choose a scope', Code.InvalidArgument)
  return [...chosen, ...limit]
}

/** Returns what scopes permit, in words. */
export function scopesText(scopes: readonly string[]): string {
  return scopes.map(scopeText).join('; ')
}

/** Scopes that are no pair of a level and a category. */
const OTHER_SCOPES: Readonly<Record<string, string>> = {
  all: 'everything',
  'public-only': 'only what everybody may see',
  openid: 'know who you are',
  profile: 'know your profile',
  email: 'know your e-mail address',
  groups: 'know your organisations',
}

function scopeText(scope: string): string {
  const [level, category] = scope.split(':')
  if (category === undefined) return OTHER_SCOPES[scope] ?? scope
  const subject = new Map<string, string>(Object.entries(CATEGORIES)).get(category) ?? category
  return `${level === 'write' ? 'read and change' : 'read'} ${subject.split(':')[0]?.toLowerCase()}`
}
