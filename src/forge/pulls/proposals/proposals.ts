import { HEADS, type RefUpdate } from '../../../platform/git/core/ref-names.ts'
import { findMergeBase } from '../../../platform/git/history/history.ts'
import { independentCommits } from '../../../platform/git/history/independent-commits.ts'
import type { CommandResult } from '../../../platform/git/hooks/proc-receive.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { inspectObject } from '../../../platform/git/objects/objects.ts'
import { isRefName } from '../../../platform/git/refs/refs.ts'
import { isBlocked } from '../../accounts/users/blocks.ts'
import { checkBody, readTitle } from '../../conversations/conversation-fields.ts'
import { checkRate } from '../../conversations/rates.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError, type Reason } from '../../core/errors.ts'
import { suffices } from '../../core/levels.ts'
import {
  checkWritable,
  type OpenRepository,
  openRepositoryById,
} from '../../repositories/access/permissions.ts'
import { foldersAbove } from '../../repositories/content/file-changes.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ProposalResults, Proposals, ReposApp } from '../../repositories/ports.ts'
import { findBranches } from '../../repositories/refs/branches.rows.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import { headRefOf } from '../heads/pull-heads.ts'
import { findPullRequest } from '../heads/pull-requests.rows.ts'
import { isWorkInProgress } from '../lists/pull-views.ts'
import type { PullRequest } from '../schema.ts'
import {
  type ProposalOptions,
  plainTopic,
  readProposalForm,
  readProposalOptions,
} from './proposal-forms.ts'
import { findOpenTopic } from './proposals.rows.ts'
import { openProposed, type ProposedPull, updateProposed } from './proposed-pulls.ts'

/** Pushes that open and update pull requests. */

const DENIED = 'User permission denied for writing.'

const USAGE =
  'the push needs a topic: git push {remote} HEAD:refs/for/{branch}/{topic}, or -o topic={topic}'

/** Why a proposal is refused, in a line for `git push`. */
class Refusal extends Error {}

/** Returns why a caller may not open pull requests by a push; undefined if the caller may. */
export async function proposalProblem(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<string | undefined> {
  try {
    await openBase(app, caller, repositoryId)
    return undefined
  } catch (error) {
    return refusalOf(error)
  }
}

/** Opens the repository for a caller who may open pull requests, by the rules of the API. */
async function openBase(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
): Promise<OpenRepository> {
  if (caller.credential.kind === 'deploy key')
    throw new Refusal('a deploy key cannot open pull requests')
  const open = await openRepositoryById(app, caller, repositoryId, 'read', 'pulls')
  if (!suffices(open.units.code, 'read')) throw new Refusal(DENIED)
  checkWritable(open.repository)
  if (await isBlocked(app, [open.owner.id], caller.user.id)) throw new DomainError('USER_BLOCKED')
  return open
}

/** Opens and updates the pull requests of a push. */
export async function propose(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { updates, options, isAtomic }: Proposals,
): Promise<ProposalResults> {
  const asked = readProposalOptions(options)
  // Pushes of one topic at the same time would open two pull requests.
  return app.coordination.exclusive(`proposals ${repositoryId} ${caller.user.id}`, async () => {
    const plans: Planned[] = []
    for (const update of updates)
      plans.push(await attempt(update, () => plan(app, caller, repositoryId, update, asked)))
    const isRefused = isAtomic && plans.some(({ refusal }) => refusal !== undefined)
    const done: Done[] = []
    for (const { update, refusal, value } of plans) {
      if (value === undefined || isRefused)
        done.push({ update, refusal: refusal ?? 'another ref of the push was refused' })
      else done.push(await attempt(update, () => carryOut(app, caller, value)))
    }
    return {
      results: done.map(resultOf),
      lines: done.flatMap(({ value }) => (value ? linesOf(app, value) : [])),
    }
  })
}

/** What became of a step of a proposal. */
interface Attempted<Value> {
  readonly update: RefUpdate
  readonly refusal?: string
  readonly value?: Value
}

type Planned = Attempted<Plan>
type Done = Attempted<Outcome>

async function attempt<Value>(
  update: RefUpdate,
  work: () => Promise<Value>,
): Promise<Attempted<Value>> {
  try {
    return { update, value: await work() }
  } catch (error) {
    return { update, refusal: refusalOf(error) }
  }
}

/** Texts of refusals for which the name of the reason says too little. */
const TEXTS: Readonly<Partial<Record<Reason, string>>> = {
  REPOSITORY_NOT_FOUND: DENIED,
  REPOSITORY_ACCESS_DENIED: DENIED,
  REPOSITORY_UNIT_CLOSED: DENIED,
  REPOSITORY_ARCHIVED: 'the repository is archived',
  REPOSITORY_IS_MIRROR: 'mirror repository is read-only',
  USER_BLOCKED: 'the owner of the repository has blocked you',
  INVALID_FIELD: 'the title or the description is too long, or has characters that are not allowed',
  SERVER_BUSY: 'the server is busy: push again later',
}

/** @throws the error itself if it is a fault of the server. */
function refusalOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  if (!(error instanceof DomainError)) throw error
  return TEXTS[error.reason] ?? error.reason.toLowerCase().replaceAll('_', ' ')
}

/** A proposal that was checked. */
interface Plan extends ProposedPull {
  readonly open: OpenRepository
  /** The pull request to update. Undefined for a new one. */
  readonly present: PullRequest | undefined
  readonly isForced: boolean
}

async function plan(
  app: ReposApp,
  caller: SignedIn,
  repositoryId: number,
  { name, to }: RefUpdate,
  options: ProposalOptions,
): Promise<Plan> {
  const open = await openBase(app, caller, repositoryId)
  if (to === undefined) throw new Refusal('a push cannot delete a pull request')
  if ((await reading(inspectObject(app.git, repositoryId, to)))?.type !== 'commit')
    throw new Refusal('only commits can be proposed')
  const form = readProposalForm(name)
  if (form.kind === 'invalid')
    throw new Refusal('refs/for-review/ needs the number of a pull request')
  if (form.kind === 'number') {
    const present = await findNumbered(app, caller, open, form.number)
    const { base_branch: base, agit_topic: topic, title, body } = present
    const pull = { base, topic: topic ?? '', head: to, title, body }
    return { open, present, ...pull, ...(await checkCommits(app, open, present, pull, options)) }
  }
  const { base, rest } = await findBase(app, open, form.target)
  const topic = plainTopic(rest || options.topic, caller.user.username)
  if (topic === '') throw new Refusal(USAGE)
  if (!isRefName(topic)) throw new Refusal('the topic is not a valid name of a branch')
  const posterId = caller.user.id
  const present = await findOpenTopic(app.db, { repositoryId, posterId, base, topic })
  const checked = await checkCommits(app, open, present, { base, head: to }, options)
  const texts = await textsOf(app, repositoryId, to, options)
  const title = form.isDraft ? asDraft(app, texts.title) : texts.title
  if (!present) await checkRate(app, app.db, { caller, open }, 'ISSUE')
  return { open, present, base, topic, head: to, title, body: texts.body, ...checked }
}

/** Returns the base branch, and what follows: the whole, or else the shortest beginning. */
async function findBase(
  app: ReposApp,
  { repository }: OpenRepository,
  target: string,
): Promise<{ base: string; rest: string }> {
  if (isRefName(target) && (await readBranch(app, repository, target)))
    return { base: target, rest: '' }
  const names = foldersAbove(target)
  const found = await findBranches(
    app.db,
    names.map((name) => [repository.id, name]),
  )
  const present = new Set(found.map(({ name }) => name))
  const base = names.toSorted((a, b) => a.length - b.length).find((name) => present.has(name))
  if (base === undefined) throw new Refusal('base-branch does not exist')
  return { base, rest: target.slice(base.length + 1) }
}

/** Returns the pull request that `refs/for-review/` names. */
async function findNumbered(
  app: ReposApp,
  caller: SignedIn,
  { repository, units }: OpenRepository,
  number: number,
): Promise<PullRequest> {
  const pull = await findPullRequest(app.db, repository.id, number)
  if (!pull) throw new Refusal(`pull request ${number} does not exist`)
  if (pull.poster_id !== caller.user.id && !suffices(units.code, 'write')) throw new Refusal(DENIED)
  if (pull.agit_topic === null)
    throw new Refusal(`pull request ${number} follows a branch: push to ${pull.head_branch}`)
  if (pull.state !== 'OPEN') throw new Refusal(`pull request ${number} is not open`)
  return pull
}

/** Checks the new head against the base and the former head. */
async function checkCommits(
  app: ReposApp,
  { repository: { id } }: OpenRepository,
  present: PullRequest | undefined,
  { base, head }: { base: string; head: string },
  { isForced }: ProposalOptions,
): Promise<{ mergeBase: string; isForced: boolean }> {
  if (present?.head_commit === head) throw new Refusal('new commit is same with old commit')
  const [branch] = await findBranches(app.db, [[id, base]])
  if (!branch) throw new Refusal('base-branch does not exist')
  const mergeBase = await reading(findMergeBase(app.git, id, branch.commit_id, head))
  if (mergeBase === undefined) throw new Refusal(`no common history with ${HEADS}${base}`)
  if (mergeBase === head) throw new Refusal(`nothing to merge: ${base} has these commits`)
  if (!present) return { mergeBase, isForced: false }
  const before = present.head_commit
  const isLost = (await reading(independentCommits(app.git, id, [before, head]))).has(before)
  if (isLost && !isForced)
    throw new Refusal(
      'not a fast-forward: rebase on the former commits, or push with -o force-push',
    )
  return { mergeBase, isForced: isLost }
}

/** Returns the title and the description of a new pull request. */
async function textsOf(
  app: ReposApp,
  repositoryId: number,
  head: string,
  { title, description }: ProposalOptions,
): Promise<{ title: string; body: string }> {
  const message = (await reading(readCommit(app.git, repositoryId, head)))?.message.trim() ?? ''
  const [subject = '', ...rest] = message.split('\n')
  const given = readTitle(title) || readTitle(subject.slice(0, 255)) || head.slice(0, 10)
  const body = description || rest.join('\n').trim() || given
  checkBody(body)
  return { title: given, body }
}

function asDraft(app: ReposApp, title: string): string {
  const [prefix] = app.settings.wipPrefixes
  return prefix === undefined || isWorkInProgress(app, title) ? title : `${prefix} ${title}`
}

/** A pull request that was opened or updated. */
interface Outcome {
  readonly plan: Plan
  readonly pull: PullRequest
}

async function carryOut(app: ReposApp, caller: SignedIn, proposal: Plan): Promise<Outcome> {
  const { open, present, head } = proposal
  const pull = present
    ? await updateProposed(app, caller, present, head)
    : await openProposed(app, caller, open, proposal)
  if (!pull) throw new Refusal('the pull request has changed meanwhile: push again')
  return { plan: proposal, pull }
}

function resultOf({ update: { name }, refusal = '', value }: Done): CommandResult {
  if (!value) return { name, refusal }
  const { plan, pull } = value
  const { present, head: to, isForced } = plan
  return { name, movedRef: headRefOf(pull), from: present?.head_commit, to, isForced }
}

function linesOf(app: ReposApp, { plan, pull }: Outcome): string[] {
  const { owner, repository } = plan.open
  const url = `${app.publicUrl()}/${owner.name}/${repository.name}/pulls/${pull.number}`
  return [
    '',
    plan.present ? 'Visit the existing pull request:' : 'Visit the new pull request:',
    `  ${url}`,
    '',
  ]
}
