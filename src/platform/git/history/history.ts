import { isObjectId } from '../core/object-ids.ts'
import { readObjects } from '../objects/objects.ts'
import { parseCommit, parseWork, type RawCommit } from '../objects/raw-objects.ts'
import { type ReadOptions, readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { soleMergeBase } from './merge-bases.ts'

/** Memory of all cached merge bases. */
const MAX_MERGE_BASES_BYTES = 4 * 1024 ** 2

/** Longest commit that is read completely: a long message and two signatures. */
const MAX_COMMIT_BYTES = 256 * 1024

/**
 * Returns the best common ancestor of two commits, the first of git-merge-base(1) when there are
 * several, or undefined when there is none. The result never changes and is cached.
 *
 * @param one, other ids of commits in the repository, or in the other one.
 * @param alsoFrom id of another repository that has one of the commits.
 * @throws GitError NOT_FOUND, BUSY, TIMEOUT
 */
export function findMergeBase(
  repositories: Repositories,
  id: number,
  one: string,
  other: string,
  alsoFrom?: number,
): Promise<string | undefined> {
  if (!isObjectId(one) || !isObjectId(other)) throw new Error(`no ids of commits: ${one}, ${other}`)
  return resultsOf<string | undefined>(repositories, 'merge bases', MAX_MERGE_BASES_BYTES).get(
    id,
    `${one} ${other}${alsoFrom === undefined ? '' : ` ${alsoFrom}`}`,
    async () => {
      const isOne = alsoFrom === undefined
      const sole = isOne ? await soleMergeBase(repositories, id, one, other) : undefined
      if (sole !== undefined) return sole ?? undefined
      const sources = isOne ? {} : { alsoFrom }
      // Prints both commits and, with the prefix `^`, their merge bases (gitrevisions(7)). Unlike
      // git-merge-base(1), succeeds when there is none.
      const text = await textOf(
        readGit(repositories, id, ['rev-parse', `${one}...${other}`], sources),
      )
      return /^\^([0-9a-f]{40})$/m.exec(text)?.[1]
    },
  )
}

/** How to read several commits. */
export interface CommitReading extends Omit<ReadOptions, 'input'> {
  /**
   * Bytes of all commits together. Those that exceed the limit are truncated to `MAX_CROWDED_BYTES`.
   * Default: no limit.
   */
  readonly maxBytesTogether?: number
}

/** Enough for the headers of an ordinary commit and a long message. */
const MAX_CROWDED_BYTES = 8 * 1024

/**
 * Returns commits with their signatures by id, without those that are not in the repository.
 *
 * @param maxBytes length to which each commit is truncated.
 * @throws GitError BUSY, TIMEOUT
 */
export async function readCommits(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  maxBytes = MAX_COMMIT_BYTES,
  { maxBytesTogether = Number.POSITIVE_INFINITY, ...options }: CommitReading = {},
): Promise<ReadonlyMap<string, RawCommit>> {
  let bytesLeft = maxBytesTogether
  const budget = repositories.readTurns.budget()
  const commits = new Map<string, RawCommit>()
  for await (const object of readObjects(repositories, id, [...new Set(ids)], maxBytes, options)) {
    if (object.type !== 'commit') continue
    const content = object.content.subarray(0, Math.max(bytesLeft, MAX_CROWDED_BYTES))
    bytesLeft -= content.length
    const commit = await budget.run(() => {
      budget.note(parseWork(content))
      return parseCommit(object.id, content)
    })
    commits.set(commit.id, commit)
  }
  return commits
}
