import { tokensOf } from '../../platform/database/text-tokens.ts'
import { openConversations } from '../conversations/conversation-readers.ts'
import type { Caller } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName } from '../core/names.ts'
import type { ReposApp } from '../repositories/ports.ts'
import { type IssueView, viewIssues } from './issue-views.ts'
import { openIssue } from './open-issues.ts'
import { findIssues, issuesWithToken } from './similar-issues.rows.ts'

const MAX_RESULTS = 10
/** The number of words of a text that are looked up, and how many of them, the rarest, decide. */
const MAX_LOOKUPS = 40
const MAX_WORDS = 12
/** The number of issues, newest first, that are considered for one word. */
const MAX_ISSUES = 1_000
/** The number of characters of a text that are read. */
const MAX_CHARACTERS = 65_536

/** A text whose like is looked for: that of an issue if the number is not 0. */
interface SimilarQuery extends ConversationName {
  readonly title: string
  readonly body: string
  /** 0 for the maximum. */
  readonly limit: number
}

/**
 * Finds issues of a repository, open and closed, that share rare words with a text.
 *
 * @throws as `openConversations`; ISSUE_NOT_FOUND if there is no such issue, or the caller may not
 *   read issues.
 */
export async function findSimilarIssues(
  app: ReposApp,
  caller: Caller,
  query: SimilarQuery,
): Promise<IssueView[]> {
  const { kinds, ...open } = await openConversations(app, caller, query)
  if (!kinds.issues) throw new DomainError('ISSUE_NOT_FOUND')
  const issue = query.number === 0 ? undefined : (await openIssue(app, caller, query, 'read')).issue
  const { title, body } = issue ?? query
  const tokens = [...new Set(tokensOf(`${title} ${body.slice(0, MAX_CHARACTERS)}`))]
  const known: (readonly number[])[] = []
  for (const token of tokens.slice(0, MAX_LOOKUPS)) {
    const ids = await issuesWithToken(app.db, open.repository.id, token, MAX_ISSUES)
    const others = ids.filter((id) => id !== issue?.id)
    if (others.length > 0) known.push(others)
  }
  const limit = query.limit < 1 ? MAX_RESULTS : Math.min(query.limit, MAX_RESULTS)
  const ranked = rank(known, open.repository.issues_count).slice(0, limit)
  if (ranked.length === 0) return []
  const found = await findIssues(app.db, ranked)
  found.sort((one, other) => ranked.indexOf(one.id) - ranked.indexOf(other.id))
  return viewIssues(app, caller, [open], found)
}

/**
 * Ranks issues by the rare words that they share with a text. One word is enough only if the
 * repository knows no other word of the text.
 *
 * @param known the issues that have a word, for each word.
 * @param total the number of issues in the repository.
 */
function rank(known: readonly (readonly number[])[], total: number): number[] {
  const rarest = known.toSorted((a, b) => a.length - b.length).slice(0, MAX_WORDS)
  const scores = new Map<number, { words: number; score: number }>()
  for (const ids of rarest)
    for (const id of ids) {
      const { words, score } = scores.get(id) ?? { words: 0, score: 0 }
      scores.set(id, { words: words + 1, score: score + Math.log1p(total / ids.length) })
    }
  const needed = Math.min(2, rarest.length)
  return [...scores]
    .filter(([, { words }]) => words >= needed)
    .sort(([id, one], [otherId, other]) => other.score - one.score || otherId - id)
    .map(([id]) => id)
}
