import { GitError } from '../../../platform/git/core/errors.ts'
import type { RefUpdate } from '../../../platform/git/core/ref-names.ts'
import type { HookEnding, HookResult } from '../../../platform/git/hooks/hook-supervision.ts'
import { HOOKS, type HookName } from '../../../platform/git/hooks/push-review.ts'
import { cleanSigner } from '../../../platform/git/objects/commits.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { Owner } from '../../accounts/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { actsAsAdministrator, type Caller, type SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkNotArchived, type OpenRepository, openRepository } from '../access/permissions.ts'
import { gitIdentity } from '../commits/commit-authors.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import type { ReposApp } from '../ports.ts'
import type { PullPush } from '../protection/protection-rules.ts'
import type { Repository } from '../schema.ts'
import * as rows from './git-hooks.rows.ts'

/** A longer script should be a program on the server that a short script calls. */
const MAX_SCRIPT_BYTES = 256 * 1024

/** A Git hook of a repository. */
export interface GitHook {
  readonly name: string
  /** Undefined if the hook has no script. */
  readonly script: string | undefined
}

/** Returns all hooks of a repository, with and without a script. */
export async function listGitHooks(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<GitHook[]> {
  const { repository } = await openForHooks(app, caller, name, 'read')
  const scripts = new Map(
    (await rows.listGitHooks(app.db, repository.id)).map((hook) => [hook.name, hook.content]),
  )
  return HOOKS.map((hook) => ({ name: hook, script: scripts.get(hook) }))
}

/** Returns a hook of a repository. */
export async function getGitHook(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  hook: string,
): Promise<GitHook> {
  const { repository } = await openForHooks(app, caller, name, 'read')
  checkHookName(hook)
  return { name: hook, script: await rows.findHookScript(app.db, repository.id, hook) }
}

/**
 * Sets the script of a hook. A script of white space only removes it.
 *
 * @param text carriage returns are removed, since the kernel would look for an interpreter whose
 *   name ends in one. Undefined changes nothing.
 */
export async function editGitHook(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  hook: string,
  text: string | undefined,
): Promise<GitHook> {
  const { repository } = await openForHooks(app, caller, name, 'write')
  checkHookName(hook)
  if (text === undefined)
    return { name: hook, script: await rows.findHookScript(app.db, repository.id, hook) }
  const script = readScript(text)
  if (script === undefined) await rows.deleteGitHook(app.db, repository.id, hook)
  else {
    const update_time = nowSeconds(app.clock)
    await rows.putGitHook(app.db, {
      repository_id: repository.id,
      name: hook,
      content: script,
      update_time,
    })
  }
  app.log.info(
    { repository: repository.id, hook, user: callerId(caller), isActive: script !== undefined },
    'a Git hook was changed',
  )
  return { name: hook, script }
}

/** Removes the script of a hook, if it has one. */
export async function deleteGitHook(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  hook: string,
): Promise<void> {
  await editGitHook(app, caller, name, hook, '')
}

function callerId(caller: Caller): number | undefined {
  return caller.kind === 'user' ? caller.user.id : undefined
}

/**
 * Opens a repository for a caller who is an administrator of the repository and of the instance,
 * since a hook runs as the user of the server process.
 */
async function openForHooks(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  level: 'read' | 'write',
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'admin')
  if (!app.settings.gitHooks) throw new DomainError('GIT_HOOKS_DISABLED')
  if (!actsAsAdministrator(caller, level)) throw new DomainError('GIT_HOOK_ACCESS_DENIED')
  if (level === 'write') checkNotArchived(open.repository)
  return open
}

function checkHookName(name: string): void {
  if (!HOOKS.some((known) => known === name)) throw new DomainError('GIT_HOOK_NOT_FOUND')
}

/** Returns the script as it is stored; undefined for white space. */
function readScript(text: string): string | undefined {
  if (Buffer.byteLength(text) > MAX_SCRIPT_BYTES) {
    throw new DomainError('INVALID_FIELD', {
      field: 'content',
      max_bytes: String(MAX_SCRIPT_BYTES),
    })
  }
  if (text.includes('\0')) throw new DomainError('INVALID_FIELD', { field: 'content' })
  return text.trim() === '' ? undefined : text.replaceAll('\r', '')
}

/** Ref updates, before or after they happen, as hooks see them. */
interface HookedUpdates {
  readonly updates: readonly RefUpdate[]
  /** The folder with the objects of a push. Undefined when all objects are in the repository. */
  readonly quarantine?: string | undefined
  /** Environment variables that Git sets for the push options of the client. */
  readonly pushOptions?: Readonly<Record<string, string>>
  /** Whether a client pushes, or the server updates refs for a caller of the API. */
  readonly origin: 'push' | 'api'
  /** The pull request that the updates belong to. */
  readonly pull?: PullPush | undefined
}

/** The result of a hook. */
export interface HookVerdict {
  readonly accepted: boolean
  /** The output of the script. */
  readonly output: string
  /** Why the server refuses the updates. Undefined if the script has decided. */
  readonly problem: string | undefined
  /** The reason of a refusal. */
  readonly reason: 'GIT_HOOK_REFUSED' | 'TOO_MANY_GIT_HOOKS'
}

const ACCEPTED: HookVerdict = {
  accepted: true,
  output: '',
  problem: undefined,
  reason: 'GIT_HOOK_REFUSED',
}

const ZEROS = '0'.repeat(40)

/**
 * Limit of the text in errors of the API. gRPC sends the text twice in trailers, percent-encoded
 * and in base64, and clients limit the size of trailers.
 */
const MAX_TEXT_BYTES = 2_000

/** Returns whether a repository has hooks and the instance runs them. */
export async function hasGitHooks(app: ReposApp, repositoryId: number): Promise<boolean> {
  return app.settings.gitHooks && (await rows.listGitHooks(app.db, repositoryId)).length > 0
}

/** The updates of one run of a hook, and the signal that aborts the run. */
export interface HookRun {
  readonly pushed: HookedUpdates
  readonly signal?: AbortSignal
}

/**
 * Runs a hook of a repository. The updates are accepted if the repository does not have the hook,
 * or if hooks are disabled.
 */
export async function runGitHook(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  hook: HookName,
  { pushed, signal }: HookRun,
): Promise<HookVerdict> {
  const script = app.settings.gitHooks
    ? await rows.findHookScript(app.db, repositoryId, hook)
    : undefined
  const repository =
    script === undefined ? undefined : await findRepositoryById(app.db, repositoryId)
  const owner = repository && (await findOwnerById(app.db, repository.owner_id))
  if (script === undefined || !owner) return ACCEPTED
  const lines = pushed.updates.map(({ name, from = ZEROS, to = ZEROS }) => [from, to, name])
  const run = app.git.hooks.run({
    hook,
    script,
    // githooks(5): `update` gets one ref as arguments, the other hooks get all refs as lines.
    args:
      hook === 'update' ? lines.flatMap(([from = '', to = '', name = '']) => [name, from, to]) : [],
    input: hook === 'update' ? '' : lines.map((line) => `${line.join(' ')}\n`).join(''),
    repository: repositoryPath(app.git, repositoryId),
    quarantine: pushed.quarantine,
    env: { ...environmentOf(app, caller, repository, owner, pushed), ...pushed.pushOptions },
    timeoutMs: app.settings.hookTimeoutMs,
    signal,
  })
  return run.then(
    (result) => verdictOf(app, repositoryId, hook, result),
    (error: unknown) => {
      if (!(error instanceof GitError) || error.kind !== 'BUSY') throw error
      const problem = 'too many hooks are running; try again soon'
      return { accepted: false, output: '', problem, reason: 'TOO_MANY_GIT_HOOKS' }
    },
  )
}

/** Ref updates for a caller of the API. */
interface ApiUpdates {
  readonly updates: readonly RefUpdate[]
  readonly pull?: PullPush | undefined
}

/**
 * Runs a hook for ref updates of an API call.
 *
 * @throws GIT_HOOK_REFUSED, TOO_MANY_GIT_HOOKS
 */
export async function checkByGitHook(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  hook: HookName,
  { updates, pull }: ApiUpdates,
): Promise<void> {
  const verdict = await runGitHook(app, caller, repositoryId, hook, {
    pushed: {
      updates,
      origin: 'api',
      pull,
    },
  })
  if (!verdict.accepted) throw new DomainError(verdict.reason, { hook, text: plainText(verdict) })
}

function verdictOf(
  app: ReposApp,
  repositoryId: number,
  hook: HookName,
  { ending, output, stderr }: HookResult,
): HookVerdict {
  if (ending === 'not-started')
    app.log.error({ repository: repositoryId, hook, stderr }, 'a Git hook could not be started')
  else if (ending !== 'passed')
    app.log.info({ repository: repositoryId, hook, ending }, 'a Git hook refused, or was stopped')
  const problem = problemOf(hook, ending, app.settings.hookTimeoutMs)
  return { accepted: ending === 'passed', output, problem, reason: 'GIT_HOOK_REFUSED' }
}

function problemOf(hook: HookName, ending: HookEnding, timeoutMs: number): string | undefined {
  switch (ending) {
    case 'passed':
    case 'failed':
      return undefined
    case 'timeout':
      return `the ${hook} hook was stopped: it took longer than ${timeoutMs / 1000} s`
    case 'output':
      return `the ${hook} hook was stopped: it printed too much`
    case 'processes':
      return `the ${hook} hook was stopped: it started too many processes`
    case 'aborted':
      return `the ${hook} hook was stopped`
    case 'not-started':
      return `the ${hook} hook could not be started`
  }
}

/**
 * Returns environment variables with the names that hooks for Gitea read. A pusher cannot set any
 * of them.
 */
function environmentOf(
  app: ReposApp,
  caller: SignedIn,
  { id, name }: Repository,
  owner: Owner,
  { origin, pull }: HookedUpdates,
): Record<string, string> {
  const { user, credential } = caller
  return {
    GITEA_REPO_ID: String(id),
    GITEA_REPO_NAME: name,
    GITEA_REPO_USER_NAME: owner.name,
    GITEA_REPO_IS_WIKI: 'false',
    GITEA_PUSHER_ID: String(user.id),
    GITEA_PUSHER_NAME: user.username,
    ...(user.email !== '' && user.keep_email_private === 0 && { GITEA_PUSHER_EMAIL: user.email }),
    GITEA_KEY_ID: String(credential.kind === 'ssh key' ? (credential.keyId ?? 0) : 0),
    GITEA_DEPLOY_KEY_ID: String(credential.kind === 'deploy key' ? credential.id : 0),
    GITEA_PR_ID: String(pull?.pull.id ?? 0),
    ...(pull && { GITEA_PR_INDEX: String(pull.pull.number), GITEA_PUSH_TRIGGER: pull.trigger }),
    ...(pull?.trigger === 'merge-queue' && {
      BRANCHLINE_PR_INDEXES: (pull.pulls ?? []).map(({ number }) => number).join(' '),
    }),
    // No update skips the checks.
    GITEA_INTERNAL_PUSH: 'false',
    GITEA_ROOT_URL: `${app.publicUrl()}/`,
    ...(origin === 'push'
      ? { SSH_ORIGINAL_COMMAND: 'git-receive-pack' }
      : asCommitter(app, caller)),
  }
}

function asCommitter(app: ReposApp, caller: SignedIn): Record<string, string> {
  const { name, email } = cleanSigner(gitIdentity(app, caller))
  return {
    SSH_ORIGINAL_COMMAND: 'gitea-internal',
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  }
}

/**
 * Returns the text of a refusal without colours, without surrounding white space and without the
 * `error:` prefix of each line.
 */
function plainText({ output, problem }: HookVerdict): string {
  const lines = output.split('\n').map((line) =>
    line
      .replaceAll(ESCAPES, '')
      .trim()
      .replace(/^error: ?/, ''),
  )
  const text = [...lines, ...(problem === undefined ? [] : [problem])].join('\n').trim()
  return Buffer.from(text)
    .subarray(0, MAX_TEXT_BYTES)
    .toString('utf8')
    .replace(/\uFFFD$/, '')
}

/** Escape sequences for terminals (ECMA-48, 5.4), and other control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is about.
const ESCAPES = /\u001B\[[0-?]*[ -/]*[@-~]|[\u0000-\u0008\u000B-\u001F\u007F]/g
