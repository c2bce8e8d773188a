import { hasTimelineEntry } from '../../conversations/timeline.rows.ts'
import { recordTimeline } from '../../conversations/timeline.ts'
import { nowSeconds } from '../../core/core.ts'
import type { DomainError } from '../../core/errors.ts'
import { changeWatched } from '../../repositories/activity/repository-events.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { recordPullChange } from '../heads/pull-changes.ts'
import { findPullRequest, touchPull } from '../heads/pull-requests.rows.ts'
import type { PullRequest } from '../schema.ts'
import { listOpenInside } from './restack.rows.ts'

/** Pull requests into the merged branch that are told. */
const MAX_TOLD = 50

/** Paths that the text names. */
const MAX_PATHS = 10

/**
 * Tells the pull requests above a merged one that they were not rebased, and why: those into its head
 * branch, and the one with the commit that conflicts. A repetition after a crash tells nothing again.
 */
export async function recordRestackFailure(
  app: ReposApp,
  merged: PullRequest,
  { reason, metadata }: DomainError,
): Promise<void> {
  const { repository_id, head_branch, number } = merged
  const above = await listOpenInside(app.db, repository_id, head_branch, MAX_TOLD)
  const culprit =
    metadata.number === undefined
      ? undefined
      : await findPullRequest(app.db, repository_id, Number(metadata.number))
  const isListed = above.some(({ id }) => id === culprit?.id)
  const told = culprit && !isListed ? [...above, culprit] : above
  const type = 'pull_restack_failed'
  const why = reason === 'REBASE_CONFLICT' ? conflictIn(metadata) : reason
  const event = {
    type,
    oldValue: metadata.commit_sha ?? '',
    newValue: `after the merge of #${number}: ${why}`,
  } as const
  await changeWatched(app, async (tx) => {
    for (const pull of told) {
      if (await hasTimelineEntry(tx, pull.id, type, event.newValue)) continue
      await recordTimeline(app, tx, undefined, pull.id, event)
      await touchPull(tx, pull.id, nowSeconds(app.clock))
      await recordPullChange(app, tx, undefined, pull, 'PULL_REQUEST_RESTACK_FAILED')
    }
  })
}

function conflictIn({
  commit_sha = '',
  number = '',
  paths = '[]',
}: DomainError['metadata']): string {
  const files = JSON.parse(paths) as string[]
  const named = files.slice(0, MAX_PATHS).join(', ')
  const more = files.length > MAX_PATHS ? ` and ${files.length - MAX_PATHS} more files` : ''
  const where = named === '' ? '' : ` in ${named}${more}`
  return `commit ${commit_sha.slice(0, 10)} of #${number} conflicts${where}`
}
