import { rm } from 'node:fs/promises'
import { GitError } from '../core/errors.ts'
import { EMPTY_TREE, isObjectId } from '../core/object-ids.ts'
import {
  carriedText,
  commitContent,
  personLine,
  type SignCommit,
} from '../objects/commit-content.ts'
import { objectId, storeLooseObject } from '../objects/loose-objects.ts'
import { storeCommitContent } from '../objects/object-writes.ts'
import { readObjects } from '../objects/objects.ts'
import { parseCommit } from '../objects/raw-objects.ts'
import type { Signer } from '../objects/signers.ts'
import { type ReadOptions, readGit, textOf } from '../repositories/reading.ts'
import { type Repositories, scratchPath } from '../repositories/repositories.ts'
import { Merges } from './merge.ts'

/** Commits that are to be made anew on another one. */
export interface Rebase {
  /**
   * Ids of commits in full: those that lead to `head` and not to `onto` are made anew, on `onto`.
   */
  readonly onto: string
  readonly head: string
  /** Who does it, now. */
  readonly committer: Signer
  /** In place of what the last of them says. */
  readonly lastMessage?: string | undefined
  readonly sign?: SignCommit | undefined
}

/** What becomes of a rebase. */
export type Rebased =
  /**
   * The last commit: `onto` when nothing is left to be made, `head` when all is there as it should
   * be.
   */
  | { readonly outcome: 'clean'; readonly commitId: string; readonly treeId: string }
  /**
   * The first commit that does not go on top of the others; the files, and what Git says about
   * them, as in `Merge`.
   */
  | {
      readonly outcome: 'conflict'
      readonly commitId: string
      readonly paths: readonly string[]
      readonly text: string
    }
  /** More commits than are made anew at once. */
  | { readonly outcome: 'too-many' }

/** Each takes some milliseconds and writes some files, and who asks waits. */
export const MAX_REBASED_COMMITS = 1_000

/** Of the commits together, since they are in memory all at once. */
const MAX_BYTES = 64 * 1024 * 1024

/** All of it. */
const TIMEOUT_MS = 60_000

/**
 * Makes commits anew on another one, as `git rebase` does (sequencer.c of Git): merges are left out
 * and what they joined follows each other; commits are left out that `onto` has already, as the ids
 * of their patches tell, and those of which nothing is left; those that never changed anything
 * stay. What is in its place already stays as it is. Who wrote what, and when, stays; who makes it
 * is new.
 *
 * Costs as much as the commits change, however large the trees, by three processes for all of them.
 * The commits are stored when all of them are made.
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
      ? new GitError('TIMEOUT', 'a rebase took more than it may', { cause: error })
      : error
  } finally {
    await merges.end()
    await rm(scratch, { recursive: true, force: true })
  }
}

/** A commit as far as it is needed to make another one of it. */
interface Original {
  readonly id: string
  readonly treeId: string
  readonly parentId: string | undefined
  /** Whether it changes nothing. */
  readonly isEmpty: boolean
  readonly content: Buffer
}

/** What a branch is at: a commit that is stored or about to be. */
type Tip = Pick<Original, 'id' | 'treeId'>

interface Picks {
  readonly onto: Tip
  /** In the order in which they are to follow each other. */
  readonly originals: readonly Original[]
}

/** A mark, an id and those of parents, of which there is one or, for a first commit, none. */
const LISTED = /^(.) ([0-9a-f]{40}) ([0-9a-f]{40})?$/

/** Of a commit whose patch is in a commit on the other side. */
const SAME_PATCH = '='

/**
 * What there is to make anew, as `sequencer_make_script` lists it.
 *
 * @returns undefined when it is too much.
 */
async function readPicks(
  repositories: Repositories,
  id: number,
  { onto, head }: Rebase,
  reading: ReadOptions,
): Promise<Picks | undefined> {
  if (!isObjectId(onto) || !isObjectId(head)) throw new Error(`no ids of commits: ${onto}, ${head}`)
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
      ['rev-list', ...order, ...format, `${onto}...${head}`, '--'],
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

/** Contents of commits by id; undefined when they are too long. */
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

/**
 * Makes commits one on top of the other (`do_pick_commit` in sequencer.c of Git); none of them is
 * stored yet.
 */
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
  const make = (original: Original, on: string, treeId: string, message?: string): Tip => {
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
      const merge = await mergeOnto(merges, scratch, tip, original)
      if (merge.outcome === 'conflict') return { ...merge, commitId: original.id }
      if (merge.treeId === tip.treeId && !original.isEmpty) continue
      tip = make(original, on, merge.treeId)
    }
    last = { original, on }
  }
  if (rebase.lastMessage !== undefined && last) {
    // Nobody needs what it was made into before.
    if (tip !== last.original) contents.pop()
    tip = make(last.original, last.on, tip.treeId, rebase.lastMessage)
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

/** In the far future, so that Git looks no further than for the one parent. */
const NOBODY = 'Nobody <nobody> 4102444800 +0000'

/**
 * Merges what a commit changes into a tree. The commit whose changes they are must be what the two
 * have in common (Git 2.39 has no `--merge-base`), so a commit is made for the tree that follows on
 * it, in a folder that is gone afterwards.
 */
async function mergeOnto(
  merges: Merges,
  scratch: string,
  tip: Tip,
  { id, treeId, parentId }: Original,
) {
  const stand = (tree: string, parentIds: readonly string[]) => {
    const content = commitContent({
      treeId: tree,
      parentIds,
      author: NOBODY,
      committer: NOBODY,
      message: '',
    })
    return storeLooseObject(scratch, 'commit', Buffer.from(content))
  }
  // What a first commit changes is everything.
  const base = parentId ?? (await stand(EMPTY_TREE, []))
  const theirs = parentId === undefined ? await stand(treeId, [base]) : id
  return merges.merge({ id: await stand(tip.treeId, [base]), treeId: tip.treeId }, theirs)
}
