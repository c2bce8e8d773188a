import { GitError } from '../../../git/core/errors.ts'
import type { RefUpdate } from '../../../git/core/ref-names.ts'
import { updateRefs } from '../../../git/refs/refs.ts'
import { findBranchRename, putBranchRename } from '../../../storage/repos/branch-renames.ts'
import type { Tx } from '../../../storage/schema/schema.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { Unit } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import type { PullPush } from '../protection/pull-pushes.ts'
import { checkByGitHook, runGitHook } from './hook-runs.ts'
import { endPendingUpdate, isRunning, recordPendingUpdate } from './pending-ref-updates.ts'
import { reconcileRefs, recordRefs } from './ref-index.ts'
import { reviewUpdates } from './ref-review.ts'

/**
 * The one door for refs: whatever moves one goes through here, in the order of review, hooks that
 * may refuse, note, move, record, and the hook that is told. Of a push Git does the move by itself,
 * and asks for the rest in `git-services.ts`.
 */

/** How updates that somebody asks for differ from a push of theirs. */
export interface PushOptions {
  /** The part of the repository whose writers may do that; the code by default. */
  readonly unit?: Unit
  /** The branch that they give another name. The rules about renames have let them. */
  readonly rename?: RenamedBranch
  /** The pull request that it is about. */
  readonly pull?: PullPush
}

/** What a branch is called, and is to be called, without `refs/heads/`. */
export interface RenamedBranch {
  readonly oldName: string
  readonly newName: string
}

/**
 * Moves refs as somebody asks over the API, all of them or none, by the rules for a push of theirs.
 * Their objects have to be stored before.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_UNIT_CLOSED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR
 *   and REPOSITORY_ACCESS_DENIED by what holds now; REF_REFUSED, BRANCH_PROTECTED and TAG_PROTECTED
 *   by the rules; SERVER_BUSY and GIT_TIMEOUT when Git cannot say what they ask;
 *   REF_NAME_COLLISION; REF_CHANGED when a ref does not hold what the caller saw, or somebody else
 *   is moving it; GIT_HOOK_REFUSED, TOO_MANY_GIT_HOOKS.
 */
export async function pushUpdates(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  updates: readonly RefUpdate[],
  { unit = 'code', rename, pull }: PushOptions = {},
): Promise<void> {
  const origin = rename ? 'rename' : 'push'
  const merge = pull?.trigger === 'pr-merge-to-base' ? pull : undefined
  const proposed = { updates, quarantine: undefined, unit, origin, merge } as const
  const [refusal] = await reviewUpdates(app, caller, repositoryId, proposed)
  if (refusal) throw new DomainError(refusal.reason, refusal.metadata)
  // The objects are in the repository already, where nothing leads to them if a hook refuses: there
  // is no quarantine.
  await checkByGitHook(app, caller, repositoryId, 'pre-receive', { updates, pull })
  // As in a push that is atomic, one ref that is refused refuses all.
  for (const update of updates)
    await checkByGitHook(app, caller, repositoryId, 'update', { updates: [update], pull })
  try {
    await applyUpdates(app, repositoryId, updates, {
      pusherId: caller.user.id,
      rename,
      note: merge?.note,
    })
  } catch (error) {
    throw error instanceof GitError ? refusalOf(error, updates) : error
  }
  // What becomes of it changes nothing any more.
  await runGitHook(app, caller, repositoryId, 'post-receive', {
    pushed: {
      updates,
      origin: 'api',
      pull,
    },
  }).catch((err: unknown) => app.log.error({ err, repository: repositoryId }, 'a Git hook failed'))
}

/** Whom updates are by, and what they are besides. */
interface Origin {
  readonly pusherId: number
  readonly rename: RenamedBranch | undefined
  /** Writes down, together with the note of the updates, what they mean for something else. */
  readonly note: ((tx: Tx, note: number) => Promise<void>) | undefined
}

/**
 * Moves refs: all of them or none. Their objects have to be stored before.
 *
 * @param origin undefined for what the server does on its own account.
 * @throws GitError STALE, NAME_COLLISION, LOCKED, INVALID_NAME, NOT_FOUND; REF_CHANGED when
 *   somebody else is renaming the branch; what writing down throws, before anything moves.
 */
export async function applyUpdates(
  app: ReposApp,
  repositoryId: number,
  updates: readonly RefUpdate[],
  origin?: Origin,
): Promise<void> {
  const also = origin?.rename ? noteRename(app, repositoryId, origin.rename) : origin?.note
  const push = origin && { pusherId: origin.pusherId, updates }
  const note = await recordPendingUpdate(app, repositoryId, also, push)
  const failure = await updateRefs(app.git, repositoryId, updates).then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  try {
    // If they have not moved, the caller saw something else than Git has: the rows, perhaps.
    await recordUpdates(app, repositoryId, note, updates)
  } catch (err) {
    if (!failure) throw err
    // Why they have not moved is for who asked; that it could not be recorded, for the operator.
    // The note stays.
    app.log.error({ err, repository: repositoryId }, 'what became of refs could not be recorded')
  }
  if (failure) throw failure.error
}

/**
 * What goes with the name of a branch follows when it is recorded, by whoever records it. Of two
 * who give it another name at once the first is not forgotten for the second, who fails here if not
 * in Git.
 */
function noteRename(app: ReposApp, repositoryId: number, { oldName, newName }: RenamedBranch) {
  return async (tx: Tx, note: number) => {
    const known = await findBranchRename(tx, repositoryId, oldName)
    if (known && known.note_id !== null && isRunning(app, known.note_id)) {
      throw new DomainError('REF_CHANGED', { ref: `refs/heads/${oldName}` })
    }
    await putBranchRename(tx, {
      repository_id: repositoryId,
      old_name: oldName,
      new_name: newName,
      note_id: note,
    })
  }
}

/** Records what Git made of updates, as far as it made anything of them, and removes their note. */
export function recordUpdates(
  app: ReposApp,
  repositoryId: number,
  note: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  return recordNoted(
    app,
    repositoryId,
    note,
    updates.map(({ name }) => name),
  )
}

/** Records whatever Git made of refs of which nobody knows the names, as a fetch into a mirror. */
export function recordAllRefs(app: ReposApp, repositoryId: number, note: number): Promise<void> {
  return recordNoted(app, repositoryId, note, 'all')
}

async function recordNoted(
  app: ReposApp,
  repositoryId: number,
  note: number,
  extent: readonly string[] | 'all',
): Promise<void> {
  try {
    await recordRefs(app, repositoryId, [note], extent)
  } catch (error) {
    endPendingUpdate(app, note)
    // Nobody need come by: whoever watches learns of it when the refs are read again.
    app.background.run('record refs again', () => reconcileRefs(app, repositoryId))
    throw error
  }
  endPendingUpdate(app, note)
}

/** What went wrong in Git's hands, for who asked. What is the server's own fault stays as it is. */
function refusalOf(error: GitError, updates: readonly RefUpdate[]): Error {
  const ref = updates.length === 1 ? (updates[0]?.name ?? '') : ''
  if (error.kind === 'STALE' || error.kind === 'LOCKED')
    return new DomainError('REF_CHANGED', { ref })
  if (error.kind === 'NAME_COLLISION') {
    return new DomainError('REF_NAME_COLLISION', {
      ref,
      text: 'The branch with the same name already exists.',
    })
  }
  return error
}
