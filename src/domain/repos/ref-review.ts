import { setImmediate } from 'node:timers/promises'
import { isRefName, type RefUpdate } from '../../git/refs.ts'
import { type IndexedRefs, listHeldRefs, refNameBelow, refNamesByKey } from '../../storage/ref-names.ts'
import type { Repository } from '../../storage/repositories.ts'
import type { SignedIn } from '../access.ts'
import type { App } from '../app.ts'
import type { Reason } from '../errors.ts'
import { type BranchJudgement, branchJudge } from './branch-review.ts'
import { readBranchRules } from './branch-rules.ts'
import { foldersAbove } from './file-paths.ts'
import { checkWritable, openRepositoryById, suffices, type Unit } from './permissions.ts'
import { readTagRules, type TagRules } from './tag-protections.ts'

/**
 * The first half of the door for refs: whether somebody may move them as they ask. Rows answer it as far as they can; Git has the
 * last word on what fits beside what.
 */

/** Refs that are to move, all of them or none, and whose objects are stored. */
export interface ProposedUpdates {
  /** Each ref once. */
  readonly updates: readonly RefUpdate[]
  /** Folder of the objects that came with a push; undefined where the server itself has stored them. */
  readonly quarantine: string | undefined
  /** The part of the repository whose writers may do this, if not its code: a release has its tag made. */
  readonly unit?: Unit
  /** What a branch is renamed by has been judged by the rules about renames, and is no push of what is on it. */
  readonly origin?: 'push' | 'rename'
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

const HEADS = 'refs/heads/'
const TAGS = 'refs/tags/'

/** Components of new names up to which these are looked up; for more than that all names are read. */
const MAX_LOOKUPS = 200

/** How long the process may be held up by a review at a time. */
const MAX_TURN_MS = 10

/**
 * Decides about refs before one of them moves, each by itself, by what holds at this moment: a push may have taken an hour.
 *
 * @returns a refusal for each ref that must not move. One that is refused refuses all.
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_UNIT_CLOSED, REPOSITORY_ARCHIVED, REPOSITORY_IS_MIRROR
 */
export async function reviewUpdates(
  app: App,
  caller: SignedIn,
  repositoryId: number,
  { updates, quarantine, unit = 'code', origin }: ProposedUpdates,
): Promise<readonly Refusal[]> {
  const { repository, access, units } = await openRepositoryById(app, caller, repositoryId, 'read', unit)
  checkWritable(repository, 'push')
  if (!suffices(access, 'write')) {
    return [
      {
        text: 'User permission denied for writing.',
        reason: 'REPOSITORY_ACCESS_DENIED',
        metadata: { needed: 'write' },
      },
    ]
  }
  if (updates.length > MAX_UPDATES) return [refused('refs/', `a push changes at most ${MAX_UPDATES} refs`)]
  const tagRules = await readTagRules(app, repositoryId, caller)
  const rules = await readBranchRules(app, repositoryId, caller.user.id, units)
  const judgeBranch = origin === 'rename' ? async () => undefined : branchJudge(app, repository, rules, quarantine)
  const refusals: Refusal[] = []
  let turnEnds = performance.now() + MAX_TURN_MS
  for (const update of updates) {
    const refusal = judgeName(update) ?? judgeTag(update, tagRules) ?? refusalOf(update, await judgeBranch(update))
    if (refusal) refusals.push(refusal)
    if (performance.now() < turnEnds) continue
    await setImmediate()
    turnEnds = performance.now() + MAX_TURN_MS
  }
  const [branches, tags] = SPACES
  return [
    ...refusals,
    ...(await collisions(app, repository, branches, updates)),
    ...(await collisions(app, repository, tags, updates)),
  ]
}

function judgeName({ name, to }: RefUpdate): Refusal | undefined {
  if (SERVER_REFS.test(name)) return refused(name, `${name} belongs to the server`)
  if (to === undefined) return undefined
  const short = name.replace(/^refs\/(?:heads\/|tags\/)?/, '')
  if (!isRefName(short)) return refused(name, `${name} is no name for a ref`)
  return LOOKS_LIKE_AN_ID.test(short) ? refused(name, `${name} looks like the id of an object`) : undefined
}

function judgeTag({ name, from, to }: RefUpdate, tagRules: TagRules): Refusal | undefined {
  if (!name.startsWith(TAGS)) return undefined
  const tag = name.slice(TAGS.length)
  if (!tagRules.protect(tag)) return undefined
  const action = from === undefined ? 'create' : to === undefined ? 'delete' : 'move'
  return { text: `Tag ${tag} is protected`, reason: 'TAG_PROTECTED', metadata: { tag, action } }
}

function refusalOf({ name }: RefUpdate, judgement: BranchJudgement | undefined): Refusal | undefined {
  return judgement && { ...judgement, metadata: { ref: name, text: judgement.text } }
}

function refused(ref: string, text: string): Refusal {
  return { text, reason: 'REF_REFUSED', metadata: { ref, text } }
}

/** The refs of which no two may be called alike, each with what people call one. */
const SPACES = [
  ['branches', HEADS, 'branch'],
  ['tags', TAGS, 'tag'],
] as const

/**
 * New names that cannot be beside others: `a` beside `a/b`, which are a file and a folder to Git, and `A` beside `a`, which are one
 * file to many people's computers.
 */
async function collisions(
  app: App,
  { id }: Repository,
  [table, prefix, kind]: (typeof SPACES)[number],
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
  const present = (await namesNear(app, table, id, created)).filter((name) => !deleted.has(name))
  return findCollisions(created, present).map(([name, other]) => {
    const isCase = fold(name) === fold(other)
    const text = isCase
      ? `${kind} ${name} differs from ${kind} ${other} in nothing but the case of its letters`
      : `${kind} ${name} cannot be beside ${kind} ${other}, as one path is below the other`
    return { text, reason: 'REF_NAME_COLLISION', metadata: { ref: `${prefix}${name}`, text } }
  })
}

/** All names that any of some new ones could collide with, and more where that costs less. */
async function namesNear(
  app: App,
  table: IndexedRefs,
  repositoryId: number,
  created: readonly string[],
): Promise<string[]> {
  const components = created.reduce((count, name) => count + name.split('/').length, 0)
  if (components > MAX_LOOKUPS) return (await listHeldRefs(app.db, table, repositoryId)).map(({ name }) => name)
  const keys = new Set(created.flatMap((name) => [name, ...foldersAbove(name)]).map(fold))
  const near = await refNamesByKey(app.db, table, repositoryId, [...keys])
  for (const name of created) {
    const below = await refNameBelow(app.db, table, repositoryId, name)
    if (below !== undefined) near.push(below)
  }
  return near
}

/**
 * Pairs of a new name and one that it collides with: of every collision of a new name at least one pair. It takes no more memory
 * than the names, however deep they are.
 *
 * @param present names that are there already.
 */
export function findCollisions(created: readonly string[], present: readonly string[]): [string, string][] {
  const items = [
    ...present.map((name) => ({ name, key: sortKey(name), isNew: false })),
    ...created.map((name) => ({ name, key: sortKey(name), isNew: true })),
  ].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const found: [string, string][] = []
  for (let i = 1; i < items.length; i += 1) {
    const [before, item] = [items[i - 1], items[i]]
    if (!before || !item || before.name === item.name || !(before.isNew || item.isNew)) continue
    // Whatever is below a name comes directly behind it.
    if (before.key === item.key) found.push(item.isNew ? [item.name, before.name] : [before.name, item.name])
    else if (item.key.startsWith(`${before.key}\0`))
      found.push(before.isNew ? [before.name, item.name] : [item.name, before.name])
  }
  return found
}

function sortKey(name: string): string {
  return fold(name).replaceAll('/', '\0')
}

/** As the database folds names: ASCII letters alone. */
function fold(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
