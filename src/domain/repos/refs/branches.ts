import { readRefCommits } from '../../../git/history/history.ts'
import { isRefName } from '../../../git/refs/refs.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { Page, RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { type BranchRuleView, readBranchRules, viewProtection } from '../protection/branch-rules.ts'
import { type CommitView, viewCommits, viewReadCommits } from '../reading/commits.ts'
import { reading } from '../reading/git-reading.ts'
import { readBranch, readBranchIndex } from './ref-index.ts'
import { recordRefs } from './ref-recording.ts'

/** A branch, the commit that it is at, and what is in force for it. */
export interface BranchView {
  readonly name: string
  readonly head: CommitView
  readonly protection: BranchRuleView
}

/** A part of a list. */
export interface BranchPage {
  readonly branches: readonly BranchView[]
  /** How many the whole list has. */
  readonly total: number
}

/** A commit in short. */
const HEAD_PARTS = { stat: false, verification: true, files: false }

/**
 * A page of the branches of a repository, latest commit first, then by name.
 *
 * Rows give the order, and Git, in one process, the commits: what a page costs depends on its
 * length, not on that of the list. A branch of the page that Git says something else about is
 * recorded anew; one that has gone is left out, and not counted.
 *
 * @param part of their names, in any case of its letters; empty for all.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, SERVER_BUSY, GIT_TIMEOUT
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
    const commits = await reading(readRefCommits(app.git, repository.id, found.refs.map(refOf)))
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

function refOf({ name }: { readonly name: string }): string {
  return `refs/heads/${name}`
}

/**
 * One branch.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, BRANCH_NOT_FOUND,
 *   SERVER_BUSY, GIT_TIMEOUT
 */
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

/** What says of each branch what is in force for it. */
async function readProtection(
  app: ReposApp,
  caller: Caller,
  { repository, access, units }: OpenRepository,
) {
  const userId = caller.kind === 'user' ? caller.user.id : undefined
  const rules = await readBranchRules(app, repository.id, userId, units)
  return (branch: string) => viewProtection(rules, branch, suffices(access, 'write'))
}
