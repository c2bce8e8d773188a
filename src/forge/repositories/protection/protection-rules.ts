import type { Tx } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerByNameKey } from '../../accounts/users/owners.rows.ts'
import { DomainError } from '../../core/errors.ts'
import { nameKey } from '../../core/names.ts'
import { findTeamByName } from '../../organizations/teams.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { BranchProtection } from './branch-protections.rows.ts'
import { commitRefusal, judgesCommits, type RefusedCommit, refusedName } from './commit-rules.ts'
import { branchMatcher, fileMatcher, isBranchGlob } from './patterns.ts'
import type { ProtectionList } from './schema.ts'

/**
 * The evaluation of branch protections, by pure functions. `branch-rules.ts` reads the rows, and
 * `branch-facts.ts` asks Git.
 */

/** The settings of a rule that decide about branch updates. */
export type BranchRule = Omit<BranchProtection, 'repository_id' | 'create_time' | 'update_time'>

/** The user or deploy key that updates a branch. */
export interface Pusher {
  readonly kind: 'user' | 'deploy key'
  /** Whether the pusher has write access to the code. */
  readonly mayWrite: boolean
  /** Whether the pusher is an administrator of the repository. */
  readonly isAdministrator: boolean
  /** The lists of the rule with the user, by name or as a member of a team. */
  readonly listedIn: ReadonlySet<ProtectionList>
}

/** The rule in force for a branch, and the pusher. */
export interface RuleInForce {
  readonly rule: BranchRule
  readonly pusher: Pusher
}

/** A merge of a pull request by the server, as opposed to a push by a user. */
export interface MergeOfPull {
  /** Number of the pull request. */
  readonly number: number
  /** Why the pull request is not ready to merge; undefined if it is ready. */
  readonly problem: string | undefined
}

/** A branch update, without the facts that only Git knows. */
export interface BranchChange {
  /** Without `refs/heads/`. */
  readonly branch: string
  readonly kind: 'create' | 'update' | 'delete'
  readonly isDefault: boolean
  readonly merge?: MergeOfPull
}

/** The facts about a branch update that Git provides, as `factsNeeded` requests them. */
export interface ChangeFacts {
  /** Whether the update is a force push, which removes commits from the branch. */
  readonly isForced: boolean
  /** Id of a new commit whose signature is missing or not verified; undefined if there is none. */
  readonly unverifiedCommit: string | undefined
  /** The first new commit found whose message or author the rule refuses. */
  readonly refusedCommit: RefusedCommit | undefined
  /** Path of a file that is larger than the rule allows, or id of its content. */
  readonly largeFile: string | undefined
  readonly files: FileFacts
}

/** The result of matching the changed paths with the file patterns of a rule. */
export interface FileFacts {
  /** The first protected path, in lower case; undefined if there is none. */
  readonly protectedPath: string | undefined
  /** Whether there are changed paths and all of them match an unprotected pattern. */
  readonly areAllUnprotected: boolean
}

/** The facts about an update for which none are needed. */
export const NO_FACTS: ChangeFacts = {
  isForced: false,
  unverifiedCommit: undefined,
  refusedCommit: undefined,
  largeFile: undefined,
  files: { protectedPath: undefined, areAllUnprotected: false },
}

/**
 * Sorts rules in the order in which they are tried: by priority, then plain names before globs,
 * then by age.
 *
 * @param rules oldest first.
 */
export function inOrder<Rule extends Pick<BranchRule, 'rule_name' | 'priority'>>(
  rules: readonly Rule[],
): Rule[] {
  const isGlob = ({ rule_name }: Rule) => Number(isBranchGlob(rule_name))
  return rules.toSorted((a, b) => a.priority - b.priority || isGlob(a) - isGlob(b))
}

/**
 * Returns the rule in force for a branch: the first that matches. Rules are not combined.
 *
 * @param rules as `inOrder` sorts them
 */
export function effectiveRule<Rule extends Pick<BranchRule, 'rule_name'>>(
  rules: readonly Rule[],
  branch: string,
): Rule | undefined {
  return rules.find(({ rule_name }) => branchMatcher(rule_name)(branch))
}

/** Returns whether a pusher may push to a branch under a rule. */
export function mayPush(rule: BranchRule, { kind, mayWrite, listedIn }: Pusher): boolean {
  if (!rule.enable_push || !mayWrite) return false
  if (!rule.enable_push_whitelist) return true
  return kind === 'deploy key' ? rule.push_whitelist_deploy_keys : listedIn.has('push')
}

/**
 * Returns whether a pusher may force-push to a branch under a rule. A deploy key needs only the
 * force-push list, not the push list.
 */
export function mayForcePush(rule: BranchRule, pusher: Pusher): boolean {
  if (!allowsForcePush(rule)) return false
  if (pusher.kind === 'deploy key') {
    return (
      pusher.mayWrite &&
      (!rule.enable_force_push_allowlist || rule.force_push_allowlist_deploy_keys)
    )
  }
  return (
    mayPush(rule, pusher) &&
    (!rule.enable_force_push_allowlist || pusher.listedIn.has('force_push'))
  )
}

/** Returns whether a rule allows force pushes at all. */
export function allowsForcePush({ enable_push, enable_force_push }: BranchRule): boolean {
  return enable_push && enable_force_push
}

/**
 * Returns whether a user may merge pull requests into a branch under a rule. Users on the merge
 * list need no write access.
 */
export function mayMerge(rule: BranchRule, { mayWrite, listedIn }: Pusher): boolean {
  return rule.enable_merge_whitelist ? listedIn.has('merge') : mayWrite
}

/** Returns whether a user may merge a pull request that is not ready. */
export function mayBypass(rule: BranchRule, { isAdministrator, listedIn }: Pusher): boolean {
  if (isAdministrator && !rule.block_admin_merge_override) return true
  return rule.enable_bypass_allowlist && listedIn.has('bypass')
}

/** The facts that the evaluation of a rule needs from Git. */
export interface FactsNeeded {
  readonly ancestry: boolean
  readonly signatures: boolean
  /** Messages and authors of commits. */
  readonly commits: boolean
  readonly sizes: boolean
  readonly files: boolean
}

export const NO_FACTS_NEEDED: FactsNeeded = {
  ancestry: false,
  signatures: false,
  commits: false,
  sizes: false,
  files: false,
}

/** Returns the facts that a rule needs for a branch update. */
export function factsNeeded(
  { rule, pusher }: RuleInForce,
  { kind, merge }: BranchChange,
): FactsNeeded {
  const arrives = kind !== 'delete'
  const isOpenOtherwise =
    merge !== undefined || (mayPush(rule, pusher) && mayForcePush(rule, pusher))
  const isProtecting = fileMatcher(rule.protected_file_patterns).matches !== undefined
  const isFreeing =
    !isOpenOtherwise && fileMatcher(rule.unprotected_file_patterns).matches !== undefined
  return {
    ancestry: kind === 'update',
    signatures: arrives && rule.require_signed_commits,
    commits: arrives && judgesCommits(rule),
    sizes: arrives && rule.max_file_bytes > 0,
    files: arrives && (isProtecting || isFreeing),
  }
}

/**
 * Checks a branch update by a pusher with write access to the repository.
 *
 * @param inForce the rule for the branch and the pusher; undefined without a rule
 * @returns the message of the first check that fails; undefined if the update is allowed
 */
export function checkChange(
  inForce: RuleInForce | undefined,
  change: BranchChange,
  facts: ChangeFacts,
): string | undefined {
  const { branch, kind, isDefault, merge } = change
  const { isForced, unverifiedCommit, refusedCommit, largeFile, files } = facts
  if (kind === 'delete' && isDefault)
    return `branch ${branch} is the default branch and cannot be deleted`
  if (!inForce) return undefined
  const { rule, pusher } = inForce
  if (kind === 'delete') return `branch ${branch} is protected from deletion`
  if (isForced && !allowsForcePush(rule)) return `branch ${branch} is protected from force push`
  if (unverifiedCommit !== undefined)
    return `branch ${branch} is protected from unverified commit ${unverifiedCommit}`
  const refusedBranch = kind === 'create' ? refusedName(rule, branch) : undefined
  if (refusedBranch !== undefined) return refusedBranch
  if (refusedCommit !== undefined) return commitRefusal(rule, branch, refusedCommit)
  if (largeFile !== undefined)
    return `branch ${branch} is protected from files of more than ${rule.max_file_bytes} bytes, such as ${largeFile}`
  if (merge) return checkMerge(inForce, branch, merge, files)
  if (files.protectedPath !== undefined) return protectedFile(branch, files.protectedPath)
  if (files.areAllUnprotected) return undefined
  if (isForced) {
    return mayForcePush(rule, pusher)
      ? undefined
      : `Not allowed to force-push to protected branch ${branch}`
  }
  return mayPush(rule, pusher) ? undefined : `Not allowed to push to protected branch ${branch}`
}

function checkMerge(
  { rule, pusher }: RuleInForce,
  branch: string,
  { number, problem }: MergeOfPull,
  { protectedPath }: FileFacts,
): string | undefined {
  if (!mayMerge(rule, pusher)) return `Not allowed to push to protected branch ${branch}`
  if (mayBypass(rule, pusher)) return undefined
  if (protectedPath !== undefined) return protectedFile(branch, protectedPath)
  if (problem === undefined) return undefined
  return `Not allowed to push to protected branch ${branch} and pr #${number} is not ready to be merged: ${problem}`
}

function protectedFile(branch: string, path: string): string {
  return `branch ${branch} is protected from changing file ${path}`
}

/** The longest path that is matched with patterns. File systems do not support longer ones. */
const MAX_PATH_CHARACTERS = 1024

/** Matches the changed paths of an update with the file patterns of a rule, one path at a time. */
export class FileExamination {
  readonly #hasProtected: boolean
  readonly #isProtected: (path: string) => boolean
  readonly #isUnprotected: (path: string) => boolean
  #protectedPath: string | undefined
  #hasPaths = false
  #hasOther = false

  constructor({ protected_file_patterns, unprotected_file_patterns }: BranchRule) {
    const { matches } = fileMatcher(protected_file_patterns)
    this.#hasProtected = matches !== undefined
    this.#isProtected = matches ?? (() => false)
    this.#isUnprotected = fileMatcher(unprotected_file_patterns).matches ?? (() => false)
  }

  /**
   * Adds a path.
   *
   * @returns whether more paths are needed
   */
  take(path: string): boolean {
    this.#hasPaths = true
    const isLong = path.length > MAX_PATH_CHARACTERS
    if (isLong ? this.#hasProtected : this.#isProtected(path)) {
      this.#protectedPath = path.slice(0, MAX_PATH_CHARACTERS).toLowerCase()
      return false
    }
    this.#hasOther ||= isLong || !this.#isUnprotected(path)
    return true
  }

  result(): FileFacts {
    return {
      protectedPath: this.#protectedPath,
      areAllUnprotected: this.#hasPaths && !this.#hasOther,
    }
  }
}

/** The id of a pull request, and its number in its repository. */
interface PullNumber {
  readonly id: number
  readonly number: number
}

/** A push by the server on behalf of a user: a merge or an update of a pull request. */
export type PullPush = MergePush | UpdatePush

/** The merge of a pull request, which updates its base branch. */
export interface MergePush {
  /** The value that Git hooks receive. */
  readonly trigger: 'pr-merge-to-base' | 'merge-queue'
  /** The pull request; the last one of a group of a merge queue. */
  readonly pull: PullNumber
  /** All pull requests of a group, in their order. */
  readonly pulls?: readonly PullNumber[]
  /**
   * Returns why the pull request is not ready to merge under a rule; undefined if it is ready.
   * Called after the current rules have been read.
   */
  problemOf(rule: BranchRule): Promise<string | undefined>
  /** Records the push in the transaction of its pending update. An error stops the push. */
  record(tx: Tx, updateId: number): Promise<void>
}

/** The update of the head branch of a pull request with its base branch. */
interface UpdatePush {
  readonly trigger: 'pr-update-with-base'
  readonly pull: PullNumber
}

/** The number of users, and of teams, on one list. */
const MAX_LISTED = 100

/**
 * Returns the ids of the users on a list, without duplicates. Names match in upper or lower case.
 *
 * @param field the request field of the list
 * @throws UNKNOWN_ALLOWLIST_NAME, INVALID_FIELD
 */
export async function userIdsOf(
  app: ReposApp,
  field: string,
  names: readonly string[],
): Promise<number[]> {
  return idsOf(field, names, async (key, name) => {
    const owner = await findOwnerByNameKey(app.db, key)
    if (owner?.kind !== 'USER')
      throw new DomainError('UNKNOWN_ALLOWLIST_NAME', { kind: 'user', name })
    return owner.id
  })
}

/**
 * Returns the ids of the teams on a list. Only organisations have teams: for the repository of a
 * user, the list is ignored.
 */
export async function teamIdsOf(
  app: ReposApp,
  field: string,
  { kind, id }: Owner,
  names: readonly string[],
): Promise<number[]> {
  if (kind !== 'ORGANIZATION') return []
  return idsOf(field, names, async (key, name) => {
    const team = await findTeamByName(app.db, id, key)
    if (!team)
      throw new DomainError('UNKNOWN_ALLOWLIST_NAME', {
        kind: 'team',
        name,
        organization_id: String(id),
      })
    return team.id
  })
}

async function idsOf(
  field: string,
  names: readonly string[],
  find: (key: string, name: string) => Promise<number>,
): Promise<number[]> {
  if (names.length > MAX_LISTED) throw new DomainError('INVALID_FIELD', { field })
  const ids = new Set<number>()
  for (const name of names) ids.add(await find(nameKey(name), name.slice(0, 100)))
  return [...ids]
}
