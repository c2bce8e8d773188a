import type { VNode } from 'preact'
import { Code, ConnectError } from '../api/calls.ts'
import { t } from '../language/texts.tsx'

/** Description of the scopes of each category. */
const CATEGORIES = {
  repository: t(
    'Repositories: code, branches, releases, webhooks, and the settings of repositories',
  ),
  issue: t('Issues and pull requests: comments, reviews, labels and milestones'),
  user: t('Your account: profile, e-mail addresses, keys and tokens'),
  organization: t('Organisations and their teams'),
  notification: t('Your notifications'),
  memo: t('Memos'),
  misc: t('Facts about the server'),
  admin: t('Administration: all accounts, and the settings of the server'),
} as const

/** Returns the categories that an account can use. */
function categoriesFor(isAdmin: boolean): readonly (readonly [name: string, text: string])[] {
  return Object.entries(CATEGORIES).filter(([name]) => isAdmin || name !== 'admin')
}

/** The part of a form that chooses what a token permits. */
export function ScopeFields({ isAdmin }: { isAdmin: boolean }): VNode {
  return (
    <fieldset>
      <legend>{t('What the token may do')}</legend>
      <label class="choice">
        <input type="checkbox" name="all" />{' '}
        {t('Everything that you may do, whatever is chosen below')}
      </label>
      {categoriesFor(isAdmin).map(([name, text]) => (
        <label key={name}>
          {text}
          <select name={`scope-${name}`}>
            <option value="">{t('nothing')}</option>
            <option value="read">{t('read')}</option>
            <option value="write">{t('read and change')}</option>
          </select>
        </label>
      ))}
      <label class="choice">
        <input type="checkbox" name="public-only" /> {t('Only what everybody may see')}
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
    throw new ConnectError(t('the token may do nothing: choose a scope'), Code.InvalidArgument)
  return [...chosen, ...limit]
}

/** Returns what scopes permit, in words. */
export function scopesText(scopes: readonly string[]): string {
  return scopes.map(scopeText).join('; ')
}

/** Scopes that are no pair of a level and a category. */
const OTHER_SCOPES: Readonly<Record<string, string>> = {
  all: t('everything'),
  'public-only': t('only what everybody may see'),
  openid: t('know who you are'),
  profile: t('know your profile'),
  email: t('know your e-mail address'),
  groups: t('know your organisations'),
}

/** The categories as a part of a sentence. */
const SUBJECTS: Readonly<Record<string, string>> = {
  repository: t('repositories @scope'),
  issue: t('issues and pull requests @scope'),
  user: t('your account @scope'),
  organization: t('organisations and their teams @scope'),
  notification: t('your notifications @scope'),
  memo: t('memos @scope'),
  misc: t('facts about the server @scope'),
  admin: t('administration @scope'),
}

function scopeText(scope: string): string {
  const [level, category] = scope.split(':')
  if (category === undefined) return OTHER_SCOPES[scope] ?? scope
  const subject = SUBJECTS[category] ?? category
  return level === 'write'
    ? t('read and change {subject}', { subject })
    : t('read {subject}', { subject })
}
