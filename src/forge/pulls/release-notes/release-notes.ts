import { latestCommits, losesCommits } from '../../../platform/git/history/new-commits.ts'
import { findOwnersByIds } from '../../accounts/users/owners.rows.ts'
import { GHOST } from '../../accounts/users/owners.ts'
import { labelsOfConversations } from '../../conversations/labels.rows.ts'
import type { SignedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { type OpenRepository, openForWriting } from '../../repositories/access/permissions.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readTag, readTagInAnyCase } from '../../repositories/refs/ref-index.ts'
import { isTagName, resolveTarget } from '../../repositories/refs/tags.ts'
import { listReleases } from '../../repositories/releases/releases.rows.ts'
import {
  type Categorized,
  grouped,
  isLeftOut,
  type NoteCategories,
  readNoteCategories,
} from './note-categories.ts'
import { findFirstMerges, findPullsByMergeCommits, type NotedPull } from './release-notes.rows.ts'

/** What the notes are about. Empty texts are defaults. */
interface NotesRequest {
  readonly tagName: string
  readonly target: string
  readonly previousTagName: string
}

interface ReleaseNotes {
  readonly title: string
  /** Markdown. */
  readonly body: string
}

/** Releases among which the one before is looked for, each of which costs a look at the history. */
const MAX_RELEASES = 10

/** Commits of a release. Those before are not looked at. */
const MAX_COMMITS = 20_000

/** Below the limit of the notes of a release, so that a person can add something. */
const MAX_PULLS = 500
const MAX_LINES_BYTES = 100 * 1024

/** Characters of an invalid tag name in the error. */
const MAX_SHOWN_TAG_CHARACTERS = 200

/**
 * Writes the notes of a release from the pull requests merged since the release before.
 *
 * @throws REPOSITORY_NOT_FOUND, REPOSITORY_MOVED, REPOSITORY_ACCESS_DENIED, REPOSITORY_UNIT_CLOSED,
 *   REPOSITORY_ARCHIVED, RELEASE_TAG_REQUIRED, RELEASE_TAG_INVALID, TAG_TARGET_NOT_FOUND,
 *   TAG_NOT_FOUND, SERVER_BUSY, GIT_TIMEOUT
 */
export async function generateReleaseNotes(
  app: ReposApp,
  caller: SignedIn,
  name: RepositoryName,
  { tagName: asked, target, previousTagName }: NotesRequest,
): Promise<ReleaseNotes> {
  const open = await openForWriting(app, caller, name)
  const { repository } = open
  if (asked === '') throw new DomainError('RELEASE_TAG_REQUIRED')
  if (!isTagName(asked)) {
    const tag = asked.slice(0, MAX_SHOWN_TAG_CHARACTERS)
    throw new DomainError('RELEASE_TAG_INVALID', { tag })
  }
  const tag = await readTagInAnyCase(app, repository, asked)
  const tagName = tag?.name ?? asked
  const to = tag?.commit_id ?? (await resolveTarget(app, repository, target))
  const previous =
    previousTagName === ''
      ? await previousRelease(app, open, { tagName, to })
      : await namedTag(app, open, previousTagName)
  const merged = await mergedPulls(app, open, previous?.commitId, to)
  const categories = await readNoteCategories(app, caller, open, to)
  const pulls = (await described(app, merged)).filter((pull) => !isLeftOut(categories, pull))
  const facts = { pulls, categories, tagName, previous }
  return { title: tagName, body: await printNotes(app, open, facts) }
}

/** The tag of a release, and its commit. */
interface TaggedCommit {
  readonly tagName: string
  readonly commitId: string
}

async function namedTag(
  app: ReposApp,
  { repository }: OpenRepository,
  name: string,
): Promise<TaggedCommit> {
  const tag = await readTagInAnyCase(app, repository, name)
  if (!tag || tag.commit_id === null) throw new DomainError('TAG_NOT_FOUND')
  return { tagName: tag.name, commitId: tag.commit_id }
}

/** Returns the latest finished release in the history of a commit, with another tag. */
async function previousRelease(
  app: ReposApp,
  { repository }: OpenRepository,
  { tagName, to }: { tagName: string; to: string },
): Promise<TaggedCommit | undefined> {
  const finished = { draft: false, prerelease: false }
  for (const { tag_name } of await listReleases(app.db, repository.id, finished, 0, MAX_RELEASES)) {
    const commitId = (await readTag(app, repository, tag_name))?.commit_id
    if (tag_name === tagName || !commitId) continue
    const isElsewhere = await reading(
      losesCommits(app.git, repository.id, { from: commitId, to }, {}),
    )
    if (!isElsewhere) return { tagName: tag_name, commitId }
  }
  return undefined
}

async function mergedPulls(
  app: ReposApp,
  { repository, units }: OpenRepository,
  from: string | undefined,
  to: string,
): Promise<NotedPull[]> {
  // What the caller may not read must not come back in notes.
  if (units.pulls === 'none') return []
  const commits = await reading(latestCommits(app.git, repository.id, { from, to }, MAX_COMMITS))
  return findPullsByMergeCommits(app.db, repository.id, commits)
}

/** A pull request with what decides about its place in the notes. */
interface DescribedPull extends NotedPull, Categorized {
  /** The name of the author as the notes print it. */
  readonly by: string
}

async function described(app: ReposApp, pulls: readonly NotedPull[]): Promise<DescribedPull[]> {
  const owners = await findOwnersByIds(app.db, authorsOf(pulls))
  const labels = await labelsOfConversations(
    app.db,
    pulls.map(({ id }) => id),
  )
  return pulls.map((pull) => {
    const { id, poster_id, original_author } = pull
    // The name of an author on another server may be that of another person here.
    const isImported = original_author !== ''
    const account = (poster_id === null ? undefined : owners.get(poster_id))?.name ?? GHOST.name
    return {
      ...pull,
      labels: (labels.get(id) ?? []).map(({ name }) => name),
      author: isImported ? '' : account,
      by: isImported ? oneLine(original_author) : `@${account}`,
    }
  })
}

async function printNotes(
  app: ReposApp,
  { repository, owner }: OpenRepository,
  facts: {
    pulls: readonly DescribedPull[]
    categories: NoteCategories
    tagName: string
    previous: TaggedCommit | undefined
  },
): Promise<string> {
  const { pulls, categories, tagName, previous } = facts
  const base = `${app.publicUrl()}/${owner.name}/${repository.name}`
  const lineOf = ({ title, by, number }: DescribedPull) =>
    `* ${oneLine(title)} by ${by} in ${base}/pulls/${number}`
  // The limits keep the latest ones.
  const shown = pulls.slice(0, withinLimits(pulls.map(lineOf)).length)
  const left = pulls.length - shown.length
  const groups = grouped(categories, shown).map(({ title, pulls }) =>
    [...(title === '' ? [] : [`### ${title}`]), ...pulls.map(lineOf)].join('\n'),
  )
  const newcomers = (await firstPulls(app, repository.id, pulls)).map(
    ({ by, number }) => `* ${by} made their first contribution in ${base}/pulls/${number}`,
  )
  const all =
    previous === undefined
      ? `${base}/commits/tag/${encodeURIComponent(tagName)}`
      : `${base}/compare/${encodeURIComponent(previous.tagName)}...${encodeURIComponent(tagName)}`
  const parts = [
    shown.length > 0 && `## What's Changed\n${groups.join('\n\n')}`,
    left > 0 && `* And ${left} more pull requests`,
    newcomers.length > 0 && `## New Contributors\n${withinLimits(newcomers).join('\n')}`,
    `**Full Changelog**: ${all}`,
  ]
  return parts.filter((part) => part !== false).join('\n\n')
}

/** Makes one line of a text, so that no title adds lines to the notes. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function authorsOf(pulls: readonly NotedPull[]): number[] {
  return [...new Set(pulls.flatMap(({ poster_id }) => poster_id ?? []))]
}

/** Returns the pull requests that were the first merged ones of their authors, the latest first. */
async function firstPulls(
  app: ReposApp,
  repositoryId: number,
  pulls: readonly DescribedPull[],
): Promise<DescribedPull[]> {
  const own = pulls.filter(({ original_author }) => original_author === '')
  const times = await findFirstMerges(app.db, repositoryId, authorsOf(own))
  // Of several in the same second, the one with the lowest number.
  const firsts = new Map<number, DescribedPull>()
  for (const pull of own)
    if (pull.poster_id !== null && times.get(pull.poster_id) === pull.merge_time)
      firsts.set(pull.poster_id, pull)
  return [...firsts.values()]
}

function withinLimits(lines: readonly string[]): string[] {
  let bytes = 0
  return lines.slice(0, MAX_PULLS).filter((line) => {
    bytes += Buffer.byteLength(line) + 1
    return bytes <= MAX_LINES_BYTES
  })
}
