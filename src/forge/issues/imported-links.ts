import type { Tx } from '../../platform/database/schema.ts'
import {
  countDependencies,
  dependsOn,
  insertDependency,
  waitsFor,
} from '../conversations/dependencies.rows.ts'
import { MAX_DEPENDENCIES } from '../conversations/dependencies.ts'
import { conversationsNumbered } from '../conversations/references.rows.ts'
import type { TimelineTable } from '../conversations/schema.ts'
import { namedConversations, openTargets } from '../conversations/text-references.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError, metadataText } from '../core/errors.ts'
import { suffices } from '../core/levels.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Repository } from '../repositories/schema.ts'
import type { ImportRecord } from './import-records.ts'
import type { NewWait } from './imported-waits.rows.ts'
import { updateIssue } from './issues.rows.ts'
import { childrenOf, parentOf, storeChildren } from './sub-issues.rows.ts'
import { checkFits } from './sub-issues.ts'

/** What the issues of an import have to do with others, which are stored once all issues are. */

/** An issue of an import. */
export interface ImportedIssue {
  readonly importer: SignedIn
  readonly repository: Pick<Repository, 'id' | 'owner_id'>
  readonly id: number
  readonly record: ImportRecord
  /** The ids of the issues of the import by their numbers in the records. */
  readonly ids: ReadonlyMap<number, number>
  readonly keepsNumbers: boolean
  /** Begins what is noted about the issue. */
  readonly nameOfIssue: string
  /** What waits for an issue of a later request. */
  readonly waits: Wait[]
  /** Notes what is left out. */
  leftOut(message: string): void
}

/** Something about an issue that waits for another one. */
export type Wait = Pick<NewWait, 'number' | 'comment_id' | 'kind' | 'entry' | 'problem'>

/** Events about two conversations, with the keys of the other one. */
const OTHERS: Readonly<Partial<Record<TimelineTable['type'], string>>> = {
  add_dependency: 'dependent_issue',
  remove_dependency: 'dependent_issue',
  duplicate: 'ref_issue',
  unduplicate: 'ref_issue',
  transferred: 'ref_issue',
  sub_issue_added: 'ref_issue',
  sub_issue_removed: 'ref_issue',
  parent_added: 'ref_issue',
  parent_removed: 'ref_issue',
  comment_ref: 'ref_issue',
}

/** Returns the key of the other conversation in a record of an event; undefined for other events. */
export function keyOfOther(type: string): string | undefined {
  return Object.hasOwn(OTHERS, type) ? OTHERS[type as TimelineTable['type']] : undefined
}

/** Another conversation, and what the importer may do there. */
export interface Other {
  readonly id: number
  readonly isPull: boolean
  readonly isWritable: boolean
  readonly ownerId: number
}

/** Returns the conversation that a part of a record names; undefined after a note for none. */
export type FindOther = (part: ImportRecord | undefined) => Promise<Other | undefined>

/** Returns what finds the conversations that a record names. Those of the same repository are read at once. */
export async function othersOf(
  app: ReposApp,
  tx: Tx,
  { importer, repository, record, ids, keepsNumbers, leftOut }: ImportedIssue,
): Promise<FindOther> {
  const local = namedIn(record).filter((part) => nameOf(part) === undefined)
  const numbers = keepsNumbers ? local.map((part) => part.number('number')) : []
  const present = new Map(
    (await conversationsNumbered(tx, repository.id, numbers)).map((row) => [row.number, row]),
  )
  const here = { isWritable: true, ownerId: repository.owner_id }
  const found = new Map<string, Other | undefined>()
  const localOne = (number: number): Other | undefined => {
    const id = ids.get(number)
    if (id !== undefined) return { ...here, id, isPull: false }
    const row = present.get(number)
    return row && { ...here, id: row.id, isPull: row.is_pull === 1 }
  }
  const elsewhere = async (name: { owner: string; repo: string }, number: number) => {
    const reference = { repository: name, number, action: 'none' } as const
    const named = await namedConversations(tx, repository.id, [reference])
    const [one] = await openTargets(app, tx, importer, named)
    return (
      one && {
        id: one.target.id,
        isPull: one.target.is_pull === 1,
        isWritable: suffices(one.open.access, 'write'),
        ownerId: one.repository.owner_id,
      }
    )
  }
  return async (part) => {
    if (!part) return undefined
    const number = part.number('number')
    const name = nameOf(part)
    const key = `${name ? `${name.owner}/${name.repo}` : ''}#${number}`
    if (!found.has(key)) {
      found.set(key, name ? await elsewhere(name, number) : localOne(number))
      if (!found.get(key)) leftOut(notHere(name ? `${name.owner}/${name.repo}` : '', number))
    }
    return found.get(key)
  }
}

/** Returns the repository that a part of a record names; undefined for the same one. */
function nameOf(part: ImportRecord): { owner: string; repo: string } | undefined {
  const repository = part.part('repository')
  return repository && { owner: repository.text('owner'), repo: repository.text('name') }
}

function namedIn(record: ImportRecord): ImportRecord[] {
  const lists = ['dependencies', 'blocks', 'children'].flatMap((key) => record.parts(key))
  const ones = [record.part('parent'), record.part('duplicate_of')]
  const events = record
    .parts('timeline')
    .map((event) => event.part(keyOfOther(event.text('type')) ?? ''))
  return [...lists, ...[...ones, ...events].flatMap((part) => part ?? [])]
}

const LINKS = ['dependencies', 'blocks', 'children', 'parent', 'duplicate_of'] as const

/** What an issue has to do with another one: the name of a part of a record. */
export type LinkKind = (typeof LINKS)[number]

/** Stores the dependencies, the parts, the parent and the original of an issue. */
export async function storeLinks(tx: Tx, issue: ImportedIssue, find: FindOther): Promise<void> {
  const { record } = issue
  const isClosed = record.text('state') === 'closed'
  for (const kind of LINKS) {
    const one = kind === 'parent' || kind === 'duplicate_of'
    const parts = one ? [record.part(kind)].flatMap((part) => part ?? []) : record.parts(kind)
    for (const part of parts) {
      const other = await find(part)
      if (other) await storeLink(tx, { ...issue, isClosed }, kind, other)
      else waitFor(issue, part, { kind })
    }
  }
}

/** An issue that is linked with another one. */
interface Linked extends Pick<ImportedIssue, 'id' | 'repository' | 'leftOut'> {
  readonly isClosed: boolean
}

/** Stores one link of an issue. */
export async function storeLink(
  tx: Tx,
  issue: Linked,
  kind: LinkKind,
  other: Other,
): Promise<void> {
  const { id, leftOut } = issue
  switch (kind) {
    case 'dependencies':
      return storeDependency(tx, id, other.id, leftOut)
    case 'blocks':
      return other.isWritable
        ? storeDependency(tx, other.id, id, leftOut)
        : leftOut('a conversation of another repository that the caller may not change')
    case 'children':
      return storePart(tx, issue, id, other.id, other)
    case 'parent':
      return storePart(tx, issue, other.id, id, other)
    default:
      if (other.id !== id && issue.isClosed)
        await updateIssue(tx, id, { duplicate_of_id: other.id })
  }
}

/** Keeps what an issue has to do with one that is not here, if a later request may bring that one. */
export function waitFor(
  { keepsNumbers, waits, nameOfIssue }: ImportedIssue,
  part: ImportRecord | undefined,
  { kind, entry = '' }: Pick<Wait, 'kind'> & { readonly entry?: string },
): void {
  const number = part?.number('number') ?? 0
  if (!part || !keepsNumbers || number === 0 || nameOf(part)) return
  waits.push({
    number,
    comment_id: null,
    kind,
    entry,
    problem: `${nameOfIssue}: ${notHere('', number)}`,
  })
}

const notHere = (repository: string, number: number) =>
  `${metadataText(`${repository}#${number}`)} is not here`

async function storeDependency(
  tx: Tx,
  id: number,
  otherId: number,
  leftOut: ImportedIssue['leftOut'],
): Promise<void> {
  if (await dependsOn(tx, id, otherId)) return
  if (await waitsFor(tx, otherId, id)) return leftOut('a dependency that would be circular')
  if ((await countDependencies(tx, id)) >= MAX_DEPENDENCIES)
    return leftOut(`an issue has at most ${MAX_DEPENDENCIES} dependencies`)
  await insertDependency(tx, id, otherId)
}

/** Makes an issue the last part of another one. `other` is the one of both that the record names. */
async function storePart(
  tx: Tx,
  { repository, leftOut }: Linked,
  parentId: number,
  partId: number,
  other: Other,
): Promise<void> {
  if (other.isPull || !other.isWritable || other.ownerId !== repository.owner_id)
    return leftOut('parts of issues are issues of the same owner that the caller may change')
  if ((await parentOf(tx, partId)) === parentId) return
  const children = await childrenOf(tx, parentId)
  try {
    await checkFits(tx, parentId, partId, children)
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    return leftOut(`a sub-issue: ${error.metadata.rule}`)
  }
  await storeChildren(tx, parentId, [...children, partId])
}
