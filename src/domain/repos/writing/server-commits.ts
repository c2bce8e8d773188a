import type { SignCommit } from '../../../git/objects/commit-content.ts'
import { type NewCommit, storeCommit } from '../../../git/objects/object-writes.ts'
import type { RawCommit } from '../../../git/objects/raw-objects.ts'
import type { ReposApp } from '../ports.ts'

/** What signs the commits that the server makes; undefined where it does not sign. */
export function commitSigner({ settings, commitSigning }: ReposApp): SignCommit | undefined {
  return settings.signing ? commitSigning.sign : undefined
}

/**
 * Stores a commit that the server makes for somebody, signed by the instance unless it does not
 * sign.
 */
export function createServerCommit(
  app: ReposApp,
  repositoryId: number,
  commit: NewCommit,
): Promise<RawCommit> {
  return storeCommit(app.git, repositoryId, commit, commitSigner(app))
}

/** The same, for its id. */
export async function storeServerCommit(
  app: ReposApp,
  repositoryId: number,
  commit: NewCommit,
): Promise<string> {
  return (await createServerCommit(app, repositoryId, commit)).id
}
