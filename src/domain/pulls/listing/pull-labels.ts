import { findLabelsFor, replacePullLabels } from '../../../storage/pulls/pull-labels.ts'
import type { LabelOwner } from '../../../storage/repos/labels.ts'
import type { Label } from '../../../storage/schema/repos.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import { maySeeOwner } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { OpenRepository } from '../../repos/access/permissions.ts'
import type { ReposApp } from '../../repos/ports.ts'

/** More labels do not tell one thing from others. */
const MAX_LABELS = 100

/**
 * Whose labels a caller may give to things of a repository: its own, and those of the organisation
 * that owns it unless that hides from the caller.
 */
export async function labelOwnersFor(
  app: ReposApp,
  caller: Caller,
  { repository, owner }: Pick<OpenRepository, 'repository' | 'owner'>,
): Promise<LabelOwner> {
  const isSeen = owner.kind === 'ORGANIZATION' && (await maySeeOwner(app, caller, owner))
  return { repository_id: repository.id, organization_id: isSeen ? owner.id : null }
}

/** @throws INVALID_FIELD when there are more of them than anything has. */
export function checkLabelCount(labels: readonly unknown[]): void {
  if (labels.length > MAX_LABELS) throw new DomainError('INVALID_FIELD', { field: 'labels' })
}

/**
 * Gives a pull request labels in place of those that it has. Those that nobody has are ignored and,
 * of those that go together with none of their scope, all but the last.
 */
export async function setPullLabels(
  tx: Tx,
  pullId: number,
  owners: LabelOwner,
  ids: readonly number[],
): Promise<void> {
  const known = await findLabelsFor(tx, owners, ids)
  const labels = ids.flatMap((id) => known.get(id) ?? [])
  await replacePullLabels(tx, pullId, fitting(labels))
}

/** Ids of labels that go together. */
function fitting(labels: readonly Label[]): number[] {
  // One that was there is set at the end anew: the last one of a scope wins.
  const fit = new Map<string, number>()
  for (const label of labels) fit.set(scopeOf(label) ?? String(label.id), label.id)
  return [...new Set(fit.values())]
}

/**
 * What an exclusive label is about, which is all before the last slash of its name; undefined for
 * all others.
 */
function scopeOf({ name, exclusive }: Label): string | undefined {
  const slash = name.lastIndexOf('/')
  const isScoped = exclusive === 1 && slash > 0 && slash < name.length - 1
  return isScoped ? name.slice(0, slash + 1) : undefined
}
