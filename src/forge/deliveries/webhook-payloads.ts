import { GitError } from '../../platform/git/core/errors.ts'
import { HEADS, TAGS } from '../../platform/git/core/ref-names.ts'
import { readCommit } from '../../platform/git/objects/commits.ts'
import { resolveCommit } from '../../platform/git/refs/refs.ts'
import type { Owner } from '../accounts/schema.ts'
import { findOwnerById } from '../accounts/users/owners.rows.ts'
import { GHOST } from '../accounts/users/owners.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import { findReadablePull } from '../pulls/heads/open-pulls.ts'
import type { PullFacts } from '../pulls/heads/pull-changes.ts'
import { type PullView, viewPulls } from '../pulls/lists/pull-views.ts'
import type { MergeGroupFacts } from '../pulls/queue/queue-news.ts'
import { findReviewById } from '../pulls/review/reviews.rows.ts'
import {
  type OpenRepository,
  openRepositories,
  openRepositoryById,
} from '../repositories/access/permissions.ts'
import type { ReleaseFacts } from '../repositories/activity/repository-events.ts'
import type {
  DeletedRepository,
  ForkFacts,
  RepositoryFacts,
} from '../repositories/activity/repository-webhook-events.ts'
import type { StatusFacts } from '../repositories/commits/commit-statuses.ts'
import {
  type CommitPage,
  type CommitView,
  readPage,
  viewCommits,
} from '../repositories/commits/commits.ts'
import {
  findRepositoriesByIds,
  findRepositoryById,
} from '../repositories/lifecycle/repositories.rows.ts'
import { viewRepository } from '../repositories/lifecycle/repository-views.ts'
import { readBranch } from '../repositories/refs/ref-index.ts'
import { findRelease } from '../repositories/releases/releases.rows.ts'
import { viewRelease } from '../repositories/releases/releases.ts'
import type { RefFacts } from '../webhooks/outbox/ref-observer.ts'
import type { HookFacts } from '../webhooks/outbox/webhook-queue.ts'
import { checkTokenReadsRepositories, type Hook } from '../webhooks/registration/webhooks.ts'
import type { WebhookDelivery } from '../webhooks/schema.ts'
import { commentOf, type HookSubject } from './hook-subjects.ts'
import { issueCommentPayload, issuePayload } from './issue-payloads.ts'
import type { DeliveriesApp } from './ports.ts'
import { formOf } from './webhook-forms.ts'

/** Builds the JSON object of an event; undefined if its subject is gone. */
type Builder = (
  app: DeliveriesApp,
  // biome-ignore lint/suspicious/noExplicitAny: the type of an event decides about its facts
  subject: HookSubject<any>,
) => Promise<object | undefined>

/** The builders of events other than those of pull requests and deleted repositories. */
const BUILDERS: Readonly<Record<string, Builder>> = {
  push: pushPayload,
  create: createPayload,
  delete: async (_, subject: HookSubject<RefFacts>) => deletePayload(subject),
  fork: forkPayload,
  repository: async (_, { repository, sender }: HookSubject<RepositoryFacts>) =>
    repositoryPayload('created', repository, sender),
  release: releasePayload,
  status: statusPayload,
  merge_group: mergeGroupPayload,
  pull_request_comment: commentPayload,
  issues: issuePayload,
  issue_assign: issuePayload,
  issue_label: issuePayload,
  issue_milestone: issuePayload,
  issue_comment: issueCommentPayload,
}

/** The text of an event, or why there is none. */
type HookPayload =
  | { readonly kind: 'payload'; readonly text: string }
  /** The account for which the webhook acts may no longer administer the repository. */
  | { readonly kind: 'denied' }
  /** The subject of the event or its repository is gone. */
  | { readonly kind: 'gone' }

/**
 * Returns the present JSON text of an event.
 *
 * @param viewer the account for which the webhook acts.
 */
export async function hookPayload(
  app: DeliveriesApp,
  { event_type, body }: Pick<WebhookDelivery, 'event_type' | 'body'>,
  viewer: SignedIn,
): Promise<HookPayload> {
  const facts = JSON.parse(body) as HookFacts & Pick<RepositoryFacts, 'deleted'>
  if (facts.deleted) return payloadOf(await deletionPayload(app, viewer, facts, facts.deleted))
  const open = await administered(app, viewer, facts.repository)
  if (!open) {
    const isGone = (await findRepositoryById(app.db, facts.repository)) === undefined
    return { kind: isGone ? 'gone' : 'denied' }
  }
  const view = await viewRepository(app, viewer, open)
  const actor =
    facts.actor === null ? open.owner : ((await findOwnerById(app.db, facts.actor)) ?? GHOST)
  const build: Builder = BUILDERS[event_type] ?? pullPayload
  const payload = await build(app, {
    facts,
    viewer,
    open,
    repository: JSON.parse(app.payloads.repository(app, viewer, view)),
    sender: JSON.parse(app.payloads.account(app, viewer, actor)),
  })
  return payload ? payloadOf(payload) : { kind: 'gone' }
}

function payloadOf(payload: object): HookPayload {
  return { kind: 'payload', text: JSON.stringify(payload) }
}

/**
 * Returns the JSON text that the next attempt of a delivery would send, as a viewer may read it;
 * empty for none.
 */
export async function deliveryPayload(
  app: DeliveriesApp,
  hook: Hook,
  delivery: Pick<WebhookDelivery, 'event_type' | 'body'>,
  viewer: SignedIn,
): Promise<string> {
  checkTokenReadsRepositories(viewer)
  const payload = await hookPayload(app, delivery, viewer)
  return payload.kind === 'payload' ? formOf(hook, delivery.event_type, payload.text) : ''
}

/** Opens a repository that a user administers; undefined for another one. */
async function administered(
  app: DeliveriesApp,
  viewer: SignedIn,
  repositoryId: number,
): Promise<OpenRepository | undefined> {
  try {
    return await openRepositoryById(app, viewer, repositoryId, 'admin')
  } catch (error) {
    if (error instanceof DomainError) return undefined
    throw error
  }
}

/** The number of commits that an event lists. It also has the number of all of them. */
const MAX_COMMITS = 30

/** The length of the message of a commit that an event shows. */
const MAX_MESSAGE_CHARACTERS = 8 * 1024

/** The size of all paths that an event lists. */
const MAX_PATHS_BYTES = 64 * 1024

/** The id that stands for no object, as in the protocols of Git. */
const NO_OBJECT = '0'.repeat(40)

/** The range of times that JSON can show, in Unix seconds. */
const FIRST_SECOND = Date.parse('0001-01-01T00:00:00Z') / 1000
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000

const PARTS = { stat: false, verification: false, files: true }

/** Returns the JSON object of an event `push`. */
async function pushPayload(app: DeliveriesApp, subject: HookSubject<RefFacts>): Promise<object> {
  const { facts, open, repository, sender } = subject
  const { ref, before, after } = facts
  const html = htmlUrl(app, open)
  const { commits, total } = await pushedCommits(app, subject)
  const paths = pathLister()
  const listed = commits.map((commit) => commitPayload(html, commit, paths))
  return {
    ref,
    before: before ?? NO_OBJECT,
    after: after ?? NO_OBJECT,
    compare_url:
      before !== null && after !== null && before !== after
        ? `${html}/compare/${before}...${after}`
        : '',
    commits: listed,
    total_commits: total,
    head_commit: listed[0] ?? (await headPayload(app, subject)),
    repository,
    pusher: sender,
    sender,
  }
}

/**
 * Returns the JSON object of the head of a branch that has moved without new commits; null for a
 * deleted branch.
 */
async function headPayload(
  app: DeliveriesApp,
  subject: HookSubject<RefFacts>,
): Promise<object | null> {
  const { after } = subject.facts
  const { id } = subject.open.repository
  const commitId = after === null ? undefined : await commitOf(app, id, after)
  return commitId === undefined ? null : lastCommitPayload(app, subject, commitId)
}

/** Returns the JSON object of an event `create`. */
async function createPayload(
  app: DeliveriesApp,
  { facts, open, repository, sender }: HookSubject<RefFacts>,
): Promise<object> {
  const { id } = open.repository
  const sha = facts.after === null ? undefined : await commitOf(app, id, facts.after)
  return { sha: sha ?? facts.after ?? NO_OBJECT, ...shortRef(facts), repository, sender }
}

/** Returns the JSON object of an event `delete`. */
function deletePayload({ facts, repository, sender }: HookSubject<RefFacts>): object {
  return { ...shortRef(facts), pusher_type: 'user', repository, sender }
}

function shortRef({ ref }: RefFacts): { ref: string; ref_type: 'branch' | 'tag' } {
  return ref.startsWith(HEADS)
    ? { ref: ref.slice(HEADS.length), ref_type: 'branch' }
    : { ref: ref.slice(TAGS.length), ref_type: 'tag' }
}

/**
 * Returns the commits that a push brought to a branch, newest first, and their number. A new branch
 * brings what the default branch does not have. A push to a tag, and one whose commits Git has
 * removed since, has its last commit at most.
 */
async function pushedCommits(
  app: DeliveriesApp,
  { facts: { ref, before, after }, open, viewer }: HookSubject<RefFacts>,
): Promise<CommitPage> {
  const none = { commits: [], total: 0 }
  if (after === null) return none
  const { repository } = open
  try {
    if (ref.startsWith(HEADS) && before !== after) {
      const without = before ?? (await defaultHead(app, open, ref.slice(HEADS.length)))
      const page = { offset: 0, limit: MAX_COMMITS }
      return await readPage(app, viewer, open, { from: after, without }, { parts: PARTS, page })
    }
    const commitId = await commitOf(app, repository.id, after)
    if (commitId === undefined) return none
    return { commits: await viewCommits(app, viewer, open, [commitId], PARTS), total: 1 }
  } catch (error) {
    // A busy server tries again. Nothing changes for the others.
    if (error instanceof DomainError && error.reason !== 'SERVER_BUSY') return none
    if (error instanceof GitError && error.kind === 'NOT_FOUND') return none
    throw error
  }
}

/** Returns the head of the default branch for a new branch beside it. */
async function defaultHead(
  app: DeliveriesApp,
  { repository }: OpenRepository,
  branch: string,
): Promise<string | undefined> {
  if (branch === repository.default_branch) return undefined
  return (await readBranch(app, repository, repository.default_branch))?.commit_id
}

/** Returns the commit that an object is or that a tag names; undefined if there is none. */
function commitOf(app: DeliveriesApp, id: number, object: string): Promise<string | undefined> {
  return resolveCommit(app.git, id, object)
}

function commitPayload(
  html: string,
  { commit, author, committer, changes }: CommitView,
  list: PathLister,
): object {
  const ofKind = (...kinds: readonly string[]) =>
    list((changes?.files ?? []).flatMap(({ kind, path }) => (kinds.includes(kind) ? path : [])))
  return {
    id: commit.id,
    message: commit.message.slice(0, MAX_MESSAGE_CHARACTERS),
    url: `${html}/commit/${commit.id}`,
    author: personPayload(commit.author, author),
    committer: personPayload(commit.committer, committer),
    verification: null,
    timestamp: isoTime(commit.author.time),
    added: ofKind('added'),
    removed: ofKind('deleted'),
    modified: ofKind('modified', 'renamed', 'copied'),
  }
}

function personPayload(
  { name, email }: CommitView['commit']['author'],
  account: Owner | undefined,
): object {
  return { name, email, username: account?.name ?? '' }
}

/** Returns the JSON object of a commit; null when Git has removed the commit. */
async function lastCommitPayload(
  app: DeliveriesApp,
  { open, viewer }: Pick<HookSubject<HookFacts>, 'open' | 'viewer'>,
  commitId: string,
): Promise<object | null> {
  const [commit] = await viewCommits(app, viewer, open, [commitId], PARTS)
  return commit ? commitPayload(htmlUrl(app, open), commit, pathLister()) : null
}

/** Shortens lists of paths. */
type PathLister = (paths: readonly string[]) => readonly string[]

/** Returns a lister whose lists together have at most `MAX_PATHS_BYTES`. */
function pathLister(): PathLister {
  let bytes = 0
  return (paths) =>
    paths.filter((path) => {
      bytes += Buffer.byteLength(path)
      return bytes <= MAX_PATHS_BYTES
    })
}

/** @param seconds Unix seconds. */
function isoTime(seconds: number): string {
  const shown = Math.min(Math.max(seconds, FIRST_SECOND), LAST_SECOND)
  return new Date(shown * 1000).toISOString().replace('.000Z', 'Z')
}

/** Returns the URL of a repository for browsers. */
function htmlUrl(app: DeliveriesApp, { owner, repository }: OpenRepository): string {
  return `${app.publicUrl()}/${owner.name}/${repository.name}`
}

/** The types of reviews in the events of compatible systems. */
const REVIEW_TYPES: Readonly<Record<string, string>> = {
  APPROVED: 'pull_request_review_approved',
  REQUEST_CHANGES: 'pull_request_review_rejected',
  COMMENT: 'pull_request_review_comment',
}

/**
 * Returns the JSON object of an event of a pull request or a review; undefined when it cannot be
 * read.
 */
async function pullPayload(
  app: DeliveriesApp,
  subject: HookSubject<PullFacts>,
): Promise<object | undefined> {
  const { facts, viewer, repository, sender } = subject
  const view = await viewOf(app, subject)
  if (!view) return undefined
  const reviewer =
    facts.reviewer === undefined ? undefined : await findOwnerById(app.db, facts.reviewer)
  const review = facts.review === undefined ? undefined : await findReviewById(app.db, facts.review)
  return {
    action: facts.action,
    number: view.pull.number,
    pull_request: JSON.parse(app.payloads.pullRequest(app, viewer, view)),
    requested_reviewer: reviewer ? JSON.parse(app.payloads.account(app, viewer, reviewer)) : null,
    repository,
    sender,
    commit_id: view.pull.merge_commit ?? '',
    review: review ? { type: REVIEW_TYPES[review.state] ?? '', content: review.body } : null,
  }
}

/**
 * Returns the JSON object of an event of a comment; undefined when the pull request cannot be read,
 * or the comment was deleted since. A deleted comment has its id only.
 */
async function commentPayload(
  app: DeliveriesApp,
  subject: HookSubject<PullFacts>,
): Promise<object | undefined> {
  const { facts, viewer, repository, sender } = subject
  const view = await viewOf(app, subject)
  if (!view) return undefined
  const isDeletion = facts.action === 'deleted'
  const comment = isDeletion ? undefined : await commentOf(app, subject, facts.comment)
  if (!comment && !isDeletion) return undefined
  return {
    action: facts.action,
    issue: JSON.parse(app.payloads.issue(app, viewer, { kind: 'pull', pull: view })),
    pull_request: JSON.parse(app.payloads.pullRequest(app, viewer, view)),
    comment: comment
      ? JSON.parse(app.payloads.comment(app, viewer, comment))
      : { id: facts.comment, body: '' },
    repository,
    sender,
    is_pull: true,
  }
}

async function viewOf(
  app: DeliveriesApp,
  { facts, viewer }: HookSubject<PullFacts>,
): Promise<PullView | undefined> {
  const open = await findReadablePull(app, viewer, facts.pull)
  const [view] = open ? await viewPulls(app, viewer, open, [open.pull]) : []
  return view
}

/**
 * Returns the JSON object of an event `release`; undefined when the release was deleted since. A
 * deleted release has its id and tag only.
 */
async function releasePayload(
  app: DeliveriesApp,
  { facts, viewer, open, repository, sender }: HookSubject<ReleaseFacts>,
): Promise<object | undefined> {
  const found = await findRelease(app.db, open.repository.id, facts.release)
  if (!found && facts.action !== 'deleted') return undefined
  const release =
    found && facts.action !== 'deleted'
      ? JSON.parse(app.payloads.release(app, viewer, await viewRelease(app, open, found)))
      : { id: facts.release, tag_name: facts.tag }
  return { action: facts.action, release, repository, sender }
}

/** Returns the JSON object of an event `status`. */
async function statusPayload(
  app: DeliveriesApp,
  subject: HookSubject<StatusFacts>,
): Promise<object> {
  const { facts, repository, sender } = subject
  const { status } = facts
  const time = isoTime(status.create_time)
  return {
    id: status.number,
    sha: status.commit_id,
    state: status.state,
    context: status.context,
    description: status.description,
    target_url: status.target_url,
    created_at: time,
    updated_at: time,
    commit: await lastCommitPayload(app, subject, status.commit_id),
    repository,
    sender,
  }
}

/**
 * Returns the JSON object of an event `merge_group`, in the form that GitHub documents. `head_commit`
 * is null for a commit that was deleted since.
 */
async function mergeGroupPayload(
  app: DeliveriesApp,
  { facts, open, repository, sender }: HookSubject<MergeGroupFacts>,
): Promise<object> {
  const { action, reason = null, head, base, ref, baseRef } = facts
  const commit = await readCommit(app.git, open.repository.id, head)
  return {
    action,
    ...(action === 'destroyed' && { reason }),
    merge_group: {
      head_sha: head,
      head_ref: ref,
      base_sha: base,
      base_ref: baseRef,
      head_commit: commit
        ? {
            id: commit.id,
            tree_id: commit.treeId,
            message: commit.message,
            timestamp: isoTime(commit.committer.time),
            author: { name: commit.author.name, email: commit.author.email },
            committer: { name: commit.committer.name, email: commit.committer.email },
          }
        : null,
    },
    repository,
    ...(open.owner.kind === 'ORGANIZATION' && 'owner' in repository
      ? { organization: repository.owner }
      : {}),
    sender,
  }
}

/**
 * Returns the JSON object of an event `fork`, with the original as `forkee` and the fork as
 * `repository`, as in compatible systems; undefined when the fork cannot be read.
 */
async function forkPayload(
  app: DeliveriesApp,
  { facts, viewer, repository, sender }: HookSubject<ForkFacts>,
): Promise<object | undefined> {
  const found = await findRepositoriesByIds(app.db, [facts.fork])
  const [fork] = await openRepositories(app, viewer, [...found.values()])
  if (!fork) return undefined
  const view = await viewRepository(app, viewer, fork)
  return {
    forkee: repository,
    repository: JSON.parse(app.payloads.repository(app, viewer, view)),
    sender,
  }
}

/**
 * Returns the JSON object of an event `repository`. In compatible systems the member `organization`
 * is the owner, whether a user or an organisation.
 *
 * @param repository the JSON object of the repository.
 */
function repositoryPayload(
  action: 'created' | 'deleted',
  repository: object,
  sender: object,
): object {
  const organization = 'owner' in repository ? repository.owner : null
  return { action, repository, organization, sender }
}

/**
 * Returns the JSON object of the event that a repository was deleted. A deleted repository has few
 * members.
 */
async function deletionPayload(
  app: DeliveriesApp,
  viewer: SignedIn,
  { repository: id, actor }: HookFacts,
  { owner: ownerId, ownerName, name, description, private: isPrivate }: DeletedRepository,
): Promise<object> {
  const owner = (await findOwnerById(app.db, ownerId)) ?? GHOST
  const sender = actor === null ? owner : ((await findOwnerById(app.db, actor)) ?? GHOST)
  const repository = {
    id,
    owner: JSON.parse(app.payloads.account(app, viewer, owner)),
    name,
    full_name: `${ownerName}/${name}`,
    description,
    private: isPrivate,
  }
  const senderPayload = JSON.parse(app.payloads.account(app, viewer, sender))
  return repositoryPayload('deleted', repository, senderPayload)
}
