import type { Db } from '../../../platform/database/schema.ts'
import type { Repository } from '../../repositories/schema.ts'
import type { PullRequest } from '../schema.ts'
import { listStackOf, type StackedPull } from './pull-stacks.rows.ts'

/** Pull requests below, and above, that a stack shows. */
const MAX_SHOWN = 50

/**
 * Returns the stack of an open pull request, itself included, from the lowest: those on whose heads it
 * stands, and those that stand on its head. Empty if it stands alone.
 *
 * Of several pull requests with one head, the oldest is the one below. A pull request of the default
 * branch, such as into a branch of releases, is not below those into the default branch, because they
 * do not wait for it.
 */
export async function stackOf(
  db: Db,
  { id: repositoryId, default_branch }: Repository,
  pull: PullRequest,
): Promise<StackedPull[]> {
  if (pull.state !== 'OPEN') return []
  const found = await listStackOf(db, repositoryId, pull.id, default_branch, MAX_SHOWN + 1)
  const own = found.find(({ id }) => id === pull.id)
  if (!own) return []
  const seen = new Set([own.id])
  const below = allBelow(own, found, seen).reverse()
  const above = pull.head_repository_id === repositoryId ? aboveOf(own, found, seen) : []
  const stack = [...below, own, ...above]
  return stack.length > 1 ? stack : []
}

/** Returns the open pull requests on whose heads an open one stands, from the highest. */
export async function pullsBelow(
  db: Db,
  { id: repositoryId, default_branch }: Repository,
  pull: PullRequest,
): Promise<StackedPull[]> {
  if (pull.state !== 'OPEN' || pull.base_branch === default_branch) return []
  const found = await listStackOf(db, repositoryId, pull.id, default_branch, MAX_SHOWN + 1)
  const own = found.find(({ id }) => id === pull.id)
  return own ? allBelow(own, found, new Set([own.id])) : []
}

function allBelow(
  own: StackedPull,
  found: readonly StackedPull[],
  seen: Set<number>,
): StackedPull[] {
  const below: StackedPull[] = []
  for (
    let next = belowOf(own, found, seen);
    next !== undefined;
    next = belowOf(next, found, seen)
  ) {
    seen.add(next.id)
    below.push(next)
  }
  return below
}

function belowOf(
  { base_branch }: StackedPull,
  found: readonly StackedPull[],
  seen: ReadonlySet<number>,
): StackedPull | undefined {
  return found.find(({ id, head_branch }) => head_branch === base_branch && !seen.has(id))
}

/** Returns those above: each is followed by its own, the oldest first. */
function aboveOf(
  { head_branch }: StackedPull,
  found: readonly StackedPull[],
  seen: Set<number>,
): StackedPull[] {
  const above: StackedPull[] = []
  for (const next of found) {
    if (next.base_branch !== head_branch || seen.has(next.id)) continue
    seen.add(next.id)
    above.push(next, ...aboveOf(next, found, seen))
  }
  return above
}
