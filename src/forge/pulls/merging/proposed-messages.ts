import { findMergeBase } from '../../../platform/git/history/history.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { PullName } from '../../core/names.ts'
import type { MergeStyle } from '../../core/schema.ts'
import { gitIdentity } from '../../repositories/commits/git-identity.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { readMergeRights } from '../heads/merge-rights.ts'
import { openPull } from '../heads/open-pulls.ts'
import { prepareHead } from '../heads/pull-heads.ts'
import { allowedStyles } from './merge-checks.ts'
import { creditAuthors, mergeMessage } from './merge-messages.ts'
import { type CheckedMerge, checkOpen } from './open-merges.ts'

/** The message that a merge in a style would write. */
export interface ProposedMessage {
  readonly style: MergeStyle
  /** Empty if the commits keep their messages. */
  readonly title: string
  readonly message: string
}

/** The messages for the commits that a pull request has now. */
export interface ProposedMessages {
  readonly head: string
  /** One for each style that the repository allows. */
  readonly messages: readonly ProposedMessage[]
}

/**
 * Returns the messages that a merge by the caller would write if the caller gave none.
 *
 * @throws as `openPull`; PULL_REQUEST_MERGED, PULL_REQUEST_CLOSED, MERGE_DENIED,
 *   PULL_REQUEST_NOT_MERGEABLE, REF_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
export async function proposeMessages(
  app: ReposApp,
  caller: SignedIn,
  name: PullName,
): Promise<ProposedMessages> {
  const open = await openPull(app, caller, name, 'read')
  const { repository, pull } = open
  checkOpen(pull)
  const rights = await readMergeRights(app, caller, open, pull.base_branch)
  if (!rights.mayMerge) throw new DomainError('MERGE_DENIED')
  const base = (await readBranch(app, repository, pull.base_branch))?.commit_id
  if (base === undefined) throw notMergeable('ERROR')
  const head = await prepareHead(app, pull)
  const mergeBase = await reading(findMergeBase(app.git, repository.id, base, head))
  if (mergeBase === undefined) throw notMergeable('CONFLICT')
  const merge = { ...open, caller, rights, base, head, mergeBase, mustWait: false }
  const messages: ProposedMessage[] = []
  for (const style of allowedStyles(repository))
    messages.push(await proposeMessage(app, { ...merge, style, options: optionsOf(style) }))
  return { head, messages }
}

function notMergeable(mergeability: string): DomainError {
  return new DomainError('PULL_REQUEST_NOT_MERGEABLE', { mergeability })
}

/** A merge of which the caller has said nothing but the style. */
function optionsOf(style: MergeStyle): CheckedMerge['options'] {
  return {
    style,
    title: '',
    message: '',
    mergeCommitId: '',
    headCommitId: '',
    force: false,
    whenChecksSucceed: false,
    deleteBranch: undefined,
  }
}

async function proposeMessage(app: ReposApp, merge: CheckedMerge): Promise<ProposedMessage> {
  const { style, caller } = merge
  const own = (await mergeMessage(app, merge)) ?? ''
  const text =
    style === 'squash'
      ? (await creditAuthors(app, merge, gitIdentity(app, caller), own)).message
      : own
  const [title = '', ...rest] = text.split('\n')
  return { style, title, message: rest.join('\n').trim() }
}
