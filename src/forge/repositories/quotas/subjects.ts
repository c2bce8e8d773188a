import type { Kind, Usage } from './schema.ts'

/**
 * The subjects of quotas, as in compatible systems: kinds of bytes that contain each other. Quotas
 * of wikis, packages and artifacts can be set, and nothing uses them.
 */

export const KINDS: readonly Kind[] = ['public', 'private', 'lfs', 'issues', 'releases']

const REPOSITORIES = ['public', 'private'] as const
const ATTACHMENTS = ['issues', 'releases'] as const
const ASSETS = [...ATTACHMENTS, 'artifacts', 'packages', 'wiki'] as const

/** The kinds that each subject consists of, with those that nothing uses. */
const PARTS = {
  'size:all': [...REPOSITORIES, 'lfs', ...ASSETS],
  'size:repos:all': REPOSITORIES,
  'size:repos:public': ['public'],
  'size:repos:private': ['private'],
  'size:git:all': [...REPOSITORIES, 'lfs'],
  'size:git:lfs': ['lfs'],
  'size:assets:all': ASSETS,
  'size:assets:attachments:all': ATTACHMENTS,
  'size:assets:attachments:issues': ['issues'],
  'size:assets:attachments:releases': ['releases'],
  'size:assets:artifacts': ['artifacts'],
  'size:assets:packages:all': ['packages'],
  'size:assets:wiki': ['wiki'],
  none: [],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Subject = keyof typeof PARTS

/** Returns the subject with a name. */
export function findSubject(name: string): Subject | undefined {
  return Object.hasOwn(PARTS, name) ? (name as Subject) : undefined
}

/** The subject of bytes of one kind. */
export const SUBJECT_OF = {
  public: 'size:repos:public',
  private: 'size:repos:private',
  lfs: 'size:git:lfs',
  issues: 'size:assets:attachments:issues',
  releases: 'size:assets:attachments:releases',
} as const satisfies Readonly<Record<Kind, Subject>>

/** A limit of administrators. */
export interface QuotaRule {
  readonly name: string
  /** Bytes; -1 for no limit. */
  readonly limit: number
  readonly subjects: readonly Subject[]
}

export interface QuotaGroup {
  readonly name: string
  readonly rules: readonly QuotaRule[]
}

/** The rule that leaves a subject the least bytes. */
export interface TightestRule {
  readonly rule: QuotaRule
  /** Bytes that the rule counts. */
  readonly used: number
  /** Bytes that may be added; negative if the rule is broken, infinite without a limit. */
  readonly left: number
}

/**
 * Returns the tightest rule of the most generous group that knows a subject: one group that allows
 * the subject is enough. Undefined if no group knows the subject.
 */
export function tightestRule(
  groups: readonly QuotaGroup[],
  subject: Subject,
  usage: Usage,
): TightestRule | undefined {
  return groups
    .flatMap(({ rules }) => {
      const [tightest] = rules
        .filter((rule) => holders(rule, subject) > 0)
        .map((rule) => judge(rule, subject, usage))
        .sort((a, b) => a.left - b.left)
      return tightest ?? []
    })
    .sort((a, b) => b.left - a.left)[0]
}

/** Returns the sum of the bytes of subjects. */
export function usedBy(subjects: readonly Subject[], usage: Usage): number {
  const bytes: Readonly<Record<string, number>> = usage
  return subjects
    .flatMap((subject): readonly string[] => PARTS[subject])
    .reduce((sum, kind) => sum + (bytes[kind] ?? 0), 0)
}

function judge(rule: QuotaRule, subject: Subject, usage: Usage): TightestRule {
  const used = usedBy(rule.subjects, usage)
  const left =
    rule.limit < 0
      ? Number.POSITIVE_INFINITY
      : Math.floor((rule.limit - used) / holders(rule, subject))
  return { rule, used, left }
}

/** Returns how many subjects of a rule contain a subject, which counts once for each. */
function holders({ subjects }: QuotaRule, subject: Subject): number {
  const parts = PARTS[subject]
  if (parts.length === 0) return 0
  return subjects.filter((other) => {
    const whole: readonly string[] = PARTS[other]
    return parts.every((part) => whole.includes(part))
  }).length
}
