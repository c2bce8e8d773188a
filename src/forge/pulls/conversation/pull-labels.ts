import type { Tx } from '../../../platform/database/schema.ts'
import { maySeeOwner } from '../../accounts/users/owners.ts'
import type { LabelOwner } from '../../conversations/labels.rows.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Label } from '../../repositories/schema.ts'
import { labelsOfPulls } from '../heads/pull-requests.rows.ts'
import { findLabelsFor, replacePullLabels } from './pull-labels.rows.ts'
import { differenceEvents, type PullChangePlace, recordTimelineEvents } from './pull-timeline.ts'

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
