import type { Db } from '../../platform/database/schema.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import { readableKinds } from './conversation-readers.ts'
import { countByMilestone, findMilestonesByIds } from './milestones.rows.ts'
import type { Milestone } from './schema.ts'

type Opened = Pick<OpenRepository, 'repository' | 'units'>

/** Returns milestones by their ids, as `countsFor` does. */
export async function milestonesFor(
  db: Db,
  opened: readonly Opened[],
  ids: readonly number[],
): Promise<ReadonlyMap<number, Milestone>> {
  const found = await findMilestonesByIds(db, [...new Set(ids)])
  const counted = await countsFor(db, opened, [...found.values()])
  return new Map(counted.map((milestone) => [milestone.id, milestone]))
}

/**
 * Returns milestones whose counters have only the kinds of conversations that a caller may read.
 *
 * The stored counters have both kinds, which most callers may read. For others the conversations are
 * counted by an index.
 *
 * @param opened the repositories of the milestones, as the caller has opened them.
 */
export async function countsFor(
  db: Db,
  opened: readonly Opened[],
  milestones: readonly Milestone[],
): Promise<Milestone[]> {
  const kinds = new Map(
    opened.map(({ repository, units }) => [repository.id, readableKinds(units)]),
  )
  const partly = milestones.filter(({ repository_id }) => {
    const readable = kinds.get(repository_id)
    return !readable?.issues || !readable.pulls
  })
  if (partly.length === 0) return [...milestones]
  const counts = await countByMilestone(
    db,
    partly.map(({ id }) => id),
  )
  const isPartly = new Set(partly)
  return milestones.map((milestone) => {
    if (!isPartly.has(milestone)) return milestone
    const readable = kinds.get(milestone.repository_id)
    const counted = { open_issues: 0, closed_issues: 0 }
    for (const { milestone_id, is_pull, is_open, count } of counts) {
      const isReadable = is_pull === 1 ? readable?.pulls : readable?.issues
      if (milestone_id === milestone.id && isReadable)
        counted[is_open === 1 ? 'open_issues' : 'closed_issues'] += count
    }
    return { ...milestone, ...counted }
  })
}
