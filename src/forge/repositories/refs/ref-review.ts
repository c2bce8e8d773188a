import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { HEADS, type RefUpdate, SERVER_REFS, TAGS } from '../../../platform/git/core/ref-names.ts'
import type { PushQuestion } from '../../../platform/git/hooks/push-review.ts'
import { findLargeObject, MAX_COMMIT_BYTES } from '../../../platform/git/objects/large-texts.ts'
import { findLfsPointer } from '../../../platform/git/objects/lfs-pointers.ts'
import { findPathOf } from '../../../platform/git/objects/object-paths.ts'
import type { PackRequest } from '../../../platform/git/packs/pack-services.ts'
import { isRefName } from '../../../platform/git/refs/refs.ts'
import { repositoryPath } from '../../../platform/git/repositories/repositories.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, metadataText, type Reason } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import { sizeText } from '../../core/sizes.ts'
import { findDeployKeyOf } from '../access/deploy-keys.rows.ts'
import {
  checkWritable,
  type OpenRepository,
  openRepositoryById,
  pushableBranches,
  type Unit,
} from '../access/permissions.ts'
import { foldersAbove } from '../content/file-changes.ts'
import { findLockedFiles } from '../lfs/lfs-lock-review.ts'
import { checkPushedPointers, type PushCheck } from '../lfs/lfs-push-check.ts'
import type { ReposApp } from '../ports.ts'
import { type BranchJudgement, branchJudge } from '../protection/branch-review.ts'
import { type BranchRules, readBranchRules } from '../protection/branch-rules.ts'
import { type MergePush, mayMerge } from '../protection/protection-rules.ts'
import { findProtectedTags } from '../protection/tag-protections.ts'
import type { Repository } from '../schema.ts'
import { type IndexedRefs, listHeldRefs, refNameBelow } from './branches.rows.ts'
import { REF_TABLES } from './ref-differences.ts'

/**
 * The first step of the ref-update pipeline: whether a caller may update refs. The database answers
 * where it can. Git decides finally which names can exist beside each other.
 */

/** Ref updates that happen together or not at all. Their objects are stored. */
interface ProposedUpdates {
  /** At most one update for each ref. */
  readonly updates: readonly RefUpdate[]
  /** The folder with the objects of a push. Undefined when the server has stored the objects. */
  readonly quarantine: string | undefined
  /**
   * The unit of the repository that the caller must be able to write to. Default: `code`. For the
   * tag of a release: `releases`.
   */
  readonly unit?: Unit
  /**
   * `rename` for a rename of a branch. The caller has checked the rules for renames, and the rules
   * for pushes do not apply.
   */
  readonly origin?: 'push' | 'rename'
  /** The merge of a pull request. A branch rule can allow it for users without write access. */
  readonly merge?: MergePush | undefined
}

/** Why a ref update is refused. */
export interface Refusal {
  /** The text for `git push`. */
  readonly text: string
  /** The reason for callers of the API. */
  readonly reason: Reason
  readonly metadata: Readonly<Record<string, string>>
}

/** Matches names that Git would take for the id of an object. */
export const LOOKS_LIKE_AN_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** The first push of the largest known repositories has fewer refs. */
const MAX_UPDATES = 200_000

/** Branches in one push of a user without write access, who may push to heads of pull requests. */
const MAX_MAINTAINER_EDITS = 20

/**
 * Up to this number of path components, new names are looked up one by one. For more, all names of
 * the repository are read.
 */
const MAX_LOOKUPS = 200

/**
 * Reviews ref updates by the current state and rules, since a push can take an hour.
 *
 * @returns a refusal for each refused ref. One refusal refuses all updates.
 * @throws SERVER_BUSY, GIT_TIMEOUT
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
  const kind = caller.credential.kind === 'deploy key' ? 'deploy key' : 'user'
  const mayWrite =
    suffices(open.access, 'write') && (await isDeployKeyValid(app, caller, repositoryId))
  const isMaintainer =
    !mayWrite && !merge && kind === 'user' && (await areMaintainerEdits(app, caller, open, updates))
  // For maintainer edits, the rules apply as for a user with write access.
  const units = isMaintainer ? { code: 'write' as const } : open.units
  const rules = await readBranchRules(app, repositoryId, caller.user.id, units, kind)
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
    return [refused('refs/', `a push can update at most ${MAX_UPDATES} refs`)]
  const movedTags = updates.flatMap(({ name }) =>
    name.startsWith(TAGS) ? name.slice(TAGS.length) : [],
  )
  const protectedTags = await findProtectedTags(app, repositoryId, caller, movedTags)
  if (!protectedTags)
    return [refused(TAGS, 'checking the protection of so many tags takes too long')]
  const judgeBranch =
    origin === 'rename'
      ? async () => undefined
      : branchJudge(app, repository, rules, quarantine, merge)
  const refusals: Refusal[] = []
  const yielder = createYielder()
  for (const update of updates) {
    const refusal =
      (update.to !== undefined || isReserved(update.name) ? judgeName(update.name) : undefined) ??
      judgeTag(update, protectedTags) ??
      refusalOf(update, await judgeBranch(update))
    if (refusal) refusals.push(refusal)
    const pause = yielder.yield()
    if (pause) await pause
  }
  const [branches, tags] = REF_TABLES
  return [
    ...refusals,
    ...(origin === 'rename' ? [] : await lockRefusals(app, caller, open, { updates, quarantine })),
    ...(await collisions(app, repository, branches, updates)),
    ...(await collisions(app, repository, tags, updates)),
  ]
}

/** Returns a refusal for each file that another user has locked. */
async function lockRefusals(
  app: ReposApp,
  caller: SignedIn,
  open: OpenRepository,
  { updates, quarantine }: ProposedUpdates,
): Promise<Refusal[]> {
  const locked = await findLockedFiles(app, caller, open, updates, quarantine)
  return locked.map(({ path, owner }) => {
    const text = `${path} is locked by ${owner}`
    return { text, reason: 'FILE_LOCKED', metadata: { path: metadataText(path), owner, text } }
  })
}

/** Returns whether the deploy key of a caller, if any, may still push. */
async function isDeployKeyValid(
  app: ReposApp,
  { credential }: SignedIn,
  repositoryId: number,
): Promise<boolean> {
  if (credential.kind !== 'deploy key') return true
  const key = await findDeployKeyOf(app.db, repositoryId, credential.keyId)
  return key?.read_only === 0
}

/**
 * Returns whether all updates move existing branches that the caller may push to without write
 * access, such as heads of pull requests that allow maintainer edits.
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
  if (branches.length === 0 || branches.length !== updates.length) return false
  if (branches.length > MAX_MAINTAINER_EDITS) return false
  const pushable = await pushableBranches(app, caller, open, branches)
  return branches.every((branch) => pushable.has(branch))
}

/** Returns whether a rule allows the caller to merge to a branch, even without write access. */
function mayBeMerged(rules: BranchRules, { name }: RefUpdate): boolean {
  const inForce = name.startsWith(HEADS) ? rules.inForceFor(name.slice(HEADS.length)) : undefined
  return inForce !== undefined && mayMerge(inForce.rule, inForce.pusher)
}

/** Returns whether only the server may update a ref. */
export function isReserved(name: string): boolean {
  return SERVER_REFS.some((prefix) => name.startsWith(prefix))
}

/** Returns why no ref may have a name. */
function judgeName(name: string): Refusal | undefined {
  if (isReserved(name)) return refused(name, `${name} is reserved for the server`)
  const short = name.replace(/^refs\/(?:heads\/|tags\/)?/, '')
  if (!isRefName(short)) return refused(name, `${name} is not a valid ref name`)
  return LOOKS_LIKE_AN_ID.test(short) ? refused(name, `${name} looks like an object ID`) : undefined
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
 * Returns a refusal for each new name that cannot exist beside another. For example, `a` and `a/b`
 * would be a file and a folder of the same name.
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
    const text = `${kind} ${name} conflicts with ${kind} ${other}: one path is below the other`
    return { text, reason: 'REF_NAME_COLLISION', metadata: { ref: `${prefix}${name}`, text } }
  })
}

/**
 * Returns at least those existing names that a new name could collide with, or all names where that
 * is cheaper.
 */
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
 * Returns at least one pair of names for each new name that collides with another. Takes memory in
 * proportion to the names, however many components they have.
 *
 * @param present existing names.
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
    // Names below another sort directly after it.
    if (!item.key.startsWith(`${before.key}\0`)) continue
    found.push(before.isNew ? [before.name, item.name] : [item.name, before.name])
  }
  return found
}

/** Returns a key that sorts slashes before all other characters of names. */
function sortKey(name: string): string {
  // `replaceAll` takes seven times as long for names of many components, and it blocks the event
  // loop.
  return name.split('/').join('\0')
}

/**
 * The review of a push. The server refuses a push as a whole, except for refs that the client cannot
 * fix, since they are those of another server: refs in namespaces of the server, invalid names, and
 * names beside which another one exists. Git refuses these one by one, so that a mirror of any
 * repository can be pushed.
 */

/** Refusals that the output of one push shows. */
const MAX_SHOWN_REFUSALS = 50

/** Longest refused names, together. Git passes them to its hooks in a variable, quoted. */
const MAX_NAMES_BYTES = 16 * 1024

/**
 * The names that Git and the server read in the same way. Others are no valid UTF-8, or have
 * characters that divide the lines of hooks.
 */
const PLAIN = /^refs\/[^\p{Cc} \ufffd]+$/u

/** Returns the invalid names among the commands of a push, which Git must refuse one by one. */
export function refusedNames({ commands }: PackRequest): ReadonlySet<string> {
  const names = new Set<string>()
  let bytes = 0
  for (const name of commands?.names ?? []) {
    if (isReserved(name) || !PLAIN.test(name) || !judgeName(name)) continue
    bytes += Buffer.byteLength(name)
    if (bytes > MAX_NAMES_BYTES) break
    names.add(name)
  }
  return names
}

/** A push under review. */
interface ReviewedPush {
  readonly question: PushQuestion
  /** Result of `refusedNames`. */
  readonly refused: ReadonlySet<string>
  /** Whether all refs move or none. */
  readonly isAtomic: boolean
}

/** The result of a review. */
interface PushReview {
  /** The updates that Git may make. Undefined when the whole push is refused. */
  readonly allowed: readonly RefUpdate[] | undefined
  /** Texts of the refusals. */
  readonly texts: readonly string[]
  /** Other lines for the pusher. */
  readonly notes: readonly string[]
  /** The objects of Git LFS that the push needs. */
  readonly lfsOids: readonly string[]
}

/** Reviews a push by the current state and rules. */
export async function reviewPush(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { question, refused, isAtomic }: ReviewedPush,
): Promise<PushReview> {
  try {
    // A push that only deletes refs has no objects.
    const fault = await findFault(app, repositoryId, question)
    if (fault) return whole(fault)
    const lfs = await checkLfs(app, caller, repositoryId, question)
    const { notes, oids: lfsOids } = lfs
    if (lfs.texts.length > 0) return { allowed: undefined, texts: lfs.texts, notes, lfsOids }
    const [single, updates] = partition(
      question.updates,
      ({ name }) => isReserved(name) || refused.has(name),
    )
    const refusals =
      question.updates.length > 0
        ? await reviewUpdates(app, caller, repositoryId, { ...question, updates })
        : []
    // Git finds collisions itself, by the order of the commands.
    const [collisions, others] = partition(
      refusals,
      ({ reason }) => reason === 'REF_NAME_COLLISION',
    )
    const texts = shown([
      ...others.map(({ text }) => text),
      ...single.flatMap(({ name }) => judgeName(name)?.text ?? []),
      ...collisions.map(({ text }) => text),
    ])
    const isWhole = others.length > 0 || (isAtomic && texts.length > 0)
    return { allowed: isWhole ? undefined : updates, texts, notes, lfsOids }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    if (error.reason === 'SERVER_BUSY') return whole('the server is busy: push again later')
    if (error.reason === 'GIT_TIMEOUT')
      return whole('checking the push took longer than the server allows')
    // The permission of the caller has ended since the push began.
    return whole('User permission denied for writing.')
  }
}

/** Checks the objects of pointers. A push that only deletes refs has none. */
async function checkLfs(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { quarantine, updates }: PushQuestion,
): Promise<PushCheck> {
  if (quarantine === undefined) return { texts: [], notes: [], oids: [] }
  const { repository } = await openRepositoryById(app, caller, repositoryId, 'read')
  const tips = updates.flatMap(({ to }) => to ?? [])
  return checkPushedPointers(app, caller, repository, { quarantine, tips })
}

/** Returns why pushed objects are refused, or undefined. */
async function findFault(
  app: ReposApp,
  repositoryId: number,
  { quarantine, updates }: PushQuestion,
): Promise<string | undefined> {
  if (quarantine === undefined) return undefined
  const { processes } = app.git
  const path = repositoryPath(app.git, repositoryId)
  const { maxFileBytes = Number.POSITIVE_INFINITY } = app.settings
  const large = await findLargeObject(processes, path, quarantine, maxFileBytes)
  if (large && large.type !== 'blob')
    return `${large.id} is a commit or tag of more than ${MAX_COMMIT_BYTES} bytes`
  if (large) {
    const tips = updates.flatMap(({ to }) => to ?? [])
    const place = { repository: path, objects: quarantine }
    const name = (await findPathOf(processes, place, tips, large.id)) ?? large.id
    return `${name} has ${sizeText(large.bytes)}, the limit is ${sizeText(maxFileBytes)}: use Git LFS`
  }
  const pointer = app.settings.refuseLfsPointers
    ? await findLfsPointer(processes, path, quarantine)
    : undefined
  return (
    pointer &&
    `${pointer} is a pointer of Git LFS, which this server does not take (git lfs migrate export)`
  )
}

function whole(text: string): PushReview {
  return { allowed: undefined, texts: [text], notes: [], lfsOids: [] }
}

/** Returns distinct texts, and the number of those that are left out. */
function shown(refusals: readonly string[]): string[] {
  const texts = [...new Set(refusals)]
  const more = texts.length - MAX_SHOWN_REFUSALS
  return more > 0 ? [...texts.slice(0, MAX_SHOWN_REFUSALS), `and ${more} more`] : texts
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const [yes, no]: [T[], T[]] = [[], []]
  for (const item of items) (test(item) ? yes : no).push(item)
  return [yes, no]
}
