import { isObjectId } from '../core/object-ids.ts'
import { inspectObjects, readObject } from '../objects/objects.ts'
import { findEntry } from '../objects/trees.ts'
import { lineSplitter } from '../processes/byte-reader.ts'
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

/** Which commit wrote each line of a file. */
export interface FileBlame {
  /** In the order of the file, without gaps. */
  readonly ranges: readonly BlamedLines[]
  /**
   * What the file `.git-blame-ignore-revs` did: the blame passed over its commits, or the file has a
   * fault and did nothing.
   */
  readonly ignoreFile: 'none' | 'used' | 'faulty'
}

/** A file of a commit. */
interface BlamedFile {
  readonly commitId: string
  /** Tree of the commit. */
  readonly treeId: string
  readonly path: string
  readonly blobId: string
  /** Whether `.git-blame-ignore-revs` of the commit has no effect. */
  readonly bypassesIgnoreFile: boolean
}

/**
 * The largest file, since Git compares the file with its content in every commit that changed it.
 */
const MAX_BYTES = 1024 * 1024
export const MAX_BLAMED_LINES = 10_000

const LINE_FEED = 0x0a

/** Memory of all cached results, and of an entry of one. */
const MAX_RESULTS_BYTES = 16 * 1024 ** 2
const LINES_BYTES = 120

/** The start of a group of lines: commit, line in the commit, line in the file, number of lines. */
const GROUP = /^([0-9a-f]{40}) \d+ (\d+) (\d+)$/

/** Longest line that is read. Lines about a commit, such as its subject, do not matter here. */
const MAX_LINE_BYTES = 100

/**
 * Returns which commit wrote each line of a file, by git-blame(1). The result never changes and is
 * cached. A known result is returned without a look at the file.
 *
 * @returns undefined for a file of more than 1 MiB or `MAX_BLAMED_LINES` lines
 * @throws GitError BUSY, TIMEOUT
 */
export function blameFile(
  repositories: Repositories,
  id: number,
  file: BlamedFile,
): Promise<FileBlame | undefined> {
  const { commitId, path, bypassesIgnoreFile } = file
  if (!isObjectId(commitId)) throw new Error(`no id of a commit: ${commitId}`)
  return resultsOf<FileBlame | undefined>(
    repositories,
    'blames',
    MAX_RESULTS_BYTES,
    (blame) => (blame?.ranges.length ?? 0) * LINES_BYTES,
  ).get(id, `${commitId} ${bypassesIgnoreFile} ${path}`, () => computeBlame(repositories, id, file))
}

async function computeBlame(
  repositories: Repositories,
  id: number,
  { commitId, treeId, path, blobId, bypassesIgnoreFile }: BlamedFile,
): Promise<FileBlame | undefined> {
  if (await isTooLarge(repositories, id, blobId)) return undefined
  const ignored = bypassesIgnoreFile
    ? undefined
    : await readIgnoredCommits(repositories, id, treeId)
  const ids = ignored === 'faulty' ? [] : (ignored ?? [])
  const options = ['--incremental', ...ids.map((ignoredId) => `--ignore-rev=${ignoredId}`)]
  const groups: BlamedLines[] = []
  const linesOf = lineSplitter(MAX_LINE_BYTES)
  const args = ['blame', ...options, commitId, '--', path]
  for await (const chunk of readGit(repositories, id, args)) {
    for (const line of linesOf(chunk)) {
      const [, commit, start, count] = GROUP.exec(line.toString('latin1')) ?? []
      if (commit !== undefined)
        groups.push({ commitId: commit, startLine: Number(start), lineCount: Number(count) })
    }
  }
  const ranges = joined(groups.sort((one, other) => one.startLine - other.startLine))
  if (ignored === undefined) return { ranges, ignoreFile: 'none' }
  return { ranges, ignoreFile: ignored === 'faulty' ? 'faulty' : 'used' }
}

async function isTooLarge(
  repositories: Repositories,
  id: number,
  blobId: string,
): Promise<boolean> {
  const blob = await readObject(repositories, id, blobId, ({ bytes }) =>
    bytes > MAX_BYTES ? 0 : bytes,
  )
  const { bytes, content } = blob ?? { bytes: 0, content: Buffer.alloc(0) }
  let lines = 0
  for (let at = content.indexOf(LINE_FEED); at >= 0; at = content.indexOf(LINE_FEED, at + 1))
    lines += 1
  return bytes > MAX_BYTES || lines > MAX_BLAMED_LINES
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

/** The file of a repository that lists commits which only change the form of lines. */
const PATH = '.git-blame-ignore-revs'

/** Limits of the file. Everybody who can push can write one, and each id is an argument of Git. */
const MAX_IGNORED_BYTES = 128 * 1024
const MAX_COMMITS = 1000

/**
 * Returns the commits that a blame passes over, by the file `.git-blame-ignore-revs` of a tree:
 * one full id for each line, with comments after `#` (git-blame(1), "--ignore-revs-file"). Ids of
 * other objects, and of commits that the repository does not have, do not count.
 *
 * @returns undefined without a file; 'faulty' for a file with other lines, or one that is too large.
 * @throws GitError BUSY, TIMEOUT
 */
async function readIgnoredCommits(
  repositories: Repositories,
  id: number,
  treeId: string,
): Promise<readonly string[] | 'faulty' | undefined> {
  const entry = await findEntry(repositories, id, treeId, PATH)
  if (entry?.kind !== 'file') return undefined
  const file = await readObject(repositories, id, entry.id, ({ bytes }) =>
    bytes > MAX_IGNORED_BYTES ? 0 : bytes,
  )
  if (!file || file.bytes > MAX_IGNORED_BYTES) return 'faulty'
  const lines = file.content.toString('latin1').split('\n')
  const ids = [...new Set(lines.map(idOf))].filter((listed) => listed !== '')
  if (ids.length > MAX_COMMITS || !ids.every(isObjectId)) return 'faulty'
  const found = await inspectObjects(repositories, id, ids)
  return ids.filter((listed) => found.get(listed)?.type === 'commit')
}

/** Returns what a line has beside space and a comment. */
function idOf(line: string): string {
  const comment = line.indexOf('#')
  return (comment < 0 ? line : line.slice(0, comment)).trim().toLowerCase()
}
