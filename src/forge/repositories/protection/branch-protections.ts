import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { isUniqueViolation } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { checkLength } from '../../accounts/users/user-fields.ts'
import { findUsersByIds } from '../../accounts/users/users.rows.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { MAX_PATTERN_CHARACTERS } from '../../core/globs.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import { findTeamById, hasRepository } from '../../organizations/teams.rows.ts'
import { wakeScheduledMerges } from '../../pulls/merging/scheduled-merges.rows.ts'
import {
  accessOfUser,
  checkNotArchived,
  type OpenRepository,
  openRepository,
  type UnitAccess,
} from '../access/permissions.ts'
import {
  changeWatched,
  recordProtectionChange,
  recordProtectionOrder,
} from '../activity/repository-events.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './branch-protections.rows.ts'
import {
  type BranchProtection,
  type ListedAccount,
  type ListedAccounts,
  PROTECTION_FLAGS,
  PROTECTION_LISTS,
  type ProtectionSettings,
} from './branch-protections.rows.ts'
import {
  type CommitRulesEdit,
  checkCommitRules,
  editedCommitRules,
  NO_COMMIT_RULES,
} from './commit-rules.ts'
import {
  checkQueueSettings,
  editedQueue,
  QUEUE_DEFAULTS,
  type QueueEdit,
  queueStyle,
} from './merge-queue-settings.ts'
import { isFileList } from './patterns.ts'
import { inOrder, teamIdsOf, userIdsOf } from './protection-rules.ts'
import type { ProtectionFlag, ProtectionList } from './schema.ts'

/**
 * The number of rules of one repository. Each rule is tried for each branch of a push and of a
 * list.
 */
const MAX_RULES = 100

/** The number of users in one query. The lists of all rules together may be long. */
const BATCH = 500

/** A branch protection, with the users and teams on its lists. */
export interface BranchProtectionView {
  readonly rule: BranchProtection
  /** The style in which the merge queue merges. */
  readonly queueStyle: string
  /** The names on each list. */
  readonly users: Readonly<Record<ProtectionList, readonly string[]>>
  readonly teams: Readonly<Record<ProtectionList, readonly string[]>>
}

/** Returns the branch protections of a repository, in the order in which they are tried. */
export async function listBranchProtections(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<BranchProtectionView[]> {
  const open = await openRepository(app, caller, name, 'admin')
  return viewRules(app, open, inOrder(await rows.listBranchProtections(app.db, open.repository.id)))
}

/** Returns one branch protection by its exact name. */
export async function getBranchProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ruleName: string,
): Promise<BranchProtectionView> {
  const open = await openRepository(app, caller, name, 'admin')
  return viewRule(app, open, ruleName)
}

/** Creates a branch protection. */
export async function createBranchProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ruleName: string,
  draft: ProtectionEdit,
): Promise<BranchProtectionView> {
  const open = await openRepository(app, caller, name, 'admin')
  const { id: repositoryId } = open.repository
  checkNotArchived(open.repository)
  if (ruleName === '') throw new DomainError('BRANCH_PROTECTION_NAMELESS')
  checkLength('rule_name', ruleName, MAX_PATTERN_CHARACTERS)
  checkEdit(draft)
  if (await rows.findBranchProtection(app.db, repositoryId, ruleName))
    throw new DomainError('BRANCH_PROTECTION_EXISTS')
  const settings = newSettings(ruleName, draft)
  checkQueueSettings(open.repository, settings, draft.queue)
  // The bypass list is ignored unless it is enabled.
  const wanted = PROTECTION_LISTS.filter(
    (list) => list !== 'bypass' || settings.enable_bypass_allowlist,
  )
  const lists = await resolveLists(app, open, draft, wanted)
  await changeRules(app, repositoryId, async (tx) => {
    const present = await rows.listBranchProtections(tx, repositoryId)
    if (present.length >= MAX_RULES) {
      throw new DomainError('TOO_MANY_BRANCH_PROTECTIONS', { limit: String(MAX_RULES) })
    }
    const last = Math.max(0, ...present.map(({ priority }) => priority))
    const priority = settings.priority > 0 ? settings.priority : last + 1
    const placed = { ...settings, priority }
    const id = await rows.insertBranchProtection(tx, repositoryId, placed, nowSeconds(app.clock))
    await storeLists(tx, id, lists)
    await recordProtectionChange(app, tx, caller, {
      repositoryId,
      type: 'BRANCH_PROTECTION_CREATED',
      rule: {
        id,
        name: ruleName,
      },
    })
  }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new DomainError('BRANCH_PROTECTION_EXISTS') : error
  })
  return viewRule(app, open, ruleName)
}

/** Edits a branch protection, in one transaction. */
export async function editBranchProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ruleName: string,
  edit: ProtectionEdit,
): Promise<BranchProtectionView> {
  const open = await openRepository(app, caller, name, 'admin')
  const { id: repositoryId } = open.repository
  checkNotArchived(open.repository)
  await findRule(app, repositoryId, ruleName)
  checkEdit(edit)
  const lists = await resolveLists(app, open, edit, PROTECTION_LISTS)
  await changeRules(app, repositoryId, async (tx) => {
    const rule = await rows.findBranchProtection(tx, repositoryId, ruleName)
    if (!rule) throw new DomainError('BRANCH_PROTECTION_NOT_FOUND')
    const settings = editedSettings(rule, edit)
    checkQueueSettings(open.repository, settings, edit.queue)
    await rows.updateBranchProtection(tx, rule.id, settings, nowSeconds(app.clock))
    const emptied = settings.enable_bypass_allowlist ? [] : EMPTY_BYPASS_LISTS
    await storeLists(tx, rule.id, [...lists, ...emptied])
    const named = { id: rule.id, name: ruleName }
    await recordProtectionChange(app, tx, caller, {
      repositoryId,
      type: 'BRANCH_PROTECTION_EDITED',
      rule: named,
    })
  })
  return viewRule(app, open, ruleName)
}

/** Deletes a branch protection. */
export async function deleteBranchProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ruleName: string,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const { id } = await findRule(app, repository.id, ruleName)
  await changeRules(app, repository.id, async (tx) => {
    if (!(await rows.deleteBranchProtection(tx, id)))
      throw new DomainError('BRANCH_PROTECTION_NOT_FOUND')
    await recordProtectionChange(app, tx, caller, {
      repositoryId: repository.id,
      type: 'BRANCH_PROTECTION_DELETED',
      rule: {
        id,
        name: ruleName,
      },
    })
  })
}

/**
 * Reorders branch protections: the first gets priority 1, and so on. Rules that are not listed keep
 * their priority.
 */
export async function reorderBranchProtections(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  ids: readonly number[],
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  await changeRules(app, repository.id, async (tx) => {
    const unplaced = new Set(
      (await rows.listBranchProtections(tx, repository.id)).map(({ id }) => id),
    )
    for (const [i, id] of ids.entries()) {
      if (!unplaced.delete(id))
        throw new DomainError('INVALID_PROTECTION_ORDER', { id: String(id) })
      await rows.setPriority(tx, id, i + 1)
    }
    await recordProtectionOrder(app, tx, caller, repository.id)
  })
}

/** Changes branch protections in a transaction and wakes the scheduled merges of the repository. */
function changeRules(
  app: ReposApp,
  repositoryId: number,
  work: (tx: Tx) => Promise<void>,
): Promise<void> {
  return changeWatched(app, async (tx) => {
    await work(tx)
    await wakeScheduledMerges(tx, app.clock.now(), repositoryId)
  })
}

async function findRule(
  app: ReposApp,
  repositoryId: number,
  ruleName: string,
): Promise<BranchProtection> {
  const rule = await rows.findBranchProtection(app.db, repositoryId, ruleName)
  if (!rule) throw new DomainError('BRANCH_PROTECTION_NOT_FOUND')
  return rule
}

/** The new content of a list. */
interface ResolvedList {
  readonly kind: keyof ListedAccounts
  readonly list: ProtectionList
  readonly ids: readonly number[]
}

const EMPTY_BYPASS_LISTS: readonly ResolvedList[] = [
  { kind: 'users', list: 'bypass', ids: [] },
  { kind: 'teams', list: 'bypass', ids: [] },
]

/**
 * Returns the lists of a request as ids, without users who lack the access that the list requires
 * and teams without access to the repository.
 */
async function resolveLists(
  app: ReposApp,
  open: OpenRepository,
  { users, teams }: Pick<ProtectionEdit, 'users' | 'teams'>,
  wanted: readonly ProtectionList[],
): Promise<ResolvedList[]> {
  const resolved: ResolvedList[] = []
  for (const list of wanted) {
    const [named, namedTeams] = [users[list], teams[list]]
    if (named) {
      const ids = await userIdsOf(app, named.field, named.names)
      // The push lists apply only to users with write access. The merge and approval lists need
      // read access to pull requests.
      const isUseful = ({ code, pulls }: UnitAccess) =>
        list === 'push' || list === 'force_push' ? suffices(code, 'write') : suffices(pulls, 'read')
      resolved.push({ kind: 'users', list, ids: [...(await usersWith(app, open, ids, isUseful))] })
    }
    if (namedTeams) {
      const ids = await teamIdsOf(app, namedTeams.field, open.owner, namedTeams.names)
      resolved.push({ kind: 'teams', list, ids: await teamsWith(app, open, ids) })
    }
  }
  return resolved
}

async function storeLists(
  tx: Tx,
  protectionId: number,
  lists: readonly ResolvedList[],
): Promise<void> {
  for (const { kind, list, ids } of lists)
    await rows.setListed(tx, kind, { protection_id: protectionId, list }, ids)
}

/** Returns the users whose access to a repository is enough. */
async function usersWith(
  app: ReposApp,
  { repository, owner }: OpenRepository,
  ids: readonly number[],
  isEnough: (units: UnitAccess) => boolean,
): Promise<ReadonlySet<number>> {
  const found = new Set<number>()
  const yielder = createYielder()
  for (let start = 0; start < ids.length; start += BATCH) {
    const users = await findUsersByIds(app.db, ids.slice(start, start + BATCH))
    for (const [id, user] of users) {
      if (isEnough(await accessOfUser(app, user, repository, owner))) found.add(id)
      const pause = yielder.yield()
      if (pause) await pause
    }
  }
  return found
}

/** Returns the teams with access to a repository. */
async function teamsWith(
  app: ReposApp,
  { repository }: OpenRepository,
  ids: readonly number[],
): Promise<number[]> {
  const found: number[] = []
  for (const id of ids) {
    const team = await findTeamById(app.db, id)
    const hasAll = team?.permission === 'owner' || team?.includes_all_repositories === 1
    if (hasAll || (await hasRepository(app.db, id, repository.id))) found.push(id)
  }
  return found
}

async function viewRule(
  app: ReposApp,
  open: OpenRepository,
  ruleName: string,
): Promise<BranchProtectionView> {
  const rule = await findRule(app, open.repository.id, ruleName)
  const [view] = await viewRules(app, open, [rule])
  if (!view) throw new DomainError('BRANCH_PROTECTION_NOT_FOUND')
  return view
}

/**
 * Returns rules with the names on their lists, without users who can no longer read the repository.
 */
async function viewRules(
  app: ReposApp,
  open: OpenRepository,
  rules: readonly BranchProtection[],
): Promise<BranchProtectionView[]> {
  const { users, teams } = await rows.findListed(app.db, open.repository.id)
  const shown = new Set(rules.map(({ id }) => id))
  const ids = users.filter(({ protection_id }) => shown.has(protection_id)).map(({ id }) => id)
  const readers = await usersWith(app, open, [...new Set(ids)], ({ code }) =>
    suffices(code, 'read'),
  )
  const present = users.filter(({ id }) => readers.has(id))
  return rules.map((rule) => ({
    rule,
    queueStyle: queueStyle(open.repository, rule),
    users: namesByList(rule, present),
    teams: namesByList(rule, teams),
  }))
}

function namesByList({ id }: BranchProtection, accounts: readonly ListedAccount[]) {
  const ofRule = accounts.filter(({ protection_id }) => protection_id === id)
  const names = PROTECTION_LISTS.map((list) => [
    list,
    ofRule.filter((a) => a.list === list).map(({ name }) => name),
  ])
  return Object.fromEntries(names) as Record<ProtectionList, string[]>
}

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
  readonly commitRules: CommitRulesEdit
  readonly queue: QueueEdit
  readonly users: NamesByList
  readonly teams: NamesByList
}

/** The lists of user or team names in a request. */
type NamesByList = Readonly<Partial<Record<ProtectionList, NamedList | undefined>>>

export interface NamedList {
  /** Request field of the list. */
  readonly field: string
  readonly names: readonly string[]
}

/** Checks the settings that a request asks for. */
function checkEdit(edit: ProtectionEdit): void {
  const { priority = 0, requiredApprovals = 0, statusCheckContexts = [] } = edit
  if (priority < 0 || priority > MAX_NUMBER)
    throw new DomainError('INVALID_FIELD', { field: 'priority' })
  if (requiredApprovals > MAX_NUMBER)
    throw new DomainError('INVALID_FIELD', { field: 'required_approvals' })
  checkContexts('status_check_contexts', statusCheckContexts)
  checkContexts('merge_queue_only_contexts', edit.queue.onlyContexts)
  checkContexts('merge_queue_head_contexts', edit.queue.headContexts)
  checkFileList('protected_file_patterns', edit.protectedFilePatterns)
  checkFileList('unprotected_file_patterns', edit.unprotectedFilePatterns)
  checkCommitRules(edit.commitRules)
}

function checkContexts(field: string, contexts: readonly string[] = []): void {
  if (contexts.length > MAX_CONTEXTS) throw new DomainError('INVALID_FIELD', { field })
  for (const context of contexts) checkLength(field, context, MAX_CONTEXT_CHARACTERS)
}

function checkFileList(field: string, patterns = ''): void {
  checkLength(field, patterns, MAX_FILE_LIST_CHARACTERS)
  if (!isFileList(patterns)) throw new DomainError('INVALID_FIELD', { field })
}

/**
 * Returns the settings of a new rule. A flag without effect, because the flag that it depends on is
 * off, is stored as off.
 */
function newSettings(ruleName: string, draft: ProtectionEdit): ProtectionSettings {
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
    ...editedCommitRules(NO_COMMIT_RULES, draft.commitRules),
    ...editedQueue(QUEUE_DEFAULTS, draft.queue),
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
function editedSettings(rule: BranchProtection, edit: ProtectionEdit): ProtectionSettings {
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
    ...editedCommitRules(rule, edit.commitRules),
    ...editedQueue(rule, edit.queue),
  }
}
