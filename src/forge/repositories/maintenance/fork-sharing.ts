import { shareNewPack } from '../../../platform/git/maintenance/relinking.ts'
import { keepingReplaced } from '../../../platform/git/maintenance/replaced-files.ts'
import type { RepositoryState } from '../../../platform/git/maintenance/state.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import { listDescendants } from '../lifecycle/forks.rows.ts'
import { findRepositoryById } from '../lifecycle/repositories.rows.ts'
import { isHidden } from '../lifecycle/repository-fields.ts'
import type { ReposApp } from '../ports.ts'
import { measureNow } from '../refs/repository-size.ts'

/** Forks that get the new pack of their root, the oldest first. */
const MAX_FORKS = 1_000

/**
 * Returns the state that decides which packs `full` leaves alone. The root of a network of forks also
 * writes the packs that forks have, since they get the new pack.
 */
export async function stateForFull(
  app: ReposApp,
  id: number,
  state: RepositoryState,
): Promise<RepositoryState> {
  const repository = await findRepositoryById(app.db, id)
  if (!repository || repository.parent_id !== null) return state
  return { ...state, packs: state.packs.map((pack) => ({ ...pack, isShared: false })) }
}

/**
 * Lets the forks of a repository that was packed as a whole share the new pack. A fork of a hidden
 * repository gets no object that the fork does not have: its readers may not read the other one.
 */
export async function shareWithForks(
  app: ReposApp,
  id: number,
  signal: AbortSignal,
): Promise<void> {
  const repository = await findRepositoryById(app.db, id)
  if (!repository || repository.parent_id !== null) return
  const owner = await findOwnerById(app.db, repository.owner_id)
  const mayLearn = owner !== undefined && !isHidden(repository, owner)
  const changed: number[] = []
  for (const fork of await listDescendants(app.db, id, MAX_FORKS)) {
    signal.throwIfAborted()
    const share = () =>
      keepingReplaced(app.git, fork, app.clock.now(), () =>
        shareNewPack(app.git, { fromId: id, toId: fork, mayLearn }, signal),
      )
    try {
      if (await app.coordination.exclusive(`maintenance ${fork}`, share)) changed.push(fork)
    } catch (err) {
      signal.throwIfAborted()
      // The fork keeps the old packs, or was deleted. The others still share the new one.
      app.log.warn({ err, repository: fork }, 'a fork does not share the new pack of its parent')
    }
  }
  // Each pays for a part of the shared pack.
  for (const fork of changed) await measureNow(app, fork)
}
