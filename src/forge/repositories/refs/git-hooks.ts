import { HOOKS } from '../../../platform/git/hooks/push-review.ts'
import { actsAsAdministrator, type Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkNotArchived, type OpenRepository, openRepository } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import * as rows from './git-hooks.rows.ts'

/** A longer script should be a program on the server that a short script calls. */
const MAX_SCRIPT_BYTES = 256 * 1024

/** A Git hook of a repository. */
export interface GitHook {
  readonly name: string
  /** Undefined if the hook has no script. */
  readonly script: string | undefined
}

/**
 * Returns all hooks of a repository, with and without a script.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED, GIT_HOOKS_DISABLED,
 *   GIT_HOOK_ACCESS_DENIED
 */
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

/**
 * Returns a hook of a repository.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED, GIT_HOOKS_DISABLED,
 *   GIT_HOOK_ACCESS_DENIED, GIT_HOOK_NOT_FOUND
 */
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
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED, GIT_HOOKS_DISABLED,
 *   GIT_HOOK_ACCESS_DENIED, REPOSITORY_ARCHIVED, GIT_HOOK_NOT_FOUND, INVALID_FIELD
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

/**
 * Removes the script of a hook, if it has one.
 *
 * @throws the same as `editGitHook`, except INVALID_FIELD.
 */
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
