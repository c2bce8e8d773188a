import { explained } from '../core/errors.ts'
import { libgit2 } from '../core/libgit2.ts'
import { useObjects } from '../maintenance/limbo.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'
import { commitContent, personLine, type SignCommit } from './commit-content.ts'
import { oidOf, signatureOf } from './commits.ts'
import { parseCommit, type RawCommit } from './raw-objects.ts'
import type { Signer } from './signers.ts'

// Objects are stored before refs point to them. Unreachable objects are harmless garbage.

/** Stores the content of a file and returns the id of the blob. */
export async function storeBlob(
  repositories: Repositories,
  id: number,
  content: Buffer,
): Promise<string> {
  return repositories.handles.use(repositoryPath(repositories, id), async (repository) =>
    (await libgit2().Blob.createFromBuffer(repository, content, content.length)).toString(),
  )
}

/** A commit to store. */
export interface NewCommit {
  readonly treeId: string
  readonly parentIds: readonly string[]
  readonly author: Signer
  readonly committer: Signer
  /** Ends with a line feed. */
  readonly message: string
}

/** Stores a commit, whose tree and parents must be stored already. */
export async function storeCommit(
  repositories: Repositories,
  id: number,
  commit: NewCommit,
  sign?: SignCommit,
): Promise<RawCommit> {
  const content = contentOfCommit(commit, sign)
  return parseCommit(await storeCommitContent(repositories, id, content), Buffer.from(content))
}

/** Returns the content of a commit to store. */
export function contentOfCommit(commit: NewCommit, sign?: SignCommit): string {
  const [author, committer] = [personLine(commit.author), personLine(commit.committer)]
  return commitContent({ ...commit, author, committer }, sign)
}

/** Stores a commit in the format of `commitContent` and returns its id. */
export async function storeCommitContent(
  repositories: Repositories,
  id: number,
  content: string,
): Promise<string> {
  return repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
    const objects = await repository.odb()
    return (
      await objects.write(content, Buffer.byteLength(content), libgit2().Object.TYPE.COMMIT)
    ).toString()
  })
}

/** An annotated tag to store. */
export interface NewTag {
  /** Without `refs/tags/`. */
  readonly name: string
  readonly commitId: string
  readonly tagger: Signer
  /** Ends with a line feed. */
  readonly message: string
}

/** Stores a tag object for a commit and returns its id. */
export async function storeTag(
  repositories: Repositories,
  id: number,
  tag: NewTag,
): Promise<string> {
  return useObjects(repositories, id, async (repository) => {
    const { COMMIT } = libgit2().Object.TYPE
    const target = await explained(libgit2().Object.lookup(repository, oidOf(tag.commitId), COMMIT))
    const tagger = signatureOf(tag.tagger)
    return (
      await libgit2().Tag.annotationCreate(repository, tag.name, target, tagger, tag.message)
    ).toString()
  })
}
