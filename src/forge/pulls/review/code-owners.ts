import type { Tx } from '../../../platform/database/schema.ts'
import { diffPaths } from '../../../platform/git/diffs/diff.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import { findEntry } from '../../../platform/git/objects/trees.ts'
import { findUserByUsername } from '../../accounts/users/owners.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { Team } from '../../organizations/schema.ts'
import { findMembersOf } from '../../organizations/team-members.rows.ts'
import { findTeamByName } from '../../organizations/teams.rows.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import type { PullRequest, Review } from '../schema.ts'
import { ownersOf, parseCodeOwners } from './code-owner-rules.ts'
import { teamReads } from './official-reviewers.ts'
import { MAX_REVIEWERS, mayReview, type Reviewers, requestReviews } from './review-requests.ts'
import { listReviewerIds, listReviewRequests } from './reviews.rows.ts'

/** Possible paths of the file. The first existing file applies. */
const PATHS = ['CODEOWNERS', 'docs/CODEOWNERS', '.gitea/CODEOWNERS']

/** Maximum number of bytes to read of the file. */
const MAX_FILE_BYTES = 64 * 1024

/** Maximum number of changed files whose owners are looked up. Further files are ignored. */
const MAX_PATHS = 3_000

/** Maximum number of names to look up. Several times the maximum number of requested reviewers. */
const MAX_NAMES = 500

/** The proposed change. */
export interface Proposed {
  /** Null if the account was deleted. */
  readonly posterId: number | null
  readonly baseBranch: string
  /** The commits are in the base repository. */
  readonly mergeBase: string
  readonly head: string
}

/**
 * Returns the code owners of the files that a pull request changes, by the rules of its base
 * branch. Skips the poster, and names that are unknown or that may not review.
 *
 * @param open the base repository.
 * @throws SERVER_BUSY, GIT_TIMEOUT
 */
export async function findCodeOwners(
  app: ReposApp,
  open: OpenRepository,
  proposed: Proposed,
): Promise<Reviewers> {
  const { id } = open.repository
  const rules = parseCodeOwners(await readFile(app, open, proposed.baseBranch))
  if (rules.length === 0) return { users: [], teams: [] }
  const window = { offset: 0, limit: MAX_PATHS }
  const { files } = await reading(diffPaths(app.git, id, proposed.mergeBase, proposed.head, window))
  const names = await ownersOf(
    rules,
    files.map(({ path }) => path),
  )
  const users = new Map<number, User>()
  const teams = new Map<number, Team>()
  for (const name of names.slice(0, MAX_NAMES)) {
    if (name.includes('/')) {
      const team = await findTeam(app, open, name)
      if (team && (await teamReads(app.db, team, open.repository))) teams.set(team.id, team)
    } else {
      const user = await findUserByUsername(app.db, name)
      if (user && user.id !== proposed.posterId && (await mayReview(app, user, open)))
        users.set(user.id, user)
    }
  }
  return { users: [...users.values()], teams: [...teams.values()] }
}

/** @param name in the form `organisation/team`. */
async function findTeam(
  app: ReposApp,
  { owner }: OpenRepository,
  name: string,
): Promise<Team | undefined> {
  const [organization = '', team = ''] = name.split('/')
  const isOwner = owner.kind === 'ORGANIZATION' && nameKey(organization) === nameKey(owner.name)
  return isOwner ? findTeamByName(app.db, owner.id, nameKey(team)) : undefined
}

/** Returns the content of the file, or an empty text if there is none. */
async function readFile(
  app: ReposApp,
  { repository }: OpenRepository,
  branchName: string,
): Promise<string> {
  const branch = await readBranch(app, repository, branchName)
  const commit = branch && (await readCommit(app.git, repository.id, branch.commit_id))
  if (!commit) return ''
  for (const path of PATHS) {
    const entry = await findEntry(app.git, repository.id, commit.treeId, path)
    if (entry?.kind !== 'file') continue
    const file = await reading(readObject(app.git, repository.id, entry.id, MAX_FILE_BYTES))
    return file?.content.toString() ?? ''
  }
  return ''
}

/**
 * Requests reviews from the code owners of a pull request, up to the maximum number of reviewers.
 * Runs in the transaction of the change that makes the request necessary. Skips users who have
 * reviewed the pull request, and teams for which a member other than the poster has reviewed it.
 */
export async function requestCodeOwners(
  app: ReposApp,
  tx: Tx,
  actorId: number,
  pull: PullRequest,
  { users, teams }: Reviewers,
): Promise<Review[]> {
  if (users.length + teams.length === 0) return []
  const reviewerIds = (await listReviewerIds(tx, pull.id)).filter((id) => id !== pull.poster_id)
  const others = users.filter(({ id }) => !reviewerIds.includes(id))
  const waiting: Team[] = []
  for (const team of teams) {
    if ((await findMembersOf(tx, [team.id], reviewerIds)).size === 0) waiting.push(team)
  }
  const places = MAX_REVIEWERS - (await listReviewRequests(tx, [pull.id])).length
  const asked = {
    users: others.slice(0, places),
    teams: waiting.slice(0, Math.max(places - others.length, 0)),
  }
  return requestReviews(app, tx, actorId, pull, asked)
}
