import type { Tx } from '../../../platform/database/schema.ts'
import { PROPOSAL_REFS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { procReceiveReport } from '../../../platform/git/hooks/proc-receive.ts'
import {
  errorLines,
  type HookName,
  type PushAnswer,
  type PushQuestion,
  refusal,
} from '../../../platform/git/hooks/push-review.ts'
import { answerFetch, MAX_CACHED_PACK_BYTES } from '../../../platform/git/packs/pack-cache.ts'
import {
  type PackRequest,
  startReceivePack,
  startUploadPack,
} from '../../../platform/git/packs/pack-services.ts'
import { answerRefs, type RefRequest } from '../../../platform/git/packs/ref-advertisement.ts'
import type { GitProcess } from '../../../platform/git/processes/running-git.ts'
import { recordKeyUse } from '../../accounts/keys/ssh-identities.ts'
import { type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import {
  callerOfDeployKey,
  type DeployKeyCaller,
  openByDeployKey,
} from '../access/deploy-access.ts'
import { recordDeployKeyUse } from '../access/deploy-keys.rows.ts'
import { checkWritable, openForPush, openRepository } from '../access/permissions.ts'
import { readFor } from '../content/git-reading.ts'
import { openRemoteArchive, type RemoteArchive } from '../content/remote-archives.ts'
import { keepPushedObjects } from '../lfs/lfs-push-check.ts'
import { checkObjectsRemain } from '../maintenance/removal-guard.ts'
import type { ProposalResults, Proposals, ReposApp } from '../ports.ts'
import { maxInputBytes, reserveForUpdates } from '../quotas/quota-checks.ts'
import { quotaText } from '../quotas/quota-texts.ts'
import type { Repository } from '../schema.ts'
import { type HookVerdict, hasGitHooks, runGitHook } from './git-hooks.ts'
import { recordPendingUpdate } from './pending-ref-updates.ts'
import { refusedNames, reviewPush } from './ref-review.ts'
import { recordUpdates } from './ref-updates.ts'

/** The service for fetches or the one for pushes. */
export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** A service for which the caller has permission. */
interface OpenGitService {
  readonly repositoryId: number
  /** Starts the process of one request. */
  start(request: PackRequest): GitProcess
  /**
   * Answers a request for refs from what the server knows. Undefined when only a process can
   * answer. Absent from the service for pushes.
   */
  answerRefs?(request: RefRequest): Promise<Buffer[] | undefined>
  /**
   * Answers a fetch with a pack that other clients asked for a moment before. Undefined when a process has
   * to answer. Absent from the service for pushes.
   */
  answerFetch?(request: RefRequest): Promise<AsyncIterable<Buffer> | undefined>
  /** Opens an archive of files. Absent from the service for pushes. */
  openArchive?(request: RemoteArchive): Promise<AsyncIterable<Buffer>>
}

/**
 * Opens a Git service for a caller with permission.
 *
 * Anonymous callers get UNAUTHENTICATED where signing in could help, whether or not the repository
 * exists.
 *
 * @throws UNAUTHENTICATED, SCOPE_MISSING, REPOSITORY_NOT_FOUND, REPOSITORY_MOVED,
 *   REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR,
 *   DISK_FULL
 */
export async function openGitService(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  service: GitService,
): Promise<OpenGitService> {
  const level = service === 'git-receive-pack' ? 'write' : 'read'
  if (caller.kind === 'anonymous' && level === 'write') throw new DomainError('UNAUTHENTICATED')
  const scope = `${level}:repository`
  if (caller.kind === 'user' && !holdsScope(caller, scope))
    throw new DomainError('SCOPE_MISSING', { scope })
  if (level === 'read' || caller.kind === 'anonymous') {
    const { repository } = await openRepository(app, caller, name, 'read').catch(
      (error: unknown) => {
        const isHidden = error instanceof DomainError && error.reason === 'REPOSITORY_NOT_FOUND'
        throw isHidden && caller.kind === 'anonymous' ? new DomainError('UNAUTHENTICATED') : error
      },
    )
    for (const observer of app.refObservers) await observer.beforeFetch(app, repository.id)
    return {
      repositoryId: repository.id,
      start: (request) => startUploadPack(app.git, repository.id, request),
      openArchive: (request) => openRemoteArchive(app, repository, request),
      answerRefs: (request) =>
        // The list is sent as Git reads it.
        readFor(
          caller,
          () => {},
          () => answerRefs(app.git, repository.id, request),
        ),
      answerFetch: (request) => answerFetchOf(app, repository, request),
    }
  }
  return openPush(app, caller, await findPushTarget(app, caller, name))
}

/** Answers a fetch by a pack in a file, if the disk has room for one. */
async function answerFetchOf(
  app: ReposApp,
  { id, size_kib: sizeKib }: Repository,
  request: RefRequest,
): Promise<AsyncIterable<Buffer> | undefined> {
  const bytes = sizeKib * 1024
  if (bytes > MAX_CACHED_PACK_BYTES) return undefined
  // A file system keeps some space for other files.
  return answerFetch(app.git, id, request, () => app.disk.hasRoom(2 * bytes))
}

/** Returns the repository of a push. Readers can push proposals. */
async function findPushTarget(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<Repository> {
  try {
    return (await openForPush(app, caller, name)).repository
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason !== 'REPOSITORY_ACCESS_DENIED') throw error
    const { repository } = await openRepository(app, caller, name, 'none')
    if ((await proposalProblem(app, caller, repository.id)) !== undefined) throw error
    return repository
  }
}

/** Returns why a caller may not open pull requests by a push; undefined if the caller may. */
async function proposalProblem(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<string | undefined> {
  for (const { proposalProblem: problemOf } of app.refObservers)
    if (problemOf) return problemOf(app, caller, repositoryId)
  return 'this server opens no pull requests from pushes'
}

async function openPush(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
): Promise<OpenGitService> {
  checkWritable(repository)
  if (await app.disk.isFull()) throw new DomainError('DISK_FULL')
  const limits = {
    hasHooks: await hasGitHooks(app, repository.id),
    maxBytes: await maxInputBytes(app, caller, repository.id),
  }
  return {
    repositoryId: repository.id,
    start: (request) => startPush(app, caller, repository, request, limits),
  }
}

/**
 * Opens a Git service for a deploy key. The key acts in the name of the owner of the repository, or
 * of an owner of the organisation, and only in its own repositories.
 *
 * @returns `refusal` with the reason for the user when the key may only fetch.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR,
 *   DISK_FULL
 */
export async function openGitServiceByDeployKey(
  app: ReposApp,
  deployKey: DeployKeyCaller,
  name: RepositoryName,
  service: GitService,
): Promise<(OpenGitService & { readonly user: number }) | { readonly refusal: string }> {
  const access = await openByDeployKey(app, deployKey.keyId, name)
  const { repository, owner, key } = access
  const isFetch = service === 'git-upload-pack'
  if (!isFetch && key.read_only === 1) return { refusal: 'this deploy key is read-only' }
  recordKeyUse(app, key.last_used_time, (usedAt, staleUntil) =>
    recordDeployKeyUse(app.db, key.id, usedAt, staleUntil),
  )
  if (isFetch) {
    for (const observer of app.refObservers) await observer.beforeFetch(app, repository.id)
    return {
      user: owner.id,
      repositoryId: repository.id,
      start: (request) => startUploadPack(app.git, repository.id, request),
      openArchive: (request) => openRemoteArchive(app, repository, request),
    }
  }
  const caller = await callerOfDeployKey(app, access, deployKey)
  if (!caller) return { refusal: 'the organisation has no active owner' }
  return { user: caller.user.id, ...(await openPush(app, caller, repository)) }
}

/**
 * The time that all `update` hooks of one push can take, as a multiple of the timeout of one hook.
 * A push can have any number of refs.
 */
const MAX_UPDATE_HOOKS_TIME = 20

/** The state of a push. */
interface Push {
  /** Names of refs that Git refuses one by one. */
  readonly refused: ReadonlySet<string>
  /** Whether all refs move or none. */
  readonly isAtomic: boolean
  /** Set when the `pre-receive` hook has accepted the push. Git may update refs from then on. */
  accepted: { readonly updateId: number; readonly updates: readonly RefUpdate[] } | undefined
  /** The part of the push that Git leaves to `proc-receive`, after `pre-receive`. */
  proposals: Proposals | undefined
  /** The record of the updates, once it has begun. */
  recorded: Promise<void> | undefined
  /** Whether the client has disconnected. The received data may be incomplete. */
  isStopped: boolean
  /**
   * Whether the Git process has ended. A pending update that is recorded later must be completed at
   * once.
   */
  hasEnded: boolean
  /** The time that `update` hooks have taken. */
  updateHooksMs: number
}

/**
 * Starts `git receive-pack`. The returned process ends when all updates are recorded. It cannot be
 * stopped once refs move, since by then it does not depend on the client.
 *
 * @param hooks.hasHooks whether the repository has hooks when the push begins. Hooks that are added later
 *   apply to the next push.
 */
function startPush(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  request: PackRequest,
  { hasHooks, maxBytes }: { readonly hasHooks: boolean; readonly maxBytes: number | undefined },
): GitProcess {
  const push: Push = {
    refused: refusedNames(request),
    isAtomic: request.commands?.isAtomic ?? false,
    accepted: undefined,
    proposals: undefined,
    recorded: undefined,
    isStopped: false,
    hasEnded: false,
    updateHooksMs: 0,
  }
  const pusher = {
    accountId: caller.user.id,
    hasScripts: hasHooks,
    refused: push.refused,
    maxBytes,
  }
  const git = startReceivePack(
    app.git,
    repository.id,
    request,
    pusher,
    async (question, signal) => {
      try {
        // The output of a review is short.
        const admit = () => {}
        return await readFor(caller, admit, () =>
          answer(app, caller, repository.id, push, { question, signal }),
        )
      } catch (err) {
        app.log.error({ err, repository: repository.id }, 'a push could not be reviewed')
        throw err
      }
    },
  )
  const ended = git.exited.finally(async () => {
    push.hasEnded = true
    await record(app, repository.id, push)
  })
  // The server waits for the push before it closes the database, even if the client has gone.
  app.background.run('push', () => ended)
  return {
    ...git,
    exited: ended,
    stop() {
      if (push.accepted) return
      push.isStopped = true
      git.stop()
    },
  }
}

/** Records the updates of a push, once. */
async function record(app: ReposApp, repositoryId: number, push: Push): Promise<void> {
  const { accepted } = push
  if (accepted)
    push.recorded ??= recordUpdates(app, repositoryId, accepted.updateId, accepted.updates)
  await push.recorded
}

/** A question of Git, and the signal that aborts the answer. */
interface HookQuestion {
  readonly question: PushQuestion
  readonly signal: AbortSignal
}

/** Does the step of the ref-update pipeline that Git asks for. */
async function answer(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  push: Push,
  { question, signal }: HookQuestion,
): Promise<PushAnswer> {
  const run = (hook: HookName, updates = question.updates) =>
    runGitHook(app, caller, repositoryId, hook, {
      pushed: { ...question, updates, origin: 'push' },
      signal,
    })
  switch (question.hook) {
    case 'pre-receive':
      return review(app, caller, repositoryId, push, {
        question,
        run: (updates) => run('pre-receive', updates),
      })
    case 'proc-receive': {
      const { results, lines } = await propose(app, caller, repositoryId, push.proposals)
      return { accepted: true, lines, report: procReceiveReport(results) }
    }
    case 'update': {
      if (push.updateHooksMs > MAX_UPDATE_HOOKS_TIME * app.settings.hookTimeoutMs) {
        return refusal([
          'the update hooks of this push have taken too long: push the other refs again',
        ])
      }
      const began = performance.now()
      const verdict = await run('update')
      push.updateHooksMs += performance.now() - began
      return answerOf(verdict)
    }
    case 'post-receive':
      // The hook may look up the updated refs. Git asks about moved refs only.
      await record(app, repositoryId, push)
      return answerOf(
        await run('post-receive'),
        await messagesOf(app, caller, repositoryId, question),
      )
  }
}

/** A push that waits for its review, and the hook that comes after. */
interface Review {
  readonly question: PushQuestion
  run(updates: readonly RefUpdate[]): Promise<HookVerdict>
}

/** Proposals of one push. Each takes Git processes and transactions. */
const MAX_PROPOSALS = 20

/** Reviews a push, and records that refs are about to move. */
async function review(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  push: Push,
  { question, run }: Review,
): Promise<PushAnswer> {
  const proposed = question.updates.filter(isProposal)
  const others = question.updates.filter((update) => !isProposal(update))
  if (proposed.length > MAX_PROPOSALS)
    return refusal([`a push can open at most ${MAX_PROPOSALS} pull requests`])
  const problem = proposed.length > 0 ? await proposalProblem(app, caller, repositoryId) : undefined
  if (problem !== undefined) return refusal([problem])
  const reviewed = { question: { ...question, updates: others }, ...push }
  const { allowed, texts, notes, lfsOids } = await reviewPush(app, caller, repositoryId, reviewed)
  if (!allowed) return refusal(texts)
  const updates = [...allowed, ...proposed]
  // Git moves nothing.
  if (updates.length === 0) return { accepted: true, lines: errorLines(texts) }
  push.proposals = { updates: proposed, options: optionsOf(question), isAtomic: push.isAtomic }
  try {
    const { quarantine } = question
    const accepting = { allowed: updates, quarantine, lfsOids, run: () => run(updates) }
    const accepted = await accept(app, caller, repositoryId, push, accepting)
    return { ...accepted, lines: [...errorLines(texts), ...notes, ...accepted.lines] }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (error.reason === 'QUOTA_EXCEEDED') return refusal([quotaText(error.metadata)])
    if (error.reason !== 'LFS_OBJECTS_MISSING') throw error
    return refusal((error.metadata.text ?? '').split('\n'))
  }
}

function isProposal({ name }: RefUpdate): boolean {
  return PROPOSAL_REFS.some((prefix) => name.startsWith(prefix))
}

/** Returns the texts of the push options, of which Git tells hooks by numbered variables. */
function optionsOf({ pushOptions }: PushQuestion): string[] {
  const { GIT_PUSH_OPTION_COUNT: count = '0' } = pushOptions
  return Array.from({ length: Number(count) }, (_, i) => pushOptions[`GIT_PUSH_OPTION_${i}`] ?? '')
}

/** Opens and updates the pull requests of a push. */
async function propose(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  proposals: Proposals | undefined,
): Promise<ProposalResults> {
  for (const { propose: answerTo } of app.refObservers)
    if (answerTo && proposals) return answerTo(app, caller, repositoryId, proposals)
  return { results: [], lines: [] }
}

/** Returns why a push is refused when a prune has removed objects that it needs. */
async function removedObjects(
  ...args: Parameters<typeof checkObjectsRemain>
): Promise<string | undefined> {
  try {
    await checkObjectsRemain(...args)
    return undefined
  } catch (error) {
    if (error instanceof DomainError && error.reason === 'OBJECTS_REMOVED')
      return 'the repository was being cleaned: push again'
    throw error
  }
}

/** Updates that the review allows. */
interface AllowedPush {
  readonly allowed: readonly RefUpdate[]
  readonly quarantine: string | undefined
  /** The objects of Git LFS that the push needs. */
  readonly lfsOids: readonly string[]
  /** Runs the hook `pre-receive`. */
  run(): Promise<HookVerdict>
}

/**
 * Lets Git move refs if quotas and the hook allow that.
 *
 * @throws QUOTA_EXCEEDED, LFS_OBJECTS_MISSING
 */
async function accept(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  push: Push,
  { allowed, quarantine, lfsOids, run }: AllowedPush,
): Promise<PushAnswer> {
  const reservation = await reserveForUpdates(app, caller, repositoryId, allowed, quarantine)
  const verdict = await run()
  if (push.isStopped) return refusal(['the push was interrupted'])
  if (verdict.accepted) {
    const pushed = { pusherId: caller.user.id, updates: allowed, reservation }
    const lease = await app.coordination.lease()
    const keep = (tx: Tx) => keepPushedObjects(tx, repositoryId, lfsOids)
    push.accepted = {
      updateId: await recordPendingUpdate(app, repositoryId, pushed, keep),
      updates: allowed,
    }
    if (push.hasEnded) await record(app, repositoryId, push)
    const removed = await removedObjects(app, repositoryId, allowed, quarantine)
    if (removed !== undefined) {
      await record(app, repositoryId, push)
      return refusal([removed])
    }
    // Others have ended the pending update of a server that was stopped for long.
    lease.check()
  }
  return answerOf(verdict)
}

/**
 * Returns the output of a hook unchanged. A problem that the server found looks like a refusal.
 *
 * @param messages lines after the output.
 */
function answerOf(
  { accepted, output, problem }: HookVerdict,
  messages: readonly string[] = [],
): PushAnswer {
  const lines = output === '' ? [] : output.replace(/\n$/, '').split('\n')
  return {
    accepted,
    lines: [...lines, ...errorLines(problem === undefined ? [] : [problem]), ...messages],
  }
}

/** Returns lines for the pusher about moved refs. A failure to find them does not fail the push. */
async function messagesOf(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { updates }: PushQuestion,
): Promise<string[]> {
  try {
    const lines = app.refObservers.map((o) => o.pushMessages(app, caller, repositoryId, updates))
    return (await Promise.all(lines)).flat()
  } catch (err) {
    app.log.error({ err, repository: repositoryId }, 'messages about a push could not be found')
    return []
  }
}
