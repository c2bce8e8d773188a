import { openConversations } from '../../conversations/conversation-readers.ts'
import { listLabels } from '../../conversations/labels.rows.ts'
import { listMilestones } from '../../conversations/milestones.rows.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import { listAssignees } from '../../repositories/access/collaborators.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { completeNames, MAX_COMPLETIONS } from './name-completions.ts'
import { parseQuery } from './parse.ts'
import { quoted } from './print.ts'
import { PARTS, type ParsedQuery, QUALIFIERS, type Qualifier, SORT_KEYS, WORDS } from './schema.ts'
import { MAX_CHARACTERS } from './tokens.ts'

/** The number of names of a list that are looked at for completions. */
const MAX_NAMES = 1000

/** A text that may stand in place of the characters from one position to another. */
export interface Completion {
  readonly text: string
  readonly from: number
  readonly to: number
}

/** What a query means. */
export interface Explanation {
  /** Undefined for a query that is not understood. */
  readonly query: ParsedQuery | undefined
  readonly completions: readonly Completion[]
  /** Metadata of INVALID_ISSUE_QUERY. */
  readonly error: Readonly<Record<string, string>> | undefined
}

/**
 * Explains a query for a repository.
 *
 * @param position where to complete the query, in characters from 0. With a position, a query that is
 *   not understood is explained, too.
 * @throws as `openConversations`; INVALID_ISSUE_QUERY
 */
export async function explainQuery(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  text: string,
  position: number | undefined,
): Promise<Explanation> {
  const open = await openConversations(app, caller, name)
  if (position === undefined) return { query: parseQuery(text), completions: [], error: undefined }
  const completions = await complete(app, caller, open, text, position)
  try {
    return { query: parseQuery(text), completions, error: undefined }
  } catch (error) {
    if (!(error instanceof DomainError && error.reason === 'INVALID_ISSUE_QUERY')) throw error
    return { query: undefined, completions, error: error.metadata }
  }
}

async function complete(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  text: string,
  position: number,
): Promise<Completion[]> {
  const before = Array.from(text.slice(0, 2 * MAX_CHARACTERS)).slice(0, Math.max(position, 0))
  const { qualifier, part, from } = lastTerm(before)
  const texts =
    qualifier === undefined
      ? [...Object.keys(QUALIFIERS), 'in', 'sort'].map((name) => `${name}:`)
      : await valuesOf(app, caller, open, qualifier, part)
  return texts
    .filter((value) => value.toLowerCase().startsWith(part.toLowerCase()))
    .slice(0, MAX_COMPLETIONS)
    .map((value) => ({
      text: /[\s,()"]/u.test(value) ? quoted(value) : value,
      from,
      to: before.length,
    }))
}

/** The term at the end of a text. */
interface LastTerm {
  /** Undefined before the colon. */
  readonly qualifier: string | undefined
  /** The begin of a value, or of a qualifier, without an open quote. */
  readonly part: string
  /** Position of that begin. */
  readonly from: number
}

/** Looks at each character once. */
function lastTerm(characters: readonly string[]): LastTerm {
  let [from, isQuoted, qualifier] = [0, false, undefined as string | undefined]
  for (const [i, character] of characters.entries()) {
    if (character === '"') isQuoted = !isQuoted
    else if (isQuoted) continue
    else if (/[\s()]/u.test(character) || (character === '-' && from === i))
      [from, qualifier] = [i + 1, undefined]
    else if (character === ':' && qualifier === undefined)
      [from, qualifier] = [i + 1, characters.slice(from, i).join('').toLowerCase()]
    else if (character === ',' && qualifier !== undefined) from = i + 1
  }
  const part = characters.slice(from).join('')
  return { qualifier, part: part.startsWith('"') ? part.slice(1) : part, from }
}

async function valuesOf(
  app: ReposApp,
  caller: Caller,
  open: OpenRepository,
  qualifier: string,
  part: string,
): Promise<readonly string[]> {
  const { repository, owner, units } = open
  if (qualifier === 'in') return PARTS
  if (qualifier === 'sort') return SORT_KEYS.flatMap((key) => [`${key}-desc`, `${key}-asc`])
  if (qualifier in WORDS) return WORDS[qualifier as keyof typeof WORDS]
  const name = { owner: owner.name, repo: repository.name }
  switch (Object.hasOwn(QUALIFIERS, qualifier) && QUALIFIERS[qualifier as Qualifier]) {
    case 'me':
      return ['@me']
    case 'user': {
      const people = suffices(units.code, 'read') ? await listAssignees(app, caller, name) : []
      return ['@me', 'none', 'any', ...people.map(({ username }) => username)]
    }
    case 'label': {
      const owners = [
        { repository_id: repository.id, organization_id: null },
        { repository_id: null, organization_id: owner.id },
      ]
      const labels = await Promise.all(owners.map((of) => listLabels(app.db, of, 0, MAX_NAMES)))
      return ['none', 'any', ...labels.flat().map((label) => label.name)]
    }
    case 'milestone': {
      const filter = { state: undefined, titlePart: '' }
      const found = await listMilestones(app.db, repository.id, filter, 0, MAX_NAMES)
      return ['none', 'any', ...found.map(({ title }) => title)]
    }
    default:
      return completeNames(app, caller, open, qualifier, part)
  }
}
