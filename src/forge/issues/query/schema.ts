import type { Generated, Selectable } from 'kysely'

/** The qualifiers, by the kind of their values. */
export const QUALIFIERS = {
  is: 'word',
  type: 'word',
  state: 'word',
  reason: 'word',
  no: 'word',
  has: 'word',
  author: 'user',
  assignee: 'user',
  mentions: 'user',
  commenter: 'user',
  involves: 'user',
  reviewer: 'user',
  'review-requested': 'user',
  review: 'word',
  checks: 'word',
  subscriber: 'me',
  label: 'label',
  milestone: 'milestone',
  repo: 'path',
  owner: 'name',
  team: 'path',
  created: 'time',
  updated: 'time',
  closed: 'time',
  due: 'time',
  comments: 'number',
  reactions: 'number',
  number: 'number',
  parent: 'conversation',
  blocks: 'conversation',
  'blocked-by': 'conversation',
  'duplicate-of': 'conversation',
  head: 'name',
  base: 'name',
} as const satisfies Readonly<Record<string, string>>

/** The name of a qualifier that is a condition. */
export type Qualifier = keyof typeof QUALIFIERS

const PROPERTIES = [
  'label',
  'milestone',
  'assignee',
  'due',
  'parent',
  'attachment',
  'children',
  'dependency',
  'linked-pr',
] as const

/** The values of the qualifiers that have a fixed list. */
export const WORDS = {
  is: [
    'open',
    'closed',
    'merged',
    'issue',
    'pr',
    'draft',
    'locked',
    'pinned',
    'public',
    'private',
    'archived',
    'unread',
    'blocked',
    'blocking',
  ],
  type: ['issue', 'pr'],
  state: ['open', 'closed'],
  reason: ['completed', 'not_planned', 'duplicate'],
  no: PROPERTIES,
  has: PROPERTIES,
  review: ['none', 'requested', 'approved', 'changes_requested'],
  checks: ['none', 'pending', 'success', 'failure'],
} as const

/** What `no:` and `has:` ask for. */
export type Property = (typeof PROPERTIES)[number]

/** What `is:` asks for. */
export type Quality = (typeof WORDS.is)[number]

/** What `review:` asks for: what the votes that count and the requests of a pull request say. */
export type ReviewState = (typeof WORDS.review)[number]

/** What `checks:` asks for: the combined state of the statuses of the head. */
export type ChecksState = (typeof WORDS.checks)[number]

/** The texts in which words are looked for. */
export const PARTS = ['title', 'body', 'comments'] as const

export type Part = (typeof PARTS)[number]

/** The keys of `sort:`. */
export const SORT_KEYS = [
  'created',
  'updated',
  'closed',
  'comments',
  'reactions',
  'due',
  'relevance',
] as const

/** The order that a query asks for. */
export interface QuerySort {
  readonly key: (typeof SORT_KEYS)[number]
  readonly direction: 'asc' | 'desc'
}

/** A word or, in quotes, a phrase. */
export interface Word {
  readonly text: string
  readonly isPhrase: boolean
}

/** One value of a qualifier. Numbers and times include both ends. */
export type Value =
  | { readonly kind: 'none' | 'any' | 'me' }
  | { readonly kind: 'word' | 'name'; readonly text: string }
  /** The labels of a scope. The text ends in `/`. */
  | { readonly kind: 'scope'; readonly text: string }
  /** A repository or a team. */
  | { readonly kind: 'path'; readonly owner: string; readonly name: string }
  /** Undefined names mean the repository of each conversation itself. */
  | {
      readonly kind: 'conversation'
      readonly owner: string | undefined
      readonly repo: string | undefined
      readonly number: number
    }
  | {
      readonly kind: 'numbers' | 'times'
      readonly from: number | undefined
      readonly to: number | undefined
      /** As it was written. */
      readonly text: string
    }
  /** Times before now. `less` includes the limit, and excludes times to come. */
  | {
      readonly kind: 'age'
      readonly is: 'less' | 'more'
      readonly seconds: number
      readonly text: string
    }

/** A qualifier with values, at least one of which a conversation must have. */
export interface Term {
  readonly kind: 'term'
  readonly qualifier: Qualifier
  readonly values: readonly Value[]
}

/** Words that must all be in one and the same text: title and description, or one comment. */
export interface Words {
  readonly kind: 'words'
  readonly words: readonly Word[]
  /** In the order of `PARTS`. */
  readonly parts: readonly Part[]
}

/** A condition for conversations. Items of `and` and `or` are two at least, and of another kind. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly items: readonly Condition[] }
  | { readonly kind: 'not'; readonly item: Condition }
  | Words
  | Term

/** A query that was understood. */
export interface ParsedQuery {
  /** Undefined for no condition. */
  readonly condition: Condition | undefined
  readonly sort: QuerySort | undefined
}

/** A team whose repositories a query asks for. */
export interface QueryTeam {
  readonly id: number
  readonly organizationId: number
  /** Whether all repositories of the organisation are those of the team. */
  readonly hasAll: boolean
}

/** What the names in a query mean to a caller, by their folded text. What is hidden is not there. */
export interface QueryNames {
  readonly users: ReadonlyMap<string, number>
  readonly owners: ReadonlyMap<string, number>
  /** By `owner/name`. */
  readonly repositories: ReadonlyMap<string, number>
  /** By `organisation/name`. */
  readonly teams: ReadonlyMap<string, QueryTeam>
}

/** Saved views. Exactly one of `repository_id` and `user_id` is set. */
interface IssueViewsTable {
  /** Never reused. */
  id: Generated<number>
  repository_id: number | null
  user_id: number | null
  /** Null if the account was deleted. */
  creator_id: number | null
  name: string
  query: string
  /** From 1 without gaps. */
  position: number
  /** Unix seconds, like the next column. */
  create_time: number
  update_time: number
}

export type StoredView = Selectable<IssueViewsTable>

/** Whose views: those of a repository, or of an account. */
export type ViewOwner = Pick<StoredView, 'repository_id' | 'user_id'>

declare module '../../../platform/database/schema.ts' {
  interface Schema {
    issue_views: IssueViewsTable
  }
}
