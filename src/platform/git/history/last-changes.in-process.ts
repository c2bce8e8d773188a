import { ObjectFiles } from '../objects/object-files.ts'
import { parseCommit, parseWork } from '../objects/raw-objects.ts'
import { changedNames, folderIn } from '../objects/tree-changes.ts'
import { TEXT_WORK } from '../processes/read-work.ts'
import { currentHolder } from '../processes/readers.ts'
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
 *
 * A walk takes a slot as the Git process would that it replaces.
 *
 * @throws GitError BUSY
 */
export async function findNearChanges(
  repositories: Repositories,
  id: number,
  { folder, pending, knownAt, limits }: NearSearch,
): Promise<void> {
  const release = await repositories.readers.acquire({ holder: currentHolder() })
  const reader = new FolderReader(repositories, id, folder, limits)
  try {
    while (!pending.isEmpty) {
      const commitId = await reader.latestOf(pending.commitIds)
      pending.answer(commitId, knownAt(commitId) ?? new Map())
      if (!pending.has(commitId)) continue
      for (const parentId of (await reader.node(commitId)).parentIds) {
        pending.pass(commitId, parentId, await reader.changes(commitId, parentId))
        if (!pending.has(commitId)) break
      }
      pending.end(commitId)
    }
  } catch (error) {
    if (!(error instanceof TooFar)) throw error
  } finally {
    reader.close()
    release()
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
  async latestOf(commitIds: readonly string[]): Promise<string> {
    let [latest = ''] = commitIds
    for (const commitId of commitIds)
      if ((await this.node(commitId)).time > (await this.node(latest)).time) latest = commitId
    return latest
  }

  async node(commitId: string): Promise<Node> {
    const known = this.#nodes.get(commitId)
    if (known) return known
    const content = await this.#read(commitId, 'commit')
    const { treeId, parentIds, committer } = await this.#files.run(() => {
      this.#note(parseWork(content))
      return parseCommit(commitId, content)
    })
    const node = { treeId, parentIds, time: committer.time }
    this.#nodes.set(commitId, node)
    return node
  }

  async changes(commitId: string, parentId: string): Promise<Changed> {
    const { treeId } = await this.node(commitId)
    const parentTreeId = (await this.node(parentId)).treeId
    if (treeId === parentTreeId) return new Set()
    const own = await this.#folderOf(treeId)
    const parents = await this.#folderOf(parentTreeId)
    if (own === parents) return new Set()
    if (own === 'none') giveUp()
    if (parents === 'none') return 'all'
    const [tree, other] = [await this.#tree(own), await this.#tree(parents)]
    return this.#files.run(() => {
      const names = changedNames(tree, other) ?? giveUp()
      this.#note(tree.length + other.length + names.size * TEXT_WORK)
      return new Set([...names].map((name) => this.#prefix + name))
    })
  }

  async #folderOf(treeId: string): Promise<string | 'none'> {
    let folderId = treeId
    for (const name of this.#names) {
      const tree = await this.#tree(folderId)
      folderId = await this.#files.run(() => {
        this.#note(tree.length)
        return folderIn(tree, name) ?? giveUp()
      })
      if (folderId === 'none') return 'none'
    }
    return folderId
  }

  async #tree(treeId: string): Promise<Buffer> {
    const known = this.#trees.get(treeId)
    if (known) return known
    const tree = await this.#read(treeId, 'tree')
    this.#trees.set(treeId, tree)
    return tree
  }

  async #read(objectId: string, type: 'commit' | 'tree'): Promise<Buffer> {
    if (this.#readsLeft <= 0 || this.#bytesLeft <= 0) giveUp()
    this.#readsLeft -= 1
    const object = await this.#files.read(objectId)
    if (object?.type !== type) giveUp()
    this.#bytesLeft -= object.bytes
    return object.content
  }

  #note(work: number): void {
    if (!this.#files.note(work)) giveUp()
  }
}

function giveUp(): never {
  throw new TooFar()
}
