import type { Tx } from '../../platform/database/schema.ts'
import { blockExists } from '../accounts/users/blocks.rows.ts'
import { findOwnerByNameKey } from '../accounts/users/owners.rows.ts'
import type { SignedIn } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { suffices } from '../core/levels.ts'
import { nameKey } from '../core/names.ts'
import { type OpenRepository, openRepositories } from '../repositories/access/permissions.ts'
import { findRepository, findRepositoryById } from '../repositories/lifecycle/repositories.rows.ts'
import { repositoryNameKey } from '../repositories/lifecycle/repository-fields.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { Repository } from '../repositories/schema.ts'
import { readsKind } from './conversation-readers.ts'
import {
  type ConversationRow,
  conversationsNumbered,
  deleteReferences,
  insertReferences,
  type ReferenceSource,
  referencesOfText,
} from './references.rows.ts'
import {
  type Reference,
  type ReferringText,
  referencesInText,
  repositoryKey,
} from './references.ts'
import type { Conversation, NewReference, ReferenceAction } from './schema.ts'
import { writeSearchText } from './search-texts.rows.ts'

/** A conversation that a text or a commit names. */
export interface NamedConversation {
  readonly target: ConversationRow
  readonly repository: Repository
  readonly action: ReferenceAction
}

/** A conversation that the caller may name. */
export interface OpenTarget extends NamedConversation {
  readonly open: OpenRepository
}

/** A text that is stored. */
interface StoredText extends ReferenceSource {
  readonly text: ReferringText
  /** Whether the text has no references yet. */
  readonly isNew: boolean
}

/**
 * Records the references and the words of a text, in the transaction that stores the text. What the
 * text no longer names is forgotten. What it named before stays, whoever edits the text.
 */
export async function recordReferences(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  { text, isNew, ...source }: StoredText,
): Promise<void> {
  await writeSearchText(tx, { ...source, ...text })
  const references = referencesInText(text, app.publicUrl())
  const before = isNew ? [] : await referencesOfText(tx, source)
  if (references.length === 0 && before.length === 0) return
  const named = await namedByText(tx, source, references)
  const isSame = (one: { readonly target_id: number; readonly action: string }) =>
    named.some(({ target, action }) => target.id === one.target_id && action === one.action)
  const kept = before.filter(isSame)
  await deleteReferences(
    tx,
    before.filter((one) => !isSame(one)).map((one) => one.id),
  )
  const fresh = named.filter(({ target }) => !kept.some((one) => one.target_id === target.id))
  const added = await openTargets(app, tx, caller, fresh)
  const now = nowSeconds(app.clock)
  const writing = { writer_id: caller.user.id, create_time: now }
  await insertReferences(tx, referencesTo(added, source, writing), now)
}

/**
 * Records the references of an imported text that has none, with its writer and its time. What the text
 * names keeps the time of its last change. What the importer may not read gets no references.
 *
 * @returns the numbers of its repository that the text names and that no conversation has.
 */
export async function recordImportedReferences(
  app: ReposApp,
  tx: Tx,
  importer: SignedIn,
  { text, ...source }: Omit<StoredText, 'isNew'>,
  writing: Pick<NewReference, 'writer_id' | 'create_time'>,
): Promise<number[]> {
  const references = referencesInText(text, app.publicUrl())
  if (references.length === 0 || (await referencesOfText(tx, source)).length > 0) return []
  const named = await namedByText(tx, source, references)
  await insertReferences(
    tx,
    referencesTo(await openTargets(app, tx, importer, named), source, writing),
  )
  return numbersNotHere(tx, source, references)
}

async function numbersNotHere(
  tx: Tx,
  { conversation: { repository_id } }: ReferenceSource,
  references: readonly Reference[],
): Promise<number[]> {
  const numbers = new Set<number>()
  for (const { repository, number } of references)
    if (!repository || (await repositoryOf(tx, repository_id, repository))?.id === repository_id)
      numbers.add(number)
  for (const { number } of await conversationsNumbered(tx, repository_id, [...numbers]))
    numbers.delete(number)
  return [...numbers]
}

/**
 * Records the reference of an imported text to a conversation that was not there at first, unless the
 * text names it no longer or has the reference.
 */
export async function recordLateReference(
  app: ReposApp,
  tx: Tx,
  importer: SignedIn,
  { text, ...source }: Omit<StoredText, 'isNew'>,
  { target_id, ...writing }: Pick<NewReference, 'target_id' | 'writer_id' | 'create_time'>,
): Promise<void> {
  const before = await referencesOfText(tx, source)
  if (before.some((one) => one.target_id === target_id)) return
  const references = referencesInText(text, app.publicUrl())
  const named = await namedByText(tx, source, references)
  const late = named.filter(({ target }) => target.id === target_id)
  await insertReferences(
    tx,
    referencesTo(await openTargets(app, tx, importer, late), source, writing),
  )
}

/** Returns the other conversations that a text names. */
async function namedByText(
  tx: Tx,
  { conversation: { id, repository_id } }: ReferenceSource,
  references: readonly Reference[],
): Promise<NamedConversation[]> {
  const named = await namedConversations(tx, repository_id, references)
  return named.filter(({ target }) => target.id !== id)
}

function referencesTo(
  targets: readonly NamedConversation[],
  source: ReferenceSource,
  writing: Pick<NewReference, 'writer_id' | 'create_time'>,
): NewReference[] {
  return targets.map(({ target, action }) => ({
    target_id: target.id,
    type: typeOf(source),
    repository_id: source.conversation.repository_id,
    source_id: source.conversation.id,
    comment_id: source.commentId ?? null,
    action,
    ...writing,
  }))
}

function typeOf({ conversation, commentId }: ReferenceSource) {
  if (commentId !== undefined) return 'comment_ref'
  return conversation.is_pull === 1 ? 'pull_ref' : 'issue_ref'
}

/**
 * Returns the existing conversations that a text or a commit names, each once with the last action
 * that is said of it.
 *
 * @param repositoryId the repository of the text.
 */
export async function namedConversations(
  tx: Tx,
  repositoryId: number,
  references: readonly Reference[],
): Promise<NamedConversation[]> {
  const repositories = new Map<string, Repository>()
  const numbers = new Map<number, Map<number, ReferenceAction>>()
  for (const { repository: name, number, action } of references) {
    const key = name ? repositoryKey(name) : ''
    const repository = repositories.get(key) ?? (await repositoryOf(tx, repositoryId, name))
    if (!repository) continue
    repositories.set(key, repository)
    const said = numbers.get(repository.id) ?? new Map<number, ReferenceAction>()
    numbers.set(repository.id, said)
    said.set(number, action === 'none' ? (said.get(number) ?? action) : action)
  }
  const named: NamedConversation[] = []
  for (const repository of new Map(
    [...repositories.values()].map((row) => [row.id, row]),
  ).values()) {
    const said = numbers.get(repository.id) ?? new Map<number, ReferenceAction>()
    for (const target of await conversationsNumbered(tx, repository.id, [...said.keys()]))
      named.push({ target, repository, action: said.get(target.number) ?? 'none' })
  }
  return named
}

async function repositoryOf(
  tx: Tx,
  repositoryId: number,
  name: Reference['repository'],
): Promise<Repository | undefined> {
  if (!name) return findRepositoryById(tx, repositoryId)
  const owner = await findOwnerByNameKey(tx, nameKey(name.owner))
  return owner && findRepository(tx, owner.id, repositoryNameKey(name.repo))
}

/**
 * Returns the conversations that the caller may read, and whose repository and poster do not block
 * the caller.
 */
export async function openTargets(
  app: ReposApp,
  tx: Tx,
  caller: SignedIn,
  named: readonly NamedConversation[],
): Promise<OpenTarget[]> {
  if (named.length === 0) return []
  const repositories = new Map(named.map(({ repository }) => [repository.id, repository]))
  const opened = await openRepositories(
    { ...app, db: tx },
    caller,
    [...repositories.values()],
    'issues',
  )
  const targets: OpenTarget[] = []
  for (const one of named) {
    const open = opened.find(({ repository }) => repository.id === one.repository.id)
    if (!open || !readsKind(open.units, one.target)) continue
    if (!(await isBlocked(tx, caller, open, one.target))) targets.push({ ...one, open })
  }
  return targets
}

/** Administrators of the repository cannot be blocked. */
async function isBlocked(
  tx: Tx,
  { user }: SignedIn,
  { owner, units }: OpenRepository,
  { poster_id }: Conversation,
): Promise<boolean> {
  if (suffices(units.code, 'admin')) return false
  return blockExists(tx, poster_id === null ? [owner.id] : [owner.id, poster_id], user.id)
}
