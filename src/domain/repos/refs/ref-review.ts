import { HEADS, type RefUpdate, TAGS } from '../../../git/core/ref-names.ts'
import { isRefName } from '../../../git/refs/refs.ts'
import { type IndexedRefs, listHeldRefs, refNameBelow } from '../../../storage/repos/ref-names.ts'
import type { Repository } from '../../../storage/schema/repos.ts'
import type { SignedIn } from '../../core/access.ts'
import type { Reason } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { createYielder } from '../../core/yielding.ts'
import {
  checkWritable,
  type OpenRepository,
  openRepositoryById,
  type Unit,
} from '../access/permissions.ts'
import { pushableBranches } from '../access/pushes.ts'
import type { ReposApp } from '../ports.ts'
import { type BranchJudgement, branchJudge } from '../protection/branch-review.ts'
import { type BranchRules, readBranchRules } from '../protection/branch-rules.ts'
import { mayMerge } from '../protection/protection-rules.ts'
import type { MergePush } from '../protection/pull-pushes.ts'
import { findProtectedTags } from '../protection/tag-protections.ts'
import { foldersAbove } from '../reading/file-paths.ts'
import { REF_TABLES } from './ref-differences.ts'

/**
 * The first half of the door for refs: whether somebody may move them as they ask. Rows answer it
 * as far as they can; Git has the last word on what fits beside what.
 */

/** Refs that are to move, all of them or none, and whose objects are stored. */
export interface ProposedUpdates {
  /** Each ref once. */
  readonly updates: readonly RefUpdate[]
  /**
   * Folder of the objects that came with a push; undefined where the server itself has stored them.
   */
  readonly quarantine: string | undefined
  /**
   * The part of the repository whose writers may do this, if not its code: a release has its tag
   * made.
   */
  readonly unit?: Unit
  /**
   * What a branch is renamed by has been judged by the rules about renames, and is no push of what
   * is on it.
   */
  readonly origin?: 'push' | 'rename'
  /**
   * What it is, if it is no push of a person: for that somebody on a list of the rule need not be
   * one who may write.
   */
  readonly merge?: MergePush | undefined
}

/** Why a ref must not move. */
export interface Refusal {
  /** For who pushes. */
  readonly text: string
  /** The same for who calls the API. */
  readonly reason: Reason
  readonly metadata: Readonly<Record<string, string>>
}

/** Refs that the server makes, and those by which other forges make pull requests of pushes. */
const SERVER_REFS = /^refs\/(?:pull|branchline|for|draft|for-review)\//

/** Would be taken for the id of an object. */
export const LOOKS_LIKE_AN_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** Most refs of one push. A first push of the largest histories known has fewer. */
const MAX_UPDATES = 200_000

/** Branches in a push of somebody who may not write to the repository but for pull requests. */
const MAX_MAINTAINER_EDITS = 20

/**
 * Components of new names up to which these are looked up; for more than that all names are read.
 */
const MAX_LOOKUPS = 200

/**
 * Decides about refs before one of them moves, each by itself, by what holds at this moment: a push
 * may have taken an hour.
 *
 * @returns a refusal for each ref that must not move. One that is refused refuses all.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_UNIT_CLOSED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR
 */
export async function reviewUpdates(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { updates, quarantine, unit = 'code', origin, merge }: ProposedUpdates,
): Promise<readonly Refusal[]> {
  const open = await openRepositoryById(app, caller, repositoryId, 'read', unit)
  const { repository } = open
  checkWritable(repository)
  const mayWrite = suffices(open.access, 'write')
  const isMaintainer = !mayWrite && !merge && (await areMaintainerEdits(app, caller, open, updates))
  // To who maintains a branch its rules are the same as to who may write to the repository.
  const units = isMaintainer ? { code: 'write' as const } : open.units
  const rules = await readBranchRules(app, repositoryId, caller.user.id, units)
  if (
    !mayWrite &&
    !isMaintainer &&
    !(merge && updates.every((update) => mayBeMerged(rules, update)))
  ) {
    return [
      {
        text: 'User permission denied for writing.',
        reason: 'REPOSITORY_ACCESS_DENIED',
        metadata: { needed: 'write' },
      },
    ]
  }
  if (updates.length > MAX_UPDATES)
    return [refused('refs/', `a push changes at most ${MAX_UPDATES} refs`)]
  const movedTags = updates.flatMap(({ name }) =>
    name.startsWith(TAGS) ? name.slice(TAGS.length) : [],
  )
  const protectedTags = await findProtectedTags(app, repositoryId, caller, movedTags)
  if (!protectedTags)
    return [refused(TAGS, 'it takes too long to find out which of so many tags are protected')]
  const judgeBranch =
    origin === 'rename'
      ? async () => undefined
      : branchJudge(app, repository, rules, quarantine, merge)
  const refusals: Refusal[] = []
  const yielder = createYielder()
  for (const update of updates) {
    const refusal =
      judgeName(update) ??
      judgeTag(update, protectedTags) ??
      refusalOf(update, await judgeBranch(update))
    if (refusal) refusals.push(refusal)
    const pause = yielder.yield()
    if (pause) await pause
  }
  const [branches, tags] = REF_TABLES
  return [
    ...refusals,
    ...(await collisions(app, repository, branches, updates)),
    ...(await collisions(app, repository, tags, updates)),
  ]
}

/**
 * Whether updates are of branches alone that are there and stay, and that the caller may push to
 * for what pulls them.
 */
async function areMaintainerEdits(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  updates: readonly RefUpdate[],
): Promise<boolean> {
  const branches = updates.flatMap(({ name, from, to }) =>
    name.startsWith(HEADS) && from !== undefined && to !== undefined
      ? name.slice(HEADS.length)
      : [],
  )
  if (branches.length !== updates.length || branches.length > MAX_MAINTAINER_EDITS) return false
  const pushable = await pushableBranches(app, caller, open, branches)
  return branches.every((branch) => pushable.has(branch))
}

/** Whether a rule lets somebody merge to a branch, whether they may write else or not. */
function mayBeMerged(rules: BranchRules, { name }: RefUpdate): boolean {
  const inForce = name.startsWith(HEADS) ? rules.inForceFor(name.slice(HEADS.length)) : undefined
  return inForce !== undefined && mayMerge(inForce.rule, inForce.pusher)
}

function judgeName({ name, to }: RefUpdate): Refusal | undefined {
  if (SERVER_REFS.test(name)) return refused(name, `${name} belongs to the server`)
  if (to === undefined) return undefined
  const short = name.replace(/^refs\/(?:heads\/|tags\/)?/, '')
  if (!isRefName(short)) return refused(name, `${name} is no name for a ref`)
  return LOOKS_LIKE_AN_ID.test(short)
    ? refused(name, `${name} looks like the id of an object`)
    : undefined
}

function judgeTag(
  { name, from, to }: RefUpdate,
  protectedTags: ReadonlySet<string>,
): Refusal | undefined {
  if (!name.startsWith(TAGS)) return undefined
  const tag = name.slice(TAGS.length)
  if (!protectedTags.has(tag)) return undefined
  const action = from === undefined ? 'create' : to === undefined ? 'delete' : 'move'
  return { text: `Tag ${tag} is protected`, reason: 'TAG_PROTECTED', metadata: { tag, action } }
}

function refusalOf(
  { name }: RefUpdate,
  judgement: BranchJudgement | undefined,
): Refusal | undefined {
  return judgement && { ...judgement, metadata: { ref: name, text: judgement.text } }
}

function refused(ref: string, text: string): Refusal {
  return { text, reason: 'REF_REFUSED', metadata: { ref, text } }
}

/**
 * New names that cannot be beside others: `a` beside `a/b`, which are a file and a folder to Git.
 */
async function collisions(
  app: ReposApp,
  { id }: Repository,
  [table, prefix, kind]: (typeof REF_TABLES)[number],
  updates: readonly RefUpdate[],
): Promise<Refusal[]> {
  const inSpace = updates.flatMap(({ name, from, to }) =>
    name.startsWith(prefix)
      ? [{ name: name.slice(prefix.length), isNew: from === undefined && to !== undefined, to }]
      : [],
  )
  const created = inSpace.flatMap(({ name, isNew }) => (isNew ? name : []))
  if (created.length === 0) return []
  const deleted = new Set(inSpace.flatMap(({ name, to }) => (to === undefined ? name : [])))
  const present = (await possibleCollisions(app, table, id, created)).filter(
    (name) => !deleted.has(name),
  )
  return findCollisions(created, present).map(([name, other]) => {
    const text = `${kind} ${name} cannot be beside ${kind} ${other}, as one path is below the other`
    return { text, reason: 'REF_NAME_COLLISION', metadata: { ref: `${prefix}${name}`, text } }
  })
}

/** All names that any of some new ones could collide with, and more where that costs less. */
async function possibleCollisions(
  app: ReposApp,
  table: IndexedRefs,
  repositoryId: number,
  created: readonly string[],
): Promise<string[]> {
  const components = created.reduce((count, name) => count + name.split('/').length, 0)
  const above = components > MAX_LOOKUPS ? undefined : [...new Set(created.flatMap(foldersAbove))]
  const near = (await listHeldRefs(app.db, table, repositoryId, above)).map(({ name }) => name)
  if (above === undefined) return near
  for (const name of created) {
    const below = await refNameBelow(app.db, table, repositoryId, name)
    if (below !== undefined) near.push(below)
  }
  return near
}

/**
 * Pairs of a new name and one that it collides with: of every collision of a new name at least one
 * pair. It takes no more memory than the names, however deep they are.
 *
 * @param present names that are there already.
 */
export function findCollisions(
  created: readonly string[],
  present: readonly string[],
): [string, string][] {
  const items = [
    ...present.map((name) => ({ name, key: sortKey(name), isNew: false })),
    ...created.map((name) => ({ name, key: sortKey(name), isNew: true })),
  ].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const found: [string, string][] = []
  for (let i = 1; i < items.length; i += 1) {
    const [before, item] = [items[i - 1], items[i]]
    if (!before || !item || !(before.isNew || item.isNew)) continue
    // Whatever is below a name comes directly behind it.
    if (!item.key.startsWith(`${before.key}\0`)) continue
    found.push(before.isNew ? [before.name, item.name] : [item.name, before.name])
  }
  return found
}

/** Slashes come before everything else that a name may have. */
function sortKey(name: string): string {
  // `replaceAll` takes seven times as long on names of many components, and nobody else is served
  // meanwhile.
  return name.split('/').join('\0')
}
