import type { VNode } from 'preact'
import type { BranchProtection } from '#gen/branchline/v1/branch_protection_pb.ts'
import { BranchProtectionService } from '#gen/branchline/v1/branch_protection_service_pb.ts'
import { isOrganization } from '../accounts/owner-lookup.ts'
import { repositoryHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { ConfirmedForm } from '../components/confirmed-form.tsx'
import { counted } from '../components/counts.ts'
import { Show, useLoad } from '../components/load.tsx'
import { goTo } from '../components/navigation.ts'
import type { PageProps } from '../routes.ts'
import { RepositorySettings } from './repository-settings.tsx'
import { RuleForm } from './rule-form.tsx'

/** The branch protection rules of a repository. The address names the rule that the user edits. */
export default function BranchRulesPage({ owner, repo, rest, query }: PageProps): VNode {
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
            There is no rule {rule}. <a href={base}>All rules</a>
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
      <p>The first rule that matches the name of a branch applies, and no other rule.</p>
      {rules.length === 0 && <p>No rules.</p>}
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
      {!isFrozen && <a href={`${base}/new`}>New rule</a>}
    </>
  )
}

/** Returns what a rule demands, in words. */
function factsOf(rule: BranchProtection): string[] {
  const { requiredApprovals: approvals, enablePush, enablePushWhitelist } = rule
  const pushes = enablePushWhitelist ? 'pushes by some' : 'pushes allowed'
  const facts = [
    enablePush ? pushes : 'no pushes',
    approvals > 0n && counted(approvals, 'approval'),
    rule.enableStatusCheck && 'checks',
    rule.requireSignedCommits && 'signed commits',
    rule.enableMergeWhitelist && 'merges by some',
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
        <a href={base}>All rules</a>
      </p>
      <RuleForm name={name} rule={rule} hasTeams={hasTeams} onSaved={() => goTo(base)} />
      <section class="box" aria-labelledby="danger">
        <h3 id="danger">Danger zone</h3>
        <ConfirmedForm
          action="Delete the rule"
          name={rule.ruleName}
          act={async () => {
            await of(BranchProtectionService).deleteBranchProtection({
              ...name,
              name: rule.ruleName,
            })
            goTo(base)
          }}
        >
          <p>Branches that match no other rule lose their protection.</p>
        </ConfirmedForm>
      </section>
    </>
  )
}
