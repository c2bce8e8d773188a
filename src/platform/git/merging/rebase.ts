import { rm } from 'node:fs/promises'
import { GitError } from '../core/errors.ts'
import { EMPTY_TREE, isObjectId } from '../core/object-ids.ts'
import {
  carriedText,
  commitContent,
  personLine,
  type SignCommit,
} from '../objects/commit-content.ts'
import { objectId } from '../objects/loose-objects.ts'
import { storeCommitContent } from '../objects/object-writes.ts'
import { readObjects } from '../objects/objects.ts'
import { parseCommit } from '../objects/raw-objects.ts'
import type { Signer } from '../objects/signers.ts'
import { type ReadOptions, readGit, textOf } from '../repositories/reading.ts'
import { type Repositories, scratchPath } from '../repositories/repositories.ts'
import { Merges, type RelatedMerge } from './merge.ts'
import { mergeFrom, storeTemporary } from './merge-from.ts'

/** A rebase. */
export interface Rebase {
  /** Full id of the new base. */
  readonly onto: string
  /** Full id of a commit. The commits reachable from `head` and not from `onto` are rebased. */
  readonly head: string
  /** Full id of a commit. Commits reachable from this one are left out, as `git rebase --onto` does. */
  readonly upstream?: string | undefined
  /** Committer of the new commits, with the current time. */
  readonly committer: Signer
  /** Replaces the message of the last commit. */
  readonly lastMessage?: string | undefined
  readonly sign?: SignCommit | undefined
}

/** The result of a rebase. */
export type Rebased =
  /** The last commit: `onto` when no commits are left, `head` when no commit had to change. */
  | { readonly outcome: 'clean'; readonly commitId: string; readonly treeId: string }
  /** The first commit with conflicts, with files and messages as in `Merge`. */
  | {
      readonly outcome: 'conflict'
      readonly commitId: string
      readonly paths: readonly string[]
      readonly text: string
    }
  /** There are more than `MAX_REBASED_COMMITS`, or they are too large. */
  | { readonly outcome: 'too-many' }

/** Each commit takes some milliseconds and writes some files while the caller waits. */
export const MAX_REBASED_COMMITS = 1_000

/** Size of all commits together, which are in memory at the same time. */
const MAX_BYTES = 64 * 1024 * 1024

/** Time limit of a rebase. */
const TIMEOUT_MS = 60_000

/**
 * Rebases commits as `git rebase` does (sequencer.c of Git). Merges are dropped and their branches
 * become linear. Commits whose patch `onto` contains already, and commits that become empty, are
 * dropped. Commits that were empty before stay, and commits that have the right parent already stay
 * unchanged. The author and the author's time stay, the committer is new.
 *
 * The cost depends on the number of changes, not on the size of the trees: three processes for all
 * commits. The new commits are stored when all of them exist.
 *
 * @throws GitError BUSY, TIMEOUT; the reason of the signal
 */
export async function rebaseCommits(
  repositories: Repositories,
  id: number,
  rebase: Rebase,
  options: Pick<ReadOptions, 'signal'> = {},
): Promise<Rebased> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout
  const scratch = scratchPath(repositories)
  const reading = { signal, timeoutMs: TIMEOUT_MS }
  const merges = new Merges(repositories, id, { ...reading, quarantine: scratch })
  try {
    const picks = await readPicks(repositories, id, rebase, reading)
    if (!picks) return { outcome: 'too-many' }
    const replay = await replayPicks(merges, scratch, rebase, picks, signal)
    if (replay.outcome === 'conflict') return replay
    await Promise.all(
      replay.contents.map((content) => storeCommitContent(repositories, id, content)),
    )
    return { outcome: 'clean', commitId: replay.commitId, treeId: replay.treeId }
  } catch (error) {
    throw timeout.aborted
      ? new GitError('TIMEOUT', 'a rebase exceeded its time limit', { cause: error })
      : error
  } finally {
    await merges.end()
    await rm(scratch, { recursive: true, force: true })
  }
}

/** A commit to rebase. */
interface Original {
  readonly id: string
  readonly treeId: string
  readonly parentId: string | undefined
  /** Whether the commit changes nothing. */
  readonly isEmpty: boolean
  readonly content: Buffer
}

/** The head of the new commits, which need not be stored yet. */
type Tip = Pick<Original, 'id' | 'treeId'>

interface Picks {
  readonly onto: Tip
  /** In the order of the new commits. */
  readonly originals: readonly Original[]
}

/** A mark, an id and the id of the parent, which a first commit does not have. */
const LISTED = /^(.) ([0-9a-f]{40}) ([0-9a-f]{40})?$/

/** Mark of a commit whose patch is in a commit of the other side. */
const SAME_PATCH = '='

/**
 * Returns the commits to rebase, as `sequencer_make_script` lists them, or undefined when there are
 * too many.
 */
async function readPicks(
  repositories: Repositories,
  id: number,
  { onto, head, upstream }: Rebase,
  reading: ReadOptions,
): Promise<Picks | undefined> {
  if (!isObjectId(onto) || !isObjectId(head)) throw new Error(`no ids of commits: ${onto}, ${head}`)
  if (upstream !== undefined && !isObjectId(upstream)) throw new Error(`no id: ${upstream}`)
  const left = upstream === undefined ? [] : [`^${upstream}`]
  const order = ['--reverse', '--topo-order', '--right-only', '--cherry-mark', '--max-parents=1']
  const format = [
    '--no-commit-header',
    '--format=%m %H %P',
    `--max-count=${MAX_REBASED_COMMITS + 1}`,
  ]
  const text = await textOf(
    readGit(
      repositories,
      id,
      ['rev-list', ...order, ...format, `${onto}...${head}`, ...left, '--'],
      reading,
    ),
  )
  const listed = text.split('\n').flatMap((line) => {
    const [, mark, commitId = '', parentId] = LISTED.exec(line) ?? []
    return mark === undefined ? [] : { mark, commitId, parentId }
  })
  if (listed.length > MAX_REBASED_COMMITS) return undefined
  const contents = await readContents(
    repositories,
    id,
    [onto, ...listed.flatMap(({ commitId, parentId }) => [commitId, parentId ?? commitId])],
    reading,
  )
  if (!contents) return undefined
  const treeOf = (commitId: string) =>
    parseCommit(commitId, contents.get(commitId) ?? Buffer.alloc(0)).treeId
  const originals = listed.flatMap(({ mark, commitId, parentId }) => {
    const treeId = treeOf(commitId)
    const isEmpty = treeId === (parentId === undefined ? EMPTY_TREE : treeOf(parentId))
    if (mark === SAME_PATCH && !isEmpty) return []
    return {
      id: commitId,
      treeId,
      parentId,
      isEmpty,
      content: contents.get(commitId) ?? Buffer.alloc(0),
    }
  })
  return { onto: { id: onto, treeId: treeOf(onto) }, originals }
}

/** Returns the contents of commits by id, or undefined when they exceed `MAX_BYTES`. */
async function readContents(
  repositories: Repositories,
  id: number,
  ids: readonly string[],
  reading: ReadOptions,
): Promise<ReadonlyMap<string, Buffer> | undefined> {
  const contents = new Map<string, Buffer>()
  let bytes = 0
  for await (const object of readObjects(repositories, id, [...new Set(ids)], MAX_BYTES, reading)) {
    bytes += object.bytes
    if (bytes > MAX_BYTES) return undefined
    contents.set(object.id, object.content)
  }
  return contents
}

type Replay =
  | (Extract<Rebased, { outcome: 'clean' }> & { readonly contents: readonly string[] })
  | Extract<Rebased, { outcome: 'conflict' }>

/** Creates the new commits (`do_pick_commit` in sequencer.c of Git) without storing them. */
async function replayPicks(
  merges: Merges,
  scratch: string,
  rebase: Rebase,
  picks: Picks,
  signal: AbortSignal,
): Promise<Replay> {
  const contents: string[] = []
  let tip = picks.onto
  let last: { readonly original: Original; readonly on: string } | undefined
  const create = (original: Original, on: string, treeId: string, message?: string): Tip => {
    const content = contentOf(original, on, treeId, rebase, message)
    contents.push(content)
    return { id: objectId('commit', Buffer.from(content)), treeId }
  }
  for (const original of picks.originals) {
    signal.throwIfAborted()
    const on = tip.id
    if (original.parentId === on) {
      tip = original
    } else {
      const merge = await pick(merges, scratch, tip, original)
      if (merge.outcome === 'conflict') return { ...merge, commitId: original.id }
      if (merge.treeId === tip.treeId && !original.isEmpty) continue
      tip = create(original, on, merge.treeId)
    }
    last = { original, on }
  }
  if (rebase.lastMessage !== undefined && last) {
    // Replaces the last commit.
    if (tip !== last.original) contents.pop()
    tip = create(last.original, last.on, tip.treeId, rebase.lastMessage)
  }
  return { outcome: 'clean', commitId: tip.id, treeId: tip.treeId, contents }
}

function contentOf(
  original: Original,
  on: string,
  treeId: string,
  { committer, sign }: Rebase,
  message: string | undefined,
): string {
  const carried = carriedText(original.content)
  const text = message === undefined ? carried : { ...carried, message }
  return commitContent({ treeId, parentIds: [on], committer: personLine(committer), ...text }, sign)
}

/** Merges the changes of a commit into a tree. A first commit gets a base with an empty tree. */
async function pick(
  merges: Merges,
  scratch: string,
  tip: Tip,
  { id, treeId, parentId }: Original,
): Promise<RelatedMerge> {
  const base = parentId ?? (await storeTemporary(scratch, EMPTY_TREE, []))
  const theirs = parentId === undefined ? await storeTemporary(scratch, treeId, [base]) : id
  return mergeFrom(merges, scratch, { base, ours: tip.treeId, theirs })
}
