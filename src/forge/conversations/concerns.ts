import { nameKey } from '../core/names.ts'
import { analyzeMemo } from '../memos/content/content.ts'
import type { Notice } from './schema.ts'

/** Whom a change of a conversation concerns. Ids are those of rows. */
export interface Concerns {
  /**
   * Whether everybody is told who follows the conversation, and not only those whom the change
   * names.
   */
  readonly everybody: boolean
  /** Folded names of users whom a text newly mentions. */
  readonly mentioned?: readonly string[]
  readonly assignees?: readonly number[]
  readonly reviewers?: readonly number[]
  readonly reviewerTeams?: readonly number[]
  /** Whether all present assignees and requested reviewers are named. */
  readonly namesPresent?: boolean
  /** The comment that says something. */
  readonly comment?: number
  /** The review that says something. */
  readonly review?: number
}

/** The users whom a change concerns, as a notice stores them. */
export type StoredConcerns = Omit<Concerns, 'comment' | 'review'>

/** Returns whom a stored notice concerns. */
export function concernsOf({ told }: Pick<Notice, 'told'>): StoredConcerns {
  return JSON.parse(told) as StoredConcerns
}

/**
 * Returns the folded names of the users that texts mention and a former text did not.
 *
 * @param before the former text; empty for new texts.
 */
export function newMentions(texts: readonly string[], before = ''): string[] {
  const known = new Set(mentionsIn(before))
  return [...new Set(texts.flatMap(mentionsIn))]
    .filter((name) => !known.has(name))
    .slice(0, MAX_MENTIONS)
}

/** The maximum number of users whom one change mentions. Each mention is a lookup. */
const MAX_MENTIONS = 50

function mentionsIn(text: string): string[] {
  // Parsing Markdown takes time, and most texts contain no mention.
  return text.includes('@') ? analyzeMemo(text).mentions.map(nameKey) : []
}
