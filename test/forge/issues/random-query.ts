import { parseQuery } from '../../../src/forge/issues/query/parse.ts'
import {
  type Condition,
  PARTS,
  type ParsedQuery,
  type Part,
  SORT_KEYS,
  type Word,
} from '../../../src/forge/issues/query/schema.ts'
import type { Random } from '../../platform/rpc/rest/random.ts'

type Terms = readonly [string, ...string[]]
type Words = readonly [Word, ...Word[]]

/** Terms of every kind. */
const TERMS: Terms = [
  'is:open',
  'is:merged,closed',
  'type:pr',
  'no:label,milestone',
  'has:assignee',
  'author:@me',
  'assignee:none,bob',
  'involves:any',
  'label:a,"good first","none",none',
  'label:kind/*,"kind/*"',
  'label:"a\\"b\\\\c"',
  'milestone:"v1, v2"',
  'repo:own/pub',
  'created:>=2026-05-01,<7d',
  'due:2026-01-01..2026-03-31',
  'comments:*..3,>9',
  'number:7',
  'blocks:#5,own/pub#6',
  'head:feature/x',
]

const WORDS: Words = [
  { text: 'pump', isPhrase: false },
  { text: '#5', isPhrase: false },
  { text: '-', isPhrase: false },
  { text: 'and', isPhrase: false },
  { text: 'OR', isPhrase: true },
  { text: 'two words', isPhrase: true },
  { text: '(a:b) "c" \\', isPhrase: true },
]

/** Returns a tree as the parser makes them, within the limits. */
export function randomQuery(random: Random, terms = TERMS, words = WORDS): ParsedQuery {
  const budget = { words: 8, terms: 16, from: { terms, words } }
  const condition = randomCondition(random, 3, budget, undefined)
  const sort = random.below(3) === 0
  return {
    condition,
    sort: sort
      ? { key: random.pick(SORT_KEYS), direction: random.pick(['asc', 'desc'] as const) }
      : undefined,
  }
}

interface Budget {
  words: number
  terms: number
  readonly from: { readonly terms: Terms; readonly words: Words }
}

function randomCondition(
  random: Random,
  depth: number,
  budget: Budget,
  outer: 'and' | 'or' | undefined,
): Condition {
  const kind = depth === 0 ? 'leaf' : random.pick(['and', 'or', 'not', 'leaf', 'leaf'] as const)
  if (kind === 'not') return { kind, item: randomCondition(random, depth - 1, budget, undefined) }
  if (kind === 'leaf' || kind === outer || budget.terms < 4) return randomLeaf(random, budget)
  const items = Array.from({ length: 2 + random.below(2) }, () =>
    randomCondition(random, depth - 1, budget, kind),
  )
  return { kind, items }
}

function randomLeaf(random: Random, budget: Budget): Condition {
  budget.terms -= 1
  if (budget.words > 0 && random.below(2) === 0) {
    const count = Math.min(budget.words, 1 + random.below(2))
    budget.words -= count
    const parts: readonly Part[] =
      random.below(2) === 0 ? PARTS : random.pick([['title'], ['title', 'comments']] as const)
    return {
      kind: 'words',
      words: Array.from({ length: count }, () => random.pick(budget.from.words)),
      parts,
    }
  }
  const { condition } = parseQuery(random.pick(budget.from.terms))
  if (!condition) throw new Error('a term is no condition')
  return condition
}
