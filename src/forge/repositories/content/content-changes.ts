import { type Commit, cleanSigner, readCommit } from '../../../platform/git/objects/commits.ts'
import { parseLfsPointer } from '../../../platform/git/objects/lfs-pointers.ts'
import { storeBlob } from '../../../platform/git/objects/object-writes.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import type { Signer } from '../../../platform/git/objects/signers.ts'
import { editTree } from '../../../platform/git/objects/tree-edits.ts'
import { kindOf } from '../../../platform/git/objects/trees.ts'
import { isRefName, readRef } from '../../../platform/git/refs/refs.ts'
import { checkLength, checkVisible } from '../../accounts/users/user-fields.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { sizeText } from '../../core/sizes.ts'
import { checkWritable, type OpenRepository, openRepository } from '../access/permissions.ts'
import { gitIdentity } from '../commits/commit-authors.ts'
import { type Verification, verifyObject } from '../commits/commit-verification.ts'
import { createServerCommit } from '../commits/server-commits.ts'
import { missingInCommit } from '../lfs/lfs-push-check.ts'
import type { ReposApp } from '../ports.ts'
import { checkRoom } from '../quotas/quota-checks.ts'
import { syncRefIndex } from '../refs/ref-index.ts'
import { pushUpdates } from '../refs/ref-updates.ts'
import { type EntryView, MAX_INLINE_BYTES } from './contents.ts'
import {
  type CheckedChange,
  checkChanges,
  type FileChange,
  type Plan,
  type PlannedFile,
  planChanges,
} from './file-changes.ts'
import { reading } from './git-reading.ts'

/** Limit of a commit message, which lists of commits contain. */
const MAX_MESSAGE_BYTES = 64 * 1024

/** As in compatible systems. */
const MAX_BRANCH_CHARACTERS = 100

const MAX_IDENTITY_CHARACTERS = 255

/** The start of year 1, in Unix seconds: the zero time of Go. */
const ZERO_TIME = -62_135_596_800

/** Attempts to commit while other clients push to the branch. */
const MAX_ATTEMPTS = 2

/** The request for a commit. Empty texts mean the default. */
export interface CommitDraft {
  readonly message: string
  /** The branch to start from. The commit goes there, too, unless `newBranch` is set. */
  readonly branch: string
  readonly newBranch: string
  readonly author: Person
  readonly committer: Person
  readonly signoff: boolean
  /** Whether `newBranch` may exist, and is replaced. */
  readonly forcePush: boolean
}

/** An author or committer as the request names them. */
export interface Person {
  readonly name: string
  readonly email: string
  /** Undefined for now. */
  readonly at: Pick<Signer, 'time' | 'offsetMinutes'> | undefined
}

/** The result of changes. */
export interface ChangedFiles {
  readonly open: OpenRepository
  readonly commit: RawCommit
  readonly verification: Verification
  /** The files after the changes, in the order of the changes. Undefined for deleted ones. */
  readonly files: readonly (EntryView | undefined)[]
}

/**
 * Changes files of a repository in one commit, all of them or none. If nothing changes, the commit
 * is empty, since the caller expects the id of a commit.
 *
 * After a concurrent push to the branch, the changes are tried once more on top of it.
 */
export async function changeFiles(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  changes: readonly FileChange[],
  draft: CommitDraft,
): Promise<ChangedFiles> {
  const open = await openRepository(app, caller, name, 'write')
  checkWritable(open.repository)
  const checked = checkChanges(changes)
  const branch = draft.branch || open.repository.default_branch
  const order = {
    changes: checked,
    text: commitText(app, caller, draft, checked),
    branch,
    target: draft.newBranch || branch,
    mayReplace: draft.forcePush,
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await commitChanges(app, caller, open, order)
    } catch (error) {
      const isLost = error instanceof DomainError && error.reason === 'REF_CHANGED'
      if (!isLost || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** A checked request for a commit. */
interface CommitOrder {
  readonly changes: readonly CheckedChange[]
  readonly text: CommitText
  /** The branch to start from. */
  readonly branch: string
  /** The branch that gets the commit. */
  readonly target: string
  /** Whether the target may exist if it differs from `branch`. */
  readonly mayReplace: boolean
}

async function commitChanges(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  order: CommitOrder,
): Promise<ChangedFiles> {
  const { id } = open.repository
  const { changes, text, branch, target } = order
  const tip = await readTip(app, open.repository, branch)
  const from = target === branch ? tip?.id : await readTarget(app, id, order)
  const plan = await planChanges(app.git, id, tip?.treeId, changes)
  if ([...plan.values()].some((file) => file)) await checkRoom(app, caller, id)
  const files = await storeFiles(app, id, plan)
  const edits = [...plan.keys()].map((path) => ({ path, file: files.get(path) }))
  const treeId = await editTree(app.git, id, tip?.treeId, edits)
  const commit = await createServerCommit(app, id, {
    ...text,
    treeId,
    parentIds: tip ? [tip.id] : [],
  })
  await checkPointers(app, caller, open, commit.id, files)
  await pushUpdates(app, caller, id, [{ name: `refs/heads/${target}`, from, to: commit.id }])
  return {
    open,
    commit,
    verification: await verifyObject(app, caller, commit),
    files: changes.map(({ path }) => {
      const file = files.get(path)
      if (!file) return undefined
      const { blobId, mode, bytes, content } = file
      const entry = { path, mode, kind: kindOf(mode), id: blobId }
      return {
        open,
        commitId: commit.id,
        ref: target,
        entry,
        bytes,
        content,
        submoduleUrl: undefined,
        lastCommit: commit,
      }
    }),
  }
}

/** Returns the commit to start from; undefined in an empty repository. */
async function readTip(
  app: ReposApp,
  { id, branch_count }: OpenRepository['repository'],
  branch: string,
): Promise<Commit | undefined> {
  const tip = isRefName(branch) ? await readRef(app.git, id, `refs/heads/${branch}`) : undefined
  if (tip !== undefined) return readCommit(app.git, id, tip)
  // Unless the rows are outdated: the commit must not begin a second history by mistake.
  if (branch_count > 0 || (await syncRefIndex(app, id)) > 0) {
    throw new DomainError('REF_NOT_FOUND', { ref: branch.slice(0, MAX_BRANCH_CHARACTERS) })
  }
  checkBranchName('branch', branch)
  return undefined
}

/**
 * Returns the commit of a new branch that may be replaced; undefined if the branch does not exist.
 */
async function readTarget(
  app: ReposApp,
  repositoryId: number,
  { target, mayReplace }: CommitOrder,
): Promise<string | undefined> {
  checkBranchName('new_branch', target)
  const held = await readRef(app.git, repositoryId, `refs/heads/${target}`)
  if (held !== undefined && !mayReplace)
    throw new DomainError('NEW_BRANCH_EXISTS', { branch: target })
  return held
}

function checkBranchName(field: string, branch: string): void {
  checkLength(field, branch, MAX_BRANCH_CHARACTERS)
  if (!isRefName(branch)) throw new DomainError('INVALID_FIELD', { field })
}

/** Checks that the repository has the objects of new pointers of Git LFS. */
async function checkPointers(
  app: ReposApp,
  caller: SignedIn,
  { repository }: OpenRepository,
  commitId: string,
  files: ReadonlyMap<string, StoredFile>,
): Promise<void> {
  const pointers = [...files.values()].flatMap(({ content }) =>
    content ? (parseLfsPointer(content) ?? []) : [],
  )
  const text = await missingInCommit(app, caller, repository, commitId, pointers)
  if (text !== undefined) throw new DomainError('LFS_OBJECTS_MISSING', { text })
}

/** A file whose blob is stored. */
interface StoredFile extends Pick<EntryView, 'bytes' | 'content'> {
  readonly blobId: string
  readonly mode: number
}

/** Stores the content of files, and returns them by path. Deleted files are left out. */
async function storeFiles(
  app: ReposApp,
  repositoryId: number,
  plan: Plan,
): Promise<ReadonlyMap<string, StoredFile>> {
  const stored = new Map<string, StoredFile>()
  for (const [path, file] of plan)
    if (file) stored.set(path, await storeFile(app, repositoryId, file))
  return stored
}

async function storeFile(
  app: ReposApp,
  repositoryId: number,
  { content, mode }: PlannedFile,
): Promise<StoredFile> {
  if (Buffer.isBuffer(content)) {
    const { maxFileBytes } = app.settings
    if (maxFileBytes !== undefined && content.length > maxFileBytes)
      throw new DomainError('FILE_OVER_LIMIT', {
        size: sizeText(content.length),
        limit: sizeText(maxFileBytes),
      })
    return {
      blobId: await storeBlob(app.git, repositoryId, content),
      mode,
      bytes: content.length,
      content,
    }
  }
  const { blobId } = content
  const blob = await reading(readObject(app.git, repositoryId, blobId, MAX_INLINE_BYTES))
  const bytes = blob?.bytes ?? 0
  return { blobId, mode, bytes, content: bytes > MAX_INLINE_BYTES ? undefined : blob?.content }
}

/** The author, committer and message of a commit. */
interface CommitText {
  readonly author: Signer
  readonly committer: Signer
  readonly message: string
}

function commitText(
  app: ReposApp,
  caller: SignedIn,
  draft: CommitDraft,
  changes: readonly CheckedChange[],
): CommitText {
  const self = gitIdentity(app, caller)
  const author = signerOf('author', draft.author, draft.committer, self)
  const committer = signerOf('committer', draft.committer, draft.author, self)
  const given = draft.message.replaceAll('\r\n', '\n').replaceAll('\0', '').trim()
  if (Buffer.byteLength(given) > MAX_MESSAGE_BYTES) {
    throw new DomainError('INVALID_FIELD', {
      field: 'message',
      max_bytes: String(MAX_MESSAGE_BYTES),
    })
  }
  const trailer = draft.signoff ? `\n\nSigned-off-by: ${committer.name} <${committer.email}>` : ''
  return { author, committer, message: `${given || defaultMessage(changes)}${trailer}\n` }
}

/**
 * Returns an author or committer. Missing parts come from the other of the two, or else from the
 * caller.
 */
function signerOf(field: string, own: Person, other: Person, self: Signer): Signer {
  checkLength(`${field}.name`, own.name, MAX_IDENTITY_CHARACTERS)
  checkLength(`${field}.email`, own.email, MAX_IDENTITY_CHARACTERS)
  checkVisible(`${field}.email`, own.email)
  const name = own.name || other.name || self.name
  const email = own.email || other.email || self.email
  return cleanSigner({ name, email, ...commitTime(own.at, self) })
}

/**
 * Returns the time to write into a commit, with its zone.
 *
 * The zero time of Go means that the client has set none. Git cannot store a
 * time before 1970 (`badDateOverflow` of git-fsck(1)), so the commit gets the first second of 1970.
 */
function commitTime(given: Person['at'], now: Signer): Pick<Signer, 'time' | 'offsetMinutes'> {
  const { time, offsetMinutes } = given === undefined || given.time === ZERO_TIME ? now : given
  return { time: Math.max(time, 0), offsetMinutes }
}

const VERBS = { create: 'Add', update: 'Update', upload: 'Update', delete: 'Delete' } as const

/** As in compatible systems. */
function defaultMessage(changes: readonly CheckedChange[]): string {
  const [first = ''] = changes.map(({ operation, path, fromPath }) =>
    operation === 'rename' ? `Rename ${fromPath} to ${path}` : `${VERBS[operation]} ${path}`,
  )
  return changes.length === 1 ? first : `${first} and ${changes.length - 1} more`
}
