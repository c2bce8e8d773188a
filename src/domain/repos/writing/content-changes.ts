import { type Commit, cleanSigner, readCommit } from '../../../git/objects/commits.ts'
import { storeBlob } from '../../../git/objects/object-writes.ts'
import { readObject } from '../../../git/objects/objects.ts'
import type { RawCommit } from '../../../git/objects/raw-objects.ts'
import type { Signer } from '../../../git/objects/signers.ts'
import { editTree } from '../../../git/objects/tree-edits.ts'
import { kindOf } from '../../../git/objects/trees.ts'
import { isRefName, readRef } from '../../../git/refs/refs.ts'
import { checkLength, checkVisible } from '../../accounts/users/user-fields.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkWritable, type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import { type Verification, verifyObject } from '../reading/commit-verification.ts'
import { type EntryView, MAX_INLINE_BYTES } from '../reading/contents.ts'
import { gitIdentity } from '../reading/git-identity.ts'
import { reading } from '../reading/git-reading.ts'
import { syncRefIndex } from '../refs/ref-index.ts'
import { pushUpdates } from '../refs/ref-updates.ts'
import {
  type CheckedChange,
  checkChanges,
  type FileChange,
  type Plan,
  type PlannedFile,
  planChanges,
} from './file-changes.ts'
import { createServerCommit } from './server-commits.ts'

/** Of a commit message. Lists of commits show it. */
const MAX_MESSAGE_BYTES = 64 * 1024

/** Limit of compatible systems. */
const MAX_BRANCH_CHARACTERS = 100

const MAX_IDENTITY_CHARACTERS = 255

/** The last second that RFC 3339 can say. */
const MAX_TIME = 253_402_300_799

/** How often a commit is made when others win the race for the branch. */
const MAX_ATTEMPTS = 2

/** A commit as somebody asks for it; empty texts leave the choice to us. */
export interface CommitDraft {
  readonly message: string
  /** Branch to start from, and to go on with unless there is a new one. */
  readonly branch: string
  readonly newBranch: string
  readonly author: Person
  readonly committer: Person
  readonly signoff: boolean
  /** Whether a new branch may take the place of one of its name. */
  readonly forcePush: boolean
}

/** Somebody as a request names them. */
export interface Person {
  readonly name: string
  readonly email: string
  /** Unix seconds; undefined for now. */
  readonly time: number | undefined
}

/** What came of changes. */
export interface ChangedFiles {
  readonly open: OpenRepository
  readonly commit: RawCommit
  readonly verification: Verification
  /** The files as they are now, in the order of the changes; undefined for those that are gone. */
  readonly files: readonly (EntryView | undefined)[]
}

/**
 * Changes files of a repository by one commit: all of them, or none. A commit is made although it
 * changes nothing, since whoever asks for one waits for its id.
 *
 * A race that is lost to somebody who pushes is tried once more on what they have pushed.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED,
 *   REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR; INVALID_FIELD, TOO_MANY_FILE_CHANGES,
 *   INVALID_FILE_PATH, INVALID_FILE_CHANGE for what is asked; REF_NOT_FOUND, NEW_BRANCH_EXISTS for
 *   the branch; FILE_EXISTS, FILE_CHANGED, PATH_NOT_FOUND for the file; REF_REFUSED,
 *   REF_NAME_COLLISION, REF_CHANGED for the ref; SERVER_BUSY, GIT_TIMEOUT.
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

/** A commit as it was asked for, in a form that is right. */
interface CommitOrder {
  readonly changes: readonly CheckedChange[]
  readonly text: CommitText
  /** Branch to start from. */
  readonly branch: string
  /** Branch that is to have the commit. */
  readonly target: string
  /** Whether the target, if it is not the branch to start from, may be one that exists. */
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
  const files = await storeFiles(app, id, plan)
  const edits = [...plan.keys()].map((path) => ({ path, file: files.get(path) }))
  const treeId = await editTree(app.git, id, tip?.treeId, edits)
  const commit = await createServerCommit(app, id, {
    ...text,
    treeId,
    parentIds: tip ? [tip.id] : [],
  })
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

/** The commit to start from. An empty repository has none, whatever the branch is called. */
async function readTip(
  app: ReposApp,
  { id, branch_count }: OpenRepository['repository'],
  branch: string,
): Promise<Commit | undefined> {
  const tip = isRefName(branch) ? await readRef(app.git, id, `refs/heads/${branch}`) : undefined
  if (tip !== undefined) return readCommit(app.git, id, tip)
  // The rows may be behind, and a second history must not begin by mistake.
  if (branch_count > 0 || (await syncRefIndex(app, id)) > 0) {
    throw new DomainError('REF_NOT_FOUND', { ref: branch.slice(0, MAX_BRANCH_CHARACTERS) })
  }
  checkBranchName('branch', branch)
  return undefined
}

/** What another branch holds that is to have the commit: nothing, unless it may be replaced. */
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

/** A file whose blob is stored. */
interface StoredFile extends Pick<EntryView, 'bytes' | 'content'> {
  readonly blobId: string
  readonly mode: number
}

/** Stores what is new, by path. What is planned to be gone is left out. */
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

/** What a commit says, besides its files. */
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

/** Somebody as the request says; then as it names the other of the two; then the caller. */
function signerOf(field: string, own: Person, other: Person, self: Signer): Signer {
  checkLength(`${field}.name`, own.name, MAX_IDENTITY_CHARACTERS)
  checkLength(`${field}.email`, own.email, MAX_IDENTITY_CHARACTERS)
  checkVisible(`${field}.email`, own.email)
  const time = own.time ?? self.time
  if (time < 0 || time > MAX_TIME)
    throw new DomainError('INVALID_FIELD', { field: `dates.${field}` })
  const name = own.name || other.name || self.name
  const email = own.email || other.email || self.email
  return cleanSigner({ name, email, time, offsetMinutes: 0 })
}

const VERBS = { create: 'Add', update: 'Update', upload: 'Update', delete: 'Delete' } as const

/** In the words of compatible systems. */
function defaultMessage(changes: readonly CheckedChange[]): string {
  const [first = ''] = changes.map(({ operation, path, fromPath }) =>
    operation === 'rename' ? `Rename ${fromPath} to ${path}` : `${VERBS[operation]} ${path}`,
  )
  return changes.length === 1 ? first : `${first} and ${changes.length - 1} more`
}
