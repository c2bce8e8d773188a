import type { VNode } from 'preact'
import type { BranchProtection } from '#gen/branchline/v1/branch_protection_pb.ts'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { isOrganization } from '../accounts/account.tsx'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import {
  ActionForm,
  Checkbox,
  ConfirmedForm,
  Field,
  fieldOf,
  isChecked,
  Lines,
  linesOf,
  listValue,
  Select,
} from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import { plural, T, t } from '../language/texts.tsx'
import { MERGE_STYLES } from '../pulls/merge-styles.ts'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'

/** The branch protection rules of a repository. The address names the rule that the user edits. */
export function BranchRulesPage({ owner, repo, rest, query }: PageProps): VNode {
  const place = { owner, repo, isNew: rest[0] === 'new', rule: query.get('rule') ?? '' }
  return (
    <RepositorySettings owner={owner} repo={repo} page="Branch rules">
      {({ archived }) => <Rules {...place} isFrozen={archived} />}
    </RepositorySettings>
  )
}

interface RulesProps {
  readonly owner: string
  readonly repo: string
  /** Whether the user makes a rule. */
  readonly isNew: boolean
  /** The name of the rule that the user edits; empty for the list. */
  readonly rule: string
  readonly isFrozen: boolean
}

function Rules({ owner, repo, isNew, rule, isFrozen }: RulesProps): VNode {
  const api = useApi()
  const name = { owner, repo }
  const base = `${repositoryHref(name)}/settings/branches`
  const loaded = useLoad(async (signal) => {
    const service = api.of(BranchProtectionService)
    const { branchProtections } = await service.listBranchProtections(name, { signal })
    const hasTeams = await isOrganization(api, owner, signal)
    return { rules: branchProtections, hasTeams }
  }, [])
  return (
    <Show of={loaded}>
      {({ rules, hasTeams }) => {
        const props = { name, hasTeams, base }
        if (isNew && !isFrozen)
          return <RuleForm name={name} hasTeams={hasTeams} onSaved={() => goTo(base)} />
        if (rule === '' || isFrozen)
          return <RuleList rules={rules} base={base} isFrozen={isFrozen} />
        const edited = rules.find(({ ruleName }) => ruleName === rule)
        return edited ? (
          <OneRule {...props} rule={edited} />
        ) : (
          <p>
            <T
              text="There is no rule {rule}. {all}"
              rule={rule}
              all={<a href={base}>{t('All rules')}</a>}
            />
          </p>
        )
      }}
    </Show>
  )
}

function RuleList(props: {
  rules: readonly BranchProtection[]
  base: string
  isFrozen: boolean
}): VNode {
  const { rules, base, isFrozen } = props
  return (
    <>
      <p>{t('The first rule that matches the name of a branch applies, and no other rule.')}</p>
      {rules.length === 0 && <p class="empty">{t('No rules.')}</p>}
      <ol class="list">
        {rules.map((rule) => (
          <li key={rule.ruleName}>
            {isFrozen ? (
              rule.ruleName
            ) : (
              <a href={`${base}?rule=${encodeURIComponent(rule.ruleName)}`}>{rule.ruleName}</a>
            )}
            <p class="facts">{factsOf(rule).join(', ')}</p>
          </li>
        ))}
      </ol>
      {!isFrozen && <a href={`${base}/new`}>{t('New rule')}</a>}
    </>
  )
}

/** Returns what a rule demands, in words. */
function factsOf(rule: BranchProtection): string[] {
  const { requiredApprovals: approvals, enablePush, enablePushWhitelist } = rule
  const pushes = enablePushWhitelist ? t('pushes by some') : t('pushes allowed')
  const facts = [
    enablePush ? pushes : t('no pushes'),
    approvals > 0n && plural(approvals, '{count} approval', '{count} approvals'),
    rule.enableStatusCheck && t('checks'),
    rule.requireSignedCommits && t('signed commits'),
    PATTERNS.some(([field]) => rule[field] !== '') && t('texts of commits and names of branches'),
    rule.maxFileBytes > 0n && t('sizes of files'),
    rule.enableMergeWhitelist && t('merges by some'),
    rule.enableMergeQueue && t('merge queue'),
  ]
  return facts.filter((fact) => fact !== false)
}

function OneRule(props: {
  name: { owner: string; repo: string }
  rule: BranchProtection
  hasTeams: boolean
  base: string
}): VNode {
  const { of } = useApi()
  const { name, rule, hasTeams, base } = props
  return (
    <>
      <p>
        <a href={base}>{t('All rules')}</a>
      </p>
      <RuleForm name={name} rule={rule} hasTeams={hasTeams} onSaved={() => goTo(base)} />
      <section class="box" aria-labelledby="danger">
        <h3 id="danger">{t('Danger zone')}</h3>
        <ConfirmedForm
          action={t('Delete the rule')}
          name={rule.ruleName}
          act={async () => {
            await of(BranchProtectionService).deleteBranchProtection({
              ...name,
              name: rule.ruleName,
            })
            goTo(base)
          }}
        >
          <p>{t('Branches that match no other rule lose their protection.')}</p>
        </ConfirmedForm>
      </section>
    </>
  )
}

/** Parts of a rule that are on or off, with their names in the API. */
const SWITCHES = [
  ['blockOnRejectedReviews', t('A review that asks for changes blocks the merge')],
  ['blockOnOfficialReviewRequests', t('A requested review that is missing blocks the merge')],
  ['dismissStaleApprovals', t('A push dismisses approvals of the code that changes')],
  ['ignoreStaleApprovals', t('Approvals of code that has changed since do not count')],
  ['blockOnOutdatedBranch', t('The pull request must have all commits of the branch')],
  ['requireSignedCommits', t('Each commit needs a verified signature')],
  ['blockAdminMergeOverride', t('Administrators of the repository must keep the rule too')],
] as const

const WHO = [
  ['nobody', t('Nobody')],
  ['writers', t('Everybody who may write to the repository')],
  ['some', t('Only those below')],
] as const

/** Creates a branch protection rule, or changes one. */
function RuleForm(props: {
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
    <ActionForm
      label={t('Branch rule')}
      submit={rule ? t('Save the rule') : t('Create the rule')}
      act={save}
    >
      {rule ? (
        <h3>{rule.ruleName}</h3>
      ) : (
        <Field
          label={t('Branches')}
          name="name"
          autocapitalize="none"
          autocomplete="off"
          maxLength={255}
          required
          hint={t('A name or a pattern, such as main, release/* or **.')}
        />
      )}
      <Pushes rule={rule} hasTeams={hasTeams} />
      <Merges rule={rule} hasTeams={hasTeams} />
      <Queue rule={rule} />
      <Files rule={rule} />
      <Commits rule={rule} />
    </ActionForm>
  )
}

type RuleProps = { rule: BranchProtection | undefined; hasTeams: boolean }

function Pushes({ rule, hasTeams }: RuleProps): VNode {
  return (
    <fieldset>
      <legend>{t('Pushes')}</legend>
      <Select
        label={t('Who may push')}
        name="push"
        value={who(rule?.enablePush, rule?.enablePushWhitelist)}
        options={WHO}
      />
      <Lines
        label={t('Users who may push')}
        name="pushUsers"
        lines={rule?.pushWhitelistUsernames ?? []}
        hint={t('One on each line, for the choice “Only those below”.')}
      />
      {hasTeams && (
        <Lines
          label={t('Teams who may push')}
          name="pushTeams"
          lines={rule?.pushWhitelistTeams ?? []}
        />
      )}
      <Checkbox
        label={t('Deploy keys that may write may push too')}
        name="pushKeys"
        isChecked={rule?.pushWhitelistDeployKeys ?? false}
      />
      <Select
        label={t('Who may force pushes')}
        name="force"
        value={who(rule?.enableForcePush, rule?.enableForcePushAllowlist)}
        options={WHO}
      />
      <Lines
        label={t('Users who may force pushes')}
        name="forceUsers"
        lines={rule?.forcePushAllowlistUsernames ?? []}
        hint={t('One on each line, for the choice “Only those below”.')}
      />
      {hasTeams && (
        <Lines
          label={t('Teams who may force pushes')}
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
      <legend>{t('Pull requests')}</legend>
      <Field
        label={t('Approvals that a pull request needs')}
        name="approvals"
        type="number"
        min={0}
        required
        defaultValue={String(rule?.requiredApprovals ?? 0)}
      />
      <Lines
        label={t('Checks that must succeed')}
        name="checks"
        lines={rule?.statusCheckContexts ?? []}
        hint={t('One on each line: names or patterns, such as ci/*.')}
      />
      <Lines
        label={t('Users who may merge')}
        name="mergeUsers"
        lines={rule?.mergeWhitelistUsernames ?? []}
        hint={t(
          'One on each line. Without users and teams: everybody who may write to the repository.',
        )}
      />
      {hasTeams && (
        <Lines
          label={t('Teams who may merge')}
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

const QUEUE_STYLES = [
  ['', t('The default style of the repository')],
  ...MERGE_STYLES.filter(([style]) => style !== 'fast-forward-only').map(
    ([style, text]) => [style, text] as const,
  ),
] as const

const BYPASSES = [
  ['nobody', t('Nobody')],
  ['administrators', t('Administrators of the repository')],
  ['bypass_allowlist', t('Everybody who may merge what is not ready')],
] as const

/** Whole numbers of a rule about its queue: field, label, least and largest value, default. */
const QUEUE_NUMBERS = [
  ['mergeQueueMaxGroup', t('Pull requests that are tried together'), 1, 50, 5n],
  ['mergeQueueParallel', t('Groups that wait for checks at once'), 1, 10, 2n],
  ['mergeQueueWaitSeconds', t('Seconds that a pull request waits for others'), 0, 3600, 5n],
  ['mergeQueueCheckTimeoutSeconds', t('Seconds that checks may take'), 10, 86_400, 3600n],
] as const

function Queue({ rule }: Pick<RuleProps, 'rule'>): VNode {
  return (
    <fieldset>
      <legend>{t('Merge queue')}</legend>
      <Checkbox
        label={t('Merge through a queue')}
        name="queue"
        isChecked={rule?.enableMergeQueue ?? false}
        hint={t('Needs a rule for one branch, and the names of checks.')}
      />
      <Select
        label={t('Style of the merges')}
        name="queueStyle"
        value={rule?.mergeQueueStyle ?? ''}
        options={QUEUE_STYLES}
      />
      {QUEUE_NUMBERS.map(([field, label, min, max, initial]) => (
        <Field
          key={field}
          label={label}
          name={field}
          type="number"
          min={min}
          max={max}
          required
          defaultValue={String(rule?.[field] ?? initial)}
        />
      ))}
      <Lines
        label={t('Checks that only the queue needs')}
        name="queueOnly"
        lines={rule?.mergeQueueOnlyContexts ?? []}
        hint={t('One on each line. A pull request enters the queue without them.')}
      />
      <Lines
        label={t('Checks that only entering needs')}
        name="queueHead"
        lines={rule?.mergeQueueHeadContexts ?? []}
        hint={t('One on each line, such as checks of review bots.')}
      />
      <Select
        label={t('Who may merge past the queue')}
        name="queueBypass"
        value={rule?.mergeQueueBypass ?? 'bypass_allowlist'}
        options={BYPASSES}
      />
    </fieldset>
  )
}

/** Reads the settings of the queue. */
function readQueue(form: HTMLFormElement) {
  const numbers = QUEUE_NUMBERS.map(([field]) => [field, BigInt(fieldOf(form, field))] as const)
  return {
    ...(Object.fromEntries(numbers) as Record<(typeof QUEUE_NUMBERS)[number][0], bigint>),
    enableMergeQueue: isChecked(form, 'queue'),
    mergeQueueStyle: fieldOf(form, 'queueStyle'),
    mergeQueueBypass: fieldOf(form, 'queueBypass'),
  }
}

function Files({ rule }: Pick<RuleProps, 'rule'>): VNode {
  return (
    <fieldset>
      <legend>{t('Files')}</legend>
      <Field
        label={t('Files that nobody may change by a push')}
        name="protected"
        defaultValue={rule?.protectedFilePatterns ?? ''}
        hint={t('Patterns of paths, separated by semicolons.')}
      />
      <Field
        label={t('Files that everybody who may write may change')}
        name="unprotected"
        defaultValue={rule?.unprotectedFilePatterns ?? ''}
        hint={t('Patterns of paths, separated by semicolons.')}
      />
    </fieldset>
  )
}

/** Patterns of a rule: field, label, explanation. */
const PATTERNS = [
  [
    'commitMessagePattern',
    t('Messages of commits match'),
    t('A regular expression (RE2), such as #[0-9]+. Merges are left out.'),
  ],
  [
    'commitAuthorEmailPattern',
    t('Addresses of authors match'),
    t('A regular expression (RE2), such as @example[.]org$.'),
  ],
  [
    'branchNamePattern',
    t('Name of a new branch matches'),
    t('A regular expression (RE2), such as ^(feature|fix)/.'),
  ],
] as const

function Commits({ rule }: Pick<RuleProps, 'rule'>): VNode {
  return (
    <fieldset>
      <legend>{t('New commits and branches')}</legend>
      {PATTERNS.map(([field, label, hint]) => (
        <Field
          key={field}
          label={label}
          name={field}
          maxLength={255}
          autocapitalize="none"
          autocomplete="off"
          spellcheck={false}
          defaultValue={rule?.[field] ?? ''}
          hint={hint}
        />
      ))}
      <Field
        label={t('Largest file, in bytes')}
        name="maxFileBytes"
        type="number"
        min={0}
        required
        defaultValue={String(rule?.maxFileBytes ?? 0)}
        hint={t('0 for no limit. Larger files can be in Git LFS.')}
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
  const patterns = PATTERNS.map(([field]) => [field, fieldOf(form, field)] as const)
  const flags = {
    ...(Object.fromEntries(patterns) as Record<(typeof PATTERNS)[number][0], string>),
    maxFileBytes: BigInt(fieldOf(form, 'maxFileBytes') || '0'),
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
    ...readQueue(form),
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
    mergeQueueOnlyContexts: linesOf(form, 'queueOnly'),
    mergeQueueHeadContexts: linesOf(form, 'queueHead'),
  }
  return { flags, lists }
}
