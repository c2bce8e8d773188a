import { isObjectId } from '../core/object-ids.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { nearHistory } from './recent-history.ts'

/**
 * Returns the ids of commits that are reachable from `tips` and not from `without`, newest first.
 * Git runs only for a long history.
 *
 * @param tips, without full ids of commits.
 * @param maxCommits maximum number of commits.
 * @throws GitError NOT_FOUND, BUSY, TIMEOUT
 */
export async function listMergedCommits(
  repositories: Repositories,
  id: number,
  tips: readonly string[],
  without: string,
  maxCommits: number,
): Promise<string[]> {
  if (![...tips, without].every(isObjectId))
    throw new Error(`no ids of commits: ${tips.join(', ')}, ${without}`)
  const near = await nearHistory(repositories, id, tips, [without])
  if (near) return near.slice(0, maxCommits)
  const args = ['rev-list', `--max-count=${maxCommits}`, ...tips, `^${without}`, '--']
  return (await textOf(readGit(repositories, id, args))).split('\n').slice(0, -1)
}

/**
 * Returns those commits of a list that are reachable from any of other commits.
 *
 * @param commitIds, from full ids of commits.
 * @throws GitError NOT_FOUND, BUSY, TIMEOUT
 */
export async function listContainedCommits(
  repositories: Repositories,
  id: number,
  commitIds: readonly string[],
  from: readonly string[],
): Promise<string[]> {
  const near = await nearHistory(repositories, id, commitIds, from)
  const others = new Set(near ?? (await listOthers(repositories, id, commitIds, from)))
  return commitIds.filter((commitId) => !others.has(commitId))
}

async function listOthers(
  repositories: Repositories,
  id: number,
  commitIds: readonly string[],
  from: readonly string[],
): Promise<string[]> {
  const input = [...commitIds, ...from.map((commitId) => `^${commitId}`)].join('\n')
  const output = readGit(repositories, id, ['rev-list', '--stdin'], { input })
  return (await textOf(output)).split('\n').slice(0, -1)
}

/** Commits of a push that are read. Larger pushes rarely merge pull requests. */
const MAX_COMMITS = 20_000

/**
 * Returns for each new commit of a branch the commit that merged it: the first commit on the
 * first-parent line of the branch from which it is reachable. A commit on that line merges itself.
 *
 * @param from, to full ids of the old and the new head of the branch.
 * @throws GitError BUSY, TIMEOUT
 */
export async function firstParentMerges(
  repositories: Repositories,
  id: number,
  from: string,
  to: string,
): Promise<ReadonlyMap<string, string>> {
  if (!isObjectId(from) || !isObjectId(to)) throw new Error(`no ids of commits: ${from}, ${to}`)
  const args = ['rev-list', '--parents', `--max-count=${MAX_COMMITS}`, to, `^${from}`, '--']
  const text = await textOf(readGit(repositories, id, args))
  const parentsOf = new Map<string, readonly string[]>()
  for (const line of text.split('\n').slice(0, -1)) {
    const [commit = '', ...parents] = line.split(' ')
    parentsOf.set(commit, parents)
  }
  const line: string[] = []
  for (let commit: string | undefined = to; commit !== undefined && parentsOf.has(commit); ) {
    line.push(commit)
    commit = parentsOf.get(commit)?.[0]
  }
  const mergedBy = new Map<string, string>()
  for (const merge of line.toReversed()) {
    const pending = [merge]
    for (let commit = pending.pop(); commit !== undefined; commit = pending.pop()) {
      const parents = parentsOf.get(commit)
      if (!parents || mergedBy.has(commit)) continue
      mergedBy.set(commit, merge)
      pending.push(...parents)
    }
  }
  return mergedBy
}
