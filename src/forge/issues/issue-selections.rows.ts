import type { ConversationKinds } from '../conversations/schema.ts'
import type { SearchedWords } from '../conversations/search-texts.rows.ts'
import type { RepositoryReader } from '../repositories/access/repository-readers.rows.ts'
import type { QueryCondition } from './query/query-conditions.rows.ts'

/** Selects conversations. Undefined fields do not restrict. */
export interface IssueFilter {
  readonly isOpen: boolean | undefined
  /** Names of labels, at least one of which a pull request has. */
  readonly labels?: readonly string[] | undefined
  readonly milestones?: MilestoneNames | undefined
  readonly posterId?: number | undefined
  readonly assigneeId?: number | undefined
  /** A user whom a text has mentioned. */
  readonly mentionedId?: number | undefined
  /** A user or team member who was asked for a review. */
  readonly requestedId?: number | undefined
  /** A user who has submitted a review. */
  readonly reviewerId?: number | undefined
  /** Words in one text of the conversation. No terms: nothing is found. */
  readonly terms?: SearchedWords['terms'] | undefined
  /** The number that the words are, if they are one: what has this number is found, too. */
  readonly number?: number | undefined
  /** The period of the last change with its ends, in Unix seconds. */
  readonly since?: number | undefined
  readonly before?: number | undefined
  /** A condition in the query language. */
  readonly query?: QueryCondition | undefined
}

/** Milestones, one of which a pull request has, by title or number. */
export interface MilestoneNames {
  readonly titles: readonly string[]
  readonly ids: readonly number[]
}

/** The repositories of a list: one of them, or those that a reader may read. */
export type IssuePlace = { readonly repositoryId: number } | ReadablePlace

export interface ReadablePlace {
  readonly reader: RepositoryReader
  readonly ownerId: number | undefined
  /** The team to which the repositories are assigned. */
  readonly teamId?: number | undefined
  /** The number of conversations of a kind and state that a search tests; undefined for the usual one. */
  readonly maxExamined?: number | undefined
}

/** The conversations of a list. */
export interface IssueSelection {
  readonly place: IssuePlace
  readonly kinds: ConversationKinds
  readonly filter: IssueFilter
}
