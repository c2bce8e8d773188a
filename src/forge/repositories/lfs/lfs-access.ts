import type { Owner } from '../../accounts/schema.ts'
import { type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { type RepositoryAccess, suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import { callerOfDeployKey, openByDeployKey } from '../access/deploy-access.ts'
import {
  checkWritable,
  type OpenRepository,
  openRepository,
  pushableBranches,
} from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import type { Repository } from '../schema.ts'
import { LfsError } from './lfs-error.ts'
import type { LfsRequester } from './lfs-links.ts'

/** A repository whose LFS objects a request may use. */
export interface OpenLfs {
  readonly repository: Repository
  readonly owner: Owner
  readonly access: RepositoryAccess
  readonly requester: LfsRequester
  /** The branch that is pushed to, if the client named one. */
  readonly branch: string | undefined
  /** Whom changes are recorded for: the account, or the owner of a repository with a deploy key. */
  readonly caller: Caller
}

/** What a request needs. */
export interface LfsNeed {
  readonly level: 'read' | 'write'
  /** The branch that is pushed to, for callers who may push to some branches only. */
  readonly branch?: string | undefined
}

const MOVES: ReadonlySet<string> = new Set(['REPOSITORY_MOVED', 'REPOSITORY_OWNER_RENAMED'])

/**
 * Opens a repository for a request of Git LFS. A renamed repository is served under its former name,
 * since clients do not follow redirects of uploads.
 *
 * @throws UNAUTHENTICATED for somebody without an account, where signing in could help; LfsError;
 *   SCOPE_MISSING, REPOSITORY_NOT_FOUND, REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED,
 *   REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR
 */
export async function openLfs(
  app: ReposApp,
  requester: LfsRequester,
  name: RepositoryName,
  need: LfsNeed,
): Promise<OpenLfs> {
  if (!app.settings.lfs) throw new LfsError(404, 'Git LFS is off')
  const open = (at: RepositoryName) =>
    requester.kind === 'deploy key'
      ? openWithKey(app, requester, at, need)
      : openAs(app, requester, at, need)
  try {
    return await open(name)
  } catch (error) {
    if (!(error instanceof DomainError) || !MOVES.has(error.reason)) throw error
    const { owner = '', name: repo = '' } = error.metadata
    return open({ owner, repo })
  }
}

async function openWithKey(
  app: ReposApp,
  requester: Extract<LfsRequester, { kind: 'deploy key' }>,
  name: RepositoryName,
  { level, branch }: LfsNeed,
): Promise<OpenLfs> {
  const access = await openByDeployKey(app, requester.keyId, name)
  const { repository, owner, key } = access
  if (level === 'write') {
    if (key.read_only === 1) throw new LfsError(403, 'this deploy key is read-only')
    checkWritable(repository)
  }
  const caller = await callerOfDeployKey(app, access, requester)
  if (!caller) throw new LfsError(403, 'the organisation has no active owner')
  const granted = key.read_only === 1 ? 'read' : 'write'
  return { repository, owner, access: granted, requester, branch, caller }
}

async function openAs(
  app: ReposApp,
  requester: Extract<LfsRequester, { kind: 'caller' }>,
  name: RepositoryName,
  { level, branch }: LfsNeed,
): Promise<OpenLfs> {
  const { caller } = requester
  if (caller.kind === 'anonymous') {
    if (level === 'write') throw new DomainError('UNAUTHENTICATED')
    const { repository, owner } = await openRepository(app, caller, name, 'read').catch(
      (error: unknown) => {
        const isHidden = error instanceof DomainError && error.reason === 'REPOSITORY_NOT_FOUND'
        throw isHidden ? new DomainError('UNAUTHENTICATED') : error
      },
    )
    return { repository, owner, access: 'read', requester, branch, caller }
  }
  const scope = `${level}:repository`
  if (!holdsScope(caller, scope)) throw new DomainError('SCOPE_MISSING', { scope })
  const open = await openRepository(app, caller, name, 'read')
  const { repository, owner } = open
  if (level === 'write') {
    await checkMayUpload(app, caller, open, branch)
    checkWritable(repository)
  }
  return { repository, owner, access: open.access, requester, branch, caller }
}

/** @throws REPOSITORY_ACCESS_DENIED */
async function checkMayUpload(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  branch: string | undefined,
): Promise<void> {
  if (suffices(open.access, 'write')) return
  const branches = branch === undefined ? [] : [branch]
  const pushable = branch !== undefined && (await pushableBranches(app, caller, open, branches))
  if (!pushable || pushable.size === 0)
    throw new DomainError('REPOSITORY_ACCESS_DENIED', { needed: 'write' })
}
