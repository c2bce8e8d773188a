import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { losesCommits } from '../../../platform/git/history/new-commits.ts'
import { isRefName, readRef } from '../../../platform/git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import { isBaseOfOpenPull } from '../../pulls/heads/pull-heads.rows.ts'
import {
  checkNotArchived,
  type OpenRepository,
  openForPush,
  openRepository,
} from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { type BranchRules, readBranchRules } from '../protection/branch-rules.ts'
import { refusedName } from '../protection/commit-rules.ts'
import { mayPush } from '../protection/protection-rules.ts'
import { countBranches } from '../refs/branches.rows.ts'
import { type BranchView, getBranch } from '../refs/branches.ts'
import { readBranch, readTag, syncRefIndex } from '../refs/ref-index.ts'
import { type PushOptions, pushUpdates } from '../refs/ref-updates.ts'
import type { Branch, Repository } from '../schema.ts'
import { findCommitId, reading } from './git-reading.ts'

/** As in compatible systems. */
const MAX_BRANCH_CHARACTERS = 100

/** The request for a new branch. */
interface BranchDraft {
  readonly newName: string
  /** The start of the branch: a branch, tag or commit. Empty for `oldBranch`. */
  readonly oldRef: string
  /** The branch to start from. Empty for the default branch. */
  readonly oldBranch: string
}

/** The request to move a branch. */
interface BranchMoveDraft {
  /** A branch, tag or commit. */
  readonly newCommit: string
  /** The id of the commit that the branch must have before. Empty for any. */
  readonly oldCommitId: string
  /** Whether the branch may lose commits. */
  readonly force: boolean
}

/** Creates a branch. */
export async function createBranch(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: BranchDraft,
): Promise<BranchView> {
  const { newName } = draft
  const { repository } = await openForChange(app, caller, name, () =>
    checkNewName('new_branch_name', newName),
  )
  const { id } = repository
  const to = await startOf(app, repository, draft)
  if (to === undefined) throw new DomainError('OLD_BRANCH_NOT_FOUND')
  if (await readTag(app, repository, newName))
    throw new DomainError('BRANCH_NAMED_LIKE_TAG', { branch: newName })
  if (await readBranch(app, repository, newName))
    throw new DomainError('BRANCH_EXISTS', { branch: newName })
  const update = { name: refOf(newName), from: undefined, to }
  await pushNewName(app, caller, id, { newName, updates: [update] }).catch((error: unknown) => {
    const isLost = error instanceof DomainError && error.reason === 'REF_CHANGED'
    throw isLost ? new DomainError('BRANCH_EXISTS', { branch: newName }) : error
  })
  return getBranch(app, caller, name, newName)
}

/** Returns the id of the commit that a new branch starts from. */
async function startOf(
  app: ReposApp,
  repository: Repository,
  { oldRef, oldBranch }: BranchDraft,
): Promise<string | undefined> {
  if (oldRef !== '') return findCommitId(app, repository, oldRef)
  const branch = oldBranch || repository.default_branch
  return isRefName(branch) ? readRef(app.git, repository.id, refOf(branch)) : undefined
}

/**
 * Deletes a branch. Unlike a push, this refuses to delete a protected branch and a branch that is
 * the base of an open pull request.
 */
export async function deleteBranch(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  branchName: string,
): Promise<void> {
  const open = await openForChange(app, caller, name)
  const { id, default_branch, default_target_branch } = open.repository
  const { commit_id } = await findBranch(app, open, branchName)
  const isTarget =
    default_target_branch === branchName || (await isBaseOfOpenPull(app.db, id, branchName))
  if (default_branch === branchName || isTarget) throw new DomainError('BRANCH_NOT_DELETABLE')
  const rules = await rulesFor(app, caller, open)
  if (rules.inForceFor(branchName)) {
    throw new DomainError('BRANCH_PROTECTED', { ref: refOf(branchName), text: 'branch protected' })
  }
  await pushUpdates(app, caller, id, [{ name: refOf(branchName), from: commit_id, to: undefined }])
}

/**
 * Moves a branch to another commit. Users without write access may do so for heads of pull requests
 * that allow maintainer edits.
 */
export async function moveBranch(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  branchName: string,
  { newCommit, oldCommitId, force }: BranchMoveDraft,
): Promise<void> {
  const open = await openForPush(app, caller, name, branchName)
  await checkChangeable(app, open, () => checkGiven('new_commit_id', newCommit))
  const { id } = open.repository
  const { commit_id: from } = await findBranch(app, open, branchName)
  const to = await findCommitId(app, open.repository, newCommit)
  if (to === undefined) {
    throw new DomainError('BRANCH_COMMIT_NOT_FOUND', { id: metadataText(newCommit) })
  }
  if (oldCommitId !== '' && oldCommitId.toLowerCase() !== from) {
    const expected = metadataText(oldCommitId)
    throw new DomainError('BRANCH_HEAD_DIFFERS', { expected, given: from })
  }
  if (to === from) return
  if (!force && (await reading(losesCommits(app.git, id, { from, to }, {})))) {
    throw new DomainError('FORCE_REQUIRED', { branch: branchName })
  }
  await pushUpdates(app, caller, id, [{ name: refOf(branchName), from, to }])
}

/**
 * Renames a branch, and everything that uses its name: the default branch, its protection rule and
 * pull requests.
 */
export async function renameBranch(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  oldName: string,
  newName: string,
): Promise<void> {
  const open = await openForChange(app, caller, name, () => checkNewName('name', newName))
  const { repository, access } = open
  if (newName === oldName || (await readBranch(app, repository, newName))) {
    throw new DomainError('BRANCH_RENAME_CONFLICT', { branch: newName })
  }
  const { commit_id } = await findBranch(app, open, oldName, { operation: 'rename' })
  const rules = await rulesFor(app, caller, open)
  const isSpecial = oldName === repository.default_branch || rules.inForceFor(oldName) !== undefined
  if (isSpecial && !suffices(access, 'admin')) throw new DomainError('BRANCH_RENAME_DENIED')
  const target = rules.inForceFor(newName)
  if (
    target &&
    (!mayPush(target.rule, target.pusher) || refusedName(target.rule, newName) !== undefined)
  )
    throw new DomainError('BRANCH_RENAME_PROTECTED')
  const updates = [
    { name: refOf(newName), from: undefined, to: commit_id },
    { name: refOf(oldName), from: commit_id, to: undefined },
  ]
  await pushNewName(app, caller, repository.id, {
    newName,
    updates,
    options: { rename: { oldName, newName } },
  })
}

/** Opens a repository with branches for a change of its branches. */
async function openForChange(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  checkBody?: () => void,
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'write')
  await checkChangeable(app, open, checkBody)
  return open
}

/**
 * @param checkBody checks the request. Runs after the check of permissions, and before checks of
 *   the repository.
 */
async function checkChangeable(
  app: ReposApp,
  { repository }: OpenRepository,
  checkBody?: () => void,
): Promise<void> {
  checkNotArchived(repository)
  checkBody?.()
  const { id, branch_count, mirror } = repository
  if (branch_count === 0) {
    // An operator may have placed the repository there.
    await syncRefIndex(app, id)
    if ((await countBranches(app.db, id, '')) === 0) throw new DomainError('NO_BRANCHES')
  }
  if (mirror === 1) throw new DomainError('REPOSITORY_IS_MIRROR')
}

async function findBranch(
  app: ReposApp,
  { repository }: OpenRepository,
  name: string,
  metadata: Readonly<Record<string, string>> = {},
): Promise<Branch> {
  const branch = isRefName(name) ? await readBranch(app, repository, name) : undefined
  if (!branch) throw new DomainError('BRANCH_NOT_FOUND', metadata)
  return branch
}

function rulesFor(
  app: ReposApp,
  { user }: SignedIn,
  { repository, units }: OpenRepository,
): Promise<BranchRules> {
  return readBranchRules(app, repository.id, user.id, units)
}

function refOf(branch: string): string {
  return `refs/heads/${branch}`
}

function checkGiven(field: string, text: string): void {
  if (text === '') throw new DomainError('INVALID_FIELD', { field, rule: 'Required' })
}

function checkNewName(field: string, name: string): void {
  checkGiven(field, name)
  if (name.length > MAX_BRANCH_CHARACTERS)
    throw new DomainError('INVALID_FIELD', { field, rule: 'MaxSize' })
  if (!isRefName(name)) throw new DomainError('INVALID_FIELD', { field, rule: 'GitRefName' })
}

/** The updates that create a branch of a new name. */
interface NewBranchPush {
  readonly newName: string
  readonly updates: readonly RefUpdate[]
  readonly options?: PushOptions
}

/** Updates refs. A name collision has the message of compatible systems. */
async function pushNewName(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { newName, updates, options }: NewBranchPush,
): Promise<void> {
  try {
    await pushUpdates(app, caller, repositoryId, updates, options)
  } catch (error) {
    const isCollision = error instanceof DomainError && error.reason === 'REF_NAME_COLLISION'
    if (!isCollision) throw error
    const text = 'The branch with the same name already exists.'
    throw new DomainError('REF_NAME_COLLISION', { ref: refOf(newName), text })
  }
}
