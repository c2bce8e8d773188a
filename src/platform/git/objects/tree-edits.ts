import type { Oid, Repository, Tree, Treebuilder } from 'nodegit'
import { explained, found } from '../core/errors.ts'
import { libgit2 } from '../core/libgit2.ts'
import { useObjects } from '../maintenance/limbo.ts'
import type { Repositories } from '../repositories/repositories.ts'
import { oidOf } from './commits.ts'

/** A change of one path of a tree. */
export interface TreeEdit {
  /** Path from the root, components joined by single slashes. */
  readonly path: string
  /** The new file. Undefined to remove what is at the path. */
  readonly file: { readonly blobId: string; readonly mode: number } | undefined
}

const DIRECTORY = 0o040000

/**
 * Stores a copy of a tree with changes. Only the directories above the changed paths are read and
 * written, so the cost does not depend on the size of the repository. A new directory replaces a
 * file of its name, and empty directories are removed.
 *
 * @param treeId the tree to start from. Undefined: an empty tree.
 * @param edits changes of different paths, none below the new file of another one.
 * @returns the id of the new tree.
 * @throws Error for a path that Git does not allow. The caller must check paths before.
 */
export async function editTree(
  repositories: Repositories,
  id: number,
  treeId: string | undefined,
  edits: readonly TreeEdit[],
): Promise<string> {
  return useObjects(repositories, id, async (repository) => {
    const base = treeId === undefined ? undefined : oidOf(treeId)
    const items = edits.map(({ path, file }) => ({ components: path.split('/'), file }))
    const builder = await edit(repository, base, items, 0)
    return (await explained(builder.write())).toString()
  })
}

interface Item {
  readonly components: readonly string[]
  readonly file: TreeEdit['file']
}

/** @param depth number of path components above this tree. */
async function edit(
  repository: Repository,
  base: Oid | undefined,
  items: readonly Item[],
  depth: number,
): Promise<Treebuilder> {
  const tree: Tree | null = base ? await explained(libgit2().Tree.lookup(repository, base)) : null
  const builder = await explained(libgit2().Treebuilder.create(repository, tree))
  for (const [name, below] of byName(items, depth)) {
    const leaf = below.find(({ components }) => components.length === depth + 1)
    const deeper = below.filter((item) => item !== leaf)
    if (leaf?.file) {
      await explained(builder.insert(name, oidOf(leaf.file.blobId), leaf.file.mode))
      continue
    }
    const inner =
      deeper.length > 0
        ? await edit(repository, await directoryAt(tree, name), deeper, depth + 1)
        : undefined
    if (inner && inner.entrycount() > 0) {
      await explained(builder.insert(name, await explained(inner.write()), DIRECTORY))
    } else {
      builder.remove(name)
    }
  }
  return builder
}

/** Returns the tree of a directory, or undefined when there is no directory of this name. */
async function directoryAt(tree: Tree | null, name: string): Promise<Oid | undefined> {
  const entry = tree ? await found(tree.entryByPath(name)) : undefined
  return entry?.filemode() === DIRECTORY ? oidOf(entry.sha()) : undefined
}

function byName(items: readonly Item[], depth: number): ReadonlyMap<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const name = item.components[depth] ?? ''
    const group = groups.get(name)
    if (group) group.push(item)
    else groups.set(name, [item])
  }
  return groups
}
