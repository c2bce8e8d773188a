import { readCommit } from '../../git/commits.ts'
import type { PushVerdict } from '../../git/push-review.ts'
import {
  isRefName,
  listRefs,
  type RefUpdate,
  readDefaultBranch,
  readRef,
  setDefaultBranch,
  updateRefs,
} from '../../git/refs.ts'
import { createRepository, repositoryExists, withRepositoryLock } from '../../git/repositories.ts'
import {
  deleteBranch,
  deletePendingRefUpdate,
  insertPendingRefUpdate,
  listBranches,
  listPendingRefUpdates,
  putBranch,
} from '../../storage/branches.ts'
import { type Tx, transaction } from '../../storage/database.ts'
import { findRepositoryById, updateRepository } from '../../storage/repositories.ts'
import { type App, nowSeconds } from '../app.ts'

/**
 * The one door for refs: whatever moves one goes through here, in the order of review, note, move, record.
 *
 * Git is the truth about refs, and the rows about branches follow. The note is a row that is written before Git is asked to move
 * anything and deleted together with the record, so that a crash in between leaves word of what has to be read from Git again.
 */

const HEADS = 'refs/heads/'

/** Refs that the server makes. */
const SERVER_REFS = /^refs\/(pull|branchline)\//

/**
 * Decides about the refs of a push before one of them moves. Every ref is looked at by itself, and one that is refused refuses the
 * push.
 *
 * @returns undefined to accept it, else a line for each refusal, for the person who pushes.
 */
export function reviewUpdates(updates: readonly RefUpdate[]): PushVerdict {
  const refusals = updates.flatMap(({ name, to }) => {
    if (SERVER_REFS.test(name)) return [`${name} belongs to the server`]
    if (to !== undefined && !isRefName(name.replace(/^refs\/(heads|tags)\//, '')))
      return [`${name} is no name for a ref`]
    return []
  })
  return refusals.length === 0 ? undefined : refusals
}

/**
 * Moves refs on the server's own account: all of them or none. Their objects have to be stored before.
 *
 * @throws GitError STALE, NAME_COLLISION, LOCKED, INVALID_NAME, NOT_FOUND.
 */
export async function applyUpdates(app: App, repositoryId: number, updates: readonly RefUpdate[]): Promise<void> {
  const note = await noteUpdates(app, repositoryId)
  try {
    await updateRefs(app.git, repositoryId, updates)
  } finally {
    await recordUpdates(app, repositoryId, note, updates)
  }
}

/** Notes that refs of a repository are about to move. Whoever has the note records what became of it. */
export function noteUpdates(app: App, repositoryId: number): Promise<number> {
  return transaction(app.db, (tx) => insertPendingRefUpdate(tx, repositoryId))
}

/**
 * Records what Git made of updates, as far as it made anything of them, and removes their note.
 *
 * A first push makes its branch the default one, unless the default branch exists.
 */
export async function recordUpdates(
  app: App,
  repositoryId: number,
  note: number,
  updates: readonly RefUpdate[],
): Promise<void> {
  const branches = updates.filter(({ name }) => name.startsWith(HEADS)).map(({ name }) => name.slice(HEADS.length))
  await record(app, repositoryId, note, branches)
}

/** Records, for every note that a crash left behind, all that Git knows. Before anybody else moves refs. */
export async function healPendingUpdates(app: App): Promise<void> {
  for (const { id, repository_id } of await listPendingRefUpdates(app.db)) {
    const repository = await findRepositoryById(app.db, repository_id)
    if (!repository) continue
    // The crash may have come before the folder was made.
    if (!(await repositoryExists(app.git, repository_id))) {
      await createRepository(app.git, repository_id, repository.default_branch)
    }
    const branches = new Set((await listBranches(app.db, repository_id)).map(({ name }) => name))
    for await (const { name } of listRefs(app.git, repository_id, [HEADS])) branches.add(name.slice(HEADS.length))
    await record(app, repository_id, id, [...branches])
    app.log.warn({ repository: repository_id }, 'branches were read from Git again after a crash')
  }
}

/** What Git says of a branch; without a commit it is gone. */
interface BranchState {
  readonly name: string
  readonly commit: { readonly id: string; readonly time: number } | undefined
}

async function record(app: App, repositoryId: number, note: number, branches: readonly string[]): Promise<void> {
  // Between reading Git and writing rows nobody else does so for this repository: the later writer would write what is older.
  await withRepositoryLock(app.git, repositoryId, async () => {
    // Deleted in the meantime, under the same lock, and every note and branch with it.
    if (!(await findRepositoryById(app.db, repositoryId))) return
    const states: BranchState[] = []
    for (const name of branches) states.push({ name, commit: await readBranchHead(app, repositoryId, name) })
    const defaultBranch = await settleDefaultBranch(app, repositoryId, states)
    await transaction(app.db, async (tx) => {
      const changes = { default_branch: defaultBranch, update_time: nowSeconds(app.clock) }
      await updateRepository(tx, repositoryId, changes)
      for (const state of states) await recordBranch(tx, repositoryId, state)
      await deletePendingRefUpdate(tx, note)
    })
  })
}

async function readBranchHead(app: App, repositoryId: number, name: string): Promise<BranchState['commit']> {
  const id = await readRef(app.git, repositoryId, `${HEADS}${name}`)
  const commit = id === undefined ? undefined : await readCommit(app.git, repositoryId, id)
  return commit && { id: commit.id, time: commit.committer.time }
}

async function recordBranch(tx: Tx, repositoryId: number, { name, commit }: BranchState): Promise<void> {
  if (!commit) return deleteBranch(tx, repositoryId, name)
  await putBranch(tx, { repository_id: repositoryId, name, commit_id: commit.id, commit_time: commit.time })
}

/** The default branch as it is to be; where there is none yet, the first of the branches that exist now. */
async function settleDefaultBranch(app: App, repositoryId: number, states: readonly BranchState[]): Promise<string> {
  const current = await readDefaultBranch(app.git, repositoryId)
  const isThere = async (name: string) => (await readRef(app.git, repositoryId, `${HEADS}${name}`)) !== undefined
  const first = states.find(({ commit }) => commit !== undefined)
  if (!first || (await isThere(current))) return current
  await setDefaultBranch(app.git, repositoryId, first.name)
  return first.name
}
