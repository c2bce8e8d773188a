import type { RefUpdate } from '../../../git/core/ref-names.ts'
import {
  errorLines,
  type PushAnswer,
  type PushQuestion,
  refusal,
} from '../../../git/hooks/push-review.ts'
import { findLargeText, MAX_COMMIT_BYTES } from '../../../git/objects/large-texts.ts'
import type { GitProcess } from '../../../git/processes/running-git.ts'
import { repositoryPath } from '../../../git/repositories/repositories.ts'
import {
  type PackRequest,
  startReceivePack,
  startUploadPack,
} from '../../../git/transfer/pack-services.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import { type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkWritable, openRepository } from '../access/permissions.ts'
import { openForPush } from '../access/pushes.ts'
import type { ReposApp } from '../ports.ts'
import { type HookVerdict, hasGitHooks, runGitHook } from './hook-runs.ts'
import { recordPendingUpdate } from './pending-ref-updates.ts'
import { reviewUpdates } from './ref-review.ts'
import { recordUpdates } from './ref-updates.ts'

/** To fetch, or to push. */
export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** Starts the service that was allowed, on the repository that it was allowed on. */
export type StartGitService = (request: PackRequest) => GitProcess

/**
 * Lets a caller fetch from a repository or push to it, or not.
 *
 * Anonymous callers are told to sign in wherever that could help, whether the repository exists or
 * not.
 *
 * @throws UNAUTHENTICATED, SCOPE_MISSING, REPOSITORY_NOT_FOUND, REPOSITORY_MOVED,
 *   REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR
 */
export async function openGitService(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  service: GitService,
): Promise<StartGitService> {
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
    return (request) => startUploadPack(app.git, repository.id, request)
  }
  const { repository } = await openForPush(app, caller, name)
  checkWritable(repository)
  const hasHooks = await hasGitHooks(app, repository.id)
  return (request) => startPush(app, caller, repository, request, hasHooks)
}

/** Refusals of one push that its pusher is told of. */
const MAX_SHOWN_REFUSALS = 50

/**
 * How often the longest time of a script the `update` hooks of one push may take together: it can
 * have any number of refs.
 */
const MAX_UPDATE_HOOKS_TIME = 20

/** What has become of a push so far. */
interface Push {
  /** From here on Git may be moving refs. */
  accepted: { readonly updateId: number; readonly updates: readonly RefUpdate[] } | undefined
  /** Once what Git made of them is being recorded. */
  recorded: Promise<void> | undefined
  /** Nobody waits for it any more: what has come may not be all of it. */
  isStopped: boolean
  /** Git has ended: who notes something from then on records it. */
  hasEnded: boolean
  /** What `update` hooks have taken. */
  updateHooksMs: number
}

/**
 * Starts the half that clients push to, as a process that has ended when everything is recorded.
 * Once its refs move it is not stopped any more: then nothing of it is in the client's hands.
 *
 * @param hasHooks whether the repository has hooks. Those that it gets meanwhile are for the next
 *   push.
 */
function startPush(
  app: ReposApp,
  caller: SignedIn,
  repository: Repository,
  request: PackRequest,
  hasHooks: boolean,
): GitProcess {
  const push: Push = {
    accepted: undefined,
    recorded: undefined,
    isStopped: false,
    hasEnded: false,
    updateHooksMs: 0,
  }
  const pusher = { accountId: caller.user.id, hasScripts: hasHooks }
  const git = startReceivePack(
    app.git,
    repository.id,
    request,
    pusher,
    async (question, signal) => {
      try {
        return await answer(app, caller, repository.id, push, { question, signal })
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
  // Whether or not the client waits, the server does before it closes the database.
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

/** Records what Git made of a push, once. */
async function record(app: ReposApp, repositoryId: number, push: Push): Promise<void> {
  const { accepted } = push
  if (accepted)
    push.recorded ??= recordUpdates(app, repositoryId, accepted.updateId, accepted.updates)
  await push.recorded
}

/** A question of a hook, and the signal that withdraws it. */
interface HookQuestion {
  readonly question: PushQuestion
  readonly signal: AbortSignal
}

/** Answers Git, in the order of the door for refs. */
async function answer(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  push: Push,
  { question, signal }: HookQuestion,
): Promise<PushAnswer> {
  const run = () =>
    runGitHook(app, caller, repositoryId, question.hook, {
      pushed: { ...question, origin: 'push' },
      signal,
    })
  switch (question.hook) {
    case 'pre-receive': {
      const refusals = await reviewPush(app, caller, repositoryId, question)
      if (refusals.length > 0) return refusal(refusals)
      const verdict = await run()
      if (push.isStopped) return refusal(['the push was cut off'])
      if (verdict.accepted) {
        const { updates } = question
        const pushed = { pusherId: caller.user.id, updates }
        push.accepted = {
          updateId: await recordPendingUpdate(app, repositoryId, pushed),
          updates,
        }
        if (push.hasEnded) await record(app, repositoryId, push)
      }
      return answerOf(verdict)
    }
    case 'update': {
      if (push.updateHooksMs > MAX_UPDATE_HOOKS_TIME * app.settings.hookTimeoutMs) {
        return refusal(['the update hooks of this push have taken too long; push the rest again'])
      }
      const began = performance.now()
      const verdict = await run()
      push.updateHooksMs += performance.now() - began
      return answerOf(verdict)
    }
    case 'post-receive':
      // What the script looks up is there. Git asks about those refs alone that have moved, and so
      // do the messages.
      await record(app, repositoryId, push)
      return answerOf(await run(), await messagesOf(app, caller, repositoryId, question))
  }
}

/**
 * What a script prints is shown as it is; what the server says to it looks like every refusal.
 *
 * @param messages lines that come behind.
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

/** The texts of what refuses a push, each once; none accepts it. */
async function reviewPush(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  push: PushQuestion,
): Promise<string[]> {
  try {
    // A push that only deletes brings no objects.
    const large =
      push.quarantine &&
      (await findLargeText(
        app.git.processes,
        repositoryPath(app.git, repositoryId),
        push.quarantine,
      ))
    if (large) return [`${large} is a commit or tag of more than ${MAX_COMMIT_BYTES} bytes`]
    const refusals = await reviewUpdates(app, caller, repositoryId, push)
    const texts = [...new Set(refusals.map(({ text }) => text))]
    const more = texts.length - MAX_SHOWN_REFUSALS
    return more > 0 ? [...texts.slice(0, MAX_SHOWN_REFUSALS), `and ${more} more`] : texts
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (error.reason === 'SERVER_BUSY') return ['the server is busy: push again later']
    if (error.reason === 'GIT_TIMEOUT')
      return ['checking the push took longer than the server allows']
    // What was allowed when the push began is so no more.
    return ['User permission denied for writing.']
  }
}
