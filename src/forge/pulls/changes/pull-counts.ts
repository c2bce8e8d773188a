import { DomainError } from '../../core/errors.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { OpenPull } from '../heads/open-pulls.ts'
import { storeCounts } from '../heads/pull-requests.rows.ts'
import { countChanges, type PullCounts, rangeOf } from './pull-ranges.ts'

/**
 * Counts the changes of a pull request. Its row stores the numbers and the commits between which
 * they were counted.
 *
 * @returns undefined when counting takes too long or fails, for example because commits are lost.
 *   The pull request is shown in any case.
 */
export async function countPull(app: ReposApp, open: OpenPull): Promise<PullCounts | undefined> {
  const { pull } = open
  try {
    const { base, head } = await rangeOf(app, open)
    if (pull.counted_base === base && pull.counted_head === head) return countsIn(pull)
    const counts = await countChanges(app, open.repository.id, base, head)
    if (counts) {
      const { additions, deletions, changedFiles: changed_files } = counts
      const columns = {
        counted_base: base,
        counted_head: head,
        additions,
        deletions,
        changed_files,
      }
      await storeCounts(app.db, pull.id, columns)
    }
    return counts
  } catch (err) {
    if (!(err instanceof DomainError))
      app.log.error({ err, pullRequest: pull.id }, 'a pull request could not be counted')
    // Without a base, the numbers of the last count apply.
    return pull.counted_head === pull.head_commit ? countsIn(pull) : undefined
  }
}

function countsIn({ additions, deletions, changed_files }: OpenPull['pull']): PullCounts {
  return { additions, deletions, changedFiles: changed_files }
}
