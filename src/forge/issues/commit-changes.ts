import { createHash } from 'node:crypto'
import type { Commit } from '../../platform/git/objects/commits.ts'

/** Bytes of a commit that are read for its references. */
export const MAX_COMMIT_BYTES = 64 * 1024

/** Returns a digest that a commit and its copies, as of a rebase, have in common. */
export function changeKeyOf({ author, message }: Pick<Commit, 'author' | 'message'>): string {
  const { name, email, time, offsetMinutes } = author
  return createHash('sha256')
    .update(JSON.stringify([name, email, time, offsetMinutes, message]))
    .digest('hex')
}
