import { create } from '@bufbuild/protobuf'
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type CommitAffectedFile,
  CommitAffectedFileSchema,
  type Commit as CommitMessage,
  type CommitMeta,
  CommitMetaSchema,
  CommitSchema,
  type CommitUser,
  CommitUserSchema,
  type Verification as VerificationMessage,
  VerificationSchema,
} from '#gen/branchline/v1/commit_pb.ts'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { accountMessage, NEVER } from '../../accounts/users/accounts.message.ts'
import type { App } from '../../app.ts'
import type { Caller } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { plainText } from '../../core/wire/http-bodies.ts'
import { readNumberedPage, setPageHeaders } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { OpenRepository } from '../access/permissions.ts'
import { gitUrls } from '../lifecycle/repository.message.ts'
import type { Verification } from './commit-verification.ts'
import {
  type CommitPage,
  type CommitParts,
  type CommitView,
  compareCommits,
  type DiffFormat,
  getCommit,
  getCommitDiff,
  getComparisonDiff,
  listCommits,
  parseComparison,
} from './commits.ts'

/** The number of commits of a comparison without a page. */
const MAX_COMPARED = 250

/** Implements CommitService. */
function commitService(app: App): ServiceImpl<typeof CommitService> {
  return {
    async listCommits(request, context) {
      const { owner, repo, sha: ref, not, path } = request
      const { offset, limit } = readNumberedPage(app.settings, request)
      const caller = callerOf(context)
      const query = {
        ref,
        not,
        path,
        since: secondsOf(request.since),
        until: secondsOf(request.until),
      }
      const page = await listCommits(app, caller, { owner, repo }, query, {
        parts: partsOf(request),
        page: {
          offset,
          limit,
        },
      })
      setPageHeaders(context, page.total, { offset, limit })
      // A legacy header of this list for older clients.
      context.responseHeader.set('x-total', String(page.total))
      return { commits: commitMessages(app, caller, page), total: BigInt(page.total), limit }
    },

    async getCommit(request, context) {
      const { owner, repo, sha } = request
      const caller = callerOf(context)
      return commitMessage(
        app,
        caller,
        await getCommit(app, caller, { owner, repo }, sha, partsOf(request)),
      )
    },

    async *getCommitDiff({ owner, repo, sha, format }, context) {
      const chunks = await getCommitDiff(
        app,
        callerOf(context),
        { owner, repo },
        sha,
        diffFormatOf(format),
      )
      yield* plainText(context, chunks)
    },

    async compareCommits({ owner, repo, basehead, ...page }, context) {
      const caller = callerOf(context)
      const isPaged = page.page > 0 || page.limit > 0
      const { offset, limit } = isPaged
        ? readNumberedPage(app.settings, page)
        : { offset: 0, limit: MAX_COMPARED }
      const comparison = parseComparison(basehead)
      const found = await compareCommits(app, caller, { owner, repo }, comparison, {
        parts: ALL_PARTS,
        page: {
          offset,
          limit,
        },
      })
      return { totalCommits: BigInt(found.total), commits: commitMessages(app, caller, found) }
    },

    async *getComparisonDiff({ owner, repo, basehead, format }, context) {
      const chunks = await getComparisonDiff(
        app,
        callerOf(context),
        { owner, repo },
        parseComparison(basehead),
        diffFormatOf(format === '' ? 'diff' : format),
      )
      yield* plainText(context, chunks)
    },
  }
}

type AskedParts = { readonly [Part in keyof CommitParts]?: boolean | undefined }

const ALL_PARTS: CommitParts = { stat: true, verification: true, files: true }

/** Returns the parts of commits that a request asks for. All parts are on by default. */
function partsOf({ stat = true, verification = true, files = true }: AskedParts): CommitParts {
  return { stat, verification, files }
}

/** Reads the format of a diff. */
export function diffFormatOf(text: string): DiffFormat {
  if (text === 'diff' || text === 'patch') return text
  throw new DomainError('INVALID_FIELD', { field: 'format' })
}

function secondsOf(time: Timestamp | undefined): number | undefined {
  // Git dates start in 1970.
  return time && Math.max(Math.floor(timestampMs(time) / 1000), 0)
}

/** Returns the messages of a page of commits. */
export function commitMessages(app: App, caller: Caller, { commits }: CommitPage): CommitMessage[] {
  return commits.map((view) => commitMessage(app, caller, view))
}

/** Returns the message of a commit. */
function commitMessage(app: App, caller: Caller, view: CommitView): CommitMessage {
  const { open, commit, author, committer, changes, verification } = view
  const urls = gitUrls(app, open)
  const { url, sha, created } = commitMeta(app, open, commit.id, commit.committer.time)
  return create(CommitSchema, {
    url,
    sha,
    created,
    htmlUrl: urls.html(`/commit/${sha}`),
    commit: {
      url,
      author: commitUser(commit.author),
      committer: commitUser(commit.committer),
      message: commit.message,
      tree: treeMeta(app, open, commit.treeId, commit.committer.time),
      ...(verification && { verification: verificationMessage(verification) }),
    },
    ...(author && { author: accountMessage(app, caller, author) }),
    ...(committer && { committer: accountMessage(app, caller, committer) }),
    parents: commit.parentIds.map((id) => commitMeta(app, open, id)),
    files: changes?.files.map(affectedFile) ?? [],
    ...(changes && { stats: statsOf(changes) }),
  })
}

function statsOf({ additions, deletions }: NonNullable<CommitView['changes']>) {
  return {
    total: BigInt(additions + deletions),
    additions: BigInt(additions),
    deletions: BigInt(deletions),
  }
}

function affectedFile({
  kind,
  path,
}: NonNullable<CommitView['changes']>['files'][number]): CommitAffectedFile {
  const status = kind === 'added' ? 'added' : kind === 'deleted' ? 'removed' : 'modified'
  return create(CommitAffectedFileSchema, { filename: path, status })
}

/**
 * Returns the reference to a commit.
 *
 * @param time Unix seconds, if known
 */
export function commitMeta(app: App, open: OpenRepository, id: string, time?: number): CommitMeta {
  return create(CommitMetaSchema, {
    url: gitUrls(app, open).api(`/git/commits/${id}`),
    sha: id,
    created: gitTime(time),
  })
}

/** Returns the reference to the tree of a commit. `time` is that of the commit. */
export function treeMeta(app: App, open: OpenRepository, id: string, time: number): CommitMeta {
  return create(CommitMetaSchema, {
    url: gitUrls(app, open).api(`/git/trees/${id}`),
    sha: id,
    created: gitTime(time),
  })
}

/** The range of a Timestamp in Unix seconds (google/protobuf/timestamp.proto). */
const FIRST_SECOND = Date.parse('0001-01-01T00:00:00Z') / 1000
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000

/**
 * Returns a time of a commit as a Timestamp. Commits can have any number, which is clamped; an
 * unknown time is the start of year 1.
 */
export function gitTime(seconds: number | undefined): Timestamp {
  if (seconds === undefined) return NEVER
  return atSecond(withinYears(seconds))
}

function withinYears(seconds: number): number {
  return Math.min(Math.max(seconds, FIRST_SECOND), LAST_SECOND)
}

/** Returns the author or committer of a commit or tag. `date` is in their time zone (RFC 3339). */
export function commitUser({
  name,
  email,
  time,
  offsetMinutes,
}: CommitView['commit']['author']): CommitUser {
  return create(CommitUserSchema, { name, email, date: localTime(time, offsetMinutes) })
}

/** Time zones are less than a day, and local times must not leave the range of a Timestamp. */
const MAX_OFFSET_MINUTES = 24 * 60 - 1
const SECONDS_PER_DAY = 24 * 60 * 60

function localTime(seconds: number, offsetMinutes: number): string {
  const isFar = seconds < FIRST_SECOND + SECONDS_PER_DAY || seconds > LAST_SECOND - SECONDS_PER_DAY
  const offset = isFar || Math.abs(offsetMinutes) > MAX_OFFSET_MINUTES ? 0 : offsetMinutes
  const local = new Date((withinYears(seconds) + offset * 60) * 1000).toISOString().slice(0, 19)
  if (offset === 0) return `${local}Z`
  const twoDigits = (count: number) => String(Math.trunc(count)).padStart(2, '0')
  const zone = Math.abs(offset)
  return `${local}${offset < 0 ? '-' : '+'}${twoDigits(zone / 60)}:${twoDigits(zone % 60)}`
}

/** Returns the message of a signature verification. */
export function verificationMessage({
  verified,
  reason,
  signature,
  signer,
}: Verification): VerificationMessage {
  return create(VerificationSchema, {
    verified,
    reason,
    signature: signature?.signature ?? '',
    payload: signature?.payload.toString() ?? '',
    ...(signer && { signer }),
  })
}

export const commits = defineService(CommitService, commitService)
