import { readCommits } from '../../../platform/git/history/history.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import { isRefName, readRefs } from '../../../platform/git/refs/refs.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { type CommitView, viewCommits, viewReadCommits } from '../commits/commits.ts'
import { reading } from '../content/git-reading.ts'
import type { ReposApp } from '../ports.ts'
import { type BranchRuleView, readBranchRules, viewProtection } from '../protection/branch-rules.ts'
import { readBranch, readBranchIndex } from './ref-index.ts'
import { recordRefs } from './ref-recording.ts'

/** A branch with its last commit and the protection in force. */
export interface BranchView {
  readonly name: string
  readonly head: CommitView
  readonly protection: BranchRuleView
}

/** A page of branches. */
export interface BranchPage {
  readonly branches: readonly BranchView[]
  /** Number of branches in the whole list. */
  readonly total: number
}

/** The details of a commit in a list. */
const HEAD_PARTS = { stat: false, verification: true, files: false }

/**
 * Returns a page of the branches of a repository, latest commit first, then by name.
 *
 * The database has the order, and Git the commits of the page, so the cost depends on the length of
 * the page only. A branch whose row differs from Git is recorded again. A deleted one is
 * left out and not counted.
 *
 * @param part text that the names contain, in upper or lower case. Empty for all branches.
 */
export async function listBranches(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  part: string,
  page: Page,
): Promise<BranchPage> {
  const open = await openRepository(app, caller, name, 'read')
  const { repository } = open
  const read = async () => {
    const found = await readBranchIndex(app, repository, part, page)
    const commits = await readTips(app, repository.id, found.refs.map(refOf))
    const stale = found.refs.filter((branch) => commits.get(refOf(branch))?.id !== branch.commit_id)
    return { ...found, commits, stale }
  }
  let found = await read()
  if (found.stale.length > 0) {
    await recordRefs(app, repository.id, [], found.stale.map(refOf))
    found = await read()
  }
  const { refs, total, commits } = found
  const heads = await viewReadCommits(app, caller, open, [...commits.values()], HEAD_PARTS)
  const byId = new Map(heads.map((head) => [head.commit.id, head]))
  const protectionOf = await readProtection(app, caller, open)
  const branches = refs.flatMap((branch) => {
    const head = byId.get(commits.get(refOf(branch))?.id ?? '')
    return head ? [{ name: branch.name, head, protection: protectionOf(branch.name) }] : []
  })
  return { branches, total: total - (refs.length - branches.length) }
}

/** Returns the commits that refs point to, by name, without refs that do not exist. */
async function readTips(
  app: ReposApp,
  id: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, RawCommit>> {
  const tips = await readRefs(app.git, id, names)
  const commits = await reading(readCommits(app.git, id, [...tips.values()]))
  return new Map(
    names.flatMap((name) => {
      const commit = commits.get(tips.get(name) ?? '')
      return commit ? [[name, commit] as const] : []
    }),
  )
}

function refOf({ name }: { readonly name: string }): string {
  return `refs/heads/${name}`
}

/** Returns a branch. */
export async function getBranch(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  branchName: string,
): Promise<BranchView> {
  const open = await openRepository(app, caller, name, 'read')
  const branch = isRefName(branchName)
    ? await readBranch(app, open.repository, branchName)
    : undefined
  const [head] = branch ? await viewCommits(app, caller, open, [branch.commit_id], HEAD_PARTS) : []
  if (!head) throw new DomainError('BRANCH_NOT_FOUND')
  const protectionOf = await readProtection(app, caller, open)
  return { name: branchName, head, protection: protectionOf(branchName) }
}

/** Returns a function that finds the protection in force for a branch. */
async function readProtection(
  app: ReposApp,
  caller: Caller,
  { repository, access, units }: OpenRepository,
) {
  const userId = caller.kind === 'user' ? caller.user.id : undefined
  const rules = await readBranchRules(app, repository.id, userId, units)
  return (branch: string) => viewProtection(rules, branch, suffices(access, 'write'))
}
