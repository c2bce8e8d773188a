import type { Lease } from '../../../platform/concurrency/leases.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { storeBlob } from '../../../platform/git/objects/object-writes.ts'
import { editTree, type TreeEdit } from '../../../platform/git/objects/tree-edits.ts'
import * as git from '../../../platform/git/repositories/repositories.ts'
import { createUnfinished, finish } from '../../../platform/git/repositories/repositories.ts'
import type { Owner } from '../../accounts/schema.ts'
import { getOwner, organizationAsOwner, userAsOwner } from '../../accounts/users/owners.ts'
import { checkSeesPrivate, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { openOrganization } from '../../organizations/organization-access.ts'
import { putCollaborator } from '../access/collaborators.rows.ts'
import { putRepositorySubscription } from '../activity/subscriptions.rows.ts'
import { gitIdentity } from '../commits/commit-authors.ts'
import { storeServerCommit } from '../commits/server-commits.ts'
import type { ReposApp } from '../ports.ts'
import { quotaOfOwner } from '../quotas/quota-checks.ts'
import { checkRepositoryLimit } from '../quotas/repository-limit.ts'
import { endPendingUpdate, recordCreationIn } from '../refs/pending-ref-updates.ts'
import { moveRefs, recordUpdates } from '../refs/ref-updates.ts'
import * as rows from './repositories.rows.ts'
import { getRepositoryById, removeRepository, withUniqueName } from './repositories.ts'
import {
  checkBranchName,
  checkRepositoryName,
  checkText,
  repositoryNameKey,
} from './repository-fields.ts'
import type { RepositoryView } from './repository-views.ts'
import {
  fillLicense,
  findGitignoreText,
  findLabelSet,
  findLicenseText,
  type LicenseValues,
} from './templates.ts'

/** The default branch of repositories whose creator names none. */
export const DEFAULT_BRANCH = 'main'

/** The only object format that libgit2 supports. */
const OBJECT_FORMAT = 'sha1'

/** The request for a new repository. Empty texts mean the default. */
interface RepositoryDraft {
  readonly name: string
  readonly description: string
  readonly private: boolean
  readonly template: boolean
  /** Whether to create a first commit with a README. */
  readonly autoInit: boolean
  readonly defaultBranch: string
  readonly objectFormatName: string
  /** The names of templates for the first commit. */
  readonly readme: string
  readonly gitignores: string
  readonly license: string
  readonly issueLabels: string
}

/** The owner of a new repository. */
export interface NewRepositoryPlace {
  readonly owner: Owner
  /** Whether the creator must be added as an administrator, since the creator is not an owner. */
  readonly makesAdministrator: boolean
}

/**
 * Returns where the caller creates a repository: in the caller's own account or in an organisation.
 *
 * @param organization its name. Empty for the caller's own account.
 */
export async function openForNewRepository(
  app: ReposApp,
  caller: SignedIn,
  organization: string,
): Promise<NewRepositoryPlace> {
  if (organization === '') return { owner: userAsOwner(caller.user), makesAdministrator: false }
  const open = await openOrganization(app, caller, organization, 'create-repository')
  return { owner: organizationAsOwner(open.organization), makesAdministrator: !open.isOwner }
}

/** Makes the creator of a repository its administrator, where necessary. */
export async function grantCreator(
  tx: Tx,
  place: NewRepositoryPlace,
  userId: number,
  repositoryId: number,
) {
  if (!place.makesAdministrator) return
  await putCollaborator(tx, { repository_id: repositoryId, user_id: userId, level: 'admin' })
}

/** Grants the creator of a new repository access, and makes the creator watch it. */
export async function recordCreator(
  app: ReposApp,
  tx: Tx,
  place: NewRepositoryPlace,
  userId: number,
  repositoryId: number,
): Promise<void> {
  await grantCreator(tx, place, userId, repositoryId)
  await putRepositorySubscription(tx, {
    repository_id: repositoryId,
    user_id: userId,
    mode: 'WATCHING',
    create_time: nowSeconds(app.clock),
  })
}

/**
 * Creates a repository.
 *
 * @param organization the organisation that owns it. Empty for the caller.
 */
export async function createRepository(
  app: ReposApp,
  caller: SignedIn,
  organization: string,
  draft: RepositoryDraft,
): Promise<RepositoryView> {
  const place = await openForNewRepository(app, caller, organization)
  return createRepositoryIn(app, caller, place, draft, await contentOf(app, caller, place, draft))
}

/**
 * Creates a repository on behalf of an administrator.
 *
 * @param owner name of the user or organisation that owns it.
 */
export async function createRepositoryAsAdmin(
  app: ReposApp,
  caller: SignedIn,
  owner: string,
  draft: RepositoryDraft,
): Promise<RepositoryView> {
  const place = { owner: await getOwner(app, caller, owner), makesAdministrator: false }
  return createRepositoryIn(app, caller, place, draft, await contentOf(app, caller, place, draft))
}

/** Initial content of a new repository. */
interface NewContent {
  /** Bytes of the files for a quota, at least 1. Default: 1. */
  readonly bytes?: number
  /** Inserts the rows that belong to the repository. */
  addRows(tx: Tx, id: number): Promise<void>
  /** Writes the files of the first commit, and returns the id of their tree. */
  writeTree?(id: number): Promise<string>
}

/** Returns the labels and files that a request asks for. */
async function contentOf(
  app: ReposApp,
  caller: SignedIn,
  { owner }: NewRepositoryPlace,
  draft: RepositoryDraft,
): Promise<NewContent> {
  const { issueLabels } = draft
  const addRows = (tx: Tx, id: number) => app.newLabels.add(tx, id, findLabelSet(issueLabels) ?? [])
  if (!draft.autoInit) return { addRows }
  const { email, time } = gitIdentity(app, caller)
  const year = new Date(time * 1000).getUTCFullYear()
  const files = await firstFiles(draft, { owner, email, year })
  return { addRows, writeTree: (id) => writeFiles(app, id, files) }
}

/** Creates a repository at a place. A creation that fails leaves nothing behind. */
export async function createRepositoryIn(
  app: ReposApp,
  caller: SignedIn,
  place: NewRepositoryPlace,
  draft: RepositoryDraft,
  content: NewContent,
): Promise<RepositoryView> {
  if (draft.private) checkSeesPrivate(caller)
  const defaultBranch = draft.defaultBranch || DEFAULT_BRANCH
  checkDraft(draft, defaultBranch)
  const now = nowSeconds(app.clock)
  const { name } = draft
  const kind = draft.private ? 'private' : 'public'
  const bytes = content.writeTree ? (content.bytes ?? 1) : 0
  const newcomer = { owner: place.owner, repository: { name }, kind } as const
  const quota = bytes > 0 ? await quotaOfOwner(app, caller, newcomer) : undefined
  await quota?.check(app.db, bytes)
  await checkRepositoryLimit(app, app.db, place.owner.id)
  const lease = await app.coordination.lease()
  const { id, updateId } = await withUniqueName(app, name, async (tx) => {
    await quota?.check(tx, bytes)
    await checkRepositoryLimit(app, tx, place.owner.id)
    const inserted = await rows.insertRepository(tx, {
      owner_id: place.owner.id,
      name,
      name_key: repositoryNameKey(name),
      owned_bytes: quota ? bytes : 0,
      description: draft.description,
      website: '',
      private: draft.private ? 1 : 0,
      template: draft.template ? 1 : 0,
      archive_time: null,
      default_branch: defaultBranch,
      default_merge_style: app.settings.defaultMergeStyle,
      create_time: now,
      update_time: now,
    })
    await recordCreator(app, tx, place, caller.user.id, inserted)
    await content.addRows(tx, inserted)
    return {
      id: inserted,
      updateId: await recordCreationIn(app, tx, inserted, caller.user.id),
    }
  })
  try {
    const updates = await createFolder(app, caller, { id, defaultBranch, content }, lease)
    await recordUpdates(app, id, updateId, updates)
  } catch (error) {
    await removeRepository(app, id)
    throw error
  } finally {
    endPendingUpdate(app, updateId)
  }
  return getRepositoryById(app, caller, id)
}

function checkDraft(draft: RepositoryDraft, defaultBranch: string): void {
  checkRepositoryName(draft.name)
  checkText('description', draft.description)
  checkBranchName(defaultBranch)
  if (draft.objectFormatName !== '' && draft.objectFormatName !== OBJECT_FORMAT) {
    throw new DomainError('UNSUPPORTED_OBJECT_FORMAT', {
      format: draft.objectFormatName.slice(0, 100),
    })
  }
  if (draft.issueLabels !== '' && !findLabelSet(draft.issueLabels)) {
    throw new DomainError('REPOSITORY_TEMPLATE_NOT_FOUND', {
      field: 'issue_labels',
      name: draft.issueLabels.slice(0, 100),
    })
  }
}

const REGULAR_FILE = 0o100644

/** Writes files, and returns the id of their tree. */
async function writeFiles(app: ReposApp, id: number, files: FirstFiles): Promise<string> {
  const edits: TreeEdit[] = []
  for (const [path, text] of files) {
    const blobId = await storeBlob(app.git, id, Buffer.from(text))
    edits.push({ path, file: { blobId, mode: REGULAR_FILE } })
  }
  return editTree(app.git, id, undefined, edits)
}

/**
 * Creates the folder of a repository, with a first commit where there are files.
 *
 * @param lease taken before the row was inserted. Others remove the repository of a server that was
 *   stopped for long.
 * @returns the refs that exist then.
 */
async function createFolder(
  app: ReposApp,
  caller: SignedIn,
  created: { readonly id: number; readonly defaultBranch: string; readonly content: NewContent },
  lease: Pick<Lease, 'check'>,
): Promise<readonly RefUpdate[]> {
  const { id, defaultBranch, content } = created
  if (!content.writeTree) {
    lease.check()
    await git.createRepository(app.git, id, defaultBranch)
    return []
  }
  await createUnfinished(app.git, id, defaultBranch)
  const self = gitIdentity(app, caller)
  const to = await storeServerCommit(app, id, {
    treeId: await content.writeTree(id),
    parentIds: [],
    author: self,
    committer: self,
    message: 'Initial commit\n',
  })
  const updates = [{ name: `${HEADS}${defaultBranch}`, from: undefined, to }]
  await moveRefs(app, lease, id, updates)
  await finish(app.git, id)
  return updates
}

/** The only template of a README. */
const DEFAULT_README = 'Default'

/** More templates than one project needs. Each adds a text to one file. */
const MAX_GITIGNORES = 20

/** The first files of a repository, as requested. Empty texts mean the default. */
interface FirstFilesRequest {
  readonly name: string
  readonly description: string
  readonly readme: string
  /** Names of templates, separated by commas. */
  readonly gitignores: string
  readonly license: string
}

/** The first files of a repository, by path. */
type FirstFiles = ReadonlyMap<string, string>

/**
 * Returns the first files of a repository: a README, and the requested `.gitignore` and `LICENSE`.
 *
 * @param by holder of the copyright, e-mail address of the creator, and year.
 * @throws REPOSITORY_TEMPLATE_NOT_FOUND
 */
async function firstFiles(
  request: FirstFilesRequest,
  by: { owner: Pick<Owner, 'name'>; email: string; year: number },
): Promise<FirstFiles> {
  const { name, description, readme, license } = request
  if (readme !== '' && readme !== DEFAULT_README) throw notFound('readme', readme)
  const files = new Map([['README.md', readmeOf(name, description)]])
  const gitignore = readGitignores(request.gitignores)
  if (gitignore !== '') files.set('.gitignore', gitignore)
  if (license === '') return files
  const text = await findLicenseText(license)
  if (text === undefined) throw notFound('license', license)
  const values: LicenseValues = {
    owner: by.owner.name,
    email: by.email,
    repository: name,
    year: by.year,
  }
  return files.set('LICENSE', `${fillLicense(text, values).trimEnd()}\n`)
}

/**
 * Returns the README that compatible systems write, to the byte: clients compare its content and
 * its object id.
 */
function readmeOf(name: string, description: string): string {
  return `# ${name}\n\n${description.replaceAll('\r\n', '\n')}`
}

function readGitignores(list: string): string {
  const names = list
    .split(',', MAX_GITIGNORES)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names
    .map((name) => {
      const text = findGitignoreText(name)
      if (text === undefined) throw notFound('gitignores', name)
      return `# ---> ${name}\n${text}`
    })
    .join('\n')
}

function notFound(field: string, name: string): DomainError {
  return new DomainError('REPOSITORY_TEMPLATE_NOT_FOUND', { field, name: name.slice(0, 100) })
}
