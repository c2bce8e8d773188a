/** Permission levels for a repository or a part of one. Each level includes those before it. */
export const LEVELS = ['none', 'read', 'write', 'admin', 'owner'] as const

export type RepositoryAccess = (typeof LEVELS)[number]

/** Returns whether a level is at least the level that is needed. */
export function suffices(access: RepositoryAccess, needed: RepositoryAccess): boolean {
  return LEVELS.indexOf(access) >= LEVELS.indexOf(needed)
}
