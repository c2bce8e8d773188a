import type { BranchProtection } from '../../../storage/repos/branch-protections.ts'
import type { ProtectionList } from '../../../storage/schema/protections.ts'
import { branchMatcher, fileMatcher, isBranchGlob } from './branch-patterns.ts'

/**
 * What rules about branches say. Everything in here is a pure function of its arguments; who reads
 * rows and asks Git is in `branch-rules.ts` and `branch-facts.ts`.
 */

/** The part of a rule that decides about changes of a branch. */
export type BranchRule = Omit<BranchProtection, 'repository_id' | 'create_time' | 'update_time'>

/** Whoever changes a branch. A key that belongs to a repository alone is nobody. */
export interface Pusher {
  readonly kind: 'user' | 'deploy key'
  /** Whether the code of the repository may be written at all. */
  readonly mayWrite: boolean
  /** Whether the repository may be administered. */
  readonly isAdministrator: boolean
  /** The lists of the rule on which the user is, by name or as a member of a team. */
  readonly listedIn: ReadonlySet<ProtectionList>
}

/** A rule that is in force for a branch, and what it makes of somebody. */
export interface RuleInForce {
  readonly rule: BranchRule
  readonly pusher: Pusher
}

/** A merge of a pull request by the server, which is no push of the person who asks for it. */
export interface MergeOfPull {
  /** Number of the pull request. */
  readonly number: number
  /** Why it is not ready to be merged; undefined if it is. */
  readonly problem: string | undefined
}

/** A change of a branch, as far as it is known without asking Git. */
export interface BranchChange {
  /** Without `refs/heads/`. */
  readonly branch: string
  readonly kind: 'create' | 'update' | 'delete'
  readonly isDefault: boolean
  readonly merge?: MergeOfPull
}

/** What Git has to say of a change, as far as `factsNeeded` asks. */
export interface ChangeFacts {
  /** Whether the change loses commits. */
  readonly isForced: boolean
  /**
   * Id of a new commit whose signature is missing or not known to be somebody's; undefined without
   * one.
   */
  readonly unverifiedCommit: string | undefined
  readonly files: FileFacts
}

/** What the paths of a change are to the patterns of a rule. */
export interface FileFacts {
  /** One that a pattern protects, in lower case; undefined without one. */
  readonly protectedPath: string | undefined
  /** Whether there are paths, and all of them are free to change. */
  readonly areAllUnprotected: boolean
}

/** A change of which there is nothing to know. */
export const NO_FACTS: ChangeFacts = {
  isForced: false,
  unverifiedCommit: undefined,
  files: { protectedPath: undefined, areAllUnprotected: false },
}

/**
 * Rules in the order in which they are tried: by priority; then plain names before globs; then as
 * they were made.
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
 * The rule that is in force for a branch: the first that is about it. Rules do not add up.
 *
 * @param rules in order.
 */
export function effectiveRule<Rule extends Pick<BranchRule, 'rule_name'>>(
  rules: readonly Rule[],
  branch: string,
): Rule | undefined {
  return rules.find(({ rule_name }) => branchMatcher(rule_name)(branch))
}

/** Whether somebody may push to a branch that a rule is about. */
export function mayPush(rule: BranchRule, { kind, mayWrite, listedIn }: Pusher): boolean {
  if (!rule.enable_push || !mayWrite) return false
  if (!rule.enable_push_whitelist) return true
  return kind === 'deploy key' ? rule.push_whitelist_deploy_keys : listedIn.has('push')
}

/**
 * Whether somebody may push to a branch what loses commits of it. A key need not be let in twice.
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

/** Whether anybody may push to a branch what loses commits of it. */
export function allowsForcePush({ enable_push, enable_force_push }: BranchRule): boolean {
  return enable_push && enable_force_push
}

/**
 * Whether somebody may merge pull requests into a branch. Who is listed need not be allowed to
 * write else.
 */
export function mayMerge(rule: BranchRule, { mayWrite, listedIn }: Pusher): boolean {
  return rule.enable_merge_whitelist ? listedIn.has('merge') : mayWrite
}

/** Whether somebody may merge a pull request that is not ready. */
export function mayBypass(rule: BranchRule, { isAdministrator, listedIn }: Pusher): boolean {
  if (isAdministrator && !rule.block_admin_merge_override) return true
  return rule.enable_bypass_allowlist && listedIn.has('bypass')
}

/** The facts that a judgement takes, beside those that cost nothing. */
export interface FactsNeeded {
  readonly ancestry: boolean
  readonly signatures: boolean
  readonly files: boolean
}

/** What has to be found out before a change can be judged: no more than the rule asks for. */
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
    files: arrives && (isProtecting || isFreeing),
  }
}

/**
 * Judges a change of a branch by whoever may write to the repository.
 *
 * @param inForce the rule for the branch, and what it makes of who pushes; undefined without one.
 * @returns what the first test that fails has to say to who pushes; undefined when none fails.
 */
export function judgeChange(
  inForce: RuleInForce | undefined,
  change: BranchChange,
  facts: ChangeFacts,
): string | undefined {
  const { branch, kind, isDefault, merge } = change
  const { isForced, unverifiedCommit, files } = facts
  if (kind === 'delete' && isDefault)
    return `branch ${branch} is the default branch and cannot be deleted`
  if (!inForce) return undefined
  const { rule, pusher } = inForce
  if (kind === 'delete') return `branch ${branch} is protected from deletion`
  if (isForced && !allowsForcePush(rule)) return `branch ${branch} is protected from force push`
  if (unverifiedCommit !== undefined)
    return `branch ${branch} is protected from unverified commit ${unverifiedCommit}`
  if (merge) return judgeMerge(inForce, branch, merge, files)
  if (files.protectedPath !== undefined) return protectedFile(branch, files.protectedPath)
  if (files.areAllUnprotected) return undefined
  if (isForced) {
    return mayForcePush(rule, pusher)
      ? undefined
      : `Not allowed to force-push to protected branch ${branch}`
  }
  return mayPush(rule, pusher) ? undefined : `Not allowed to push to protected branch ${branch}`
}

function judgeMerge(
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

/**
 * Matched with patterns, which takes a while for each. No system that files are checked out on has
 * longer ones.
 */
const MAX_PATH_CHARACTERS = 1024

/** Looks at the paths of a change one by one, as they come, for what a rule says of them. */
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

  /** @returns whether there is more to find out. */
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
