import type { PullRequest, PullRequestChanges } from '../../../storage/schema/pulls.ts'
import { milestoneEvent, type TimelineEvent } from '../heads/pull-timeline.ts'

/**
 * Returns the events of an edit for the timeline, besides those of the state, and those of labels,
 * assignees and reviewers, which their writers record.
 *
 * @param pull the pull request before the edit.
 */
export function timelineOfEdit(
  { title, base_branch, milestone_id }: PullRequest,
  changes: PullRequestChanges,
): TimelineEvent[] {
  const events: TimelineEvent[] = []
  if (changes.title !== undefined)
    events.push({ type: 'change_title', oldValue: title, newValue: changes.title })
  if (changes.base_branch !== undefined)
    events.push({
      type: 'change_target_branch',
      oldValue: base_branch,
      newValue: changes.base_branch,
    })
  if (changes.milestone_id !== undefined)
    events.push(milestoneEvent(milestone_id, changes.milestone_id))
  return events
}
