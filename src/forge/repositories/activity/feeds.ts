import { createHash } from 'node:crypto'
import type { Caller } from '../../core/access.ts'
import type { Feed, FeedEntry } from '../../core/atom.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openRepository } from '../access/permissions.ts'
import { listCommits } from '../commits/commits.ts'
import type { ReposApp } from '../ports.ts'
import { listReleases } from '../releases/releases.ts'
import {
  movedRefsOf,
  notedIssueOf,
  notedPullOf,
  type RepositoryEventType,
  readNewestRepositoryEvents,
  type WatchedEvent,
} from './repository-events.ts'

/** Entries of a feed. */
const PAGE = { offset: 0, limit: 30 }

/** The verbs of the events of pull requests and issues that a feed has. */
const CONVERSATION_VERBS: Readonly<Partial<Record<RepositoryEventType, string>>> = {
  PULL_REQUEST_OPENED: 'opened',
  PULL_REQUEST_CLOSED: 'closed',
  PULL_REQUEST_REOPENED: 'reopened',
  PULL_REQUEST_MERGED: 'merged',
  ISSUE_OPENED: 'opened',
  ISSUE_CLOSED: 'closed',
  ISSUE_REOPENED: 'reopened',
}

const ACTIVITY: readonly RepositoryEventType[] = [
  'REFS_UPDATED',
  'RELEASE_PUBLISHED',
  'PULL_REQUEST_OPENED',
  'PULL_REQUEST_CLOSED',
  'PULL_REQUEST_REOPENED',
  'PULL_REQUEST_MERGED',
  'ISSUE_OPENED',
  'ISSUE_CLOSED',
  'ISSUE_REOPENED',
]

/**
 * Returns the feed of the latest pushes, releases, pull requests and issues that the caller may see.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED
 */
export async function activityFeed(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<Feed> {
  const open = await openRepository(app, caller, name, 'none')
  const base = pageOf(app, open)
  const events = await readNewestRepositoryEvents(app, caller, open, ACTIVITY, PAGE.limit)
  return {
    address: `${base}.atom`,
    title: `Activity of ${titleOf(open)}`,
    page: base,
    entries: events.flatMap((event) => activityEntry(base, event) ?? []),
    emptySince: open.repository.create_time,
  }
}

function activityEntry(base: string, event: WatchedEvent): FeedEntry | undefined {
  const said = sentenceOf(event)
  if (!said) return undefined
  const author = event.actor?.name ?? 'Somebody'
  return {
    id: `${base}.atom#${markOf(event)}`,
    title: `${author} ${said.text}`,
    page: base + said.path,
    time: Math.floor(event.time / 1000),
    author,
    text: '',
  }
}

/**
 * Distinguishes an event from all others of its repository. The number of the event would tell how
 * much happens in all repositories together.
 */
function markOf({ time, type, subject }: WatchedEvent): string {
  const digest = createHash('sha256').update(`${type} ${subject}`).digest('base64url')
  return `${time}-${digest.slice(0, 16)}`
}

/** What an event says, and the page of its subject. */
function sentenceOf(event: WatchedEvent): { text: string; path: string } | undefined {
  const { type, subject } = event
  if (type === 'REFS_UPDATED') return pushSentence(event)
  if (type === 'RELEASE_PUBLISHED')
    return {
      text: `published the release ${subject}`,
      path: `/releases/tag/${encodeURIComponent(subject)}`,
    }
  const verb = CONVERSATION_VERBS[type]
  if (verb === undefined) return undefined
  const isPull = type.startsWith('PULL_REQUEST_')
  const { number } = isPull ? notedPullOf(event) : notedIssueOf(event)
  return isPull
    ? { text: `${verb} the pull request #${number}`, path: `/pulls/${number}` }
    : { text: `${verb} the issue #${number}`, path: `/issues/${number}` }
}

const REF = /^refs\/(heads|tags)\/(.+)$/s

function pushSentence(event: WatchedEvent): { text: string; path: string } | undefined {
  const { refs } = movedRefsOf(event)
  const named = refs.flatMap(({ ref, oldId, newId }) => {
    const [, kind, name = ''] = REF.exec(ref) ?? []
    if (kind === undefined) return []
    const verb = newId === undefined ? 'deleted' : oldId === undefined ? 'created' : 'pushed to'
    return [{ text: `${verb} the ${kind === 'heads' ? 'branch' : 'tag'} ${name}`, newId }]
  })
  const [first] = named
  if (!first) return undefined
  const text =
    named.length === 1 ? first.text : `${first.text} and changed ${named.length - 1} more`
  return { text, path: first.newId === undefined ? '/branches' : `/commit/${first.newId}` }
}

/**
 * Returns the feed of the published releases.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED
 */
export async function releaseFeed(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<Feed> {
  const open = await openRepository(app, caller, name, 'read', 'releases')
  const filter = { draft: false, prerelease: undefined }
  const { releases } = await listReleases(app, caller, name, filter, PAGE)
  const base = pageOf(app, open)
  return {
    address: `${base}/releases.atom`,
    title: `Releases of ${titleOf(open)}`,
    page: `${base}/releases`,
    entries: releases.map(({ release, publisher }) => ({
      id: `${base}/releases.atom#${release.id}`,
      title: release.title || release.tag_name,
      page: `${base}/releases/tag/${encodeURIComponent(release.tag_name)}`,
      time: release.create_time,
      author: publisher.name,
      text: release.note,
    })),
    emptySince: open.repository.create_time,
  }
}

/** The parts of commits that cost more than the commits. */
const PARTS = { stat: false, files: false, verification: false }

/**
 * Returns the feed of the commits of a branch.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_UNIT_CLOSED, REPOSITORY_EMPTY,
 *   REF_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
export async function branchFeed(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  branch: string,
): Promise<Feed> {
  const open = await openRepository(app, caller, name, 'read')
  const query = {
    ref: `refs/heads/${branch}`,
    path: '',
    not: '',
    since: undefined,
    until: undefined,
  }
  const { commits } = await listCommits(app, caller, name, query, { parts: PARTS, page: PAGE })
  const base = pageOf(app, open)
  const path = branch.split('/').map(encodeURIComponent).join('/')
  return {
    address: `${base}/atom/branch/${path}`,
    title: `Commits to ${branch} of ${titleOf(open)}`,
    page: `${base}/commits/branch/${encodeURIComponent(branch)}`,
    entries: commits.map(({ commit }) => ({
      id: `${base}/commit/${commit.id}`,
      title: commit.message.split('\n', 1)[0] || commit.id,
      page: `${base}/commit/${commit.id}`,
      time: commit.committer.time,
      author: commit.author.name || 'Unknown',
      text: commit.message,
    })),
    emptySince: open.repository.create_time,
  }
}

function pageOf(app: ReposApp, { owner, repository }: OpenRepository): string {
  return `${app.publicUrl()}/${owner.name}/${repository.name}`
}

function titleOf({ owner, repository }: OpenRepository): string {
  return `${owner.name}/${repository.name}`
}
