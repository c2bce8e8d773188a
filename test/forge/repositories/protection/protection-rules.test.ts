import { describe, expect, it } from 'vitest'
import {
  PROTECTION_FLAGS,
  PROTECTION_LISTS,
} from '../../../../src/forge/repositories/protection/branch-protections.rows.ts'
import { NO_COMMIT_RULES } from '../../../../src/forge/repositories/protection/commit-rules.ts'
import { QUEUE_DEFAULTS } from '../../../../src/forge/repositories/protection/merge-queue-settings.ts'
import {
  type BranchChange,
  type BranchRule,
  type ChangeFacts,
  checkChange,
  effectiveRule,
  FileExamination,
  factsNeeded,
  inOrder,
  mayBypass,
  mayForcePush,
  mayMerge,
  mayPush,
  NO_FACTS,
  type Pusher,
} from '../../../../src/forge/repositories/protection/protection-rules.ts'
import type {
  ProtectionFlag,
  ProtectionList,
} from '../../../../src/forge/repositories/protection/schema.ts'
import { seededRandom } from '../../../platform/rpc/rest/random.ts'

function rule(changes: Partial<BranchRule> = {}): BranchRule {
  const flags = Object.fromEntries(PROTECTION_FLAGS.map((flag) => [flag, false])) as Record<
    ProtectionFlag,
    boolean
  >
  return {
    ...flags,
    id: 1,
    rule_name: 'main',
    priority: 1,
    required_approvals: 0,
    status_check_contexts: [],
    protected_file_patterns: '',
    unprotected_file_patterns: '',
    ...NO_COMMIT_RULES,
    ...QUEUE_DEFAULTS,
    ...changes,
  }
}

function pusher(...listedIn: ProtectionList[]): Pusher {
  return { kind: 'user', mayWrite: true, isAdministrator: false, listedIn: new Set(listedIn) }
}

const KEY: Pusher = {
  kind: 'deploy key',
  mayWrite: true,
  isAdministrator: false,
  listedIn: new Set(),
}
const READER: Pusher = { ...pusher(), mayWrite: false }
const ADMINISTRATOR: Pusher = { ...pusher(), isAdministrator: true }

/** Rules that allow one thing. */
const OPEN = { enable_push: true }
const LISTED = { enable_push: true, enable_push_whitelist: true }
const FORCE = { enable_push: true, enable_force_push: true }
const FORCE_LISTED = { ...FORCE, enable_force_push_allowlist: true }

describe('a branch update', () => {
  const PROTECTED = 'branch main is protected from'
  const files =
    (...paths: string[]) =>
    (facts: BranchRule) => {
      const examination = new FileExamination(facts)
      for (const path of paths) if (!examination.take(path)) break
      return examination.result()
    }
  type Facts = Partial<Omit<ChangeFacts, 'files'>> & { readonly files?: ReturnType<typeof files> }
  const FORCED = { isForced: true }

  it.each<
    [
      title: string,
      rule: Partial<BranchRule> | undefined,
      change: Partial<BranchChange>,
      facts: Facts,
      who: Pusher,
      text: string | undefined,
    ]
  >([
    ['without a rule', undefined, {}, {}, pusher(), undefined],
    ['without a rule that loses commits', undefined, {}, FORCED, pusher(), undefined],
    ['without a rule that makes it', undefined, { kind: 'create' }, {}, pusher(), undefined],
    ['without a rule that deletes it', undefined, { kind: 'delete' }, {}, pusher(), undefined],
    [
      'that deletes the default branch',
      undefined,
      { kind: 'delete', isDefault: true },
      {},
      ADMINISTRATOR,
      'branch main is the default branch and cannot be deleted',
    ],
    [
      'that deletes the protected default branch',
      OPEN,
      { kind: 'delete', isDefault: true },
      {},
      pusher(),
      'branch main is the default branch and cannot be deleted',
    ],
    [
      'that deletes a protected one',
      FORCE,
      { kind: 'delete' },
      {},
      { ...ADMINISTRATOR, listedIn: new Set(PROTECTION_LISTS) },
      `${PROTECTED} deletion`,
    ],
    [
      'where nobody pushes',
      {},
      {},
      {},
      pusher('push'),
      'Not allowed to push to protected branch main',
    ],
    [
      'where nobody pushes, by an administrator',
      {},
      {},
      {},
      ADMINISTRATOR,
      'Not allowed to push to protected branch main',
    ],
    [
      'where nobody pushes, that makes it',
      {},
      { kind: 'create' },
      {},
      pusher(),
      'Not allowed to push to protected branch main',
    ],
    ['where all push', OPEN, {}, {}, pusher(), undefined],
    ['where all push, that makes it', OPEN, { kind: 'create' }, {}, pusher(), undefined],
    [
      'where some push, by others',
      LISTED,
      {},
      {},
      pusher('merge', 'force_push', 'bypass', 'approvals'),
      'Not allowed to push to protected branch main',
    ],
    [
      'where some push, by an administrator',
      LISTED,
      {},
      {},
      ADMINISTRATOR,
      'Not allowed to push to protected branch main',
    ],
    ['where some push, by one of them', LISTED, {}, {}, pusher('push'), undefined],
    [
      'where some push, by a key',
      LISTED,
      {},
      {},
      KEY,
      'Not allowed to push to protected branch main',
    ],
    [
      'where some push, and keys, by a key',
      { ...LISTED, push_whitelist_deploy_keys: true },
      {},
      {},
      KEY,
      undefined,
    ],
    ['where all push, by a key', OPEN, {}, {}, KEY, undefined],
    [
      'that loses commits where nobody may',
      OPEN,
      {},
      FORCED,
      pusher('push', 'force_push'),
      `${PROTECTED} force push`,
    ],
    [
      'that loses commits where nobody even pushes',
      { enable_force_push: true },
      {},
      FORCED,
      pusher('push'),
      `${PROTECTED} force push`,
    ],
    ['that loses commits where all may', FORCE, {}, FORCED, pusher(), undefined],
    [
      'that loses commits where some push, by others',
      { ...FORCE, ...LISTED },
      {},
      FORCED,
      pusher('force_push'),
      'Not allowed to force-push to protected branch main',
    ],
    [
      'that loses commits where some may, by others',
      FORCE_LISTED,
      {},
      FORCED,
      pusher('push'),
      'Not allowed to force-push to protected branch main',
    ],
    [
      'that loses commits where some may, by one of them',
      FORCE_LISTED,
      {},
      FORCED,
      pusher('force_push'),
      undefined,
    ],
    [
      'that loses none where some may lose them, by others',
      FORCE_LISTED,
      {},
      {},
      pusher(),
      undefined,
    ],
    [
      'that loses commits where some may, by a key',
      FORCE_LISTED,
      {},
      FORCED,
      KEY,
      'Not allowed to force-push to protected branch main',
    ],
    [
      'that loses commits where keys may, by a key',
      { ...FORCE_LISTED, ...LISTED, force_push_allowlist_deploy_keys: true },
      {},
      FORCED,
      KEY,
      undefined,
    ],
    [
      'with a commit that is not verified',
      { ...OPEN, require_signed_commits: true },
      {},
      { unverifiedCommit: 'abc' },
      pusher('push'),
      `${PROTECTED} unverified commit abc`,
    ],
    [
      'that loses commits and brings one that is not verified',
      OPEN,
      {},
      { ...FORCED, unverifiedCommit: 'abc' },
      pusher(),
      `${PROTECTED} force push`,
    ],
    [
      'of a protected file',
      { ...OPEN, protected_file_patterns: 'b/*' },
      {},
      { files: files('a', 'B/x', 'B/y') },
      pusher('push'),
      `${PROTECTED} changing file b/x`,
    ],
    [
      'of a protected file by who may not push',
      { protected_file_patterns: 'b' },
      {},
      { files: files('b') },
      pusher(),
      `${PROTECTED} changing file b`,
    ],
    [
      'of a file that is protected and not',
      { ...OPEN, protected_file_patterns: 'b', unprotected_file_patterns: 'b' },
      {},
      { files: files('b') },
      pusher(),
      `${PROTECTED} changing file b`,
    ],
    [
      'of other files',
      { ...OPEN, protected_file_patterns: 'b' },
      {},
      { files: files('a') },
      pusher(),
      undefined,
    ],
    [
      'of a path that is too long to be matched',
      { ...OPEN, protected_file_patterns: 'b' },
      {},
      { files: files('a'.repeat(1025)) },
      pusher(),
      `${PROTECTED} changing file ${'a'.repeat(1024)}`,
    ],
    [
      'of a path that is too long to be matched where none is protected',
      { unprotected_file_patterns: '**' },
      {},
      { files: files('a'.repeat(1025)) },
      pusher(),
      'Not allowed to push to protected branch main',
    ],
    [
      'of an unprotected file where nobody pushes',
      { unprotected_file_patterns: 'a' },
      {},
      { files: files('A') },
      pusher(),
      undefined,
    ],
    [
      'of an unprotected file and another one',
      { unprotected_file_patterns: 'a' },
      {},
      { files: files('a', 'b') },
      pusher(),
      'Not allowed to push to protected branch main',
    ],
    [
      'of nothing where some files are unprotected',
      { unprotected_file_patterns: 'a' },
      {},
      { files: files() },
      pusher(),
      'Not allowed to push to protected branch main',
    ],
    [
      'of an unprotected file that loses commits',
      { ...FORCE_LISTED, unprotected_file_patterns: 'a' },
      {},
      { ...FORCED, files: files('a') },
      pusher(),
      undefined,
    ],
    [
      'by a merge, by who may push and not merge',
      { ...OPEN, enable_merge_whitelist: true },
      { merge: { number: 5, problem: undefined } },
      {},
      pusher('push'),
      'Not allowed to push to protected branch main',
    ],
    [
      'by a merge, by who may merge and not push',
      { enable_merge_whitelist: true },
      { merge: { number: 5, problem: undefined } },
      {},
      pusher('merge'),
      undefined,
    ],
    [
      'by a merge that is not ready',
      {},
      { merge: { number: 5, problem: 'Does not have enough approvals' } },
      {},
      pusher(),
      'Not allowed to push to protected branch main and pr #5 is not ready to be merged: Does not have enough approvals',
    ],
    [
      'by a merge that is not ready, by an administrator',
      {},
      { merge: { number: 5, problem: 'x' } },
      {},
      ADMINISTRATOR,
      undefined,
    ],
    [
      'by a merge that is not ready, by an administrator who has to wait',
      { block_admin_merge_override: true },
      { merge: { number: 5, problem: 'x' } },
      {},
      ADMINISTRATOR,
      'Not allowed to push to protected branch main and pr #5 is not ready to be merged: x',
    ],
    [
      'by a merge of a protected file',
      { protected_file_patterns: 'a' },
      { merge: { number: 5, problem: undefined } },
      { files: files('a') },
      pusher(),
      `${PROTECTED} changing file a`,
    ],
    [
      'by a merge of a protected file, by who may bypass',
      { protected_file_patterns: 'a', enable_bypass_allowlist: true },
      { merge: { number: 5, problem: 'x' } },
      { files: files('a') },
      pusher('bypass'),
      undefined,
    ],
    [
      'by a merge of a commit that is not verified',
      { require_signed_commits: true },
      { merge: { number: 5, problem: undefined } },
      { unverifiedCommit: 'abc' },
      ADMINISTRATOR,
      `${PROTECTED} unverified commit abc`,
    ],
    [
      'that creates a branch with a name that is not allowed',
      { ...OPEN, branch_name_pattern: '^release/' },
      { kind: 'create' },
      {},
      pusher('push'),
      'branch main cannot be created, because its name does not match ^release/',
    ],
    [
      'of a branch whose name would not be allowed today',
      { ...OPEN, branch_name_pattern: '^release/' },
      {},
      {},
      pusher('push'),
      undefined,
    ],
    [
      'with a commit whose message is not allowed, by an administrator',
      { ...OPEN, commit_message_pattern: '#[0-9]+' },
      {},
      { refusedCommit: { id: 'abc', part: 'message' } },
      ADMINISTRATOR,
      `${PROTECTED} commit abc, because its message does not match #[0-9]+`,
    ],
    [
      'by a merge of a commit whose author is not allowed',
      { commit_author_email_pattern: '@example[.]org$' },
      { merge: { number: 5, problem: undefined } },
      { refusedCommit: { id: 'abc', part: 'author address' } },
      ADMINISTRATOR,
      `${PROTECTED} commit abc, because its author address does not match @example[.]org$`,
    ],
    [
      'of a file that is too large',
      { ...OPEN, max_file_bytes: 1000 },
      {},
      { largeFile: 'a/b' },
      pusher('push'),
      `${PROTECTED} files of more than 1000 bytes, such as a/b`,
    ],
  ])('%s', (_, changes, change, { files: examine, ...facts }, who, text) => {
    const inForce = changes && { rule: rule(changes), pusher: who }
    const examined = examine && inForce ? examine(inForce.rule) : NO_FACTS.files
    const whole: BranchChange = { branch: 'main', kind: 'update', isDefault: false, ...change }
    expect(checkChange(inForce, whole, { ...NO_FACTS, ...facts, files: examined })).toBe(text)
  })

  it('gets the same result as the checks one by one, for any rule and facts', () => {
    const random = seededRandom(11)
    const coin = () => random.below(2) === 0
    const texts = new Set<string | undefined>()
    for (let round = 0; round < 20_000; round += 1) {
      const flags = Object.fromEntries(PROTECTION_FLAGS.map((flag) => [flag, coin()]))
      const patterns = () => random.pick(['', 'a', 'b;c', '**'])
      const drawn = rule({
        ...flags,
        protected_file_patterns: patterns(),
        unprotected_file_patterns: patterns(),
      })
      const who: Pusher = {
        kind: random.pick(['user', 'user', 'deploy key']),
        mayWrite: true,
        isAdministrator: coin(),
        listedIn: new Set(PROTECTION_LISTS.filter(coin)),
      }
      const kind = random.pick<BranchChange['kind']>(['create', 'update', 'update', 'delete'])
      const change: BranchChange = { branch: 'x', kind, isDefault: coin() }
      const paths = ['a', 'b', 'c', 'd'].filter(coin)
      const isForced = kind === 'update' && coin()
      const unverifiedCommit = drawn.require_signed_commits && coin() ? 'abc' : undefined
      const examination = new FileExamination(drawn)
      for (const path of paths) if (!examination.take(path)) break
      const inForce = coin() ? { rule: drawn, pusher: who } : undefined
      const facts = { ...NO_FACTS, isForced, unverifiedCommit, files: examination.result() }
      const text = checkChange(inForce, change, facts)
      expect(text).toBe(judgeNaively(inForce?.rule, who, change, isForced, unverifiedCommit, paths))
      // Facts that are not needed make no difference.
      if (inForce) {
        const needed = factsNeeded(inForce, change)
        const asked: ChangeFacts = {
          ...NO_FACTS,
          isForced: needed.ancestry && isForced,
          unverifiedCommit: needed.signatures ? unverifiedCommit : undefined,
          files: needed.files ? facts.files : NO_FACTS.files,
        }
        expect(checkChange(inForce, change, asked)).toBe(text)
      }
      texts.add(text)
    }
    expect(texts.size).toBe(11)
  })
})

/** The checks of the contract, written again without regard to cost. */
function judgeNaively(
  rule: BranchRule | undefined,
  who: Pusher,
  { branch, kind, isDefault }: BranchChange,
  isForced: boolean,
  unverified: string | undefined,
  paths: readonly string[],
): string | undefined {
  const fits = (patterns: string, path: string) =>
    patterns === '**' || patterns.split(';').includes(path)
  if (kind === 'delete' && isDefault)
    return `branch ${branch} is the default branch and cannot be deleted`
  if (!rule) return undefined
  if (kind === 'delete') return `branch ${branch} is protected from deletion`
  if (isForced && !(rule.enable_push && rule.enable_force_push))
    return `branch ${branch} is protected from force push`
  if (unverified !== undefined)
    return `branch ${branch} is protected from unverified commit ${unverified}`
  const protectedPath = paths.find((path) => fits(rule.protected_file_patterns, path))
  if (protectedPath !== undefined)
    return `branch ${branch} is protected from changing file ${protectedPath}`
  if (paths.length > 0 && paths.every((path) => fits(rule.unprotected_file_patterns, path)))
    return undefined
  const isKey = who.kind === 'deploy key'
  const pushListed = isKey ? rule.push_whitelist_deploy_keys : who.listedIn.has('push')
  const forceListed = isKey ? rule.force_push_allowlist_deploy_keys : who.listedIn.has('force_push')
  const pushes = rule.enable_push && (!rule.enable_push_whitelist || pushListed)
  const forces = (isKey || pushes) && (!rule.enable_force_push_allowlist || forceListed)
  if (isForced)
    return forces ? undefined : `Not allowed to force-push to protected branch ${branch}`
  return pushes ? undefined : `Not allowed to push to protected branch ${branch}`
}

describe('the permissions for a protected branch', () => {
  it.each<
    [
      title: string,
      rule: Partial<BranchRule>,
      who: Pusher,
      push: boolean,
      force: boolean,
      merge: boolean,
      bypass: boolean,
    ]
  >([
    ['nothing is allowed', {}, pusher(), false, false, true, false],
    ['everything is, to a reader', FORCE, READER, false, false, false, false],
    ['everything is, to a writer', FORCE, pusher(), true, true, true, false],
    [
      'some may, and this is none of them',
      { ...LISTED, ...FORCE_LISTED, enable_merge_whitelist: true, enable_bypass_allowlist: true },
      pusher(),
      false,
      false,
      false,
      false,
    ],
    [
      'some may, and this is one of them',
      { ...LISTED, ...FORCE_LISTED, enable_merge_whitelist: true, enable_bypass_allowlist: true },
      pusher('push', 'force_push', 'merge', 'bypass'),
      true,
      true,
      true,
      true,
    ],
    [
      'lists are full and not in force',
      {},
      pusher('push', 'force_push', 'merge', 'bypass'),
      false,
      false,
      true,
      false,
    ],
    [
      'a reader is listed',
      { ...LISTED, enable_merge_whitelist: true },
      { ...READER, listedIn: new Set(['push', 'merge'] as const) },
      false,
      false,
      true,
      false,
    ],
    [
      'an administrator comes',
      { ...LISTED, enable_merge_whitelist: true },
      ADMINISTRATOR,
      false,
      false,
      false,
      true,
    ],
    [
      'an administrator comes and has to wait',
      { block_admin_merge_override: true },
      ADMINISTRATOR,
      false,
      false,
      true,
      false,
    ],
    [
      'an administrator has to wait and is listed',
      { block_admin_merge_override: true, enable_bypass_allowlist: true },
      { ...ADMINISTRATOR, listedIn: new Set(['bypass'] as const) },
      false,
      false,
      true,
      true,
    ],
  ])('where %s', (_, changes, who, ...expected) => {
    const drawn = rule(changes)
    expect([
      mayPush(drawn, who),
      mayForcePush(drawn, who),
      mayMerge(drawn, who),
      mayBypass(drawn, who),
    ]).toEqual(expected)
  })
})

describe('the rule in force', () => {
  it('is the first by priority, then plain names before globs, then by age', () => {
    const named = (rule_name: string, priority: number) => ({ rule_name, priority })
    const rules = inOrder([
      named('**', 1),
      named('main', 2),
      named('m*', 1),
      named('MAIN', 1),
      named('main', 1),
    ])
    expect(rules.map(({ rule_name, priority }) => [rule_name, priority])).toEqual([
      ['MAIN', 1],
      ['main', 1],
      ['**', 1],
      ['m*', 1],
      ['main', 2],
    ])
    expect(effectiveRule(rules, 'main')).toBe(rules[0])
    expect(effectiveRule(rules, 'mine')).toBe(rules[2])
    expect(effectiveRule([named('a', 1), named('b*', 1)], 'c')).toBeUndefined()
  })
})
