import type { Owner } from '../../accounts/schema.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import { findMilestonesByIds } from '../../conversations/milestones.rows.ts'
import type { Caller } from '../../core/access.ts'
import type { Page, PullName } from '../../core/names.ts'
import type { TeamView } from '../../organizations/teams.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import type { Label, Milestone } from '../../repositories/schema.ts'
import { type OpenPull, openPull } from '../heads/open-pulls.ts'
import { viewTeams } from '../review/review-views.ts'
import type { CommentPeriod } from './pull-comments.rows.ts'
import { findLabelsFor } from './pull-labels.rows.ts'
import * as rows from './pull-timeline.rows.ts'
import { type EventSubjects, subjectsOf } from './pull-timeline.ts'

/** An entry of a timeline, as its readers see it. */
export interface TimelineView {
  readonly open: OpenPull
  readonly entry: rows.TimelineRow
  readonly actor: Owner
  /** Subjects of the event. One that was deleted or is hidden from the caller is undefined. */
  readonly label: Label | undefined
  /** Whom an event assigns or asks for a review. */
  readonly assignee: Owner | undefined
  readonly team: TeamView | undefined
  readonly oldMilestone: Milestone | undefined
  readonly milestone: Milestone | undefined
  /** Whether the label, user or team was removed. */
  readonly isRemoved: boolean
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
  return {
    entries: await viewEntries(app, caller, open, found),
    total: await rows.countTimeline(app.db, open.pull.id, period),
  }
}

async function viewEntries(
  app: ReposApp,
  caller: Caller,
  open: OpenPull,
  entries: readonly rows.TimelineRow[],
): Promise<TimelineView[]> {
  const { db } = app
  const subjects = entries.map(subjectsOf)
  const idsOf = (...fields: readonly (keyof EventSubjects)[]) => {
    const ids = subjects.flatMap((subject) => fields.map((field) => Number(subject[field] ?? 0)))
    return [...new Set(ids.filter((id) => id > 0))]
  }
  const labels = await findLabelsFor(
    db,
    {
      repository_id: open.repository.id,
      organization_id: open.owner.kind === 'ORGANIZATION' ? open.owner.id : null,
    },
    idsOf('labelId'),
  )
  const actorIds = entries.flatMap(({ actor_id }) => actor_id ?? [])
  const users = await findOwnersByIds(db, [...new Set([...actorIds, ...idsOf('userId')])])
  const teams = await viewTeams(app, caller, open, idsOf('teamId'))
  const milestones = await findMilestonesByIds(db, idsOf('oldMilestoneId', 'milestoneId'))
  return entries.map((entry, i) => {
    const subject = subjects[i] ?? {}
    const { userId } = subject
    return {
      open,
      entry,
      actor: users.get(entry.actor_id ?? 0) ?? GHOST,
      label: labels.get(subject.labelId ?? 0),
      assignee: userId === undefined ? undefined : (users.get(userId) ?? GHOST),
      team: teams.get(subject.teamId ?? 0),
      oldMilestone: milestones.get(subject.oldMilestoneId ?? 0),
      milestone: milestones.get(subject.milestoneId ?? 0),
      isRemoved: subject.isRemoved ?? false,
    }
  })
}
