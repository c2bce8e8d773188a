import { GitError } from '../../platform/git/core/errors.ts'
import { HEADS, TAGS } from '../../platform/git/core/ref-names.ts'
import { resolveCommit } from '../../platform/git/refs/refs.ts'
import type { Owner } from '../accounts/schema.ts'
import type { SignedIn } from '../core/access.ts'
import { DomainError } from '../core/errors.ts'
import type { OpenRepository } from '../repositories/access/permissions.ts'
import {
  type CommitPage,
  type CommitView,
  readPage,
  viewCommits,
} from '../repositories/commits/commits.ts'
import { readBranch } from '../repositories/refs/ref-index.ts'
import type { RefFacts } from '../webhooks/outbox/ref-observer.ts'
import type { HookFacts } from '../webhooks/outbox/webhook-queue.ts'
import type { DeliveriesApp } from './payloads.ts'

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

/** Sources of an event about a repository. */
export interface HookSubject<Facts> {
  readonly facts: Facts
  /** The account for which the webhook acts. */
  readonly viewer: SignedIn
  readonly open: OpenRepository
  /** The JSON objects of the repository and of the account that caused the event. */
  readonly repository: object
  readonly sender: object
}

/** Returns the JSON object of an event `push`. */
export async function pushPayload(
  app: DeliveriesApp,
  subject: HookSubject<RefFacts>,
): Promise<object> {
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
export async function createPayload(
  app: DeliveriesApp,
  { facts, open, repository, sender }: HookSubject<RefFacts>,
): Promise<object> {
  const { id } = open.repository
  const sha = facts.after === null ? undefined : await commitOf(app, id, facts.after)
  return { sha: sha ?? facts.after ?? NO_OBJECT, ...shortRef(facts), repository, sender }
}

/** Returns the JSON object of an event `delete`. */
export function deletePayload({ facts, repository, sender }: HookSubject<RefFacts>): object {
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
export async function lastCommitPayload(
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
export function isoTime(seconds: number): string {
  const shown = Math.min(Math.max(seconds, FIRST_SECOND), LAST_SECOND)
  return new Date(shown * 1000).toISOString().replace('.000Z', 'Z')
}

/** Returns the URL of a repository for browsers. */
export function htmlUrl(app: DeliveriesApp, { owner, repository }: OpenRepository): string {
  return `${app.publicUrl()}/${owner.name}/${repository.name}`
}
