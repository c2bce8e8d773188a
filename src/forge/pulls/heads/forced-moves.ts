import { HEADS } from '../../../platform/git/core/ref-names.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import type { MovedRef, ReposApp } from '../../repositories/ports.ts'
import { openHeadBranches } from './pull-heads.rows.ts'

/**
 * Returns whether a branch loses commits by a move. A move that cannot be compared counts as an
 * ordinary one, because only the words of timelines depend on it.
 */
export async function isForcedMove(
  app: ReposApp,
  repositoryId: number,
  from: string,
  to: string,
): Promise<boolean> {
  try {
    // Most pushes bring one commit, for which no process is needed.
    const commit = await readCommit(app.git, repositoryId, to)
    if (commit?.parentIds.includes(from)) return false
    return (await independentCommits(app.git, repositoryId, [from, to])).has(from)
  } catch (err) {
    app.log.warn({ err, repository: repositoryId }, 'the heads of a push could not be compared')
    return false
  }
}

/** The heads of one push that are compared. The others count as ordinary moves. */
const MAX_COMPARED = 50

/** Returns the refs that are heads of open pull requests and lose commits by their moves. */
export async function forcedHeads(
  app: ReposApp,
  repositoryId: number,
  moved: readonly MovedRef[],
): Promise<ReadonlySet<string>> {
  const names = moved
    .filter(({ ref, oldId, newId }) => ref.startsWith(HEADS) && oldId && newId && oldId !== newId)
    .map(({ ref }) => ref.slice(HEADS.length))
  const heads = new Set(await openHeadBranches(app.db, repositoryId, names))
  const compared = moved.filter(({ ref }) => heads.has(ref.slice(HEADS.length)))
  const forced = new Set<string>()
  for (const { ref, oldId = '', newId = '' } of compared.slice(0, MAX_COMPARED))
    if (await isForcedMove(app, repositoryId, oldId, newId)) forced.add(ref)
  return forced
}
