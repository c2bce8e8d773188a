import type { Owner } from '../../accounts/schema.ts'
import type { Settings } from '../../core/core.ts'
import type { CountedUsage, RuleRow } from './quotas.rows.ts'
import { findSubject, type QuotaGroup, type Subject, tightestRule } from './subjects.ts'

/** The limits of an owner: those of groups, or else those of the settings. */
export interface Limits {
  readonly groups: readonly QuotaGroup[]
  readonly settings: Settings['quotas']
}

/** Returns whether the settings limit anything. */
export function limitsAnything({
  account,
  organization,
  repository,
  instance,
}: Settings['quotas']) {
  return [account, organization, repository, instance].some((limit) => limit !== undefined)
}

/** Returns groups from the rows of their rules. */
export function groupsOf(rows: readonly RuleRow[]): QuotaGroup[] {
  const groups = new Map<string, Map<string, QuotaGroup['rules'][number]>>()
  for (const { group, rule, limit, subject } of rows) {
    const rules = groups.get(group) ?? new Map()
    groups.set(group, rules)
    if (rule === null) continue
    const known = rules.get(rule) ?? { name: rule, limit: limit ?? -1, subjects: [] }
    const name = subject === null ? undefined : findSubject(subject)
    rules.set(rule, { ...known, subjects: name ? [...known.subjects, name] : known.subjects })
  }
  return [...groups].map(([name, rules]) => ({ name, rules: [...rules.values()] }))
}

/** What a limit is about. */
export type Scope = 'repository' | 'account' | 'organisation' | 'instance'

/** The limit that leaves the least bytes. */
export interface TightestLimit {
  readonly scope: Scope
  readonly used: number
  readonly limit: number
  /** Bytes that may be added; negative when the limit is passed. */
  readonly left: number
}

/** Returns the limit of the settings for all bytes of an owner. */
export function ownerLimit(
  { account, organization }: Settings['quotas'],
  { kind }: Pick<Owner, 'kind'>,
): number | undefined {
  return kind === 'ORGANIZATION' ? organization : account
}

/** Returns the tightest limit of the bytes of a subject; undefined if there is no limit. */
export function tightestLimit(
  { groups, settings }: Limits,
  owner: Pick<Owner, 'kind'>,
  subject: Subject,
  usage: CountedUsage,
): TightestLimit | undefined {
  const own: Scope = owner.kind === 'ORGANIZATION' ? 'organisation' : 'account'
  const found = tightestRule(groups, subject, usage.owner)
  if (found) {
    const { rule, used, left } = found
    return rule.limit < 0 ? undefined : { scope: own, used, limit: rule.limit, left }
  }
  const total = Object.values(usage.owner).reduce((sum, bytes) => sum + bytes, 0)
  const [tightest] = (
    [
      ['repository', usage.repository, settings.repository],
      [own, total, ownerLimit(settings, owner)],
      ['instance', usage.instance, settings.instance],
    ] as const
  )
    .flatMap(([scope, used, limit]) =>
      limit === undefined ? [] : { scope, used, limit, left: limit - used },
    )
    .sort((a, b) => a.left - b.left)
  return tightest
}
