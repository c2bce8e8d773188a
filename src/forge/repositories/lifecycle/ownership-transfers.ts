import { isUniqueViolation, transaction } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { Owner } from '../../accounts/schema.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { getOwner } from '../../accounts/users/owners.ts'
import { findUserById } from '../../accounts/users/users.rows.ts'
import { actsAsAdministrator, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import {
  deleteTeamsOfRepository,
  findTeamById,
  insertTeamRepository,
} from '../../organizations/teams.rows.ts'
import {
  deleteCollaborator,
  findCollaborator,
  putCollaborator,
} from '../access/collaborators.rows.ts'
import { forgetUnreadable } from '../access/lost-access.rows.ts'
import {
  accessOfUser,
  checkNotArchived,
  type OpenRepository,
  openRepository,
} from '../access/permissions.ts'
import { changeWatched, recordRepositoryChange } from '../activity/repository-events.ts'
import type { ReposApp } from '../ports.ts'
import { gitKind, quotaOfOwner } from '../quotas/quota-checks.ts'
import { checkRepositoryLimit } from '../quotas/repository-limit.ts'
import type { Repository, RepositoryTransfer } from '../schema.ts'
import { grantCreator, type NewRepositoryPlace, openForNewRepository } from './create-repository.ts'
import { findForkOf } from './forks.rows.ts'
import * as rows from './repositories.rows.ts'
import { findRepositoryById, moveRepository, updateRepository } from './repositories.rows.ts'
import { getRepositoryById } from './repositories.ts'
import type { RepositoryView } from './repository-views.ts'

/** The request for a transfer. */
interface TransferDraft {
  readonly newOwner: string
  /** Numbers of the teams of the new owner that get access. */
  readonly teamIds: readonly number[]
}

/**
 * Transfers a repository to another owner. If the caller may create repositories there, this
 * happens at once. Otherwise the new owner must accept the transfer.
 */
export async function transferRepository(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  draft: TransferDraft,
): Promise<RepositoryView> {
  const opened = await openRepository(app, caller, name, 'owner')
  checkNotArchived(opened.repository)
  const recipient = await getOwner(app, caller, draft.newOwner)
  const { name: repositoryName } = opened.repository
  if (recipient.id === opened.owner.id) throw nameTaken(repositoryName)
  if (await isBlocked(app, [recipient.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
  const place = await openPlace(app, caller, recipient)
  // A set, since a request may repeat a team.
  const teamIds = new Set(draft.teamIds)
  await checkTeams(app, recipient, teamIds)
  if (place) {
    await handOver(app, caller, opened.repository, { place, teamIds }).catch((error: unknown) => {
      const isTaken = error instanceof DomainError && error.reason === 'REPOSITORY_EXISTS'
      throw isTaken ? nameTaken(repositoryName) : error
    })
  } else await offer(app, caller, opened, recipient)
  return getRepositoryById(app, caller, opened.repository.id)
}

/** A transfer has another status for this than the creation of a repository, as clients expect. */
function nameTaken(name: string): DomainError {
  return new DomainError('TRANSFER_NAME_TAKEN', { name })
}

/** Accepts the transfer of a repository. */
export async function acceptTransfer(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<RepositoryView> {
  const { repository, owner, transfer } = await openOffered(app, caller, name, 'recipient')
  checkNotArchived(repository)
  const doer = await findUserById(app.db, transfer.doer_id)
  // A user who is not an owner any more cannot transfer the repository.
  const isGood = doer && suffices((await accessOfUser(app, doer, repository, owner)).code, 'owner')
  if (!isGood) throw new DomainError('TRANSFER_NOT_FOUND')
  const place = await openForNewRepository(app, caller, '')
  await handOver(app, caller, repository, { place, teamIds: new Set(), asOffered: 'offered' })
  return getRepositoryById(app, caller, repository.id)
}

/**
 * Ends a pending transfer: the recipient rejects it, or an owner cancels it.
 *
 * @returns the repository as the caller saw it before.
 */
export async function rejectTransfer(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<RepositoryView> {
  const { repository, transfer } = await openOffered(app, caller, name, 'either side')
  const view = await getRepositoryById(app, caller, repository.id)
  await transaction(app.db, async (tx) => {
    if (!(await rows.deleteTransfer(tx, repository.id))) throw new DomainError('TRANSFER_NOT_FOUND')
    if (transfer.made_reader === 1) await endLook(tx, transfer)
  })
  return { ...view, transfer: undefined }
}

/** Removes the read access that the transfer gave to its recipient, unless it was raised since. */
async function endLook(tx: Tx, { repository_id, recipient_id }: RepositoryTransfer): Promise<void> {
  const given = await findCollaborator(tx, repository_id, recipient_id)
  if (given?.level !== 'read') return
  await deleteCollaborator(tx, repository_id, recipient_id)
  await forgetUnreadable(tx, { repositoryIds: [repository_id], userIds: [recipient_id] })
}

/**
 * Returns where the caller may create repositories of a recipient; undefined if the recipient must
 * accept the transfer.
 */
async function openPlace(
  app: ReposApp,
  caller: SignedIn,
  recipient: Owner,
): Promise<NewRepositoryPlace | undefined> {
  if (recipient.kind === 'ORGANIZATION') return openForNewRepository(app, caller, recipient.name)
  const needsNoConsent = recipient.id === caller.user.id || actsAsAdministrator(caller, 'write')
  return needsNoConsent ? { owner: recipient, makesAdministrator: false } : undefined
}

async function checkTeams(
  app: ReposApp,
  recipient: Owner,
  teamIds: ReadonlySet<number>,
): Promise<void> {
  for (const id of teamIds) {
    const team = await findTeamById(app.db, id)
    if (team?.organization_id !== recipient.id)
      throw new DomainError('TRANSFER_TEAM_NOT_FOUND', { team_id: String(id) })
  }
}

/** Opens a repository with its pending transfer, for a caller who may end the transfer. */
async function openOffered(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  forWhom: 'recipient' | 'either side',
): Promise<OpenRepository & { readonly transfer: RepositoryTransfer }> {
  const opened = await openRepository(app, caller, name, 'none')
  const transfer = await rows.findTransfer(app.db, opened.repository.id)
  if (!transfer) throw new DomainError('TRANSFER_NOT_FOUND')
  const isRecipient = transfer.recipient_id === caller.user.id
  const isOwner = forWhom === 'either side' && suffices(opened.access, 'owner')
  if (!isRecipient && !isOwner) throw new DomainError('TRANSFER_DENIED')
  return { ...opened, transfer }
}

/** Creates a pending transfer, and gives its recipient read access. */
async function offer(
  app: ReposApp,
  caller: SignedIn,
  opened: OpenRepository,
  recipient: Owner,
): Promise<void> {
  const { repository, owner } = opened
  const user = await findUserById(app.db, recipient.id)
  if (!user) throw new DomainError('USER_NOT_FOUND', { name: recipient.name })
  const { code } = await accessOfUser(app, user, repository, owner)
  const makesReader = code === 'none'
  try {
    await transaction(app.db, async (tx) => {
      await requireOwner(tx, repository)
      await rows.insertTransfer(tx, {
        repository_id: repository.id,
        doer_id: caller.user.id,
        recipient_id: user.id,
        made_reader: makesReader ? 1 : 0,
        create_time: nowSeconds(app.clock),
      })
      if (makesReader)
        await putCollaborator(tx, { repository_id: repository.id, user_id: user.id, level: 'read' })
    })
  } catch (error) {
    throw isUniqueViolation(error) ? new DomainError('TRANSFER_PENDING') : error
  }
}

/** The new owner of a repository, and the teams that get access. */
interface Handover {
  readonly place: NewRepositoryPlace
  readonly teamIds: ReadonlySet<number>
  readonly asOffered?: 'offered'
}

/**
 * Changes the owner of a repository, and gives teams of the new owner access. Teams of the former
 * owner lose access. Users who can no longer read a private repository no longer watch or star it.
 *
 * @param asOffered `offered` if this accepts a pending transfer, which must still exist.
 */
async function handOver(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  { place, teamIds, asOffered }: Handover,
): Promise<void> {
  const { id } = repository
  const receiver = { owner: place.owner, repository, kind: gitKind(repository), isMove: true }
  const quota = await quotaOfOwner(app, caller, receiver)
  try {
    await changeWatched(app, async (tx) => {
      const present = await requireOwner(tx, repository)
      await quota?.check(tx, {
        [gitKind(present)]: present.owned_bytes,
        lfs: present.lfs_bytes,
        releases: present.release_bytes,
        issues: present.attachment_bytes,
      })
      await checkRepositoryLimit(app, tx, place.owner.id)
      const wasOffered = await rows.deleteTransfer(tx, id)
      if (asOffered && !wasOffered) throw new DomainError('TRANSFER_NOT_FOUND')
      if (!asOffered && wasOffered) throw new DomainError('TRANSFER_PENDING')
      const { name, name_key } = present
      await moveRepository(tx, present, { owner_id: place.owner.id, name, name_key })
      await updateRepository(tx, id, { update_time: nowSeconds(app.clock) })
      await recordRepositoryChange(app, tx, caller, id, 'REPOSITORY_TRANSFERRED')
      await deleteTeamsOfRepository(tx, id)
      await deleteCollaborator(tx, id, place.owner.id)
      for (const teamId of teamIds) await insertTeamRepository(tx, teamId, id)
      await grantCreator(tx, place, caller.user.id, id)
      if (present.private === 1) await forgetUnreadable(tx, { repositoryIds: [id] })
    })
  } catch (error) {
    throw isUniqueViolation(error) ? await takenError(app, repository, place.owner) : error
  }
}

/** Returns the current row of a repository, unless its owner has changed. */
async function requireOwner(tx: Tx, { id, owner_id }: Repository): Promise<Repository> {
  const present = await findRepositoryById(tx, id)
  if (present?.owner_id !== owner_id) throw new DomainError('REPOSITORY_NOT_FOUND')
  return present
}

/** Returns the error for a name or fork that the new owner already has. */
async function takenError(
  app: ReposApp,
  { parent_id, name }: Repository,
  owner: Owner,
): Promise<DomainError> {
  const fork = parent_id === null ? undefined : await findForkOf(app.db, owner.id, parent_id)
  if (fork) return new DomainError('FORK_EXISTS', { owner: owner.name })
  return new DomainError('REPOSITORY_EXISTS', { name })
}
