import { setImmediate } from 'node:timers/promises'
import { ObjectFiles } from '../objects/object-files.ts'
import { parseCommit } from '../objects/raw-objects.ts'
import { changedNames, folderIn } from '../objects/tree-changes.ts'
import type { Repositories } from '../repositories/repositories.ts'
import type { LastChanges, PendingEntries } from './pending-entries.ts'

/** Objects that a walk reads, and their bytes. The two Git processes of a longer walk cost as much. */
const MAX_READS = 100
const MAX_BYTES = 2 * 1024 ** 2

/** A commit that was read. */
interface Node {
  readonly treeId: string
  readonly parentIds: readonly string[]
  readonly time: number
}

/** What the entries differ in between a commit and one of its parents. */
type Changed = ReadonlySet<string> | 'all'

/**
 * Finds last changes without a Git process, as far as a few commits suffice: those since the last
 * search, or all of a short history. Leaves the other entries pending.
 *
 * @param folder path of the folder of the entries.
 * @param knownAt returns the answers that are known for a commit.
 */
export async function findNearChanges(
  repositories: Repositories,
  id: number,
  folder: string,
  pending: PendingEntries,
  knownAt: (commitId: string) => LastChanges | undefined,
): Promise<void> {
  const reader = new FolderReader(repositories, id, folder)
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
  #reads = 0
  #bytes = 0

  constructor(repositories: Repositories, id: number, folder: string) {
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
    this.#reads += 1
    if (this.#reads > MAX_READS || this.#bytes > MAX_BYTES) giveUp()
    const object = this.#files.read(objectId)
    if (object?.type !== type) giveUp()
    this.#bytes += object.bytes
    return object.content
  }
}

function giveUp(): never {
  throw new TooFar()
}
