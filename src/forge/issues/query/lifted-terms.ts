import type { IssueFilter, IssueSelection } from '../issue-selections.rows.ts'
import type { QueryCondition } from './query-conditions.rows.ts'
import { termsOf } from './query-words.rows.ts'
import { type Condition, PARTS, type Term, type Words } from './schema.ts'

/** The conversations of a list, wherever they are. */
type Chosen = Pick<IssueSelection, 'kinds' | 'filter'>

/** What a term means beside a query. */
type Lifted = Partial<IssueFilter> & { readonly isPull?: boolean }

/**
 * Adds a query to a list. The terms that the query demands in any case become filters, for which lists
 * have indexes. A term stays in the query if the list or another term has the filter already.
 */
export function withQuery({ kinds, filter }: Chosen, query: QueryCondition | undefined): Chosen {
  if (!query) return { kinds, filter }
  const { condition } = query
  const rest: Condition[] = []
  let found: Chosen = { kinds, filter }
  for (const item of condition.kind === 'and' ? condition.items : [condition]) {
    const lifted =
      item.kind === 'term' ? lift(query, item) : item.kind === 'words' ? wordsOf(item) : undefined
    const next = lifted && join(found, lifted)
    if (next) found = next
    else rest.push(item)
  }
  const [first, ...others] = rest
  if (!first) return found
  const left: Condition = others.length === 0 ? first : { kind: 'and', items: rest }
  return { ...found, filter: { ...found.filter, query: { ...query, condition: left } } }
}

/** Returns undefined if the list has the filter, or would have no kind. */
function join({ kinds, filter }: Chosen, { isPull, ...more }: Lifted): Chosen | undefined {
  const left = {
    issues: kinds.issues && isPull !== true,
    pulls: kinds.pulls && isPull !== false,
  }
  const names = Object.keys(more) as (keyof IssueFilter)[]
  const isFree = names.every((name) => filter[name] === undefined)
  return isFree && (left.issues || left.pulls)
    ? { kinds: left, filter: { ...filter, ...more } }
    : undefined
}

/** Words that may be in all texts are those of a search. */
function wordsOf({ words, parts }: Words): Lifted | undefined {
  const { terms, number } = termsOf(words)
  return terms.length > 0 && parts.length === PARTS.length ? { terms, number } : undefined
}

/** Returns the filter that means what a term means; undefined if there is none. */
function lift(query: QueryCondition, { qualifier, values }: Term): Lifted | undefined {
  const names = values.flatMap((value) => (value.kind === 'name' ? value.text : []))
  if (qualifier === 'label') return names.length === values.length ? { labels: names } : undefined
  const [value, ...others] = values
  if (value === undefined || others.length > 0) return undefined
  if (value.kind === 'word') return qualityOf(qualifier, value.text)
  const { names: known, reader } = query
  const userId =
    value.kind === 'me'
      ? reader.userId
      : value.kind === 'name'
        ? known.users.get(value.text.toLowerCase())
        : undefined
  if (userId === undefined) return undefined
  switch (qualifier) {
    case 'author':
      return { posterId: userId }
    case 'assignee':
      return { assigneeId: userId }
    case 'mentions':
      return { mentionedId: userId }
    default:
      return undefined
  }
}

function qualityOf(qualifier: Term['qualifier'], text: string): Lifted | undefined {
  if (qualifier !== 'is' && qualifier !== 'state' && qualifier !== 'type') return undefined
  switch (text) {
    case 'open':
      return { isOpen: true }
    case 'closed':
      return { isOpen: false }
    case 'issue':
      return { isPull: false }
    case 'pr':
      return { isPull: true }
    default:
      return undefined
  }
}
