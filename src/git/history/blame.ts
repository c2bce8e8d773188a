import { isObjectId } from '../core/object-ids.ts'
import { lineSplitter } from '../processes/line-splitter.ts'
import { readGit } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'

/** Successive lines of a file that one commit wrote. */
export interface BlamedLines {
  readonly commitId: string
  /** From 1. */
  readonly startLine: number
  readonly lineCount: number
}

/** Memory of all cached results, and of an entry of one. */
const MAX_RESULTS_BYTES = 16 * 1024 ** 2
const LINES_BYTES = 120

/** The start of a group of lines: commit, line in the commit, line in the file, number of lines. */
const GROUP = /^([0-9a-f]{40}) \d+ (\d+) (\d+)$/

/** Longest line that is read. Lines about a commit, such as its subject, do not matter here. */
const MAX_LINE_BYTES = 100

/**
 * Returns which commit wrote each line of a file, by git-blame(1), in the order of the file. The
 * result never changes and is cached.
 *
 * @param commitId id of a commit.
 * @param path of a file that the commit has. The caller limits its size.
 * @throws GitError BUSY, TIMEOUT
 */
export function blameFile(
  repositories: Repositories,
  id: number,
  commitId: string,
  path: string,
): Promise<readonly BlamedLines[]> {
  if (!isObjectId(commitId)) throw new Error(`no id of a commit: ${commitId}`)
  return resultsOf<readonly BlamedLines[]>(
    repositories,
    'blames',
    MAX_RESULTS_BYTES,
    (groups) => groups.length * LINES_BYTES,
  ).get(id, `${commitId} ${path}`, async () => {
    const groups: BlamedLines[] = []
    const linesOf = lineSplitter(MAX_LINE_BYTES)
    const args = ['blame', '--incremental', commitId, '--', path]
    for await (const chunk of readGit(repositories, id, args)) {
      for (const line of linesOf(chunk)) {
        const [, commit, start, count] = GROUP.exec(line.toString('latin1')) ?? []
        if (commit !== undefined)
          groups.push({ commitId: commit, startLine: Number(start), lineCount: Number(count) })
      }
    }
    return joined(groups.sort((one, other) => one.startLine - other.startLine))
  })
}

/** Joins groups of the same commit that follow each other. */
function joined(groups: readonly BlamedLines[]): BlamedLines[] {
  const result: BlamedLines[] = []
  for (const group of groups) {
    const last = result.at(-1)
    if (last?.commitId === group.commitId)
      result.splice(-1, 1, { ...last, lineCount: last.lineCount + group.lineCount })
    else result.push(group)
  }
  return result
}
