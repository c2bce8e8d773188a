import { findOwnersByIds } from '../../../storage/accounts/owners.ts'
import type { CommentPeriod } from '../../../storage/pulls/pull-comments.ts'
import * as rows from '../../../storage/pulls/pull-timeline.ts'
import type { Owner } from '../../../storage/schema/accounts.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import type { Caller } from '../../core/access.ts'
import type { Page, PullName } from '../../core/names.ts'
import type { ReposApp } from '../../repos/ports.ts'
import { type OpenPull, openPull } from '../access/open-pulls.ts'

/** An entry of a timeline, as its readers see it. */
export interface TimelineView {
  readonly open: OpenPull
  readonly entry: rows.TimelineRow
  readonly actor: Owner
}

/**
 * Lists what happened to a pull request and what was said about it, oldest first.
 *
 * @throws as `openPull`
 */
export async function listTimeline(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  period: CommentPeriod,
  { offset, limit }: Page,
): Promise<{ readonly entries: readonly TimelineView[]; readonly total: number }> {
  const open = await openPull(app, caller, name, 'read')
  const found = await rows.listTimeline(app.db, open.pull.id, period, offset, limit)
  const ids = new Set(found.flatMap(({ actor_id }) => actor_id ?? []))
  const actors = await findOwnersByIds(app.db, [...ids])
  return {
    entries: found.map((entry) => ({
      open,
      entry,
      actor: actors.get(entry.actor_id ?? 0) ?? GHOST,
    })),
    total: await rows.countTimeline(app.db, open.pull.id, period),
  }
}
