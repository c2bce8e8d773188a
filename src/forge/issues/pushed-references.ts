import { createYielder } from '../../platform/concurrency/yielding.ts'
import { repeatableTransaction, transaction } from '../../platform/database/database.ts'
import type { Tx } from '../../platform/database/schema.ts'
import { HEADS } from '../../platform/git/core/ref-names.ts'
import { readCommits } from '../../platform/git/history/history.ts'
import { latestCommits } from '../../platform/git/history/new-commits.ts'
import type { Commit } from '../../platform/git/objects/commits.ts'
import { findUserById } from '../accounts/users/users.rows.ts'
import { findConversationsByIds } from '../conversations/conversations.rows.ts'
import * as rows from '../conversations/reference-work.rows.ts'
import { insertReferences } from '../conversations/references.rows.ts'
import { type Reference, referencesInPlain } from '../conversations/references.ts'
import type { ReferenceWork } from '../conversations/schema.ts'
import {
  namedConversations,
  type OpenTarget,
  openTargets,
} from '../conversations/text-references.ts'
import { onBehalfOf } from '../core/access.ts'
import { nowSeconds } from '../core/core.ts'
import { type DueWork, type DueWorker, startDueWork } from '../core/scheduled-work.ts'
import type { User } from '../core/schema.ts'
import { findPullRequestById } from '../pulls/heads/pull-requests.rows.ts'
import { wakeWatchers } from '../repositories/activity/repository-events.ts'
import {
  findRepositoriesByIds,
  findRepositoryById,
} from '../repositories/lifecycle/repositories.rows.ts'
import type { MovedRef, ReposApp } from '../repositories/ports.ts'
import { findBranch } from '../repositories/refs/branches.rows.ts'
import { recordObserver } from '../repositories/refs/ref-index.ts'
import type { Repository } from '../repositories/schema.ts'
import { actOnIssue, mayClose } from './closing-commits.ts'
import { changeKeyOf, MAX_COMMIT_BYTES } from './commit-changes.ts'

/**
 * References and closing words of the commits that a push brings to a branch, and those of the texts
 * of a pull request at its merge. Both need Git or many rows, so the transaction that records the
 * push or the merge only stores work. A worker does the work. Each commit is done in one transaction
 * with the note that it is done, so a crash does nothing twice and forgets nothing.
 */

/** The commits of one push to a branch that are read, the latest. */
const MAX_COMMITS = 1_000

/** The branches of one push whose commits are read, besides the default branch. */
const MAX_BRANCHES = 50

/** The issues on which one merge acts, those that were named last. */
const MAX_WORDS = 250

/** Bounds the memory of the commits, which are those of a client. */
const BATCH = 50
const MAX_BATCH_BYTES = 1024 * 1024

/** Limits of pieces that run at once. One after the other in a repository, in the order of pushes. */
const MAX_RUNNING = 2
const MAX_RUNNING_PER_REPOSITORY = 1

/** The delay after the first failure. It doubles after each further failure. */
const RETRY_MS = 15_000

/** Failures after which a piece is given up, after four hours. */
const MAX_TRIES = 10

/** The pieces of a repository for which a merge waits. */
const MAX_AWAITED = 10

const FAILURE = 'references of commits could not be followed'

/** Leaves the work of pushes, in the transactions that record how the refs moved. */
export const issueRefObserver = recordObserver(async (app, { id }) => ({
  async prepare({ moved, defaultBranch }) {
    const work = await workOf(app, id, moved, defaultBranch)
    return {
      record: (tx) => rows.insertReferenceWork(tx, work),
      // The record wakes the worker.
      afterCommit() {},
    }
  },
  finish() {},
}))

/** Returns the work that moved branches leave. Updates by the server itself, as of mirrors, have no pusher. */
async function workOf(
  app: ReposApp,
  repositoryId: number,
  moved: readonly MovedRef[],
  defaultBranch: string,
): Promise<Parameters<typeof rows.insertReferenceWork>[1]> {
  const defaultRef = `${HEADS}${defaultBranch}`
  const isDefault = ({ ref }: MovedRef) => ref === defaultRef
  const pushed = moved.filter(
    ({ ref, newId, pusherId }) =>
      ref.startsWith(HEADS) && newId !== undefined && pusherId !== undefined,
  )
  if (pushed.length === 0) return []
  // A new name of a branch brings no commits.
  const gone = new Set(moved.flatMap(({ oldId, newId }) => (newId === undefined ? oldId : [])))
  const others = pushed.filter((ref) => !isDefault(ref)).slice(0, MAX_BRANCHES)
  const known =
    pushed.find(isDefault)?.newId ??
    (await findBranch(app.db, repositoryId, defaultBranch))?.commit_id
  return [...pushed.filter(isDefault), ...others].flatMap((move) => {
    const { ref, oldId, newId = '', pusherId = null } = move
    if (oldId === undefined && gone.has(newId)) return []
    return {
      repository_id: repositoryId,
      actor_id: pusherId,
      branch: ref.slice(HEADS.length),
      from_commit: oldId ?? (isDefault(move) ? null : (known ?? null)),
      to_commit: newId,
      pull_request_id: null,
      due_time: app.clock.now(),
    }
  })
}

/** Starts the worker. */
export async function startReferenceWork(app: ReposApp): Promise<DueWorker> {
  await transaction(app.db, (tx) => rows.wakeReferenceWork(tx, app.clock.now()))
  const work: DueWork = {
    failure: FAILURE,
    maxRunning: MAX_RUNNING,
    maxRunningPerOwner: MAX_RUNNING_PER_REPOSITORY,
    signal: app.signals.referenceWork,
    ...rows.referenceWorkQueue(app.db),
    run: (id) => complete(app, id),
  }
  return startDueWork(app, work)
}

/** Does the work of a repository that is due, for a caller that waits for the result. */
export async function finishReferenceWork(app: ReposApp, repositoryId: number): Promise<void> {
  try {
    const ids = await rows.dueReferenceWork(app.db, repositoryId, app.clock.now(), MAX_AWAITED)
    for (const id of ids) await complete(app, id)
  } catch (err) {
    // The worker tries again.
    app.log.warn({ err, repository: repositoryId }, FAILURE)
  }
}

async function complete(app: ReposApp, id: number): Promise<void> {
  const found = await rows.findReferenceWork(app.db, id)
  if (!found) return
  await app.coordination.exclusive(`references ${found.repository_id}`, async () => {
    const work = await rows.findReferenceWork(app.db, id)
    if (!work) return
    try {
      await follow(app, work)
    } catch (err) {
      const tries = work.tries + 1
      app.log.warn({ err, repository: work.repository_id, tries }, FAILURE)
      const dueTime = app.clock.now() + RETRY_MS * 2 ** work.tries
      if (tries < MAX_TRIES)
        return transaction(app.db, (tx) => rows.restReferenceWork(tx, id, dueTime))
    }
    await repeatableTransaction(app.db, (tx) => rows.deleteReferenceWork(tx, id))
  })
}

async function follow(app: ReposApp, work: ReferenceWork): Promise<void> {
  const repository = await findRepositoryById(app.db, work.repository_id)
  const actor = work.actor_id === null ? undefined : await findUserById(app.db, work.actor_id)
  if (!repository || !actor) return
  const place = { work, repository, actor }
  await (work.pull_request_id === null
    ? followCommits(app, place)
    : repeatableTransaction(app.db, (tx) => actOnMerge(app, tx, place, work.pull_request_id ?? 0)))
  wakeWatchers(app)
}

/** A piece of work, its repository, and who pushed or merged. */
interface Place {
  readonly work: ReferenceWork
  readonly repository: Repository
  readonly actor: User
}

async function followCommits(app: ReposApp, place: Place): Promise<void> {
  const { id, done } = place.work
  const ids = await commitsOf(app, place.work)
  const yielder = createYielder()
  for (let start = done; start < ids.length; start += BATCH) {
    const batch = ids.slice(start, start + BATCH)
    const commits = await readCommits(app.git, place.repository.id, batch, MAX_COMMIT_BYTES, {
      maxBytesTogether: MAX_BATCH_BYTES,
    })
    for (const [offset, commitId] of batch.entries()) {
      const commit = commits.get(commitId)
      const references = commit ? referencesInPlain(commit.message, app.publicUrl()) : []
      await yielder.yield()
      if (!commit || references.length === 0) continue
      await transaction(app.db, async (tx) => {
        if (await rows.takeCommit(tx, id, start + offset))
          await followCommit(app, tx, place, commit, references)
      })
    }
  }
}

/** Returns the ids of the commits of a push, oldest first. */
async function commitsOf(
  app: ReposApp,
  { repository_id, from_commit, to_commit: to }: ReferenceWork,
): Promise<string[]> {
  const from = from_commit ?? undefined
  return (await latestCommits(app.git, repository_id, { from, to }, MAX_COMMITS)).toReversed()
}

async function followCommit(
  app: ReposApp,
  tx: Tx,
  place: Place,
  commit: Commit,
  references: readonly Reference[],
): Promise<void> {
  const { repository, actor } = place
  const named = await namedConversations(tx, repository.id, references)
  // The message of a merge has the number of its pull request.
  const others = named.filter(({ target }) => target.merge_commit !== commit.id)
  const targets = await openTargets(app, tx, onBehalfOf(actor), others)
  await recordCommit(app, tx, place, commit, targets)
  // Gitea reverts nothing either.
  if (commit.message.startsWith('Revert "')) return
  for (const open of targets)
    if (actsOn(place, open) && mayClose(actor, open))
      await actOnIssue(app, tx, open.target, {
        action: open.action,
        commit: commit.id,
        actorId: actor.id,
      })
}

/**
 * Returns whether commits of the branch act: of the branch of the issue, or else of the default branch,
 * unless the repository lets all branches act.
 */
function actsOn({ work, repository }: Place, { target }: OpenTarget): boolean {
  if (repository.close_issues_in_any_branch === 1) return true
  const wanted = target.ref.startsWith(HEADS) ? target.ref.slice(HEADS.length) : target.ref
  return work.branch === (wanted || repository.default_branch)
}

/** Records a commit for the timelines of what it names, or its new id if a copy is there already. */
async function recordCommit(
  app: ReposApp,
  tx: Tx,
  { repository, actor }: Place,
  commit: Commit,
  targets: readonly OpenTarget[],
): Promise<void> {
  if (targets.length === 0) return
  const { id } = commit
  const change_key = changeKeyOf(commit)
  const targetIds = targets.map(({ target }) => target.id)
  const known = await rows.referencesByChange(tx, repository.id, change_key, targetIds)
  await rows.replaceCommit(
    tx,
    known.map((reference) => reference.id),
    id,
  )
  const now = nowSeconds(app.clock)
  const added = targetIds.filter((target) => !known.some(({ target_id }) => target_id === target))
  await insertReferences(
    tx,
    added.map((target_id) => ({
      target_id,
      type: 'commit_ref',
      repository_id: repository.id,
      source_id: null,
      comment_id: null,
      commit_id: id,
      change_key,
      action: 'none',
      writer_id: actor.id,
      create_time: now,
    })),
    now,
  )
}

/** Returns whether a merge into the branch acts on issues. */
function isActingBase(
  { close_issues_in_any_branch, default_branch, default_target_branch }: Repository,
  branch: string,
): boolean {
  return (
    close_issues_in_any_branch === 1 || [default_branch, default_target_branch].includes(branch)
  )
}

/**
 * Does what the texts of a merged pull request say about issues, by the right of who merged or who
 * wrote the text.
 */
async function actOnMerge(
  app: ReposApp,
  tx: Tx,
  { work, repository, actor }: Place,
  pullId: number,
): Promise<void> {
  if (!(await rows.deleteReferenceWork(tx, work.id))) return
  const pull = await findPullRequestById(tx, pullId)
  if (!pull || !isActingBase(repository, work.branch)) return
  const words = await rows.wordsOfPull(tx, pullId, MAX_WORDS)
  const issues = await findConversationsByIds(
    tx,
    words.map(({ target_id }) => target_id),
  )
  const repositories = await findRepositoriesByIds(tx, [
    ...new Set([...issues.values()].map(({ repository_id }) => repository_id)),
  ])
  for (const { target_id, action, writer_id } of words) {
    const target = issues.get(target_id)
    const at = target && repositories.get(target.repository_id)
    if (!at) continue
    const writer = writer_id === null ? undefined : await findUserById(tx, writer_id)
    for (const user of [actor, ...(writer && writer.id !== actor.id ? [writer] : [])]) {
      const named = [{ target, repository: at, action }]
      const [open] = await openTargets(app, tx, onBehalfOf(user), named)
      if (!open || !mayClose(user, open)) continue
      await actOnIssue(app, tx, target, { action, commit: work.to_commit, actorId: actor.id })
      break
    }
  }
}
