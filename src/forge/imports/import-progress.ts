import type { ProjectImport } from './schema.ts'

/** What an import counts. */
export const COUNTED = [
  'objects',
  'labels',
  'milestones',
  'issues',
  'comments',
  'pull_requests',
  'reviews',
  'releases',
  'assets',
  'attachments',
] as const

export type Counted = (typeof COUNTED)[number]

/** How many are done, of how many. The total rises while pages are read. */
export interface Count {
  readonly done: number
  readonly total: number
}

export type Counts = Readonly<Record<Counted, Count>>

/** Something that could not be imported, or not as a whole. */
export interface ImportProblem {
  /** Kind of the record. */
  readonly kind: string
  /** Names the record, such as `#12`. */
  readonly ref: string
  readonly message: string
}

/** More problems are counted only. */
const MAX_PROBLEMS = 1000

const NOTHING: Count = { done: 0, total: 0 }

/** Returns the counts of an import. */
export function countsOf({ progress }: Pick<ProjectImport, 'progress'>): Counts {
  // `withCounts` wrote the text.
  const stored = JSON.parse(progress) as Partial<Counts>
  return Object.fromEntries(COUNTED.map((kind) => [kind, stored[kind] ?? NOTHING])) as Counts
}

/** Returns counts with more done. A total is never less than what is done. */
export function countsWith(counts: Counts, added: Partial<Record<Counted, number>>): Counts {
  const result = { ...counts }
  for (const kind of COUNTED) {
    const done = counts[kind].done + (added[kind] ?? 0)
    result[kind] = { done, total: Math.max(counts[kind].total, done) }
  }
  return result
}

/** Returns counts with a known total of one kind. */
export function countsOfTotal(counts: Counts, kind: Counted, total: number): Counts {
  const { done } = counts[kind]
  return { ...counts, [kind]: { done, total: Math.max(total, done) } }
}

/** Returns the problems of an import. */
export function problemsOf({ errors }: Pick<ProjectImport, 'errors'>): readonly ImportProblem[] {
  // `withProblems` wrote the text.
  return JSON.parse(errors) as readonly ImportProblem[]
}

/** Returns the problems with more of them, as a text to store. */
export function withProblems(
  job: Pick<ProjectImport, 'errors'>,
  added: readonly ImportProblem[],
): string {
  if (added.length === 0) return job.errors
  const all = [...problemsOf(job), ...added]
  if (all.length <= MAX_PROBLEMS) return JSON.stringify(all)
  const rest = { kind: '', ref: '', message: 'further problems are left out' }
  return JSON.stringify([...all.slice(0, MAX_PROBLEMS - 1), rest])
}
