import { createRequire } from 'node:module'
import type { NodeGit } from 'nodegit'

const requireAddon = createRequire(import.meta.url)

/**
 * Returns libgit2. The first call loads it, which takes 0.15 s of a core and blocks the process: commands
 * that read no repository do without, and a server loads it as soon as it has said that it is ready.
 */
export function libgit2(): NodeGit {
  return requireAddon('nodegit')
}

/** Returns libgit2 with the options of this program, which are those of the whole process. */
export function configuredLibgit2(): NodeGit {
  const git = libgit2()
  const { Libgit2 } = git
  // The owner of a folder is irrelevant: the data folder may come from the backup of another user or
  // be a volume of a container. Only the operator can write there (safe.directory in git-config(1)).
  Libgit2.opts(Libgit2.OPT.SET_OWNER_VALIDATION, 0)
  // Acknowledged changes must survive a power cut.
  Libgit2.opts(Libgit2.OPT.ENABLE_FSYNC_GITDIR, 1)
  return git
}
