import { createYielder } from '../../../platform/concurrency/yielding.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import { diffPaths } from '../../../platform/git/diffs/diff.ts'
import { readCommit } from '../../../platform/git/objects/commits.ts'
import { readObject } from '../../../platform/git/objects/objects.ts'
import { findEntry } from '../../../platform/git/objects/trees.ts'
import { findUserByUsername } from '../../accounts/users/owners.ts'
import { compileExpression, MAX_PATTERN_CHARACTERS, type Matcher } from '../../core/globs.ts'
import { nameKey } from '../../core/names.ts'
import type { User } from '../../core/schema.ts'
import type { Team } from '../../organizations/schema.ts'
import { findMembersOf, findTeamByName } from '../../organizations/teams.rows.ts'
import type { OpenRepository } from '../../repositories/access/permissions.ts'
import { reading } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { readBranch } from '../../repositories/refs/ref-index.ts'
import type { PullRequest, Review } from '../schema.ts'
import { MAX_REVIEWERS, mayReview, type Reviewers, requestReviews } from './review-requests.ts'
import { teamReads } from './review-rules.ts'
import { listReviewerIds, listReviewRequests } from './reviews.rows.ts'

/** Possible paths of the file. The first existing file applies. */
const PATHS = ['CODEOWNERS', 'docs/CODEOWNERS', '.gitea/CODEOWNERS']

/** Maximum number of bytes to read of the file. */
export const MAX_FILE_BYTES = 64 * 1024

/** Maximum number of changed files whose owners are looked up. Further files are ignored. */
const MAX_PATHS = 3_000

/** Maximum number of names to look up. Several times the maximum number of requested reviewers. */
const MAX_NAMES = 500

/** The proposed change. */
interface Proposed {
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
 */
export async function findCodeOwners(
  app: ReposApp,
  open: OpenRepository,
  proposed: Proposed,
): Promise<Reviewers> {
  const { id } = open.repository
  const base = await readBranch(app, open.repository, proposed.baseBranch)
  const file = await readCodeOwnersFile(app, open, base?.commit_id)
  const rules = parseCodeOwners(file?.text ?? '')
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
      const team = await findOwningTeam(app, open, name)
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
export async function findOwningTeam(
  app: ReposApp,
  { owner }: OpenRepository,
  name: string,
): Promise<Team | undefined> {
  const [organization = '', team = ''] = name.split('/')
  const isOwner = owner.kind === 'ORGANIZATION' && nameKey(organization) === nameKey(owner.name)
  return isOwner ? findTeamByName(app.db, owner.id, nameKey(team)) : undefined
}

/** The file that a commit has. */
interface CodeOwnersFile {
  readonly path: string
  /** The beginning of a file that is too large. */
  readonly text: string
  readonly isTooLarge: boolean
}

/** Returns the file that a commit has; undefined if there is none. */
export async function readCodeOwnersFile(
  app: ReposApp,
  { repository }: OpenRepository,
  commitId: string | undefined,
): Promise<CodeOwnersFile | undefined> {
  const commit =
    commitId === undefined ? undefined : await readCommit(app.git, repository.id, commitId)
  if (!commit) return undefined
  for (const path of PATHS) {
    const entry = await findEntry(app.git, repository.id, commit.treeId, path)
    if (entry?.kind !== 'file') continue
    const file = await reading(readObject(app.git, repository.id, entry.id, MAX_FILE_BYTES))
    return {
      path,
      text: file?.content.toString() ?? '',
      isTooLarge: (file?.bytes ?? 0) > MAX_FILE_BYTES,
    }
  }
  return undefined
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

/**
 * Parser of CODEOWNERS files in the format of compatible systems. Each line is a rule: a regular
 * expression in RE2 syntax that must match whole paths, then names of users and teams, separated by
 * spaces. A leading `!` inverts the expression. A backslash escapes the next character, so a
 * backslash of the expression is written twice. A `#` begins a comment.
 */

/** Maximum number of rules. Later rules are ignored. */
export const MAX_RULES = 200

/** Maximum CPU time of this process to match the paths of a pull request against all rules. */
const MAX_MATCHING_MS = 1_000

/** A rule of a CODEOWNERS file. */
interface CodeOwnerRule {
  /** Returns whether the rule applies to a file. */
  readonly matches: Matcher
  /** Usernames, and teams in the form `organisation/team`. */
  readonly names: readonly string[]
}

/** Parses the rules. Skips invalid rules, and rules that are too expensive to match. */
export function parseCodeOwners(text: string): CodeOwnerRule[] {
  const rules: CodeOwnerRule[] = []
  for (const line of text.split('\n')) {
    if (rules.length === MAX_RULES) break
    const [pattern = '', ...names] = ruleTokensOf(line)
    const matches = names.length === 0 ? undefined : compileOwnedPaths(pattern)
    if (matches) rules.push({ matches, names: names.map((name) => name.replace(/^@/, '')) })
  }
  return rules
}

/** Returns whether a pattern matches a path; undefined for one that is invalid or too expensive. */
export function compileOwnedPaths(pattern: string): Matcher | undefined {
  if (pattern.length > MAX_PATTERN_CHARACTERS) return undefined
  const isTurned = pattern.startsWith('!')
  // Normalised, because file systems may treat different compositions of a character as equal.
  const expression = compileExpression((isTurned ? pattern.slice(1) : pattern).normalize())
  return expression && ((path) => expression.testExact(path.normalize()) !== isTurned)
}

/** Returns the pattern and the names of a line. */
export function ruleTokensOf(line: string): string[] {
  const tokens: string[] = []
  let token = ''
  let isEscaped = false
  for (const character of `${line.trim()} `) {
    if (isEscaped) {
      token += character
      isEscaped = false
    } else if (character === '\\') isEscaped = true
    else if (character === '#') break
    else if (character === ' ' || character === '\t') {
      if (token !== '') tokens.push(token)
      token = ''
    } else token += character
  }
  return token === '' ? tokens : [...tokens, token]
}

/**
 * Returns the names of the owners of files, without duplicates. A rule that takes too long to match
 * counts as a match.
 *
 * @param maxMs CPU time of this process.
 */
export async function ownersOf(
  rules: readonly CodeOwnerRule[],
  paths: readonly string[],
  maxMs = MAX_MATCHING_MS,
): Promise<string[]> {
  const yielder = createYielder()
  const names = new Set<string>()
  for (const rule of rules) {
    for (const path of paths) {
      const pause = yielder.yield()
      if (pause) await pause
      if (yielder.spentMs() > maxMs || rule.matches(path)) {
        for (const name of rule.names) names.add(name)
        break
      }
    }
  }
  return [...names]
}
