import type { VNode } from 'preact'
import type { BranchProtection } from '#gen/branchline/v1/branch_protection_pb.ts'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from './action-form.tsx'
import { Checkbox, isChecked, Lines, linesOf, Select } from './choices.tsx'
import { Field, fieldOf } from './field.tsx'

/** Parts of a rule that are on or off, with their names in the API. */
const SWITCHES = [
  ['blockOnRejectedReviews', 'A review that asks for changes blocks the merge'],
  ['blockOnOfficialReviewRequests', 'A requested review that is missing blocks the merge'],
  ['dismissStaleApprovals', 'A push dismisses approvals of the code that changes'],
  ['ignoreStaleApprovals', 'Approvals of code that has changed since do not count'],
  ['blockOnOutdatedBranch', 'The pull request must have all commits of the branch'],
  ['requireSignedCommits', 'Each commit needs a verified signature'],
  ['blockAdminMergeOverride', 'Administrators of the repository must keep the rule too'],
] as const

const WHO = [
  ['nobody', 'Nobody'],
  ['writers', 'Everybody who may write to the repository'],
  ['some', 'Only those below'],
] as const

/** Creates a branch protection rule, or changes one. */
export function RuleForm(props: {
  name: { owner: string; repo: string }
  /** Undefined for a new rule. */
  rule?: BranchProtection
  onSaved: () => void
}): VNode {
  const { of } = useApi()
  const { name, rule, onSaved } = props
  const service = of(BranchProtectionService)
  const save = async (form: HTMLFormElement) => {
    const { flags, lists } = readRule(form, rule)
    if (rule) {
      const changes = Object.fromEntries(
        Object.entries(lists).map(([field, entries]) => [field, listValue(entries)]),
      )
      await service.editBranchProtection({ ...name, name: rule.ruleName, ...flags, ...changes })
    } else {
      const ruleName = fieldOf(form, 'name')
      await service.createBranchProtection({ ...name, ruleName, ...flags, ...lists })
    }
    onSaved()
  }
  return (
    <ActionForm label="Branch rule" submit={rule ? 'Save the rule' : 'Create the rule'} act={save}>
      {rule ? (
        <h3>{rule.ruleName}</h3>
      ) : (
        <Field
          label="Branches"
          name="name"
          autocapitalize="none"
          autocomplete="off"
          maxLength={255}
          required
          hint="A name or a pattern, such as main, release/* or **."
        />
      )}
      <Teams rule={rule} />
      <Pushes rule={rule} />
      <Merges rule={rule} />
      <Files rule={rule} />
    </ActionForm>
  )
}

type RuleProps = { rule: BranchProtection | undefined }

/** The form cannot change teams. */
function Teams({ rule }: RuleProps): VNode | null {
  const teams = new Set([
    ...(rule?.pushWhitelistTeams ?? []),
    ...(rule?.forcePushAllowlistTeams ?? []),
    ...(rule?.mergeWhitelistTeams ?? []),
    ...(rule?.approvalsWhitelistTeams ?? []),
  ])
  if (teams.size === 0) return null
  return <p class="note">The rule also names teams, which stay: {[...teams].join(', ')}.</p>
}

function Pushes({ rule }: RuleProps): VNode {
  return (
    <fieldset>
      <legend>Pushes</legend>
      <Select
        label="Who may push"
        name="push"
        value={who(rule?.enablePush, rule?.enablePushWhitelist)}
        options={WHO}
      />
      <Lines
        label="Users who may push"
        name="pushUsers"
        lines={rule?.pushWhitelistUsernames ?? []}
        hint="One on each line, for the choice “Only those below”."
      />
      <Checkbox
        label="Deploy keys that may write may push too"
        name="pushKeys"
        isChecked={rule?.pushWhitelistDeployKeys ?? false}
      />
      <Select
        label="Who may force pushes"
        name="force"
        value={who(rule?.enableForcePush, rule?.enableForcePushAllowlist)}
        options={WHO}
      />
      <Lines
        label="Users who may force pushes"
        name="forceUsers"
        lines={rule?.forcePushAllowlistUsernames ?? []}
        hint="One on each line, for the choice “Only those below”."
      />
    </fieldset>
  )
}

function Merges({ rule }: RuleProps): VNode {
  return (
    <fieldset>
      <legend>Pull requests</legend>
      <Field
        label="Approvals that a pull request needs"
        name="approvals"
        type="number"
        min={0}
        required
        defaultValue={String(rule?.requiredApprovals ?? 0)}
      />
      <Lines
        label="Checks that must succeed"
        name="checks"
        lines={rule?.statusCheckContexts ?? []}
        hint="One on each line: names or patterns, such as ci/*."
      />
      <Lines
        label="Users who may merge"
        name="mergeUsers"
        lines={rule?.mergeWhitelistUsernames ?? []}
        hint="One on each line. Empty: everybody who may write to the repository."
      />
      {SWITCHES.map(([field, text]) => (
        <Checkbox key={field} label={text} name={field} isChecked={rule?.[field] ?? false} />
      ))}
    </fieldset>
  )
}

function Files({ rule }: RuleProps): VNode {
  return (
    <fieldset>
      <legend>Files</legend>
      <Field
        label="Files that nobody may change by a push"
        name="protected"
        defaultValue={rule?.protectedFilePatterns ?? ''}
        hint="Patterns of paths, separated by semicolons."
      />
      <Field
        label="Files that everybody who may write may change"
        name="unprotected"
        defaultValue={rule?.unprotectedFilePatterns ?? ''}
        hint="Patterns of paths, separated by semicolons."
      />
    </fieldset>
  )
}

function who(isAllowed = false, isLimited = false): (typeof WHO)[number][0] {
  if (!isAllowed) return 'nobody'
  return isLimited ? 'some' : 'writers'
}

/**
 * Reads what a form says. The form has no teams, so that a list of teams stays in force. Without
 * names of checks, a rule that demands checks goes on to do so.
 */
function readRule(form: HTMLFormElement, rule: BranchProtection | undefined) {
  const [push, force] = [fieldOf(form, 'push'), fieldOf(form, 'force')]
  const [checks, mergeUsers] = [linesOf(form, 'checks'), linesOf(form, 'mergeUsers')]
  const switches = SWITCHES.map(([field]) => [field, isChecked(form, field)] as const)
  const flags = {
    ...(Object.fromEntries(switches) as Record<(typeof SWITCHES)[number][0], boolean>),
    enablePush: push !== 'nobody',
    enablePushWhitelist: push === 'some',
    pushWhitelistDeployKeys: isChecked(form, 'pushKeys'),
    enableForcePush: force !== 'nobody',
    enableForcePushAllowlist: force === 'some',
    enableMergeWhitelist: mergeUsers.length > 0 || (rule?.mergeWhitelistTeams.length ?? 0) > 0,
    enableStatusCheck:
      checks.length > 0 ||
      (rule?.enableStatusCheck === true && rule.statusCheckContexts.length === 0),
    requiredApprovals: BigInt(fieldOf(form, 'approvals') || '0'),
    protectedFilePatterns: fieldOf(form, 'protected'),
    unprotectedFilePatterns: fieldOf(form, 'unprotected'),
  }
  const lists = {
    pushWhitelistUsernames: linesOf(form, 'pushUsers'),
    forcePushAllowlistUsernames: linesOf(form, 'forceUsers'),
    mergeWhitelistUsernames: mergeUsers,
    statusCheckContexts: checks,
  }
  return { flags, lists }
}

function listValue(entries: readonly string[]) {
  return {
    values: entries.map((value) => ({ kind: { case: 'stringValue' as const, value } })),
  }
}
