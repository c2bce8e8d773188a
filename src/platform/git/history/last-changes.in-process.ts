import { setImmediate } from 'node:timers/promises'
import { ObjectFiles } from '../objects/object-files.ts'
import { parseCommit } from '../objects/raw-objects.ts'
import { changedNames, folderIn } from '../objects/tree-changes.ts'
import type { Repositories } from '../repositories/repositories.ts'
import type { LastChanges, PendingEntries } from './pending-entries.ts'

/** Objects that a walk reads, and their bytes. */
export interface NearLimits {
  readonly reads: number
  readonly bytes: number
}

/** A commit that was read. */
interface Node {
  readonly treeId: string
  readonly parentIds: readonly string[]
  readonly time: number
}

/** The entries that differ between a commit and one of its parents. */
type Changed = ReadonlySet<string> | 'all'

/** The target of a walk. */
export interface NearSearch {
  /** The folder of the entries. */
  readonly folder: string
  readonly pending: PendingEntries
  /** Returns the answers that are known for a commit. */
  readonly knownAt: (commitId: string) => LastChanges | undefined
  readonly limits: NearLimits
}

/**
 * Finds last changes without a Git process, as far as a few commits suffice: those since the last
 * search, or all of a short history. Leaves the other entries pending.
 */
export async function findNearChanges(
  repositories: Repositories,
  id: number,
  { folder, pending, knownAt, limits }: NearSearch,
): Promise<void> {
  const reader = new FolderReader(repositories, id, folder, limits)
  try {
    while (!pending.isEmpty) {
      const commitId = reader.latestOf(pending.commitIds)
      pending.answer(commitId, knownAt(commitId) ?? new Map())
      if (!pending.has(commitId)) continue
      const { parentIds } = reader.node(commitId)
      const changes = parentIds.map((parentId) => reader.changes(commitId, parentId))
      for (const [i, changed] of changes.entries())
        pending.pass(commitId, parentIds[i] ?? '', changed)
      pending.end(commitId)
      // Other calls have their turn.
      await setImmediate()
    }
  } catch (error) {
    if (!(error instanceof TooFar)) throw error
  } finally {
    reader.close()
  }
}

/** The walk has reached its limits, or an object that only Git can read. */
class TooFar extends Error {}

/** The versions of a folder in the commits of a walk. */
class FolderReader {
  readonly #files: ObjectFiles
  readonly #prefix: string
  readonly #names: readonly Buffer[]
  readonly #nodes = new Map<string, Node>()
  readonly #trees = new Map<string, Buffer>()
  #readsLeft: number
  #bytesLeft: number

  constructor(repositories: Repositories, id: number, folder: string, limits: NearLimits) {
    this.#readsLeft = limits.reads
    this.#bytesLeft = limits.bytes
    this.#files = new ObjectFiles(repositories, id)
    this.#prefix = folder === '' ? '' : `${folder}/`
    this.#names = folder === '' ? [] : folder.split('/').map((name) => Buffer.from(name))
  }

  close(): void {
    this.#files.close()
  }

  /** Returns the commit of the latest time, so that its descendants usually come before. */
  latestOf(commitIds: readonly string[]): string {
    const [first = '', ...others] = commitIds
    return others.reduce(
      (latest, commitId) => (this.node(commitId).time > this.node(latest).time ? commitId : latest),
      first,
    )
  }

  node(commitId: string): Node {
    const known = this.#nodes.get(commitId)
    if (known) return known
    const { treeId, parentIds, committer } = parseCommit(commitId, this.#read(commitId, 'commit'))
    const node = { treeId, parentIds, time: committer.time }
    this.#nodes.set(commitId, node)
    return node
  }

  changes(commitId: string, parentId: string): Changed {
    const { treeId } = this.node(commitId)
    const parentTreeId = this.node(parentId).treeId
    if (treeId === parentTreeId) return new Set()
    const [own, parents] = [this.#folderOf(treeId), this.#folderOf(parentTreeId)]
    if (own === parents) return new Set()
    if (own === 'none') giveUp()
    if (parents === 'none') return 'all'
    const names = changedNames(this.#tree(own), this.#tree(parents)) ?? giveUp()
    return new Set([...names].map((name) => this.#prefix + name))
  }

  #folderOf(treeId: string): string | 'none' {
    let folderId = treeId
    for (const name of this.#names) {
      folderId = folderIn(this.#tree(folderId), name) ?? giveUp()
      if (folderId === 'none') return 'none'
    }
    return folderId
  }

  #tree(treeId: string): Buffer {
    const known = this.#trees.get(treeId)
    if (known) return known
    const tree = this.#read(treeId, 'tree')
    this.#trees.set(treeId, tree)
    return tree
  }

  #read(objectId: string, type: 'commit' | 'tree'): Buffer {
    if (this.#readsLeft <= 0 || this.#bytesLeft <= 0) giveUp()
    this.#readsLeft -= 1
    const object = this.#files.read(objectId)
    if (object?.type !== type) giveUp()
    this.#bytesLeft -= object.bytes
    return object.content
  }
}

function giveUp(): never {
  throw new TooFar()
}
