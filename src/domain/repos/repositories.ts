import { storeFirstCommit } from '../../git/commits.ts'
import { isRefName, setDefaultBranch } from '../../git/refs.ts'
import * as git from '../../git/repositories.ts'
import { countBranchesOf, insertPendingRefUpdate, listBranches } from '../../storage/branches.ts'
import { isUniqueViolation, type Tx, transaction } from '../../storage/database.ts'
import * as rows from '../../storage/repositories.ts'
import type { User } from '../../storage/users.ts'
import { actsAsAdministrator, type Caller, type SignedIn, seesPublicDataOnly } from '../access.ts'
import { type App, nowSeconds } from '../app.ts'
import { DomainError } from '../errors.ts'
import { checkRepositoryName, repositoryNameKey } from './names.ts'
import { accessTo, checkNotArchived, type OpenRepository, openRepository } from './permissions.ts'
import { applyUpdates, recordUpdates } from './ref-updates.ts'

/** Default branch of a repository whose creator names none. */
const DEFAULT_BRANCH = 'main'

/** Limits of compatible systems. */
const MAX_DESCRIPTION_CHARACTERS = 2048
const MAX_WEBSITE_CHARACTERS = 1024
const MAX_BRANCH_CHARACTERS = 100

/** A repository as a caller sees it. */
export interface RepositoryView extends OpenRepository {
  readonly branchCount: number
}

export interface RepositoryDraft {
  readonly name: string
  readonly description: string
  readonly private: boolean
  /** Whether to begin with a commit that has a README. */
  readonly autoInit: boolean
  /** Empty for the usual one. */
  readonly defaultBranch: string
}

/** Changes of a repository; what is undefined stays. */
export interface RepositoryEdit {
  readonly name: string | undefined
  readonly description: string | undefined
  readonly website: string | undefined
  readonly private: boolean | undefined
  readonly defaultBranch: string | undefined
  readonly archived: boolean | undefined
}

/** A part of a list. */
export interface RepositoryPage {
  readonly repositories: readonly RepositoryView[]
  /** How many the whole list has. */
  readonly total: number
}

/**
 * Makes a repository of the caller.
 *
 * @throws INVALID_REPOSITORY_NAME, INVALID_FIELD, INVALID_DEFAULT_BRANCH, REPOSITORY_EXISTS
 */
export async function createRepository(app: App, caller: SignedIn, draft: RepositoryDraft): Promise<RepositoryView> {
  const { user } = caller
  const defaultBranch = draft.defaultBranch || DEFAULT_BRANCH
  checkRepositoryName(draft.name)
  checkLength('description', draft.description, MAX_DESCRIPTION_CHARACTERS)
  if (!isRefName(defaultBranch) || defaultBranch.length > MAX_BRANCH_CHARACTERS)
    throw invalidDefaultBranch(defaultBranch)
  const now = nowSeconds(app.clock)
  const { id, note } = await withUniqueName(app, draft.name, async (tx) => {
    const inserted = await rows.insertRepository(tx, {
      owner_id: user.id,
      name: draft.name,
      name_key: repositoryNameKey(draft.name),
      description: draft.description,
      website: '',
      private: draft.private ? 1 : 0,
      archive_time: null,
      default_branch: defaultBranch,
      create_time: now,
      update_time: now,
    })
    // A crash before the folder is there leaves word of it.
    return { id: inserted, note: await insertPendingRefUpdate(tx, inserted) }
  })
  try {
    await git.createRepository(app.git, id, defaultBranch)
    if (draft.autoInit) await makeFirstCommit(app, user, id, draft, defaultBranch)
    await recordUpdates(app, id, note, [])
  } catch (error) {
    await removeRepository(app, id)
    throw error
  }
  return getRepository(app, caller, user.username, draft.name)
}

/** Makes a commit with a README, on the default branch. */
async function makeFirstCommit(app: App, user: User, id: number, draft: RepositoryDraft, branch: string) {
  const host = new URL(app.publicUrl()).hostname
  const commit = await storeFirstCommit(app.git, id, {
    files: new Map([['README.md', Buffer.from(`# ${draft.name}\n${draft.description && `\n${draft.description}\n`}`)]]),
    author: {
      name: user.display_name || user.username,
      email: user.email || `${user.username}@noreply.${host}`,
      time: nowSeconds(app.clock),
      offsetMinutes: 0,
    },
    message: 'Initial commit\n',
  })
  await applyUpdates(app, id, [{ name: `refs/heads/${branch}`, from: undefined, to: commit }])
}

/**
 * The repository of a name.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED
 */
export async function getRepository(app: App, caller: Caller, owner: string, name: string): Promise<RepositoryView> {
  const open = await openRepository(app, caller, owner, name, 'read')
  const counts = await countBranchesOf(app.db, [open.repository.id])
  return { ...open, branchCount: counts.get(open.repository.id) ?? 0 }
}

/** Repositories of an account that a caller may read, by name. */
export async function listRepositories(
  app: App,
  caller: Caller,
  owner: User,
  offset: number,
  limit: number,
): Promise<RepositoryPage> {
  const isOwn = caller.kind === 'user' && caller.user.id === owner.id
  const withPrivate = (isOwn || actsAsAdministrator(caller, 'read')) && !seesPublicDataOnly(caller)
  const found = await rows.listRepositories(app.db, owner.id, withPrivate, offset, limit)
  const ids = found.map(({ id }) => id)
  const counts = await countBranchesOf(app.db, ids)
  return {
    repositories: found.map((repository) => ({
      repository,
      owner,
      access: accessTo(app, caller, repository),
      branchCount: counts.get(repository.id) ?? 0,
    })),
    total: await rows.countRepositories(app.db, owner.id, withPrivate),
  }
}

/**
 * Changes a repository: everything that is asked for, or nothing. Of an archived one only that it is archived can be changed, and
 * with it the rest.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED, REPOSITORY_ARCHIVED, INVALID_REPOSITORY_NAME,
 *   INVALID_FIELD, INVALID_DEFAULT_BRANCH, REPOSITORY_EXISTS
 */
export async function editRepository(
  app: App,
  caller: Caller,
  ownerName: string,
  name: string,
  edit: RepositoryEdit,
): Promise<RepositoryView> {
  const { repository } = await openRepository(app, caller, ownerName, name, 'admin')
  if (edit.archived !== false) checkNotArchived(repository)
  const newName = edit.name || repository.name
  if (newName !== repository.name) checkRepositoryName(newName)
  checkLength('description', edit.description, MAX_DESCRIPTION_CHARACTERS)
  checkLength('website', edit.website, MAX_WEBSITE_CHARACTERS)
  const defaultBranch = edit.defaultBranch || repository.default_branch
  const movesHead = defaultBranch !== repository.default_branch
  if (movesHead) await checkCanBeDefault(app, repository.id, defaultBranch)
  const note = await withUniqueName(app, newName, async (tx) => {
    await rows.renameRepository(tx, repository, newName, repositoryNameKey(newName))
    await rows.updateRepository(tx, repository.id, changesOf(edit, repository, nowSeconds(app.clock)))
    return movesHead ? insertPendingRefUpdate(tx, repository.id) : undefined
  })
  if (note !== undefined) {
    await setDefaultBranch(app.git, repository.id, defaultBranch)
    await recordUpdates(app, repository.id, note, [])
  }
  return getRepository(app, caller, ownerName, newName)
}

function changesOf(edit: RepositoryEdit, repository: rows.Repository, now: number): rows.RepositoryChanges {
  const changes: rows.RepositoryChanges = { update_time: now }
  if (edit.description !== undefined) changes.description = edit.description
  if (edit.website !== undefined) changes.website = edit.website
  if (edit.private !== undefined) changes.private = edit.private ? 1 : 0
  if (edit.archived !== undefined) changes.archive_time = edit.archived ? (repository.archive_time ?? now) : null
  return changes
}

/** Any branch that there is; in an empty repository any that there can be. */
async function checkCanBeDefault(app: App, id: number, branch: string): Promise<void> {
  const branches = await listBranches(app.db, id)
  const fits = branches.length === 0 ? isRefName(branch) : branches.some(({ name }) => name === branch)
  if (!fits) throw invalidDefaultBranch(branch)
}

/**
 * Deletes a repository with everything in it.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED
 */
export async function deleteRepository(app: App, caller: Caller, ownerName: string, name: string): Promise<void> {
  const { repository } = await openRepository(app, caller, ownerName, name, 'owner')
  await removeRepository(app, repository.id)
}

/** The row first: a crash leaves a folder that nothing leads to, and no row whose folder is gone. */
async function removeRepository(app: App, id: number): Promise<void> {
  await git.withRepositoryLock(app.git, id, async () => {
    await transaction(app.db, (tx) => rows.deleteRepository(tx, id))
    await git.deleteRepository(app.git, id)
  })
}

async function withUniqueName<T>(app: App, name: string, work: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await transaction(app.db, work)
  } catch (error) {
    throw isUniqueViolation(error) ? new DomainError('REPOSITORY_EXISTS', { name }) : error
  }
}

function checkLength(field: string, text: string | undefined, maxCharacters: number): void {
  if (text !== undefined && [...text].length > maxCharacters) {
    throw new DomainError('INVALID_FIELD', { field, max_length: String(maxCharacters) })
  }
}

function invalidDefaultBranch(branch: string): DomainError {
  return new DomainError('INVALID_DEFAULT_BRANCH', { branch: branch.slice(0, MAX_BRANCH_CHARACTERS) })
}
