import { isObjectId } from '../core/object-ids.ts'
import { readGit, textOf } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { nearHistory } from './recent-history.ts'

/** A commit and the commits that are reachable from it, with filters. */
export interface History {
  /** Id of the commit. */
  readonly from: string
  /** Id of a commit. Excludes this commit and the commits that are reachable from it. */
  readonly without?: string | undefined
  /** The repository of that commit, when it is in another one. */
  readonly withoutIn?: number
  /** Only commits that change this path, a result of `treePath`. The root: all commits. */
  readonly path?: string
  /** Unix seconds. Only commits since, or until, this time. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** A page of a history. */
export interface HistoryPage {
  /** Ids of commits, newest first. */
  readonly ids: readonly string[]
  /** Number of commits on all pages. */
  readonly total: number
}

/** Memory of all cached numbers of commits, of all cached pages, and of one id. */
const MAX_COUNTS_BYTES = 4 * 1024 ** 2
const MAX_PAGES_BYTES = 8 * 1024 ** 2
const ID_BYTES = 80

/** Largest offset that Git accepts. */
const MAX_OFFSET = 2 ** 31 - 1

/** Bytes of a line of output: an id and a line feed. */
const LINE_BYTES = 41

/**
 * Returns a page of a history. A page never changes and is cached.
 *
 * The cost is a walk over all commits, once for all pages: for 50,000 commits, 0.07 s with a
 * commit-graph and 0.4 s without; with `path`, 0.4 s and 2 s. A short history is read without a Git
 * process, another one by one process.
 *
 * @throws GitError BUSY, TIMEOUT
 */
export function readHistory(
  repositories: Repositories,
  id: number,
  history: History,
  offset: number,
  limit: number,
): Promise<HistoryPage> {
  const pages = resultsOf<HistoryPage>(
    repositories,
    'pages',
    MAX_PAGES_BYTES,
    ({ ids }) => ids.length * ID_BYTES,
  )
  const counts = resultsOf<number>(repositories, 'commit counts', MAX_COUNTS_BYTES)
  const args = argumentsOf(history)
  // Git reads the commits of both repositories.
  const text = [history.withoutIn ?? '', ...args].join(' ')
  return pages.get(id, `${offset} ${limit} ${text}`, async () => {
    const known = counts.peek(id, text)
    const page =
      known === undefined
        ? await readFirst(repositories, id, history, offset, limit)
        : { ids: await readIds(repositories, id, history, offset, limit), total: known }
    counts.set(id, text, page.total)
    return page
  })
}

/** Reads a page and counts the commits, in one walk. */
async function readFirst(
  repositories: Repositories,
  id: number,
  history: History,
  offset: number,
  limit: number,
): Promise<HistoryPage> {
  const ids = isPlain(history)
    ? await nearHistory(repositories, id, [history.from], [history.without ?? []].flat())
    : undefined
  if (ids) return { ids: ids.slice(offset, offset + limit), total: ids.length }
  const args = ['rev-list', ...argumentsOf(history)]
  const start = offset * LINE_BYTES
  const end = start + limit * LINE_BYTES
  const wanted: Buffer[] = []
  let bytes = 0
  for await (const chunk of readGit(repositories, id, args, sourcesOf(history))) {
    const from = Math.min(Math.max(start - bytes, 0), chunk.length)
    const to = Math.min(Math.max(end - bytes, 0), chunk.length)
    // A copy, since the chunk is much larger than the page.
    if (from < to) wanted.push(Buffer.from(chunk.subarray(from, to)))
    bytes += chunk.length
  }
  return { ids: linesOf(Buffer.concat(wanted).toString('latin1')), total: bytes / LINE_BYTES }
}

/** Returns whether only the graph of the commits in one repository decides. */
function isPlain({ from, without, withoutIn, path = '', since, until }: History): boolean {
  const isOne = withoutIn === undefined && isObjectId(from) && isObjectId(without ?? from)
  return isOne && path === '' && since === undefined && until === undefined
}

async function readIds(
  repositories: Repositories,
  id: number,
  history: History,
  offset: number,
  limit: number,
): Promise<readonly string[]> {
  if (offset > MAX_OFFSET) return []
  const args = [`--skip=${offset}`, `--max-count=${limit}`, ...argumentsOf(history)]
  return linesOf(await textOf(readGit(repositories, id, ['rev-list', ...args], sourcesOf(history))))
}

function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1)
}

function sourcesOf({ withoutIn }: History): { alsoFrom?: number } {
  return withoutIn === undefined ? {} : { alsoFrom: withoutIn }
}

function argumentsOf({ from, without, path, since, until }: History): string[] {
  return [
    ...(since === undefined ? [] : [`--max-age=${since}`]),
    ...(until === undefined ? [] : [`--min-age=${until}`]),
    from,
    ...(without === undefined ? [] : [`^${without}`]),
    '--',
    ...(path ? [path] : []),
  ]
}
