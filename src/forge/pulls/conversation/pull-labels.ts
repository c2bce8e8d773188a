import type { Tx } from '../../../platform/database/schema.ts'
import { maySeeOwner } from '../../accounts/users/owners.ts'
import type { LabelOwner } from '../../conversations/labels.rows.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { PullName } from '../../core/names.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Label } from '../../repositories/schema.ts'
import { type OpenPull, openPull, rereadForChange } from '../heads/open-pulls.ts'
import { labelEvent, recordPullChange } from '../heads/pull-changes.ts'
import { labelsOfPulls, touchPull } from '../heads/pull-requests.rows.ts'
import { isLabelHere } from '../lists/pull-views.ts'
import { findLabelsFor, findLabelsNamed, replacePullLabels } from './pull-labels.rows.ts'
import { differenceEvents, type PullChangePlace, recordTimelineEvents } from './pull-timeline.ts'

/** The labels of a pull request, by name, and their repository. */
export interface LabelledPull {
  readonly open: OpenPull
  readonly labels: readonly Label[]
}

/** A label in the form in which a client names it: by number or by name. */
export type LabelReference = number | string

/** @throws the errors of `openPull`. */
export async function listLabelsOfPull(
  app: ReposApp,
  caller: Caller,
  name: PullName,
): Promise<LabelledPull> {
  const open = await openPull(app, caller, name, 'read')
  const labels = await labelsOfPulls(app.db, [open.pull.id])
  return {
    open,
    labels: (labels.get(open.pull.id) ?? []).filter((label) => isLabelHere(label, open)),
  }
}

/**
 * Adds labels to a pull request, or replaces them. Unknown labels are ignored, as they are when a
 * pull request is edited.
 *
 * @throws the errors of `openPull` for 'write'; INVALID_FIELD when there are too many.
 */
export async function labelPull(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  references: readonly LabelReference[],
  keeps: 'all others' | 'none',
): Promise<LabelledPull> {
  const open = await openPull(app, caller, name, 'write')
  checkLabelCount(references)
  const given = await idsOf(app, caller, open, references)
  return changeLabels(app, caller, open, (present) => [
    ...(keeps === 'none' ? [] : present),
    ...given,
  ])
}

/**
 * Removes a label from a pull request, if it has the label.
 *
 * @throws the errors of `openPull` for 'write'; LABEL_NOT_FOUND
 */
export async function unlabelPull(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
  labelId: number,
): Promise<void> {
  const open = await openPull(app, caller, name, 'write')
  const owners = await labelOwnersFor(app, caller, open)
  if (!(await findLabelsFor(app.db, owners, [labelId])).has(labelId))
    throw new DomainError('LABEL_NOT_FOUND')
  await changeLabels(app, caller, open, (present) => present.filter((id) => id !== labelId))
}

/** Returns the ids of the labels that a client names. Unknown ones are left out. */
async function idsOf(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  references: readonly LabelReference[],
): Promise<number[]> {
  const owners = await labelOwnersFor(app, caller, open)
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
  app: ReposApp,
  caller: SignedIn,
  { repository, owner, ...open }: OpenPull,
  idsFrom: (present: readonly number[]) => readonly number[],
): Promise<LabelledPull> {
  // Labels that are hidden from the caller stay.
  const owners = {
    repository_id: repository.id,
    organization_id: owner.kind === 'ORGANIZATION' ? owner.id : null,
  }
  const { id } = open.pull
  const labels = await changeWatched(app, async (tx) => {
    const pull = await rereadForChange(tx, { ...open, repository })
    const before = (await labelsOfPulls(tx, [id])).get(id) ?? []
    const ids = idsFrom(before.map((label) => label.id))
    checkLabelCount(ids)
    await setPullLabels(app, tx, { pullId: id, actorId: caller.user.id }, owners, ids)
    const after = (await labelsOfPulls(tx, [id])).get(id) ?? []
    if (isSame(before, after)) return after
    await touchPull(tx, id, nowSeconds(app.clock), caller.user.id)
    await recordPullChange(app, tx, caller.user.id, pull, {
      type: 'PULL_REQUEST_EDITED',
      told: [labelEvent(after.length)],
    })
    return after
  })
  return { open: { ...open, repository, owner }, labels }
}

function isSame(some: readonly Label[], others: readonly Label[]): boolean {
  return some.length === others.length && some.every(({ id }, i) => id === others[i]?.id)
}

/** Maximum number of labels of a pull request. */
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

/** @throws INVALID_FIELD when there are too many. */
export function checkLabelCount(labels: readonly unknown[]): void {
  if (labels.length > MAX_LABELS) throw new DomainError('INVALID_FIELD', { field: 'labels' })
}

/**
 * Replaces the labels of a pull request, and tells its timeline. Unknown labels are ignored. Of the exclusive labels of one
 * scope only the last one is set.
 */
export async function setPullLabels(
  app: ReposApp,
  tx: Tx,
  place: PullChangePlace,
  owners: LabelOwner,
  ids: readonly number[],
): Promise<void> {
  const known = await findLabelsFor(tx, owners, ids)
  const after = fitting(ids.flatMap((id) => known.get(id) ?? []))
  const before = ((await labelsOfPulls(tx, [place.pullId])).get(place.pullId) ?? []).map(
    ({ id }) => id,
  )
  await replacePullLabels(tx, place.pullId, after)
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
