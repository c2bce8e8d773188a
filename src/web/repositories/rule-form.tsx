import type { VNode } from 'preact'
import type { BranchProtection } from '#gen/branchline/v1/branch_protection_pb.ts'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { useApi } from '../api/client.ts'
import { ActionForm } from '../components/action-form.tsx'
import { Checkbox, isChecked, Lines, linesOf, Select } from '../components/choices.tsx'
import { Field, fieldOf } from '../components/field.tsx'
import { listValue } from '../components/list-value.ts'

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
  /** Whether the owner is an organisation. */
  hasTeams: boolean
  onSaved: () => void
}): VNode {
  const { of } = useApi()
  const { name, rule, hasTeams, onSaved } = props
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
      <Pushes rule={rule} hasTeams={hasTeams} />
      <Merges rule={rule} hasTeams={hasTeams} />
      <Files rule={rule} />
    </ActionForm>
  )
}

type RuleProps = { rule: BranchProtection | undefined; hasTeams: boolean }

function Pushes({ rule, hasTeams }: RuleProps): VNode {
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
      {hasTeams && (
        <Lines label="Teams who may push" name="pushTeams" lines={rule?.pushWhitelistTeams ?? []} />
      )}
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
      {hasTeams && (
        <Lines
          label="Teams who may force pushes"
          name="forceTeams"
          lines={rule?.forcePushAllowlistTeams ?? []}
        />
      )}
    </fieldset>
  )
}

function Merges({ rule, hasTeams }: RuleProps): VNode {
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
        hint="One on each line. Without users and teams: everybody who may write to the repository."
      />
      {hasTeams && (
        <Lines
          label="Teams who may merge"
          name="mergeTeams"
          lines={rule?.mergeWhitelistTeams ?? []}
        />
      )}
      {SWITCHES.map(([field, text]) => (
        <Checkbox key={field} label={text} name={field} isChecked={rule?.[field] ?? false} />
      ))}
    </fieldset>
  )
}

function Files({ rule }: Pick<RuleProps, 'rule'>): VNode {
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

/** Reads what a form says. Without names of checks, a rule that demands checks goes on to do so. */
function readRule(form: HTMLFormElement, rule: BranchProtection | undefined) {
  const [push, force] = [fieldOf(form, 'push'), fieldOf(form, 'force')]
  const checks = linesOf(form, 'checks')
  const [mergeUsers, mergeTeams] = [linesOf(form, 'mergeUsers'), linesOf(form, 'mergeTeams')]
  const switches = SWITCHES.map(([field]) => [field, isChecked(form, field)] as const)
  const flags = {
    ...(Object.fromEntries(switches) as Record<(typeof SWITCHES)[number][0], boolean>),
    enablePush: push !== 'nobody',
    enablePushWhitelist: push === 'some',
    pushWhitelistDeployKeys: isChecked(form, 'pushKeys'),
    enableForcePush: force !== 'nobody',
    enableForcePushAllowlist: force === 'some',
    enableMergeWhitelist: mergeUsers.length + mergeTeams.length > 0,
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
    pushWhitelistTeams: linesOf(form, 'pushTeams'),
    forcePushAllowlistTeams: linesOf(form, 'forceTeams'),
    mergeWhitelistTeams: mergeTeams,
    statusCheckContexts: checks,
  }
  return { flags, lists }
}
