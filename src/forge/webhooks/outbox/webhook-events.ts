/**
 * The names of events that compatible systems know, in the order of their documentation, and those
 * that only this server has. A webhook can name each of them, also those of features that this server
 * lacks, whose events never happen.
 */
const EVENT_NAMES: ReadonlySet<string> = new Set([
  'create',
  'delete',
  'fork',
  'push',
  'issues',
  'issues_only',
  'issue_assign',
  'issue_label',
  'issue_milestone',
  'issue_comment',
  'pull_request',
  'pull_request_only',
  'pull_request_assign',
  'pull_request_label',
  'pull_request_milestone',
  'pull_request_comment',
  'pull_request_review',
  'pull_request_review_approved',
  'pull_request_review_rejected',
  'pull_request_review_comment',
  'pull_request_review_request',
  'pull_request_sync',
  'wiki',
  'repository',
  'release',
  'package',
  'status',
  'schedule',
  'workflow_run',
  'workflow_job',
  'action_run_failure',
  'action_run_recover',
  'action_run_success',
  'merge_group',
])

/** Returns whether a webhook can name an event. */
export function isEventName(name: string): boolean {
  return EVENT_NAMES.has(name)
}

/** The types of events that webhooks of the forge receive. */
export type HookEventType =
  | 'create'
  | 'delete'
  | 'fork'
  | 'push'
  | 'issues'
  | 'issue_assign'
  | 'issue_label'
  | 'issue_milestone'
  | 'issue_comment'
  | 'pull_request'
  | 'pull_request_assign'
  | 'pull_request_label'
  | 'pull_request_milestone'
  | 'pull_request_comment'
  | 'pull_request_review_approved'
  | 'pull_request_review_rejected'
  | 'pull_request_review_comment'
  | 'pull_request_review_request'
  | 'pull_request_sync'
  | 'repository'
  | 'release'
  | 'status'
  | 'merge_group'

/** The value of `X-Gitea-Event` where it differs from the type of the event. */
const EVENTS_OF_TYPES: Readonly<Partial<Record<string, string>>> = {
  issue_assign: 'issues',
  issue_label: 'issues',
  issue_milestone: 'issues',
  pull_request_assign: 'pull_request',
  pull_request_label: 'pull_request',
  pull_request_milestone: 'pull_request',
  pull_request_sync: 'pull_request',
  pull_request_review_request: 'pull_request',
  pull_request_comment: 'issue_comment',
  pull_request_review_approved: 'pull_request_approved',
  pull_request_review_rejected: 'pull_request_rejected',
  pull_request_review_comment: 'pull_request_comment',
}

/** The types that the name `pull_request_review` stands for. */
const REVIEWS: readonly HookEventType[] = [
  'pull_request_review_approved',
  'pull_request_review_rejected',
  'pull_request_review_comment',
]

/** Returns the name of an event in the headers of a request. Several types share one name. */
export function eventOf(type: string): string {
  return EVENTS_OF_TYPES[type] ?? type
}

/**
 * Returns whether a webhook with the given names of events receives a type of events. As in
 * compatible systems, `issues` and `pull_request` stand for all types of their kind, and
 * `issues_only` and `pull_request_only` for what the name alone would be.
 */
export function receives(names: readonly string[], type: HookEventType): boolean {
  if (type === 'issues' || type.startsWith('issue_'))
    return names.includes('issues') || names.includes(type === 'issues' ? 'issues_only' : type)
  if (names.includes(type)) return true
  if (!type.startsWith('pull_request')) return false
  return (
    names.includes('pull_request') ||
    (type === 'pull_request' && names.includes('pull_request_only')) ||
    (REVIEWS.includes(type) && names.includes('pull_request_review'))
  )
}
