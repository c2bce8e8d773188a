import { DomainError } from '../../core/errors.ts'
import { allowedStyles } from '../commits/merge-styles.ts'
import type { Repository } from '../schema.ts'
import type { ProtectionSettings } from './branch-protections.rows.ts'
import { isBranchGlob } from './patterns.ts'
import type { BranchRule, Pusher, RuleInForce } from './protection-rules.ts'
import type { QueueBypass } from './schema.ts'

/** The settings of a branch protection about the merge queue of its branch. */

/** The settings, in the form of a request: undefined keeps the value. */
export interface QueueEdit {
  readonly style: string | undefined
  readonly maxGroup: number | undefined
  readonly parallel: number | undefined
  readonly waitSeconds: number | undefined
  readonly checkTimeoutSeconds: number | undefined
  readonly onlyContexts: readonly string[] | undefined
  readonly headContexts: readonly string[] | undefined
  readonly bypass: string | undefined
}

type QueueColumns = Pick<
  ProtectionSettings,
  Extract<keyof ProtectionSettings, `merge_queue_${string}`>
>

/** The settings of a rule that says nothing about them. */
export const QUEUE_DEFAULTS: QueueColumns = {
  merge_queue_style: '',
  merge_queue_max_group: 5,
  merge_queue_parallel: 2,
  merge_queue_wait_seconds: 5,
  merge_queue_check_timeout_seconds: 3600,
  merge_queue_only_contexts: [],
  merge_queue_head_contexts: [],
  merge_queue_bypass: 'bypass_allowlist',
}

const BYPASSES: readonly QueueBypass[] = ['nobody', 'administrators', 'bypass_allowlist']

/** The least and the largest value of each number. */
const LIMITS = {
  merge_queue_max_group: [1, 50],
  merge_queue_parallel: [1, 10],
  merge_queue_wait_seconds: [0, 3600],
  merge_queue_check_timeout_seconds: [10, 86_400],
} as const

/** Returns the settings after an edit. */
export function editedQueue(present: QueueColumns, edit: QueueEdit): QueueColumns {
  const bypass = edit.bypass ?? present.merge_queue_bypass
  const known = BYPASSES.find((value) => value === bypass)
  if (known === undefined)
    throw invalid('merge_queue_bypass', 'must be nobody, administrators or bypass_allowlist')
  return {
    merge_queue_style: edit.style ?? present.merge_queue_style,
    merge_queue_max_group: edit.maxGroup ?? present.merge_queue_max_group,
    merge_queue_parallel: edit.parallel ?? present.merge_queue_parallel,
    merge_queue_wait_seconds: edit.waitSeconds ?? present.merge_queue_wait_seconds,
    merge_queue_check_timeout_seconds:
      edit.checkTimeoutSeconds ?? present.merge_queue_check_timeout_seconds,
    merge_queue_only_contexts: edit.onlyContexts ?? present.merge_queue_only_contexts,
    merge_queue_head_contexts: edit.headContexts ?? present.merge_queue_head_contexts,
    merge_queue_bypass: known,
  }
}

/**
 * Checks the settings of a rule about the queue. Without a queue, only what the edit says is checked.
 *
 * @throws INVALID_MERGE_QUEUE
 */
export function checkQueueSettings(
  repository: Repository,
  rule: ProtectionSettings,
  edit: QueueEdit,
): void {
  for (const [field, [least, most]] of Object.entries(LIMITS)) {
    const value = rule[field as keyof typeof LIMITS]
    if (value < least || value > most) throw invalid(field, `must be from ${least} to ${most}`)
  }
  const isOn = rule.enable_merge_queue
  if (isOn || edit.style) checkQueueStyle(repository, rule)
  if (isOn || edit.onlyContexts || edit.headContexts) checkContexts(rule)
  if (!isOn) return
  const field = 'enable_merge_queue'
  if (isBranchGlob(rule.rule_name)) throw invalid(field, 'needs a rule for one branch')
  if (!rule.enable_status_check) throw invalid(field, 'needs enable_status_check')
  if (candidateContexts(rule).length === 0)
    throw invalid(field, 'needs a context that is asked on the commits of the queue')
}

function checkQueueStyle(repository: Repository, rule: ProtectionSettings): void {
  const style = queueStyle(repository, rule)
  const isAllowed = allowedStyles(repository).some((allowed) => allowed === style)
  if (!isAllowed || style === 'fast-forward-only')
    throw invalid('merge_queue_style', 'must be merge, rebase, rebase-merge or squash, and allowed')
}

function checkContexts(rule: ProtectionSettings): void {
  const { status_check_contexts: contexts } = rule
  if (rule.enable_merge_queue && contexts.some(isBranchGlob))
    throw invalid('status_check_contexts', 'must be exact names, since a glob is met by one status')
  for (const field of ['merge_queue_only_contexts', 'merge_queue_head_contexts'] as const)
    if (!rule[field].every((context) => contexts.includes(context)))
      throw invalid(field, 'must be part of status_check_contexts')
}

function invalid(field: string, text: string): DomainError {
  return new DomainError('INVALID_MERGE_QUEUE', { field, text })
}

/** Returns the rule in force for a branch if it has a merge queue. */
export function queueIn(inForce: RuleInForce | undefined): BranchRule | undefined {
  return inForce?.rule.enable_merge_queue ? inForce.rule : undefined
}

/** Returns the style in which the queue of a rule merges. */
export function queueStyle(
  { default_merge_style }: Pick<Repository, 'default_merge_style'>,
  { merge_queue_style }: Pick<ProtectionSettings, 'merge_queue_style'>,
): string {
  return merge_queue_style || default_merge_style
}

/** Returns the contexts that must succeed on the commits of the queue. */
export function candidateContexts({
  status_check_contexts,
  merge_queue_head_contexts,
}: Pick<ProtectionSettings, 'status_check_contexts' | 'merge_queue_head_contexts'>): string[] {
  return status_check_contexts.filter((context) => !merge_queue_head_contexts.includes(context))
}

/** Returns whether a user may merge at once into the branch of a queue. */
export function mayPassQueue(
  { merge_queue_bypass }: Pick<ProtectionSettings, 'merge_queue_bypass'>,
  { isAdministrator }: Pick<Pusher, 'isAdministrator'>,
  mayForce: boolean,
): boolean {
  switch (merge_queue_bypass) {
    case 'nobody':
      return false
    case 'administrators':
      return isAdministrator
    case 'bypass_allowlist':
      return mayForce
  }
}
