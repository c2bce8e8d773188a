import {
  MAX_LOOSE_REFS,
  objectsIn,
  type PackState,
  type RepositoryState,
} from '../../../platform/git/maintenance/state.ts'
import { STEPS, type Step } from '../../../platform/git/maintenance/steps.ts'

/** Bounds after which a repository is packed, while clients push to it and when they no longer do. */
const BOUNDS = {
  active: { looseObjects: 512, packs: 4 },
  quiet: { looseObjects: 64, packs: 4 },
} as const

/** Each pack should have this many times the objects of the next smaller one. */
const PROGRESSION = 2

/** Objects from which on a bitmap makes clones cheaper. */
const MIN_BITMAP_OBJECTS = 2_000

/** A commit comes with a tree and a file at least. */
const OBJECTS_PER_COMMIT = 3

/** New commits after which the commit-graph is written: this number, or this share but not fewer. */
const NEW_COMMITS = 500
const NEW_COMMITS_SHARE = 0.1
const MIN_NEW_COMMITS = 64

/** Loose refs after which refs are packed, when they are this share of all refs too. */
const LOOSE_REFS = 256
const LOOSE_REFS_SHARE = 0.25

/**
 * `full` is due this time after the last one, when this share of the bytes is not in the largest
 * pack.
 */
const FULL_INTERVAL_MS = 30 * 24 * 60 * 60_000
const FULL_SHARE = 0.2

/** A prune packs as much as `full`. */
const PRUNE_INTERVAL_MS = 7 * 24 * 60 * 60_000

/**
 * Returns the steps that a repository needs, in the order in which they run. `full` and `prune`,
 * which depend on time, are left out.
 *
 * @param isQuiet whether nobody has pushed for a day.
 */
export function dueSteps(state: RepositoryState, isQuiet: boolean): Step[] {
  const geometric = needsPacking(state, isQuiet)
  const due: Record<Step, boolean> = {
    full: false,
    prune: false,
    geometric,
    bitmap: state.objects >= MIN_BITMAP_OBJECTS && (geometric || needsBitmap(state)),
    'commit-graph': geometric || needsGraph(state),
    refs: needsPackedRefs(state),
  }
  return STEPS.filter((step) => due[step])
}

/** Returns whether steps become due when nobody pushes for a day. */
export function isDueWhenQuiet(state: RepositoryState): boolean {
  return needsPacking(state, true)
}

/**
 * Returns the time at which `full` is due, in Unix milliseconds. Undefined while it would gain
 * little.
 *
 * @param lastMs time of the last one, or else of the creation of the repository.
 */
export function fullDueTime(state: RepositoryState, lastMs: number): number | undefined {
  const own = state.packs.filter(({ isShared, isKept }) => !isShared && !isKept)
  const sizes = own.filter(({ isCruft }) => !isCruft).map(({ bytes }) => bytes)
  const total = sizes.reduce((sum, bytes) => sum + bytes, state.looseBytes)
  const isWorthwhile = total - Math.max(0, ...sizes) > total * FULL_SHARE
  return isWorthwhile ? lastMs + FULL_INTERVAL_MS : undefined
}

/**
 * Returns the time at which a prune is due, in Unix milliseconds. Undefined while `full` has found no
 * unreachable objects.
 *
 * @param lastMs time of the last prune or `full`, or else of the creation of the repository.
 */
export function pruneDueTime({ packs }: RepositoryState, lastMs: number): number | undefined {
  return packs.some(({ isCruft }) => isCruft) ? lastMs + PRUNE_INTERVAL_MS : undefined
}

function needsPacking(state: RepositoryState, isQuiet: boolean): boolean {
  const bounds = isQuiet ? BOUNDS.quiet : BOUNDS.active
  const packs = state.packs.filter(
    ({ isShared, isKept, isCruft }) => !isShared && !isKept && !isCruft,
  )
  return (
    state.looseObjects > bounds.looseObjects ||
    (packs.length > bounds.packs && (isQuiet || !isProgression(packs)))
  )
}

/** Returns whether `git repack --geometric` would leave all packs as they are. */
function isProgression(packs: readonly PackState[]): boolean {
  const counts = packs.map(({ objects }) => objects).sort((a, b) => a - b)
  return counts.every((count, i) => count >= PROGRESSION * (counts[i - 1] ?? 0))
}

/** Without objects in packs, nothing can have a bitmap. */
function needsBitmap({ hasBitmap, packs }: RepositoryState): boolean {
  return !hasBitmap && objectsIn(packs) > 0
}

function needsGraph({ objects, objectsSinceGraph }: RepositoryState): boolean {
  const commits = objectsSinceGraph / OBJECTS_PER_COMMIT
  const share = objectsSinceGraph / Math.max(objects, 1)
  return commits > NEW_COMMITS || (commits > MIN_NEW_COMMITS && share > NEW_COMMITS_SHARE)
}

function needsPackedRefs({ looseRefs, packedRefs }: RepositoryState): boolean {
  const isLargeShare = looseRefs > (looseRefs + packedRefs) * LOOSE_REFS_SHARE
  return looseRefs > LOOSE_REFS && (isLargeShare || looseRefs >= MAX_LOOSE_REFS)
}
