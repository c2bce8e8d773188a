import { PassThrough } from 'node:stream'
import { converseWithGit, type ReadOptions, splitAtZeros } from '../repositories/reading.ts'
import type { Repositories } from '../repositories/repositories.ts'

/** What git-merge-tree(1) says about two commits. */
export interface MergeVerdict {
  readonly isClean: boolean
  /**
   * With what both have changed. Of what does not go together it has both sides, between markers.
   */
  readonly treeId: string
  /** Files that do not go together. */
  readonly paths: readonly string[]
  /** What Git says about that. */
  readonly texts: readonly string[]
  /**
   * Files that were merged line by line, or could not be: those whose attributes count. Some are of
   * merges of the merge bases.
   */
  readonly touched: ReadonlySet<string>
}

/** Kept of each list of a verdict, in characters: more than anybody reads. */
const MAX_KEPT_CHARACTERS = 50_000

/** Kept of an entry: as long as paths are that can be checked out (PATH_MAX). */
const MAX_RECORD_BYTES = 4096

/** Paths whose attributes are looked up: more than anybody changes on both sides. */
const MAX_TOUCHED = 20_000

/** What Git says about files that do go together. */
const NO_CONFLICT = 'Auto-merging'

/** Begins what it says about merge bases. */
const ABOUT_BASES = /^ *From inner merge:/

const ARGUMENTS = ['merge-tree', '--write-tree', '--stdin', '--name-only', '--messages']

const CONFIG = [
  // Tells of the merges of merge bases too (`path_msg` in merge-ort.c of Git).
  'merge.verbosity=5',
  // Names no tree, so that attributes come from the work tree (`compute_default_attr_source` in
  // attr.c of Git 2.43).
  'attr.tree=.',
]

export type MergeProcessOptions = Pick<
  ReadOptions,
  'signal' | 'quarantine' | 'scratch' | 'workTree'
>

/** Records of an answer about what goes together, without a message. */
const SHORTEST_ANSWER = 4

/** A git that merges one pair of commits after the other, each as soon as it is asked for. */
export class MergeProcess {
  readonly #pairs = new PassThrough()
  readonly #records: AsyncGenerator<Buffer, void, undefined>
  /** Records that nobody needs. */
  #leftOver = 0

  constructor(repositories: Repositories, id: number, options: MergeProcessOptions) {
    const args = [...CONFIG.flatMap((entry) => ['-c', entry]), ...ARGUMENTS]
    const output = converseWithGit(repositories, id, args, { ...options, input: this.#pairs })
    this.#records = splitAtZeros(output, MAX_RECORD_BYTES)
  }

  /**
   * Merges two commits. Not to be called before the last call has ended, nor after one that failed.
   *
   * @param ours, theirs ids in full.
   * @throws GitError TIMEOUT; the reason of the signal; Error with what Git says when there is
   *   nothing to merge.
   */
  async merge(ours: string, theirs: string): Promise<MergeVerdict> {
    // Git keeps the last byte of an answer to itself until it has another one: that of a merge that
    // changes nothing.
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
   * Verdict, tree, paths, an empty record; messages, and an empty record (git-merge-tree(1),
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

/** The first of some texts. */
class ShortList {
  readonly items: string[] = []
  #characters = 0

  push(text: string): void {
    this.#characters += text.length
    if (this.#characters <= MAX_KEPT_CHARACTERS) this.items.push(text)
  }
}
