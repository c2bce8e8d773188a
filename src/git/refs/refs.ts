import nodegit, { type GitObject, type Repository } from 'nodegit'
import { explained, found, GitError } from '../core/errors.ts'
import { isObjectId } from '../core/object-ids.ts'
import type { Ref, RefUpdate } from '../core/ref-names.ts'
import { printedByGit } from '../processes/child-process.ts'
import type { GitProcesses } from '../processes/running-processes.ts'
import { readGit, splitAtZeros, textOf } from '../repositories/reading.ts'
import {
  poolOf,
  type Repositories,
  repositoryPath,
  withRefCreationLock,
} from '../repositories/repositories.ts'
import { RefTransactions } from './ref-transactions.ts'

const refTransactions = (repositories: Repositories) =>
  poolOf<RefTransactions>(repositories, 'update-ref')

/** What git-check-ref-format(1) allows between two slashes. */
const REF_COMPONENT = /^(?!\.)(?!.*\.lock$)[^\p{Cc}\p{Cs} ~^:?*[\\]+$/u

/** Longest component in bytes: a file name of Linux, with room for `.lock`. */
const MAX_COMPONENT_BYTES = 250

/**
 * Longest name in characters: a path of Linux (PATH_MAX), in UTF-8, with room for the folder of the
 * repository.
 */
const MAX_REF_CHARACTERS = 1024

/** Abbreviated and full ids; Git's own minimum is four digits. */
const ABBREVIATED_ID = /^[0-9a-f]{4,40}$/

/**
 * Ancestors by count, as in `main~3` and `v1^2`. Everything else of gitrevisions(7) searches, or
 * reads reflogs.
 */
const ANCESTRY = /((?:[~^][0-9]{0,4}){1,8})$/

/**
 * Whether Git allows a name for a branch or a tag. Stricter than Git in two points: no leading
 * dash, and a bounded length.
 */
export function isRefName(name: string): boolean {
  if (name === '@' || name === 'HEAD' || name.length > MAX_REF_CHARACTERS) return false
  if (/^-|\.\.|@\{|\.$/.test(name)) return false
  return name
    .split('/')
    .every(
      (component) =>
        REF_COMPONENT.test(component) && Buffer.byteLength(component) <= MAX_COMPONENT_BYTES,
    )
}

/**
 * The object id that a ref holds, by its name in full; undefined when there is none. HEAD gives
 * that of its branch.
 */
export async function readRef(
  repositories: Repositories,
  id: number,
  name: string,
): Promise<string | undefined> {
  return repositories.handles.use(repositoryPath(repositories, id), (repository) =>
    lookUp(repository, name),
  )
}

async function lookUp(repository: Repository, name: string): Promise<string | undefined> {
  try {
    return (await found(nodegit.Reference.nameToId(repository, name)))?.toString()
  } catch (error) {
    // Nothing has such a name. A push may ask to delete it all the same.
    if (error instanceof GitError && error.kind === 'INVALID_NAME') return undefined
    throw error
  }
}

/** More than an id and a name have. */
const MAX_LISTED_BYTES = 8 * 1024

/**
 * Names that are looked up one by one: beyond that, reading all refs is faster, however many there
 * are.
 */
const MAX_SINGLE_LOOKUPS = 200

/** The object ids that refs hold, by their names in full; those that do not exist are left out. */
export async function readRefs(
  repositories: Repositories,
  id: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const held = new Map<string, string>()
  if (names.length > MAX_SINGLE_LOOKUPS) {
    const asked = new Set(names)
    for await (const ref of listRefs(repositories, id, ['refs/']))
      if (asked.has(ref.name)) held.set(ref.name, ref.id)
    return held
  }
  const ids = await Promise.all(names.map((name) => readRef(repositories, id, name)))
  for (const [i, name] of names.entries()) if (ids[i] !== undefined) held.set(name, ids[i])
  return held
}

/**
 * All refs below some prefixes, in the order of their names. Read as one snapshot from the ref
 * files and never held as a whole, so that a hundred thousand of them cost time, not memory.
 *
 * @param prefixes as `refs/heads/`.
 */
export function listRefs(
  repositories: Repositories,
  id: number,
  prefixes: readonly string[],
): AsyncGenerator<Ref, void, undefined> {
  return listRefsAt(repositories.processes, repositoryPath(repositories, id), prefixes)
}

/** The same for the repository at a path, which need not have an id. */
export async function* listRefsAt(
  processes: GitProcesses,
  path: string,
  prefixes: readonly string[],
): AsyncGenerator<Ref, void, undefined> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)%00', '--', ...prefixes]
  // A name has neither a line end nor a null byte. The latter ends each, and the former comes in
  // front of all but the first.
  for await (const record of splitAtZeros(
    printedByGit(args, { processes, repository: path }),
    MAX_LISTED_BYTES,
  )) {
    const line = record.toString().trimStart()
    if (line === '') continue
    const space = line.indexOf(' ')
    yield { id: line.slice(0, space), name: line.slice(space + 1) }
  }
}

/** Name of the branch that HEAD names, without `refs/heads/`, whether it exists or not. */
export async function readDefaultBranch(repositories: Repositories, id: number): Promise<string> {
  return repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
    const head = await explained(nodegit.Reference.lookup(repository, 'HEAD'))
    return head.symbolicTarget().replace(/^refs\/heads\//, '')
  })
}

/** Makes HEAD name a branch, by its name without `refs/heads/`. The branch need not exist. */
export async function setDefaultBranch(
  repositories: Repositories,
  id: number,
  branch: string,
): Promise<void> {
  if (!isRefName(branch)) throw new GitError('INVALID_NAME', `no name for a branch: ${branch}`)
  await repositories.handles.use(repositoryPath(repositories, id), (repository) =>
    explained(repository.setHead(`refs/heads/${branch}`)),
  )
}

/**
 * The id of the commit that a text of a client names: HEAD, an object id in full, a ref in full, a
 * branch, a tag or an abbreviated id, in this order, each with an optional count of ancestors
 * (`main~3`). A branch comes before a tag of its name, unlike in gitrevisions(7): these are
 * questions about branches.
 *
 * @returns undefined when it names no commit.
 * @throws GitError AMBIGUOUS for an id that several objects begin with; BUSY, TIMEOUT where
 *   ancestors are counted.
 */
export async function resolveCommit(
  repositories: Repositories,
  id: number,
  text: string,
): Promise<string | undefined> {
  const { name, ancestry } = splitRevision(text)
  const base = await repositories.handles.use(
    repositoryPath(repositories, id),
    async (repository) => {
      const given = await baseOf(repository, name)
      // The text is one that `ABBREVIATED_ID` describes: nothing of it is a search.
      const object =
        given === undefined ? undefined : await found(nodegit.Revparse.single(repository, given))
      return object && (await peelToCommit(object))?.id().toString()
    },
  )
  return base === undefined || ancestry === ''
    ? base
    : findAncestor(repositories, id, base, ancestry)
}

/** By a git of its own: libgit2 walks to the ten thousandth ancestor while everybody waits. */
async function findAncestor(
  repositories: Repositories,
  id: number,
  commitId: string,
  ancestry: string,
): Promise<string | undefined> {
  const input = `${commitId}${ancestry}^{commit}\n`
  const line = await textOf(
    readGit(repositories, id, ['cat-file', '--batch-check=%(objectname)'], { input }),
  )
  const answer = line.trimEnd()
  return isObjectId(answer) ? answer : undefined
}

/** Whether a text has a form that `resolveCommit` understands. */
export function isRevision(text: string): boolean {
  const { name } = splitRevision(text)
  return name === 'HEAD' || isRefName(name)
}

function splitRevision(text: string): { name: string; ancestry: string } {
  const ancestry = ANCESTRY.exec(text)?.[1] ?? ''
  return { name: text.slice(0, text.length - ancestry.length), ancestry }
}

async function baseOf(repository: Repository, name: string): Promise<string | undefined> {
  if (name !== 'HEAD' && !isRefName(name)) return undefined
  // As for Git itself: a branch must not stand in for a commit whose id somebody gives it as a
  // name.
  if (isObjectId(name)) return name
  const candidates =
    name === 'HEAD' || name.startsWith('refs/')
      ? [name]
      : [`refs/heads/${name}`, `refs/tags/${name}`]
  for (const candidate of candidates) {
    const id = await lookUp(repository, candidate)
    if (id !== undefined) return id
  }
  return ABBREVIATED_ID.test(name) ? name : undefined
}

/** Trees and blobs are no commits; the error says nothing that its absence does not. */
function peelToCommit(object: GitObject): Promise<GitObject | undefined> {
  return object.peel(nodegit.Object.TYPE.COMMIT).catch(() => undefined)
}

/**
 * Changes refs, all of them or none, each only if it holds what the caller saw.
 *
 * By git-update-ref(1): libgit2 1.9 checks a name against packed refs on one of its two ways only,
 * deletes on the event loop, and in nodegit gives locks back when the garbage collector runs. The
 * process is kept for the next who moves refs of the repository. Objects have to be stored before.
 *
 * @throws GitError STALE when a ref holds something else, NAME_COLLISION, LOCKED, INVALID_NAME;
 *   NOT_FOUND for an object that is not there.
 */
export async function updateRefs(
  repositories: Repositories,
  id: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  for (const update of updates) checkUpdate(update)
  const work = () => commitUpdates(repositories, id, updates)
  return updates.some(isCreation) ? withRefCreationLock(repositories, id, work) : work()
}

async function commitUpdates(
  repositories: Repositories,
  id: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  const instructions = updates.map(instructionOf).join('')
  const leave = await repositories.processes.acquireBackgroundSlot()
  try {
    await moveRefs(repositories, id, updates, instructions)
  } finally {
    leave()
  }
}

async function moveRefs(
  repositories: Repositories,
  id: number,
  updates: readonly RefUpdate[],
  instructions: string,
): Promise<void> {
  const kept = refTransactions(repositories).take(id)
  // One that has waited may have ended meanwhile. What has happened does not happen twice: each
  // update says what it is to change.
  if (kept && (await kept.commit(instructions)) === undefined) return keep(repositories, id, kept)
  const transactions = new RefTransactions(repositories, id)
  const problem = await transactions.commit(instructions)
  if (problem !== undefined) throw await failureOf(repositories, id, updates, problem)
  keep(repositories, id, transactions)
}

/** For the next who moves refs, unless it has been there for long. */
function keep(repositories: Repositories, id: number, transactions: RefTransactions): void {
  if (transactions.isFresh) refTransactions(repositories).add(id, transactions)
  else void transactions.end()
}

function isCreation({ from, to }: RefUpdate): boolean {
  return from === undefined && to !== undefined
}

function checkUpdate({ name, from, to }: RefUpdate): void {
  const ids = [from, to].filter((value) => value !== undefined)
  if (!name.startsWith('refs/') || !isRefName(name) || !ids.every((value) => isObjectId(value))) {
    throw new GitError('INVALID_NAME', `no ref or no object id: ${name}`)
  }
}

/**
 * In the format of `-z`, where an empty old value of `update` would mean any: zeros say that the
 * ref must not exist.
 */
function instructionOf({ name, from, to }: RefUpdate): string {
  if (to === undefined)
    return from === undefined ? `verify ${name}\0\0` : `delete ${name}\0${from}\0`
  return from === undefined ? `create ${name}\0${to}\0` : `update ${name}\0${to}\0${from}\0`
}

/** Finds out why a transaction failed: first from the refs themselves, then from what Git says. */
async function failureOf(
  repositories: Repositories,
  id: number,
  updates: readonly RefUpdate[],
  stderr: string,
): Promise<Error> {
  for (const { name, from } of updates) {
    if ((await readRef(repositories, id, name)) !== from)
      return new GitError('STALE', `${name} has changed`)
  }
  const kind =
    MESSAGES.find(([pattern]) => pattern.test(stderr))?.[1] ??
    (await collisionOf(repositories, id, updates))
  return kind ? new GitError(kind, stderr) : new Error(`git update-ref failed: ${stderr}`)
}

/**
 * Whether a ref that was to be created is below another one, or another one is below it. A push
 * that creates the other ref at the same moment makes Git fail with messages that do not say so.
 */
async function collisionOf(
  repositories: Repositories,
  id: number,
  updates: readonly RefUpdate[],
): Promise<'NAME_COLLISION' | undefined> {
  for (const { name } of updates.filter(isCreation)) {
    for (let slash = name.lastIndexOf('/'); slash > 0; slash = name.lastIndexOf('/', slash - 1)) {
      if ((await readRef(repositories, id, name.slice(0, slash))) !== undefined)
        return 'NAME_COLLISION'
    }
    for await (const _ of listRefs(repositories, id, [`${name}/`])) return 'NAME_COLLISION'
  }
  return undefined
}

/**
 * What Git says about locks, names and objects (refs.c and refs/files-backend.c of Git 2.39;
 * `LC_ALL` is C).
 */
const MESSAGES: readonly (readonly [RegExp, GitError['kind']])[] = [
  [
    /cannot create '|at the same time|there are still refs under|blocking reference/,
    'NAME_COLLISION',
  ],
  [/\.lock': File exists/, 'LOCKED'],
  [/nonexistent object|trying to write non-commit object/, 'NOT_FOUND'],
]
