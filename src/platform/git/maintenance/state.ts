import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { entriesOf, unlessGone } from '../repositories/folders.ts'
import { type Repositories, repositoryPath } from '../repositories/repositories.ts'

/** A pack of a repository. */
export interface PackState {
  /** Name of the file, such as `pack-….pack`. */
  readonly name: string
  readonly bytes: number
  readonly indexBytes: number
  /** Number of objects, from the size of the index. Slightly too high for packs beyond 2 GiB. */
  readonly objects: number
  /** Time of the last change in Unix milliseconds. */
  readonly changeMs: number
  /** Whether a fork has the same file, which is large enough that a copy would matter. */
  readonly isShared: boolean
  /** Whether another name leads to the file, whatever its size. */
  readonly isLinked: boolean
  /** Whether Git must leave the pack alone: it has a `.keep` file. */
  readonly isKept: boolean
  /** Whether the pack has the unreachable objects that `full` has set apart (gitformat-pack(5)). */
  readonly isCruft: boolean
}

/** What the files of a repository say about its maintenance. */
export interface RepositoryState {
  /** Loose objects, estimated from a sample. */
  readonly looseObjects: number
  /** Bytes of the loose objects, estimated from the same sample. */
  readonly looseBytes: number
  readonly packs: readonly PackState[]
  /** Objects in packs and loose, of which some may be in several packs. */
  readonly objects: number
  /** Objects in packs, and loose ones, that are younger than the commit-graph. */
  readonly objectsSinceGraph: number
  /** Loose refs, at most `MAX_LOOSE_REFS`. */
  readonly looseRefs: number
  /** Refs in `packed-refs`, estimated from its size. */
  readonly packedRefs: number
  readonly hasMultiPackIndex: boolean
  /** Whether the multi-pack-index has a bitmap. */
  readonly hasBitmap: boolean
  /** Time of the commit-graph in Unix milliseconds. Undefined when there is none. */
  readonly graphMs: number | undefined
}

/** Smallest pack that stays shared with forks. Below this size, a copy costs less than many packs. */
export const MIN_SHARED_BYTES = 1024 ** 2

/** Sizes in the index of a pack of version 2 (gitformat-pack(5)). */
const INDEX_START_BYTES = 8 + 256 * 4
const INDEX_END_BYTES = 2 * 20
const INDEX_ENTRY_BYTES = 20 + 4 + 4

/**
 * Folders of loose objects that are counted. Names are hashes, so that all folders are about equally
 * full. One folder alone, as `git gc --auto` counts, is off by half when there are 1,000 objects.
 */
const SAMPLE = Array.from({ length: 16 }, (_, i) => `${i.toString(16)}7`)
const FOLDERS_PER_SAMPLE = 256 / SAMPLE.length

/** Loose refs after which the count ends. More have no other effect. */
export const MAX_LOOSE_REFS = 4_096

/** A line of `packed-refs`: id, blank, a name of usual length, line feed. */
const PACKED_REF_BYTES = 70

/** The folder of temporary objects and names of other files that are no loose objects. */
const LOOSE_OBJECT = /^[0-9a-f]{38}$/

/**
 * Reads the state of a repository from names and sizes of its files, without a Git process and
 * without reading a file.
 *
 * @returns undefined when the repository does not exist.
 */
export async function readState(
  repositories: Repositories,
  id: number,
): Promise<RepositoryState | undefined> {
  const path = repositoryPath(repositories, id)
  const objects = join(path, 'objects')
  if ((await statOf(objects)) === undefined) return undefined
  const graphMs = await graphTime(objects)
  const names = (await entriesOf(join(objects, 'pack'))).map(({ name }) => name)
  const [packs, loose, looseRefs, packedRefs] = await Promise.all([
    readPacks(join(objects, 'pack'), names),
    sampleLoose(objects, graphMs ?? 0),
    countLooseRefs(join(path, 'refs')),
    statOf(join(path, 'packed-refs')),
  ])
  const young = packs.filter(({ changeMs }) => changeMs > (graphMs ?? 0))
  return {
    looseObjects: loose.count,
    looseBytes: loose.bytes,
    packs,
    objects: objectsIn(packs) + loose.count,
    objectsSinceGraph: objectsIn(young) + loose.young,
    looseRefs,
    packedRefs: Math.round((packedRefs?.size ?? 0) / PACKED_REF_BYTES),
    hasMultiPackIndex: names.includes('multi-pack-index'),
    hasBitmap: names.some((name) => /^multi-pack-index-.*\.bitmap$/.test(name)),
    graphMs,
  }
}

/** Returns the number of objects in packs. */
export function objectsIn(packs: readonly PackState[]): number {
  return packs.reduce((sum, pack) => sum + pack.objects, 0)
}

async function readPacks(folder: string, names: readonly string[]): Promise<PackState[]> {
  const all = new Set(names)
  const found = names
    .filter((name) => name.endsWith('.pack') && all.has(`${baseOf(name)}.idx`))
    .map(async (name) => {
      const [pack, index] = await Promise.all([
        statOf(join(folder, name)),
        statOf(join(folder, `${baseOf(name)}.idx`)),
      ])
      // Git has replaced the pack meanwhile.
      if (!pack || !index) return []
      const entries = (index.size - INDEX_START_BYTES - INDEX_END_BYTES) / INDEX_ENTRY_BYTES
      return {
        name,
        bytes: pack.size,
        indexBytes: index.size,
        objects: Math.max(0, Math.floor(entries)),
        changeMs: pack.mtimeMs,
        isShared: pack.nlink > 1 && pack.size >= MIN_SHARED_BYTES,
        isLinked: pack.nlink > 1,
        isKept: all.has(`${baseOf(name)}.keep`),
        isCruft: all.has(`${baseOf(name)}.mtimes`),
      }
    })
  return (await Promise.all(found)).flat()
}

function baseOf(pack: string): string {
  return pack.slice(0, -'.pack'.length)
}

/** The list of the files of a commit-graph, within the folder of objects. */
export const GRAPH_CHAIN = 'info/commit-graphs/commit-graph-chain'

/** Returns the time of the commit-graph, which is one file or a chain of files. */
async function graphTime(objects: string): Promise<number | undefined> {
  const chain = await statOf(join(objects, GRAPH_CHAIN))
  return (chain ?? (await statOf(join(objects, 'info/commit-graph'))))?.mtimeMs
}

/** Estimates number and bytes of the loose objects, and the number of those after a time. */
async function sampleLoose(objects: string, afterMs: number) {
  const sampled = { count: 0, young: 0, bytes: 0 }
  for (const folder of SAMPLE) {
    for (const { name } of await entriesOf(join(objects, folder))) {
      const file = LOOSE_OBJECT.test(name) && (await statOf(join(objects, folder, name)))
      if (!file) continue
      sampled.count += FOLDERS_PER_SAMPLE
      sampled.bytes += file.size * FOLDERS_PER_SAMPLE
      if (file.mtimeMs > afterMs) sampled.young += FOLDERS_PER_SAMPLE
    }
  }
  return sampled
}

async function countLooseRefs(root: string): Promise<number> {
  let count = 0
  const folders = [root]
  for (const folder of folders) {
    for (const entry of await entriesOf(folder)) {
      if (entry.isDirectory()) folders.push(join(folder, entry.name))
      else count += 1
      if (count >= MAX_LOOSE_REFS) return count
    }
  }
  return count
}

async function statOf(path: string) {
  const [found] = await unlessGone(async () => [await stat(path)])
  return found
}
