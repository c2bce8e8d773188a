import { isObjectId } from '../core/object-ids.ts'
import { readCommit } from '../objects/commits.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'

/** Memory of all cached ancestors. */
const MAX_ANCESTORS_BYTES = 4 * 1024 ** 2

/** Commits that are read without a Git process. A process costs as much as reading this many. */
const MAX_STEPS = 30

/** One operator: the n-th ancestor by first parents, or the n-th parent. */
const STEP = /([~^])([0-9]*)/g

/**
 * Returns the ancestor that operators lead to. The result never changes and is cached.
 *
 * @param commitId full id of a commit in the repository.
 * @param ancestry operators `~` and `^` of gitrevisions(7), such as `~3^2`.
 * @returns undefined when there is no such ancestor.
 * @throws GitError BUSY, TIMEOUT
 */
export function findAncestor(
  repositories: Repositories,
  id: number,
  commitId: string,
  ancestry: string,
): Promise<string | undefined> {
  const known = resultsOf<string | undefined>(repositories, 'ancestors', MAX_ANCESTORS_BYTES)
  return known.get(id, `${commitId}${ancestry}`, () => {
    const parents = parentsOn(ancestry)
    return parents.length > MAX_STEPS
      ? askGit(repositories, id, commitId, ancestry)
      : follow(repositories, id, commitId, parents)
  })
}

/** Returns which parent each step leads to, from 1; at most one more than `MAX_STEPS`. */
function parentsOn(ancestry: string): number[] {
  return [...ancestry.matchAll(STEP)].flatMap(([, operator, digits]) => {
    const n = digits ? Number(digits) : 1
    if (operator === '~') return Array.from({ length: Math.min(n, MAX_STEPS + 1) }, () => 1)
    return n === 0 ? [] : [n]
  })
}

async function follow(
  repositories: Repositories,
  id: number,
  commitId: string,
  parents: readonly number[],
): Promise<string | undefined> {
  let current: string | undefined = commitId
  for (const parent of parents) {
    if (current === undefined) return undefined
    current = (await readCommit(repositories, id, current))?.parentIds[parent - 1]
  }
  return current
}

/** Follows many steps by a Git process. */
async function askGit(
  repositories: Repositories,
  id: number,
  commitId: string,
  ancestry: string,
): Promise<string | undefined> {
  const input = `${commitId}${ancestry}^{commit}\n`
  const line = await textOf(
    readGit(repositories, id, ['cat-file', '--batch-check=%(objectname)'], { input }),
  )
  const answer = line.trimEnd()
  return isObjectId(answer) ? answer : undefined
}
