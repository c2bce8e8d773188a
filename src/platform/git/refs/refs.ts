import type { Repository } from 'nodegit'
import { explained, found, GitError } from '../core/errors.ts'
import { libgit2 } from '../core/libgit2.ts'
import { isObjectId } from '../core/object-ids.ts'
import type { Ref, RefUpdate } from '../core/ref-names.ts'
import { unlessAway } from '../maintenance/limbo.ts'
import { readCommit } from '../objects/commits.ts'
import { objectCacheOf } from '../objects/object-cache.ts'
import { ObjectPresence } from '../objects/object-presence.ts'
import { printedByGit, spawnGit } from '../processes/child-process.ts'
import type { GitProcess } from '../processes/running-git.ts'
import type { GitProcesses } from '../processes/running-processes.ts'
import { readGit, splitAtZeros, textOf } from '../repositories/reading.ts'
import {
  poolOf,
  processOptions,
  type Repositories,
  repositoryPath,
  withRefCreationLock,
} from '../repositories/repositories.ts'
import { resultsOf } from '../repositories/repository-results.ts'
import { readRefFile } from './single-refs.ts'

const refTransactions = (repositories: Repositories) =>
  poolOf<RefTransactions>(repositories, 'update-ref')

/** Components that git-check-ref-format(1) allows. */
const REF_COMPONENT = /^(?!\.)(?!.*\.lock$)[^\p{Cc}\p{Cs} ~^:?*[\\]+$/u

/** Longest component: a file name of Linux including the suffix `.lock`. */
const MAX_COMPONENT_BYTES = 250

/** Longest name: a path of Linux (PATH_MAX) in UTF-8, including the folder of the repository. */
const MAX_REF_CHARACTERS = 1024

/** Abbreviated and full ids. The minimum of Git is four digits. */
const ABBREVIATED_ID = /^[0-9a-f]{4,40}$/

/**
 * Ancestors, such as `main~3` and `v1^2`. The other operators of gitrevisions(7) search or read
 * reflogs.
 */
const ANCESTRY = /((?:[~^][0-9]{0,4}){1,8})$/

/**
 * Returns whether a name is valid for a branch or a tag. Unlike Git, rejects a leading dash and
 * long names.
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
 * Returns the object id of a ref by its full name, or undefined when it does not exist. For HEAD,
 * returns the id of its branch.
 */
export async function readRef(
  repositories: Repositories,
  id: number,
  name: string,
): Promise<string | undefined> {
  const read = readRefFile(repositories, id, name)
  if (read !== undefined) return read === 'missing' ? undefined : read
  return repositories.handles.use(repositoryPath(repositories, id), (repository) =>
    lookUp(repository, name),
  )
}

async function lookUp(repository: Repository, name: string): Promise<string | undefined> {
  try {
    return (await found(libgit2().Reference.nameToId(repository, name)))?.toString()
  } catch (error) {
    // No ref has an invalid name, but a push may try to delete such a ref.
    if (error instanceof GitError && error.kind === 'INVALID_NAME') return undefined
    throw error
  }
}

/** Longer than an id and a name. */
const MAX_LISTED_BYTES = 8 * 1024

/** Names that are looked up one by one. For more names, reading all refs is faster. */
const MAX_SINGLE_LOOKUPS = 200

/** Returns the object ids of refs by full name, without refs that do not exist. */
export async function readRefs(
  repositories: Repositories,
  id: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>()
  if (names.length > MAX_SINGLE_LOOKUPS) {
    const asked = new Set(names)
    for await (const ref of listRefs(repositories, id, ['refs/']))
      if (asked.has(ref.name)) targets.set(ref.name, ref.id)
    return targets
  }
  const ids = await Promise.all(names.map((name) => readRef(repositories, id, name)))
  for (const [i, name] of names.entries()) if (ids[i] !== undefined) targets.set(name, ids[i])
  return targets
}

/**
 * Yields all refs with one of the prefixes from a single snapshot, in the order of their names. The
 * refs are never all in memory.
 *
 * @param prefixes such as `refs/heads/`.
 */
export function listRefs(
  repositories: Repositories,
  id: number,
  prefixes: readonly string[],
): AsyncGenerator<Ref, void, undefined> {
  return listRefsAt(repositories.processes, repositoryPath(repositories, id), prefixes)
}

/** Yields the refs of the repository at a path, as `listRefs` does. */
export async function* listRefsAt(
  processes: GitProcesses,
  path: string,
  prefixes: readonly string[],
): AsyncGenerator<Ref, void, undefined> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)%00', '--', ...prefixes]
  // NUL ends each record, and a line feed starts all but the first. Names contain neither.
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

/** Returns the branch that HEAD points to, without `refs/heads/`. The branch may not exist. */
export async function readDefaultBranch(repositories: Repositories, id: number): Promise<string> {
  return repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
    const head = await explained(libgit2().Reference.lookup(repository, 'HEAD'))
    return head.symbolicTarget().replace(/^refs\/heads\//, '')
  })
}

/** Points HEAD to a branch, whose name has no `refs/heads/`. The branch need not exist. */
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
 * Returns the id of the commit that a revision names. A revision is HEAD, a full object id, a full
 * ref name, a branch, a tag or an abbreviated id, tried in this order, with an optional suffix for
 * ancestors (`main~3`). Unlike in gitrevisions(7), a branch precedes a tag of the same name.
 *
 * @returns undefined when the revision names no commit.
 * @throws GitError AMBIGUOUS when several objects match an abbreviated id; BUSY, TIMEOUT for a
 *   revision with ancestors.
 */
export async function resolveCommit(
  repositories: Repositories,
  id: number,
  text: string,
): Promise<string | undefined> {
  const { name, ancestry } = splitRevision(text)
  const given = await baseOf(repositories, id, name)
  const base = given === undefined ? undefined : await peelToCommit(repositories, id, given)
  return base === undefined || ancestry === ''
    ? base
    : findAncestor(repositories, id, base, ancestry)
}

/** Returns whether a text has the format of a revision for `resolveCommit`. */
export function isRevision(text: string): boolean {
  const { name } = splitRevision(text)
  return name === 'HEAD' || isRefName(name)
}

function splitRevision(text: string): { name: string; ancestry: string } {
  const ancestry = ANCESTRY.exec(text)?.[1] ?? ''
  return { name: text.slice(0, text.length - ancestry.length), ancestry }
}

/** Returns an object id, abbreviated if the client abbreviated it. */
async function baseOf(
  repositories: Repositories,
  id: number,
  name: string,
): Promise<string | undefined> {
  if (name !== 'HEAD' && !isRefName(name)) return undefined
  // As in Git: a branch that is named like the id of a commit must not replace that commit.
  if (isObjectId(name)) return name
  const isFull = name === 'HEAD' || name.startsWith('refs/')
  const candidates = [...(isFull ? [name] : []), `refs/heads/${name}`, `refs/tags/${name}`]
  for (const candidate of candidates) {
    const objectId = await readRef(repositories, id, candidate)
    if (objectId !== undefined) return objectId
  }
  return ABBREVIATED_ID.test(name) ? name : undefined
}

/** Memory of the ids of commits that full ids lead to. */
const MAX_PEELED_BYTES = 4 * 1024 ** 2
const PEELED_BYTES = 64

/**
 * Returns the commit that an object leads to. Undefined for a tree, a blob and an object that does
 * not exist.
 *
 * @param objectId full or abbreviated.
 */
async function peelToCommit(
  repositories: Repositories,
  id: number,
  objectId: string,
): Promise<string | undefined> {
  const peeled = objectCacheOf<string>(repositories, 'peeled', MAX_PEELED_BYTES, () => PEELED_BYTES)
  const presence = new ObjectPresence(repositories, id)
  const known = isObjectId(objectId) ? peeled.get(id, objectId, presence) : undefined
  if (known !== undefined) return known
  const before = presence.evidenceOf(objectId)
  const peel = () =>
    repositories.handles.use(repositoryPath(repositories, id), async (repository) => {
      // The text has the form of an id and therefore contains no operators.
      const object = await found(libgit2().Revparse.single(repository, objectId))
      const commit = await object?.peel(libgit2().Object.TYPE.COMMIT).catch(() => undefined)
      return commit?.id().toString()
    })
  const commitId = await unlessAway(repositories, id, objectId, peel)
  if (commitId !== undefined && isObjectId(objectId))
    peeled.set(id, objectId, commitId, { before, presence })
  return commitId
}

/**
 * Updates refs in one transaction, provided that each ref has its expected value. The new objects
 * must be stored already.
 *
 * The function uses git-update-ref(1) from a process pool. libgit2 1.9 does not always check names
 * against packed refs and deletes on the event loop, and nodegit releases locks only when the
 * garbage collector runs.
 *
 * @throws GitError STALE when a ref has another value; NOT_FOUND when an object does not exist;
 *   NAME_COLLISION, LOCKED, INVALID_NAME
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
  const release = await repositories.processes.acquireBackgroundSlot()
  try {
    await moveRefs(repositories, id, updates, instructions)
  } finally {
    release()
  }
}

async function moveRefs(
  repositories: Repositories,
  id: number,
  updates: readonly RefUpdate[],
  instructions: string,
): Promise<void> {
  const idle = refTransactions(repositories).take(id)
  // An idle process may have ended. A second attempt is safe, since each update states the expected
  // value.
  if (idle && (await idle.commit(instructions)) === undefined)
    return returnToPool(repositories, id, idle)
  const transactions = new RefTransactions(repositories, id)
  const problem = await transactions.commit(instructions)
  if (problem !== undefined) throw await failureOf(repositories, id, updates, problem)
  returnToPool(repositories, id, transactions)
}

/** Returns a process to the pool, or ends it when it is too old. */
function returnToPool(repositories: Repositories, id: number, transactions: RefTransactions): void {
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
 * Returns the instruction in the format of `-z`. `create` and `verify` with an empty value require
 * that the ref does not exist, while an empty old value of `update` would allow any value.
 */
function instructionOf({ name, from, to }: RefUpdate): string {
  if (to === undefined)
    return from === undefined ? `verify ${name}\0\0` : `delete ${name}\0${from}\0`
  return from === undefined ? `create ${name}\0${to}\0` : `update ${name}\0${to}\0${from}\0`
}

/** Finds the reason of a failed transaction, from the refs first and then from Git's message. */
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
 * Returns whether the name of a new ref contains the name of another ref, or the reverse, such as
 * `w` and `w/x`. When a concurrent push creates the other ref, Git's message does not say so.
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
 * Messages of Git about names, locks and objects (refs.c and refs/files-backend.c of Git 2.39;
 * `LC_ALL` is C).
 */
const MESSAGES: readonly (readonly [RegExp, GitError['kind']])[] = [
  [
    /cannot create '|at the same time|there are still refs under|blocking reference/,
    'NAME_COLLISION',
  ],
  [/\.lock': File exists/, 'LOCKED'],
  // Another program moved the ref, and back again.
  [/: is at [0-9a-f]{40} but expected /, 'STALE'],
  [/nonexistent object|trying to write non-commit object/, 'NOT_FOUND'],
]

/** Memory of all cached ancestors. */
const MAX_ANCESTORS_BYTES = 4 * 1024 ** 2

/** Commits that are read without a Git process. A process costs as much as reading this many. */
const MAX_STEPS = 30

/** One operator: the n-th ancestor by first parents, or the n-th parent. */
const STEP = /([~^])([0-9]*)/g

/**
 * Returns the ancestor that operators lead to. The result never changes and is cached.
 *
 * @param commitId full id of a commit in the repository.
 * @param ancestry operators `~` and `^` of gitrevisions(7), such as `~3^2`.
 * @returns undefined when there is no such ancestor.
 * @throws GitError BUSY, TIMEOUT
 */
function findAncestor(
  repositories: Repositories,
  id: number,
  commitId: string,
  ancestry: string,
): Promise<string | undefined> {
  const known = resultsOf<string | undefined>(repositories, 'ancestors', MAX_ANCESTORS_BYTES)
  return known.get(id, `${commitId}${ancestry}`, () => {
    const parents = parentsOn(ancestry)
    return parents.length > MAX_STEPS
      ? askGit(repositories, id, commitId, ancestry)
      : follow(repositories, id, commitId, parents)
  })
}

/** Returns which parent each step leads to, from 1; at most one more than `MAX_STEPS`. */
function parentsOn(ancestry: string): number[] {
  return [...ancestry.matchAll(STEP)].flatMap(([, operator, digits]) => {
    const n = digits ? Number(digits) : 1
    if (operator === '~') return Array.from({ length: Math.min(n, MAX_STEPS + 1) }, () => 1)
    return n === 0 ? [] : [n]
  })
}

async function follow(
  repositories: Repositories,
  id: number,
  commitId: string,
  parents: readonly number[],
): Promise<string | undefined> {
  let current: string | undefined = commitId
  for (const parent of parents) {
    if (current === undefined) return undefined
    current = (await readCommit(repositories, id, current))?.parentIds[parent - 1]
  }
  return current
}

/** Follows many steps by a Git process. */
async function askGit(
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

/** Output of Git when all refs have been updated and flushed (git-update-ref(1)). */
const DONE = 'commit: ok\n'

/** Time limit of one transaction. Git writes and flushes 100,000 refs one by one. */
const COMMIT_TIMEOUT_MS = 10 * 60_000

/** Age up to which a process is reused, and the limit of its total time. */
const MAX_AGE_MS = 10 * 60_000
const MAX_LIFE_MS = MAX_AGE_MS + COMMIT_TIMEOUT_MS + 60_000

/** A Git process that runs transactions of refs one after the other. */
export class RefTransactions {
  readonly #git: GitProcess
  readonly #output: AsyncIterator<string>
  readonly #startedMs = performance.now()

  constructor(repositories: Repositories, id: number) {
    this.#git = spawnGit(['update-ref', '--stdin', '-z'], {
      ...processOptions(repositories, id),
      timeoutMs: MAX_LIFE_MS,
    })
    this.#output = this.#git.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  }

  /**
   * Runs instructions in one transaction. Calls must not overlap. After a failure, the process has
   * ended and must not be used again.
   *
   * @param instructions in the format of git-update-ref(1) with `-z`.
   * @returns undefined on success, or the message of Git when nothing has changed.
   * @throws GitError NO_REPOSITORY, TIMEOUT
   */
  async commit(instructions: string): Promise<string | undefined> {
    // A single write: Git changes nothing before it reads `commit`.
    this.#git.stdin.write(`start\0${instructions}commit\0`)
    let isOverdue = false
    const deadline = setTimeout(() => {
      isOverdue = true
      this.#git.stop()
    }, COMMIT_TIMEOUT_MS)
    try {
      for (let answer = ''; !answer.endsWith(DONE); ) {
        const { value, done } = await this.#output.next()
        if (done && isOverdue)
          throw new GitError('TIMEOUT', 'a transaction of refs exceeded its time limit')
        if (done) return (await this.#git.exited).stderr
        answer += value
      }
      return undefined
    } finally {
      clearTimeout(deadline)
    }
  }

  /** Whether the process may run another transaction. */
  get isFresh(): boolean {
    return performance.now() - this.#startedMs < MAX_AGE_MS
  }

  /** Ends the process. */
  async end(): Promise<void> {
    this.#git.stdin.end()
    this.#git.stop()
    await this.#output.return?.()
  }
}
