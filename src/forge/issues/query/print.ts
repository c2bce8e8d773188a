import {
  type Condition,
  PARTS,
  type ParsedQuery,
  type Part,
  type Term,
  type Value,
  type Word,
  type Words,
} from './schema.ts'

/** Returns the canonical text of a query. Its tree is that of the query. */
export function printQuery({ condition, sort }: ParsedQuery): string {
  const shared = condition && sharedParts(condition)
  return [
    ...(shared ? [`in:${shared.join(',')}`] : []),
    ...(condition ? [print(condition, 'whole', shared ?? PARTS)] : []),
    ...(sort ? [`sort:${sort.key}-${sort.direction}`] : []),
  ].join(' ')
}

/** Returns the parts of all words, if they are the same and not the usual ones. */
function sharedParts(condition: Condition): readonly Part[] | undefined {
  const [first, ...others] = partsIn(condition)
  const isShared = first && others.every((parts) => isSame(parts, first))
  return isShared && !isSame(first, PARTS) ? first : undefined
}

function partsIn(condition: Condition): (readonly Part[])[] {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.items.flatMap(partsIn)
    case 'not':
      return partsIn(condition.item)
    case 'words':
      return [condition.parts]
    default:
      return []
  }
}

function isSame(one: readonly Part[], other: readonly Part[]): boolean {
  return one.join() === other.join()
}

type Place = 'whole' | 'item of or' | 'item of and' | 'negated'

/** @param usual the parts that words have without `in:`. */
function print(condition: Condition, place: Place, usual: readonly Part[]): string {
  switch (condition.kind) {
    case 'or': {
      const text = condition.items.map((item) => print(item, 'item of or', usual)).join(' OR ')
      return place === 'whole' ? text : `(${text})`
    }
    case 'and': {
      const text = printAll(condition.items, usual)
      return place === 'whole' || place === 'item of or' ? text : `(${text})`
    }
    case 'not':
      return `-${print(condition.item, 'negated', usual)}`
    case 'words':
      return printWords(condition, place === 'negated' && condition.words.length > 1, usual)
    default:
      return printTerm(condition)
  }
}

/** The words of several items must not become those of one text. */
function printAll(items: readonly Condition[], usual: readonly Part[]): string {
  const bare = items.findIndex((item) => item.kind === 'words' && isSame(item.parts, usual))
  return items
    .map((item, i) =>
      item.kind === 'words'
        ? printWords(item, i !== bare, usual)
        : print(item, 'item of and', usual),
    )
    .join(' ')
}

function printWords({ words, parts }: Words, isGroup: boolean, usual: readonly Part[]): string {
  const text = words.map(printWord).join(' ')
  if (!isSame(parts, usual)) return `(in:${parts.join(',')} ${text})`
  return isGroup ? `(${text})` : text
}

/** Returns the text of a word. */
export function printWord({ text, isPhrase }: Word): string {
  return isPhrase ? quoted(text) : text
}

/** Returns a text in quotes. */
export function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

function printTerm({ qualifier, values }: Term): string {
  return `${qualifier}:${values.map(printValue).join(',')}`
}

/** Names that would be something else without quotes. */
const SPECIAL = /^(?:none|any|@me)$|\/\*$|[\s"(),]/u

/** Returns the text of a value. */
export function printValue(value: Value): string {
  switch (value.kind) {
    case 'none':
    case 'any':
      return value.kind
    case 'me':
      return '@me'
    case 'word':
      return value.text
    case 'name':
      return printName(value.text)
    case 'scope':
      return `${value.text}*`
    case 'path':
      return printName(`${value.owner}/${value.name}`)
    case 'conversation': {
      const { owner, repo, number } = value
      return owner === undefined ? `#${number}` : printName(`${owner}/${repo}#${number}`)
    }
    default:
      return value.text
  }
}

function printName(text: string): string {
  return SPECIAL.test(text) ? quoted(text) : text
}
