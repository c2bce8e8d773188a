import { milestoneEvent, type TimelineEvent } from '../conversation/pull-timeline.ts'
import type { PullRequest, PullRequestChanges } from '../schema.ts'

/**
 * Returns the events of an edit for the timeline, besides those of the state, and those of labels,
 * assignees and reviewers, which their writers record.
 *
 * @param pull the pull request before the edit.
 */
export function timelineOfEdit(
  { title, base_branch, milestone_id, due_time }: PullRequest,
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
  if (changes.due_time !== undefined) events.push(deadlineEvent(due_time, changes.due_time))
  return events
}

/** Null for no due date. One of the two is a date. */
function deadlineEvent(before: number | null, after: number | null): TimelineEvent {
  const values = { oldValue: String(before ?? ''), newValue: String(after ?? '') }
  if (before === null) return { type: 'added_deadline', ...values }
  return { type: after === null ? 'removed_deadline' : 'modified_deadline', ...values }
}
