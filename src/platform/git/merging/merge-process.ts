import { PassThrough } from 'node:stream'
import { converseWithGit, type ReadOptions, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** The result of git-merge-tree(1) for two commits. */
export interface MergeVerdict {
  readonly isClean: boolean
  /** Id of the merged tree. Files with conflicts contain both sides between markers. */
  readonly treeId: string
  /** Files with conflicts. */
  readonly paths: readonly string[]
  /** Messages of Git about the conflicts. */
  readonly texts: readonly string[]
  /**
   * Files that Git has merged or tried to merge, whose attributes therefore affect the result. Some
   * are from merges of merge bases.
   */
  readonly touched: ReadonlySet<string>
}

/** Total length of each list of a verdict. */
const MAX_LIST_CHARACTERS = 50_000

/** Longest entry: the longest path that can be checked out (PATH_MAX). */
const MAX_RECORD_BYTES = 4096

/** Number of paths whose attributes are read. */
const MAX_TOUCHED = 20_000

/** Kind of messages about files without conflicts. */
const NO_CONFLICT = 'Auto-merging'

/** Start of messages about merges of merge bases. */
const ABOUT_BASES = /^ *From inner merge:/

const ARGUMENTS = ['merge-tree', '--write-tree', '--stdin', '--name-only', '--messages']

const CONFIG = [
  // Prints messages about merges of merge bases too (`path_msg` in merge-ort.c of Git).
  'merge.verbosity=5',
  // No valid tree, so Git reads attributes from the work tree (`compute_default_attr_source` in
  // attr.c of Git 2.43).
  'attr.tree=.',
]

export type MergeProcessOptions = Pick<
  ReadOptions,
  'signal' | 'quarantine' | 'scratch' | 'workTree'
>

/** Number of records of an answer without conflicts and messages. */
const SHORTEST_ANSWER = 4

/** A Git process that merges pairs of commits one after the other. */
export class MergeProcess {
  readonly #pairs = new PassThrough()
  readonly #records: AsyncGenerator<Buffer, void, undefined>
  /** Number of records to skip before the next answer. */
  #leftOver = 0

  constructor(repositories: Repositories, id: number, options: MergeProcessOptions) {
    const args = [...CONFIG.flatMap((entry) => ['-c', entry]), ...ARGUMENTS]
    const output = converseWithGit(repositories, id, args, { ...options, input: this.#pairs })
    this.#records = splitAtZeros(output, MAX_RECORD_BYTES)
  }

  /**
   * Merges two commits. Calls must not overlap. After a failure, the process must not be used
   * again.
   *
   * @param ours, theirs full ids.
   * @throws GitError TIMEOUT; the reason of the signal; Error with Git's message when the commits
   *   cannot be merged.
   */
  async merge(ours: string, theirs: string): Promise<MergeVerdict> {
    // Git prints the last byte of an answer only with the next one, so a second merge follows,
    // which changes nothing.
    this.#pairs.write(`${ours} ${theirs}\n${ours} ${ours}\n`)
    for (; this.#leftOver > 0; this.#leftOver -= 1) await this.#record()
    const verdict = await this.#readAnswer()
    this.#leftOver = SHORTEST_ANSWER
    return verdict
  }

  /** Ends the process. */
  async end(): Promise<void> {
    this.#pairs.end()
    await this.#records.return()
  }

  /**
   * Reads verdict, tree, paths, an empty record, messages and an empty record (git-merge-tree(1),
   * "OUTPUT" with `-z`).
   */
  async #readAnswer(): Promise<MergeVerdict> {
    const isClean = (await this.#record()) === '1'
    const treeId = await this.#record()
    const [paths, texts, touched] = [new ShortList(), new ShortList(), new Set<string>()]
    for (let path = await this.#record(); path !== ''; path = await this.#record()) paths.push(path)
    // A message is a number of paths, those paths, a kind and a text.
    for (let count = await this.#record(); count !== ''; count = await this.#record()) {
      for (let i = Number(count); i > 0; i -= 1) {
        const path = await this.#record()
        if (touched.size < MAX_TOUCHED) touched.add(path)
      }
      const [kind, text] = [await this.#record(), await this.#record()]
      if (kind !== NO_CONFLICT && !ABOUT_BASES.test(text)) texts.push(text)
    }
    return { isClean, treeId, paths: paths.items, texts: texts.items, touched }
  }

  async #record(): Promise<string> {
    const { value, done } = await this.#records.next()
    if (done) throw new Error('git merge-tree ended in the middle of an answer')
    return value.toString()
  }
}

/** The first texts of a list, up to `MAX_LIST_CHARACTERS`. */
class ShortList {
  readonly items: string[] = []
  #characters = 0

  push(text: string): void {
    this.#characters += text.length
    if (this.#characters <= MAX_LIST_CHARACTERS) this.items.push(text)
  }
}
