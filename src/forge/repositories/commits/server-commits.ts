import type { SignCommit } from '../../../platform/git/objects/commit-content.ts'
import { type NewCommit, storeCommit } from '../../../platform/git/objects/object-writes.ts'
import type { RawCommit } from '../../../platform/git/objects/raw-objects.ts'
import type { ReposApp } from '../ports.ts'

/** Returns the signer of commits by the server; undefined if signing is disabled. */
export function commitSigner({ settings, commitSigning }: ReposApp): SignCommit | undefined {
  return settings.signing ? commitSigning.sign : undefined
}

/**
 * Stores a commit that the server creates for a user. The instance signs it if signing is enabled.
 */
export function createServerCommit(
  app: ReposApp,
  repositoryId: number,
  commit: NewCommit,
): Promise<RawCommit> {
  return storeCommit(app.git, repositoryId, commit, commitSigner(app))
}

/** Does the same as `createServerCommit`, and returns the id. */
export async function storeServerCommit(
  app: ReposApp,
  repositoryId: number,
  commit: NewCommit,
): Promise<string> {
  return (await createServerCommit(app, repositoryId, commit)).id
}
