/**
 * The archive of a project: a tar archive (POSIX.1-2001) with the entries below, in this order. Each line
 * of a list is a JSON object. `archive-records.ts` writes them, and `sources/archive-source.ts` reads
 * them.
 */

/** The version of the format. A server refuses later ones. */
export const ARCHIVE_VERSION = 1

export const ARCHIVE_FORMAT = 'branchline-project'

export const MANIFEST = 'manifest.json'

/** A bundle of Git with the branches, the tags, and the commits of pull requests. */
export const BUNDLE = 'repository.bundle'

/** The lists, in their order in an archive. */
export const LISTS = [
  'labels',
  'milestones',
  'issues',
  'pull_requests',
  'reviews',
  'comments',
  'releases',
] as const

export type ListName = (typeof LISTS)[number]

/** Returns the entry of a list. */
export function listEntry(name: ListName): string {
  return `${name}.ndjson`
}

/** The folder of the files of releases, which have numbers for names. */
export const ASSETS = 'assets/'

/** The folder of the files of issues, pull requests and comments, which have numbers for names. */
export const ATTACHMENTS = 'attachments/'

/** A value of JSON. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

export type JsonRecord = { readonly [key: string]: JsonValue }

/** Returns a time of an archive. */
export function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** Returns a time of an archive; null for none. */
export function timeOrNull(seconds: number | null): string | null {
  return seconds === null ? null : timeText(seconds)
}
