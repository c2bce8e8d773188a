import { type Caller, holdsScope, type SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import type { RepositoryName } from '../../core/names.ts'
import type { ReposApp } from '../ports.ts'
import type { Release } from '../releases/schema.ts'
import { checkNotArchived, type OpenRepository, openRepository } from './permissions.ts'

/** Returns whether a caller can see the draft releases of a repository. */
export function seesDrafts(caller: Caller, { units }: Pick<OpenRepository, 'units'>): boolean {
  return (
    caller.kind === 'user' &&
    holdsScope(caller, 'write:repository') &&
    suffices(units.releases, 'write')
  )
}

/**
 * Opens a repository for a change of its releases.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_ACCESS_DENIED,
 *   REPOSITORY_ARCHIVED
 */
export async function openForWriting(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
): Promise<OpenRepository> {
  const open = await openRepository(app, caller, name, 'write', 'releases')
  checkNotArchived(open.repository)
  return open
}

/**
 * Returns a release that the caller can see.
 *
 * @throws RELEASE_NOT_FOUND
 */
export function visibleRelease(
  caller: Caller,
  open: Pick<OpenRepository, 'units'>,
  release: Release | undefined,
): Release {
  const isHidden =
    release === undefined ||
    release.tag_only === 1 ||
    (release.draft === 1 && !seesDrafts(caller, open))
  if (isHidden) throw new DomainError('RELEASE_NOT_FOUND')
  return release
}
