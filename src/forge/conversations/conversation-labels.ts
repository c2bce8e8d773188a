import type { Tx } from '../../platform/database/schema.ts'
import { maySeeOwner } from '../accounts/users/owners.ts'
import type { Caller, SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { ConversationName } from '../core/names.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import { changeWatched } from '../repositories/activity/repository-events.ts'
import type { ReposApp } from '../repositories/ports.ts'
import type { LabelOwner } from './labels.rows.ts'
import {
  findLabelsFor,
  findLabelsNamed,
  labelsOfConversations,
  replaceConversationLabels,
} from './labels.rows.ts'
import type { ConversationsApp, OpenConversation } from './ports.ts'
import type { Label } from './schema.ts'
import { type ChangePlace, differenceEvents, recordTimelineEvents } from './timeline.ts'

/** The labels of a conversation, by name, and their repository. */
export interface LabelledConversation {
  readonly open: OpenConversation
  readonly labels: readonly Label[]
}

/** A label in the form in which a client names it: by number or by name. */
export type LabelReference = number | string

/** @throws as `Conversations.open`. */
export async function listConversationLabels(
  app: ConversationsApp,
  caller: Caller,
  name: ConversationName,
): Promise<LabelledConversation> {
  const open = await app.conversations.open(app, caller, name, 'read')
  const labels = await labelsOfConversations(app.db, [open.conversation.id])
  return {
    open,
    labels: (labels.get(open.conversation.id) ?? []).filter((label) => isLabelHere(label, open)),
  }
}

/**
 * Adds labels to a conversation, or replaces them. Unknown labels are ignored, as they are when a
 * conversation is edited.
 *
 * @throws as `Conversations.open` for 'write'; INVALID_FIELD when there are too many.
 */
export async function labelConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  references: readonly LabelReference[],
  keeps: 'all others' | 'none',
): Promise<LabelledConversation> {
  const open = await app.conversations.open(app, caller, name, 'write')
  checkLabelCount(references)
  const given = await idsOfLabels(app, await labelOwnersFor(app, caller, open), references)
  return changeLabels(app, caller, open, (present) => [
    ...(keeps === 'none' ? [] : present),
    ...given,
  ])
}

/**
 * Removes a label from a conversation, if it has the label. A number that no label has is the name of a
 * label, because clients of compatible systems send names in the place of numbers.
 *
 * @throws as `Conversations.open` for 'write'; LABEL_NOT_FOUND
 */
export async function unlabelConversation(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  reference: LabelReference,
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'write')
  const owners = await labelOwnersFor(app, caller, open)
  const [labelId] = [
    ...(await idsOfLabels(app, owners, [reference])),
    ...(await idsOfLabels(app, owners, [String(reference)])),
  ]
  if (labelId === undefined) throw new DomainError('LABEL_NOT_FOUND')
  await changeLabels(app, caller, open, (present) => present.filter((id) => id !== labelId))
}

/** Changes of the labels of a conversation. Undefined `set` keeps the present ones. */
export interface LabelDifference {
  readonly set: readonly LabelReference[] | undefined
  readonly add: readonly LabelReference[]
  readonly remove: readonly LabelReference[]
}

/**
 * Changes the labels of a conversation. Unknown labels are ignored.
 *
 * @throws as `labelConversation`
 */
export async function editConversationLabels(
  app: ConversationsApp,
  caller: SignedIn,
  name: ConversationName,
  edit: LabelDifference,
): Promise<void> {
  const open = await app.conversations.open(app, caller, name, 'write')
  const owners = await labelOwnersFor(app, caller, open)
  const set = edit.set && (await idsOfLabels(app, owners, edit.set))
  const add = await idsOfLabels(app, owners, edit.add)
  const remove = new Set(await idsOfLabels(app, owners, edit.remove))
  await changeLabels(app, caller, open, (present) =>
    [...(set ?? present), ...add].filter((id) => !remove.has(id)),
  )
}

/** Returns the ids of the labels that a client names. Unknown ones are left out. */
export async function idsOfLabels(
  app: ReposApp,
  owners: LabelOwner,
  references: readonly LabelReference[],
): Promise<number[]> {
  const numbers = references.filter((reference) => typeof reference === 'number')
  const names = references.filter((reference) => typeof reference === 'string')
  const numbered = await findLabelsFor(app.db, owners, numbers)
  const named = await findLabelsNamed(app.db, owners, names)
  return references.flatMap((reference) =>
    typeof reference === 'string'
      ? (named.get(reference) ?? [])
      : numbered.has(reference)
        ? reference
        : [],
  )
}

/** @param idsFrom computes the new labels from the present ones. */
async function changeLabels(
  app: ConversationsApp,
  caller: SignedIn,
  open: OpenConversation,
  idsFrom: (present: readonly number[]) => readonly number[],
): Promise<LabelledConversation> {
  // Labels that are hidden from the caller stay.
  const owners = {
    repository_id: open.repository.id,
    organization_id: open.owner.kind === 'ORGANIZATION' ? open.owner.id : null,
  }
  const { id } = open.conversation
  const labels = await changeWatched(app, async (tx) => {
    const { record } = await open.beginChange(tx)
    const before = (await labelsOfConversations(tx, [id])).get(id) ?? []
    const ids = idsFrom(before.map((label) => label.id))
    checkLabelCount(ids)
    await setConversationLabels(
      app,
      tx,
      { conversationId: id, actorId: caller.user.id },
      owners,
      ids,
    )
    const after = (await labelsOfConversations(tx, [id])).get(id) ?? []
    if (!isSame(before, after))
      await record(caller.user.id, {
        type: 'labels',
        before: before.map((label) => label.id),
        after: after.map((label) => label.id),
      })
    return after
  })
  return { open, labels }
}

function isSame(some: readonly Label[], others: readonly Label[]): boolean {
  return some.length === others.length && some.every(({ id }, i) => id === others[i]?.id)
}

/** Maximum number of labels of a conversation. */
const MAX_LABELS = 100

/**
 * Returns the owners of the labels that a caller may use in a repository: the repository, and the
 * organisation that owns it unless that is hidden from the caller.
 */
export async function labelOwnersFor(
  app: ReposApp,
  caller: Caller,
  { repository, owner }: Pick<OpenRepository, 'repository' | 'owner'>,
): Promise<LabelOwner> {
  const isSeen = owner.kind === 'ORGANIZATION' && (await maySeeOwner(app, caller, owner))
  return { repository_id: repository.id, organization_id: isSeen ? owner.id : null }
}

/** Refuses too many labels. */
export function checkLabelCount(labels: readonly unknown[]): void {
  if (labels.length > MAX_LABELS) throw new DomainError('INVALID_FIELD', { field: 'labels' })
}

/**
 * Replaces the labels of a conversation, and tells its timeline. Unknown labels are ignored. Of the exclusive labels of one
 * scope only the last one is set.
 */
export async function setConversationLabels(
  app: ReposApp,
  tx: Tx,
  place: ChangePlace,
  owners: LabelOwner,
  ids: readonly number[],
): Promise<void> {
  const known = await findLabelsFor(tx, owners, ids)
  const after = fitting(ids.flatMap((id) => known.get(id) ?? []))
  const before = (
    (await labelsOfConversations(tx, [place.conversationId])).get(place.conversationId) ?? []
  ).map(({ id }) => id)
  await replaceConversationLabels(tx, place.conversationId, after)
  await recordTimelineEvents(app, tx, place, differenceEvents('label', before, after))
}

/** Returns the ids of labels that may be set together. */
function fitting(labels: readonly Label[]): number[] {
  // A repeated key moves to the end, because the last label of a scope applies.
  const fit = new Map<string, number>()
  for (const label of labels) fit.set(scopeOf(label) ?? String(label.id), label.id)
  return [...new Set(fit.values())]
}

/**
 * Returns the scope of an exclusive label: the part of its name before the last slash. Undefined
 * for other labels.
 */
function scopeOf({ name, exclusive }: Label): string | undefined {
  const slash = name.lastIndexOf('/')
  const isScoped = exclusive === 1 && slash > 0 && slash < name.length - 1
  return isScoped ? name.slice(0, slash + 1) : undefined
}

/**
 * Returns whether a label belongs to the repository or to its present owner. A transfer may leave
 * labels of the former organisation behind.
 */
export function isLabelHere(
  { repository_id, organization_id }: Label,
  open: Pick<OpenRepository, 'repository' | 'owner'> | undefined,
): boolean {
  return repository_id === open?.repository.id || organization_id === open?.owner.id
}
