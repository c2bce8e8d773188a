import type { Oid, Signature } from 'nodegit'
import { found, GitError } from '../core/errors.ts'
import { libgit2 } from '../core/libgit2.ts'
import { unlessAway } from '../maintenance/limbo.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'
import { objectCacheOf } from './object-cache.ts'
import { ObjectPresence } from './object-presence.ts'
import type { Signer } from './signers.ts'

export interface Commit {
  readonly id: string
  readonly treeId: string
  readonly parentIds: readonly string[]
  readonly author: Signer
  readonly committer: Signer
  readonly message: string
}

/** Characters that delimit names and addresses in commits. Git removes them (ident.c). */
const IDENTITY_DELIMITERS = /[<>\n\0]/g

/**
 * Characters that libgit2 removes at both ends of names and addresses, and Git at least in part.
 * libgit2 rejects a name that consists of them (is_crud in signature.c).
 */
const IDENTITY_CRUD = /^[\0- ,:;"\\']+|[\0- ,:;"\\']+$/g

/** Memory of all cached commits, of a commit without texts and parents, and of one parent. */
const MAX_CACHE_BYTES = 8 * 1024 ** 2
const COMMIT_BYTES = 600
const PARENT_BYTES = 64

/** Returns a commit by its full id, or undefined when no commit has this id. */
export async function readCommit(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<Commit | undefined> {
  const cache = objectCacheOf<Commit>(repositories, 'commits', MAX_CACHE_BYTES, memoryOf)
  const presence = new ObjectPresence(repositories, id)
  const known = cache.get(id, commitId, presence)
  if (known) return known
  const before = presence.evidenceOf(commitId)
  const commit = await unlessAway(repositories, id, commitId, () =>
    lookUpCommit(repositories, id, commitId),
  )
  if (commit) cache.set(id, commitId, commit, { before, presence })
  return commit
}

/** Returns the bytes that a commit takes. Clients can push names and lists of parents of a MiB. */
function memoryOf({ message, author, committer, parentIds }: Commit): number {
  const texts = [message, author.name, author.email, committer.name, committer.email]
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  return COMMIT_BYTES + characters * 2 + parentIds.length * PARENT_BYTES
}

async function lookUpCommit(
  repositories: Repositories,
  id: number,
  commitId: string,
): Promise<Commit | undefined> {
  return repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
    const commit = await found(libgit2().Commit.lookup(repository, oidOf(commitId)))
    if (!commit) return undefined
    const parents = Array.from({ length: commit.parentcount() }, (_, index) =>
      commit.parentId(index).toString(),
    )
    return {
      id: commit.id().toString(),
      treeId: commit.treeId().toString(),
      parentIds: parents,
      author: signerOf(commit.author()),
      committer: signerOf(commit.committer()),
      message: commit.message(),
    }
  })
}

/**
 * Returns the object id of nodegit for a full id.
 *
 * @throws GitError INVALID_NAME
 */
export function oidOf(hex: string): Oid {
  if (!/^[0-9a-f]{40}$/.test(hex)) throw new GitError('INVALID_NAME', `no object id: ${hex}`)
  return libgit2().Oid.fromString(hex)
}

function signerOf(signature: Signature): Signer {
  const when = signature.when()
  return {
    name: signature.name(),
    email: signature.email(),
    time: when.time(),
    offsetMinutes: when.offset(),
  }
}

/** Removes characters that Git does not store in names and addresses. Empty ones are `unknown`. */
export function cleanSigner(signer: Signer): Signer {
  const clean = (text: string) =>
    text.replace(IDENTITY_DELIMITERS, '').replace(IDENTITY_CRUD, '') || 'unknown'
  return { ...signer, name: clean(signer.name), email: clean(signer.email) }
}

export function signatureOf(signer: Signer): Signature {
  const { name, email, time, offsetMinutes } = cleanSigner(signer)
  return libgit2().Signature.create(name, email, time, offsetMinutes)
}
