import type { GitProcess } from '../../git/child-process.ts'
import { findLargeText, MAX_TEXT_BYTES } from '../../git/large-texts.ts'
import { type PackRequest, startReceivePack, startUploadPack } from '../../git/pack-services.ts'
import type { ProposedPush, PushVerdict } from '../../git/push-review.ts'
import type { RefUpdate } from '../../git/refs.ts'
import { repositoryPath } from '../../git/repositories.ts'
import type { Repository } from '../../storage/repositories.ts'
import { type Caller, holdsScope, type SignedIn } from '../access.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { checkWritable, openRepository } from './permissions.ts'
import { noteUpdates } from './ref-notes.ts'
import { reviewUpdates } from './ref-review.ts'
import { recordUpdates } from './ref-updates.ts'

/** To fetch, or to push. */
export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** Starts the service that was allowed, on the repository that it was allowed on. */
export type StartGitService = (request: PackRequest) => GitProcess

/**
 * Lets a caller fetch from a repository or push to it, or not.
 *
 * Anonymous callers are told to sign in wherever that could help, whether the repository exists or not.
 *
 * @throws UNAUTHENTICATED, SCOPE_MISSING, REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED,
 *   REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR
 */
export async function openGitService(
  app: App,
  caller: Caller,
  ownerName: string,
  name: string,
  service: GitService,
): Promise<StartGitService> {
  const level = service === 'git-receive-pack' ? 'write' : 'read'
  if (caller.kind === 'anonymous' && level === 'write') throw new DomainError('UNAUTHENTICATED')
  const scope = `${level}:repository`
  if (caller.kind === 'user' && !holdsScope(caller, scope)) throw new DomainError('SCOPE_MISSING', { scope })
  const { repository } = await openRepository(app, caller, ownerName, name, level).catch((error: unknown) => {
    const isHidden = error instanceof DomainError && error.reason === 'REPOSITORY_NOT_FOUND'
    throw isHidden && caller.kind === 'anonymous' ? new DomainError('UNAUTHENTICATED') : error
  })
  if (level === 'read' || caller.kind === 'anonymous') {
    return (request) => startUploadPack(app.git, repository.id, request)
  }
  checkWritable(repository)
  return (request) => startPush(app, caller, repository, request)
}

/** Refusals of one push that its pusher is told of. */
const MAX_SHOWN_REFUSALS = 50

/** A push that has been accepted: Git may be moving its refs. */
interface AcceptedPush {
  readonly note: number
  readonly updates: readonly RefUpdate[]
}

/**
 * Starts the half that clients push to, as a process that has ended when everything is recorded. Once its refs move it is not
 * stopped any more: then nothing of it is in the client's hands.
 */
function startPush(app: App, caller: SignedIn, repository: Repository, request: PackRequest): GitProcess {
  let accepted: AcceptedPush | undefined
  const git = startReceivePack(app.git, repository.id, request, async (push) => {
    try {
      const refusals = await reviewPush(app, caller, repository, push)
      if (refusals === undefined) accepted = { note: await noteUpdates(app, repository.id), updates: push.updates }
      return refusals
    } catch (err) {
      app.log.error({ err, repository: repository.id }, 'a push could not be reviewed')
      throw err
    }
  })
  const recorded = git.exited.then(async (exit) => {
    if (accepted) await recordUpdates(app, repository.id, accepted.note, accepted.updates)
    return exit
  })
  // Whether or not the client waits, the server does before it closes the database.
  app.background.run('push', () => recorded)
  return {
    ...git,
    exited: recorded,
    stop() {
      if (!accepted) git.stop()
    },
  }
}

/** Undefined accepts a push; otherwise the texts for who pushes, each once. */
async function reviewPush(
  app: App,
  caller: SignedIn,
  repository: Repository,
  push: ProposedPush,
): Promise<PushVerdict> {
  try {
    // A push that only deletes brings no objects.
    const large = push.quarantine && (await findLargeText(repositoryPath(app.git, repository.id), push.quarantine))
    if (large) return [`${large} is a commit or tag of more than ${MAX_TEXT_BYTES} bytes`]
    const refusals = await reviewUpdates(app, caller, repository.id, push)
    if (refusals.length === 0) return undefined
    const texts = [...new Set(refusals.map(({ text }) => text))]
    const more = texts.length - MAX_SHOWN_REFUSALS
    return more > 0 ? [...texts.slice(0, MAX_SHOWN_REFUSALS), `and ${more} more`] : texts
  } catch (error) {
    // What was allowed when the push began is so no more.
    if (error instanceof DomainError) return ['User permission denied for writing.']
    throw error
  }
}
