/** The id of the last commit that changed each entry of a directory, by path. */
export type LastChanges = ReadonlyMap<string, string>

/**
 * The entries whose last change is looked for, each at one commit that has the entry as it is now.
 *
 * The last change is that of `git log -1 -- path`: from a commit, the search goes on at the first
 * parent that has the same entry. It ends at a commit whose parents all have another entry or none.
 * So the answer for a commit is also the answer for each commit from which a search gets there.
 */
export class PendingEntries {
  readonly found = new Map<string, string>()
  /** Paths by commit. No set is empty. */
  readonly #paths = new Map<string, Set<string>>()

  constructor(commitId: string, paths: Iterable<string>) {
    this.#move(new Set(paths), commitId)
  }

  /** The commits at which entries are looked for. */
  get commitIds(): readonly string[] {
    return [...this.#paths.keys()]
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0
  }

  /** Returns whether an entry is looked for at a commit: any, or the one at a path. */
  has(commitId: string, path?: string): boolean {
    const paths = this.#paths.get(commitId)
    return path === undefined ? paths !== undefined : paths?.has(path) === true
  }

  /** Takes answers for a commit from those of an earlier search. */
  answer(commitId: string, known: LastChanges): void {
    const paths = this.#paths.get(commitId)
    for (const path of paths ?? []) {
      const changeId = known.get(path)
      if (changeId === undefined) continue
      this.found.set(path, changeId)
      paths?.delete(path)
    }
    if (paths?.size === 0) this.#paths.delete(commitId)
  }

  /**
   * Moves unchanged entries to the parent. Pass the parents in their order.
   *
   * @param parentId undefined for a first commit, which differs from nothing in all its entries.
   * @param changed paths that differ between commit and parent, or `all`.
   */
  pass(commitId: string, parentId: string | undefined, changed: Iterable<string> | 'all'): void {
    const paths = this.#paths.get(commitId)
    if (!paths || changed === 'all') return
    const changedHere = new Set<string>()
    for (const path of changed) if (paths.delete(path)) changedHere.add(path)
    this.#paths.delete(commitId)
    this.#move(changedHere, commitId)
    // Git finds no entries below a folder whose name is not in UTF-8.
    if (parentId !== undefined) this.#move(paths, parentId)
  }

  /** Ends the search for the entries that differ from those of all parents. */
  end(commitId: string): void {
    for (const path of this.#paths.get(commitId) ?? []) this.found.set(path, commitId)
    this.#paths.delete(commitId)
  }

  #move(paths: Set<string>, commitId: string): void {
    const there = this.#paths.get(commitId)
    if (!there) {
      if (paths.size > 0) this.#paths.set(commitId, paths)
      return
    }
    // The smaller set is copied, since a history of many merges moves a large set each time.
    const [large, small] = there.size < paths.size ? [paths, there] : [there, paths]
    for (const path of small) large.add(path)
    this.#paths.set(commitId, large)
  }
}
