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
  /** Notes what is left out. */
  leftOut(message: string): void
}

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
      if (!found.get(key)) leftOut(`${metadataText(key)} is not here`)
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

/** Stores the dependencies, the parts, the parent and the original of an issue. */
export async function storeLinks(tx: Tx, issue: ImportedIssue, find: FindOther): Promise<void> {
  const { id, record, leftOut } = issue
  for (const part of record.parts('dependencies')) {
    const other = await find(part)
    if (other) await storeDependency(tx, id, other.id, leftOut)
  }
  for (const part of record.parts('blocks')) {
    const other = await find(part)
    if (other?.isWritable) await storeDependency(tx, other.id, id, leftOut)
    else if (other) leftOut('a conversation of another repository that the caller may not change')
  }
  for (const part of record.parts('children')) {
    const other = await find(part)
    if (other) await storePart(tx, issue, id, other.id, other)
  }
  const parent = await find(record.part('parent'))
  if (parent) await storePart(tx, issue, parent.id, id, parent)
  const original = await find(record.part('duplicate_of'))
  if (original && original.id !== id && record.text('state') === 'closed')
    await updateIssue(tx, id, { duplicate_of_id: original.id })
}

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
  { repository, leftOut }: ImportedIssue,
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
