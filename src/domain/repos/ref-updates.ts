import { GitError } from '../../git/errors.ts'
import { type RefUpdate, updateRefs } from '../../git/refs.ts'
import type { SignedIn } from '../access.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { recordRefs } from './ref-index.ts'
import { forgetNote, noteUpdates } from './ref-notes.ts'
import { reviewUpdates } from './ref-review.ts'

/**
 * The one door for refs: whatever moves one goes through here, in the order of review, note, move, record. Of a push Git does the
 * third by itself.
 */

/**
 * Moves refs as somebody asks over the API, all of them or none, by the rules for a push of theirs. Their objects have to be stored
 * before.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_UNIT_CLOSED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR and REPOSITORY_ACCESS_DENIED by
 *   what holds now; REF_REFUSED and TAG_PROTECTED by the rules; REF_NAME_COLLISION; REF_CHANGED when a ref does not hold what the
 *   caller saw, or somebody else is moving it.
 */
export async function pushUpdates(
  app: App,
  caller: SignedIn,
  repositoryId: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  const [refusal] = await reviewUpdates(app, caller, repositoryId, { updates, quarantine: undefined })
  if (refusal) throw new DomainError(refusal.reason, refusal.metadata)
  try {
    await applyUpdates(app, repositoryId, updates)
  } catch (error) {
    throw error instanceof GitError ? refusalOf(error, updates) : error
  }
}

/**
 * Moves refs on the server's own account: all of them or none. Their objects have to be stored before.
 *
 * @throws GitError STALE, NAME_COLLISION, LOCKED, INVALID_NAME, NOT_FOUND.
 */
export async function applyUpdates(app: App, repositoryId: number, updates: readonly RefUpdate[]): Promise<void> {
  const note = await noteUpdates(app, repositoryId)
  try {
    await updateRefs(app.git, repositoryId, updates)
  } finally {
    // If they have not moved, the caller saw something else than Git has: the rows, perhaps.
    await recordUpdates(app, repositoryId, note, updates)
  }
}

/** Records what Git made of updates, as far as it made anything of them, and removes their note. */
export function recordUpdates(
  app: App,
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
export function recordAllRefs(app: App, repositoryId: number, note: number): Promise<void> {
  return recordNoted(app, repositoryId, note, 'all')
}

async function recordNoted(
  app: App,
  repositoryId: number,
  note: number,
  extent: readonly string[] | 'all',
): Promise<void> {
  try {
    await recordRefs(app, repositoryId, [note], extent)
  } finally {
    forgetNote(app, note)
  }
}

/** What went wrong in Git's hands, for who asked. What is the server's own fault stays as it is. */
function refusalOf(error: GitError, updates: readonly RefUpdate[]): Error {
  const ref = updates.length === 1 ? (updates[0]?.name ?? '') : ''
  if (error.kind === 'STALE' || error.kind === 'LOCKED') return new DomainError('REF_CHANGED', { ref })
  if (error.kind === 'NAME_COLLISION') {
    return new DomainError('REF_NAME_COLLISION', { ref, text: 'The branch with the same name already exists.' })
  }
  return error
}
