import { checkLength } from '../../accounts/users/user-fields.ts'
import { DomainError } from '../../core/errors.ts'
import { isFileList } from './branch-patterns.ts'
import {
  type BranchProtection,
  PROTECTION_FLAGS,
  type ProtectionSettings,
} from './branch-protections.rows.ts'
import type { ProtectionFlag, ProtectionList } from './schema.ts'

/** The number of status contexts that one rule requires, and the length of one. */
const MAX_CONTEXTS = 100
const MAX_CONTEXT_CHARACTERS = 255

/** The length of a list of file patterns. */
const MAX_FILE_LIST_CHARACTERS = 8_192

/** The largest number, which every client language can represent. */
const MAX_NUMBER = 2 ** 31 - 1

/**
 * The settings of a new or edited rule. Undefined settings keep their value; in a new rule they are
 * off, empty or zero.
 */
export interface ProtectionEdit {
  readonly flags: Readonly<Partial<Record<ProtectionFlag, boolean | undefined>>>
  readonly priority: number | undefined
  readonly requiredApprovals: number | undefined
  readonly statusCheckContexts: readonly string[] | undefined
  readonly protectedFilePatterns: string | undefined
  readonly unprotectedFilePatterns: string | undefined
  readonly users: NamesByList
  readonly teams: NamesByList
}

/** The lists of user or team names in a request. */
export type NamesByList = Readonly<Partial<Record<ProtectionList, NamedList | undefined>>>

export interface NamedList {
  /** Request field of the list. */
  readonly field: string
  readonly names: readonly string[]
}

/**
 * Checks the settings that a request asks for.
 *
 * @throws INVALID_FIELD
 */
export function checkEdit(edit: ProtectionEdit): void {
  const { priority = 0, requiredApprovals = 0, statusCheckContexts = [] } = edit
  if (priority < 0 || priority > MAX_NUMBER)
    throw new DomainError('INVALID_FIELD', { field: 'priority' })
  if (requiredApprovals > MAX_NUMBER)
    throw new DomainError('INVALID_FIELD', { field: 'required_approvals' })
  const field = 'status_check_contexts'
  if (statusCheckContexts.length > MAX_CONTEXTS) throw new DomainError('INVALID_FIELD', { field })
  for (const context of statusCheckContexts) checkLength(field, context, MAX_CONTEXT_CHARACTERS)
  checkFileList('protected_file_patterns', edit.protectedFilePatterns)
  checkFileList('unprotected_file_patterns', edit.unprotectedFilePatterns)
}

function checkFileList(field: string, patterns = ''): void {
  checkLength(field, patterns, MAX_FILE_LIST_CHARACTERS)
  if (!isFileList(patterns)) throw new DomainError('INVALID_FIELD', { field })
}

/**
 * Returns the settings of a new rule. A flag without effect, because the flag that it depends on is
 * off, is stored as off.
 */
export function newSettings(ruleName: string, draft: ProtectionEdit): ProtectionSettings {
  const isOn = (flag: ProtectionFlag) => draft.flags[flag] ?? false
  const flags = Object.fromEntries(PROTECTION_FLAGS.map((flag) => [flag, isOn(flag)]))
  const push = isOn('enable_push')
  const pushList = push && isOn('enable_push_whitelist')
  const force = push && isOn('enable_force_push')
  const forceList = force && isOn('enable_force_push_allowlist')
  return {
    ...(flags as Record<ProtectionFlag, boolean>),
    enable_push_whitelist: pushList,
    push_whitelist_deploy_keys: pushList && isOn('push_whitelist_deploy_keys'),
    enable_force_push: force,
    enable_force_push_allowlist: forceList,
    force_push_allowlist_deploy_keys: forceList && isOn('force_push_allowlist_deploy_keys'),
    rule_name: ruleName,
    priority: draft.priority ?? 0,
    required_approvals: Math.max(draft.requiredApprovals ?? 0, 0),
    status_check_contexts: draft.statusCheckContexts ?? [],
    protected_file_patterns: draft.protectedFilePatterns ?? '',
    unprotected_file_patterns: draft.unprotectedFilePatterns ?? '',
  }
}

/**
 * Chains of flags in which each flag depends on the one before it. Switching a flag off switches
 * off those after it.
 */
const CHAINS: readonly (readonly [ProtectionFlag, ProtectionFlag, ProtectionFlag])[] = [
  ['enable_push', 'enable_push_whitelist', 'push_whitelist_deploy_keys'],
  ['enable_force_push', 'enable_force_push_allowlist', 'force_push_allowlist_deploy_keys'],
]

/** Returns the settings of a rule after an edit. */
export function editedSettings(rule: BranchProtection, edit: ProtectionEdit): ProtectionSettings {
  const flags = Object.fromEntries(
    PROTECTION_FLAGS.map((flag) => [flag, edit.flags[flag] ?? rule[flag]]),
  )
  for (const chain of CHAINS) {
    let isOn = true
    for (const flag of chain) {
      isOn &&= flags[flag] ?? false
      flags[flag] = isOn
    }
  }
  const { requiredApprovals = -1 } = edit
  return {
    ...(flags as Record<ProtectionFlag, boolean>),
    rule_name: rule.rule_name,
    priority: edit.priority || rule.priority,
    required_approvals: requiredApprovals < 0 ? rule.required_approvals : requiredApprovals,
    status_check_contexts: edit.statusCheckContexts ?? rule.status_check_contexts,
    protected_file_patterns: edit.protectedFilePatterns ?? rule.protected_file_patterns,
    unprotected_file_patterns: edit.unprotectedFilePatterns ?? rule.unprotected_file_patterns,
  }
}
