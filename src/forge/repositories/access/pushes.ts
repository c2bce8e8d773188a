import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import type { ReposApp } from '../ports.ts'
import { type OpenRepository, openRepository } from './permissions.ts'

/**
 * Opens a repository for a push. The caller may write to it, or push to some of its branches for
 * another reason. The ref-update pipeline checks which branches when refs are about to move.
 *
 * @param branch the only branch to consider; all of them when left out.
 * @throws as `openRepository` for writing
 */
export async function openForPush(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  branch?: string,
): Promise<OpenRepository> {
  try {
    return await openRepository(app, caller, name, 'write')
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason !== 'REPOSITORY_ACCESS_DENIED') throw error
    const open = await openRepository(app, caller, name, 'none')
    if (!suffices(open.units.code, 'read')) throw error
    const branches = branch === undefined ? undefined : [branch]
    if ((await pushableBranches(app, caller, open, branches)).size === 0) throw error
    return open
  }
}

/** Returns the branches that a caller may push to without write access to the repository. */
export async function pushableBranches(
  app: ReposApp,
  caller: SignedIn,
  open: Pick<OpenRepository, 'repository' | 'owner'>,
  branches?: readonly string[],
): Promise<ReadonlySet<string>> {
  const sets = await Promise.all(
    app.refObservers.map((observer) => observer.pushableBranches(app, caller, open, branches)),
  )
  return new Set(sets.flatMap((set) => [...set]))
}
