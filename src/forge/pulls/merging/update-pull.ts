import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import { fetchCommit } from '../../../platform/git/packs/forks.ts'
import { readRef } from '../../../platform/git/refs/refs.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { ConversationName } from '../../core/names.ts'
import { checkWritable } from '../../repositories/access/permissions.ts'
import { gitIdentity } from '../../repositories/commits/commit-authors.ts'
import { rebaseOnto, storeMerge } from '../../repositories/commits/merging.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import { linkCommits } from '../../repositories/lfs/lfs-networks.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { mayForcePush, mayPush } from '../../repositories/protection/protection-rules.ts'
import { pushUpdates } from '../../repositories/refs/ref-updates.ts'
import type { UpdateStyle } from '../../repositories/schema.ts'
import { mayPushHead, openHeadOf } from '../heads/head-access.ts'
import { withPullLock } from '../heads/merge-locks.ts'
import { type OpenPull, openPull, reopenPull } from '../heads/open-pulls.ts'

/**
 * Updates the head branch of a pull request with its base branch, as a push of the caller.
 *
 * @param requested `rebase`; anything else is a merge.
 * @returns false if the head branch was up to date.
 */
export async function updatePullHead(
  app: ReposApp,
  caller: SignedIn,
  name: ConversationName,
  requested: string,
): Promise<boolean> {
  const style = requested === 'rebase' ? 'rebase' : 'merge'
  const open = await openPull(app, caller, name, 'take part')
  return withPullLock(app, open.pull.id, async () =>
    updateLocked(app, caller, await reopenPull(app, open), style),
  )
}

async function updateLocked(
  app: ReposApp,
  caller: SignedIn,
  open: OpenPull,
  style: UpdateStyle,
): Promise<boolean> {
  const { repository: base, pull } = open
  if (pull.state === 'MERGED') throw new DomainError('UPDATE_OF_MERGED')
  if (pull.state === 'CLOSED') throw new DomainError('UPDATE_OF_CLOSED')
  const head = await openHeadOf(app, caller, open, denied)
  const isAllowed = (style === 'merge' ? base.allow_merge_update : base.allow_rebase_update) === 1
  const mayPushUpdate = style === 'merge' ? mayPush : mayForcePush
  if (!isAllowed || !(await mayPushHead(app, caller, head, pull.head_branch, mayPushUpdate)))
    throw denied()
  checkWritable(head.repository)
  const { id } = head.repository
  const ref = `refs/heads/${pull.head_branch}`
  const [ours, theirs] = [
    await readRef(app.git, id, ref),
    await readRef(app.git, base.id, `refs/heads/${pull.base_branch}`),
  ]
  if (ours === undefined || theirs === undefined) throw denied()
  const tips = await reading(independentCommits(app.git, id, [ours, theirs], { alsoFrom: base.id }))
  if (ours === theirs || !tips.has(theirs)) return false
  if (id !== base.id) {
    await reading(fetchCommit(app.git, id, base.id, theirs))
    await reading(linkCommits(app, base.id, id, theirs))
  }
  const to = await makeUpdate(app, caller, open, id, { style, ours, theirs })
  if (to === ours) return false
  await pushUpdates(app, caller, id, [{ name: ref, from: ours, to }], {
    pull: { trigger: 'pr-update-with-base', pull },
  })
  return true
}

function denied(): DomainError {
  return new DomainError('PULL_REQUEST_UPDATE_DENIED')
}

interface Update {
  readonly style: UpdateStyle
  /** Ids of the commits at the head and at the base. */
  readonly ours: string
  readonly theirs: string
}

/**
 * Creates the commits of an update in the head repository.
 *
 * @returns the id of the commit to move the head branch to.
 */
async function makeUpdate(
  app: ReposApp,
  caller: SignedIn,
  { pull }: OpenPull,
  headId: number,
  { style, ours, theirs }: Update,
): Promise<string> {
  const self = gitIdentity(app, caller)
  try {
    if (style === 'rebase')
      return await rebaseOnto(app, headId, { onto: theirs, head: ours, committer: self, style })
    const message = `Merge branch '${pull.base_branch}' into ${pull.head_branch}\n`
    const commit = { parentIds: [ours, theirs], author: self, committer: self, message }
    return await storeMerge(app, headId, { ours, theirs, style }, commit)
  } catch (error) {
    throw conflictOf(error)
  }
}

function conflictOf(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error
  if (error.reason === 'MERGE_CONFLICT') return new DomainError('UPDATE_CONFLICT', error.metadata)
  return error.reason === 'REBASE_CONFLICT'
    ? new DomainError('UPDATE_REBASE_CONFLICT', error.metadata)
    : error
}
