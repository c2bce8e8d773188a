import { QUALIFIERS, type Qualifier, type Value, WORDS } from './schema.ts'
import { invalidQuery, type RawValue } from './tokens.ts'

/**
 * Returns the value of a qualifier.
 *
 * @throws INVALID_ISSUE_QUERY
 */
export function readValue(qualifier: Qualifier, raw: RawValue): Value {
  const found = raw.text === '' ? undefined : READERS[QUALIFIERS[qualifier]](raw, qualifier)
  if (found === undefined)
    throw invalidQuery(raw.position, `${qualifier}:${raw.text}`, expectedOf(qualifier))
  return found
}

/** Says which values a qualifier has. */
export function expectedOf(qualifier: Qualifier): string {
  if (qualifier in WORDS) return WORDS[qualifier as keyof typeof WORDS].join(', ')
  return EXPECTED[QUALIFIERS[qualifier]]
}

type Kind = (typeof QUALIFIERS)[Qualifier]

const EXPECTED: Readonly<Record<Kind, string>> = {
  word: 'a word',
  user: 'a login, @me, none or any',
  me: '@me',
  label: 'a name, none, any or SCOPE/*',
  milestone: 'a title, none or any',
  name: 'a name',
  path: 'OWNER/NAME',
  number: 'a number as 5, >5, >=5, <5, <=5 or 2..9',
  time: 'a time as 2026-05-01, >=2026-05-01, <7d or 2026-01-01..2026-03-31',
  conversation: '#NUMBER or OWNER/REPO#NUMBER',
}

const READERS: Readonly<Record<Kind, (raw: RawValue, qualifier: Qualifier) => Value | undefined>> =
  {
    word({ text }, qualifier) {
      const words: readonly string[] = WORDS[qualifier as keyof typeof WORDS]
      const word = text.toLowerCase()
      return words.includes(word) ? { kind: 'word', text: word } : undefined
    },
    user: (raw) => optional(raw) ?? me(raw) ?? { kind: 'name', text: raw.text },
    me,
    label: (raw) => optional(raw) ?? scope(raw) ?? { kind: 'name', text: raw.text },
    milestone: (raw) => optional(raw) ?? { kind: 'name', text: raw.text },
    name: ({ text }) => ({ kind: 'name', text }),
    path({ text }) {
      const [owner = '', name = '', ...more] = text.split('/')
      return owner !== '' && name !== '' && more.length === 0
        ? { kind: 'path', owner, name }
        : undefined
    },
    number: ({ text }) => range('numbers', text, readNumber),
    time: ({ text }) => readAge(text) ?? range('times', text, readTime),
    conversation({ text }) {
      const [, owner, repo, number] = /^(?:([^/#\s]+)\/([^/#\s]+))?#?(\d{1,9})$/.exec(text) ?? []
      const isShort = owner === undefined || text.includes('#')
      return number !== undefined && isShort
        ? { kind: 'conversation', owner, repo, number: Number(number) }
        : undefined
    },
  }

/** In quotes, the words are names. */
function optional({ text, isQuoted }: RawValue): Value | undefined {
  return !isQuoted && (text === 'none' || text === 'any') ? { kind: text } : undefined
}

function me({ text, isQuoted }: RawValue): Value | undefined {
  return !isQuoted && text === '@me' ? { kind: 'me' } : undefined
}

function scope({ text, isQuoted }: RawValue): Value | undefined {
  return !isQuoted && text.endsWith('/*') && text.length > 2
    ? { kind: 'scope', text: text.slice(0, -1) }
    : undefined
}

/** The first and the last number, or second, that a text means. */
interface Span {
  readonly from: number
  readonly to: number
}

function range(
  kind: 'numbers' | 'times',
  text: string,
  read: (text: string) => Span | undefined,
): Value | undefined {
  const ends = text.split('..')
  if (ends.length === 2) {
    const [low, high] = ends.map((end) => (end === '*' ? undefined : read(end)))
    const isRead = ends.every((end, i) => end === '*' || [low, high][i] !== undefined)
    return isRead && (low !== undefined || high !== undefined)
      ? { kind, from: low?.from, to: high?.to, text }
      : undefined
  }
  const [, comparison, operand = ''] = /^(>=|<=|>|<|)(.*)$/s.exec(text) ?? []
  const span = read(operand)
  if (!span) return undefined
  switch (comparison) {
    case '>=':
      return { kind, from: span.from, to: undefined, text }
    case '<=':
      return { kind, from: undefined, to: span.to, text }
    case '>':
      return { kind, from: span.to + 1, to: undefined, text }
    case '<':
      return { kind, from: undefined, to: span.from - 1, text }
    default:
      return { kind, ...span, text }
  }
}

function readNumber(text: string): Span | undefined {
  return /^\d{1,9}$/.test(text) ? { from: Number(text), to: Number(text) } : undefined
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.\d{1,9})?)?)?(Z|[+-]\d\d:\d\d)?$/i

const DAY_SECONDS = 24 * 60 * 60

/** Reads a day, a minute or a second, in UTC unless the text has an offset. */
function readTime(text: string): Span | undefined {
  const [, day, minute, second, offset = 'Z'] = TIME.exec(text) ?? []
  if (day === undefined || !isDay(day)) return undefined
  const time = Date.parse(`${day}T${minute ?? '00:00'}:${second ?? '00'}${offset.toUpperCase()}`)
  if (Number.isNaN(time)) return undefined
  const from = time / 1000
  if (second !== undefined) return { from, to: from }
  return { from, to: from + (minute === undefined ? DAY_SECONDS : 60) - 1 }
}

/** `Date.parse` takes days that do not exist, such as 31 February. */
function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

/** Months have 30 days here, and years 365. */
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  h: 60 * 60,
  d: DAY_SECONDS,
  w: 7 * DAY_SECONDS,
  m: 30 * DAY_SECONDS,
  y: 365 * DAY_SECONDS,
}

function readAge(text: string): Value | undefined {
  const [, comparison, count, unit = ''] = /^(>=|<=|>|<)(\d{1,4})([hdwmy])$/.exec(text) ?? []
  if (comparison === undefined) return undefined
  return {
    kind: 'age',
    is: comparison.startsWith('<') ? 'less' : 'more',
    seconds: Number(count) * (UNIT_SECONDS[unit] ?? 0),
    text,
  }
}
