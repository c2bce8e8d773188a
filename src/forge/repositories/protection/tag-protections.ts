import { createYielder } from '../../../platform/concurrency/yielding.ts'
import { isUniqueViolation } from '../../../platform/database/database.ts'
import type { Tx } from '../../../platform/database/schema.ts'
import type { Caller, SignedIn } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { RepositoryName } from '../../core/names.ts'
import { checkNotArchived, openRepository } from '../access/permissions.ts'
import { changeWatched, recordProtectionChange } from '../activity/repository-events.ts'
import type { ReposApp } from '../ports.ts'
import { compileTagPattern, type TagMatcher } from './patterns.ts'
import { teamIdsOf, userIdsOf } from './protection-rules.ts'
import type { TagProtection } from './schema.ts'
import * as rows from './tag-protections.rows.ts'

/** The number of rules of one repository. Each rule is matched with each tag of a push. */
const MAX_RULES = 50

/** The settings of an edited rule. Undefined settings keep their value. */
interface TagProtectionEdit {
  readonly namePattern: string | undefined
  readonly usernames: readonly string[] | undefined
  readonly teams: readonly string[] | undefined
}

/**
 * The time for matching tag names with patterns in one push. A user can choose both so that
 * matching is slow.
 */
const MAX_MATCHING_MS = 10_000

/**
 * Returns the tags that tag protections keep a user from creating, moving and deleting. A protected
 * tag is open to the users that at least one of its rules exempts. Administrators and deploy keys are
 * not exempt.
 *
 * @returns undefined if matching takes too long
 */
export async function findProtectedTags(
  app: ReposApp,
  repositoryId: number,
  { user, credential }: SignedIn,
  tags: readonly string[],
): Promise<ReadonlySet<string> | undefined> {
  const found = new Set<string>()
  const patterns =
    tags.length === 0 ? new Map<number, string>() : await rows.listTagPatterns(app.db, repositoryId)
  if (patterns.size === 0) return found
  // A deploy key has nothing that its owner is exempt from.
  const exemptions =
    credential.kind === 'deploy key'
      ? new Set<number>()
      : await rows.findExemptions(app.db, repositoryId, user.id)
  const yielder = createYielder()
  const rules: { isExempt: boolean; matches: TagMatcher }[] = []
  for (const [id, pattern] of patterns) {
    // The pattern was valid when it was stored. If validation has become stricter since, the rule
    // protects all tags.
    rules.push({
      isExempt: exemptions.has(id),
      matches: compileTagPattern(pattern) ?? (() => true),
    })
    await yielder.yield()
  }
  // Try exempting rules first, because one of them is enough.
  rules.sort((a, b) => Number(b.isExempt) - Number(a.isExempt))
  for (const tag of tags) {
    for (const { isExempt, matches } of rules) {
      const isAbout = matches(tag)
      const pause = yielder.yield()
      if (pause) await pause
      if (yielder.spentMs() > MAX_MATCHING_MS) return undefined
      if (!isAbout) continue
      if (!isExempt) found.add(tag)
      break
    }
  }
  return found
}

/** Returns whether a rule keeps a user from creating, moving or deleting a tag. */
export async function isTagProtected(
  app: ReposApp,
  repositoryId: number,
  caller: SignedIn,
  tag: string,
): Promise<boolean> {
  const found = await findProtectedTags(app, repositoryId, caller, [tag])
  return found?.has(tag) ?? true
}

/** Returns the tag protections of a repository, oldest first. */
export async function listTagProtections(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
): Promise<TagProtection[]> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  return rows.listTagProtections(app.db, repository.id)
}

/** Returns one tag protection. */
export async function getTagProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
): Promise<TagProtection> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  return findRule(app, repository.id, id)
}

/** Creates a tag protection. */
export async function createTagProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  draft: {
    readonly namePattern: string
    readonly usernames: readonly string[]
    readonly teams: readonly string[]
  },
): Promise<TagProtection> {
  const { repository, owner } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const pattern = draft.namePattern.trim()
  if (pattern === '') throw new DomainError('TAG_PROTECTION_INCOMPLETE', { field: 'name_pattern' })
  if (draft.usernames.length === 0 && draft.teams.length === 0) {
    throw new DomainError('TAG_PROTECTION_INCOMPLETE', { field: 'whitelist_usernames' })
  }
  checkPattern(pattern)
  const userIds = await userIdsOf(app, 'whitelist_usernames', draft.usernames)
  const teamIds = await teamIdsOf(app, 'whitelist_teams', owner, draft.teams)
  const id = await withUniquePattern(app, async (tx) => {
    const inserted = await rows.insertTagProtection(
      tx,
      repository.id,
      pattern,
      nowSeconds(app.clock),
    )
    if ((await rows.countTagProtections(tx, repository.id)) > MAX_RULES) {
      throw new DomainError('TOO_MANY_TAG_PROTECTIONS', { limit: String(MAX_RULES) })
    }
    await rows.setTagProtectionUsers(tx, inserted, userIds)
    await rows.setTagProtectionTeams(tx, inserted, teamIds)
    const made = { id: inserted, name: pattern }
    await recordProtectionChange(app, tx, caller, {
      repositoryId: repository.id,
      type: 'TAG_PROTECTION_CREATED',
      rule: made,
    })
    return inserted
  })
  return findRule(app, repository.id, id)
}

/** Edits a tag protection, in one transaction. */
export async function editTagProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
  edit: TagProtectionEdit,
): Promise<TagProtection> {
  const { repository, owner } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const rule = await findRule(app, repository.id, id)
  const pattern = edit.namePattern?.trim() || rule.name_pattern
  if (pattern !== rule.name_pattern) checkPattern(pattern)
  const userIds = edit.usernames && (await userIdsOf(app, 'whitelist_usernames', edit.usernames))
  const teamIds = edit.teams && (await teamIdsOf(app, 'whitelist_teams', owner, edit.teams))
  await withUniquePattern(app, async (tx) => {
    await rows.updateTagProtection(tx, id, pattern, nowSeconds(app.clock))
    if (userIds) await rows.setTagProtectionUsers(tx, id, userIds)
    if (teamIds) await rows.setTagProtectionTeams(tx, id, teamIds)
    await recordProtectionChange(app, tx, caller, {
      repositoryId: repository.id,
      type: 'TAG_PROTECTION_EDITED',
      rule: {
        id,
        name: pattern,
      },
    })
  })
  return findRule(app, repository.id, id)
}

/** Deletes a tag protection. */
export async function deleteTagProtection(
  app: ReposApp,
  caller: Caller,
  name: RepositoryName,
  id: number,
): Promise<void> {
  const { repository } = await openRepository(app, caller, name, 'admin')
  checkNotArchived(repository)
  const { name_pattern } = await findRule(app, repository.id, id)
  await changeWatched(app, async (tx) => {
    if (!(await rows.deleteTagProtection(tx, id))) throw new DomainError('TAG_PROTECTION_NOT_FOUND')
    await recordProtectionChange(app, tx, caller, {
      repositoryId: repository.id,
      type: 'TAG_PROTECTION_DELETED',
      rule: {
        id,
        name: name_pattern,
      },
    })
  })
}

async function findRule(app: ReposApp, repositoryId: number, id: number): Promise<TagProtection> {
  const rule = (await rows.listTagProtections(app.db, repositoryId)).find(
    (candidate) => candidate.id === id,
  )
  if (!rule) throw new DomainError('TAG_PROTECTION_NOT_FOUND')
  return rule
}

function checkPattern(pattern: string): void {
  if (!compileTagPattern(pattern)) throw new DomainError('INVALID_TAG_PATTERN')
}

async function withUniquePattern<T>(app: ReposApp, work: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await changeWatched(app, work)
  } catch (error) {
    throw isUniqueViolation(error) ? new DomainError('TAG_PROTECTION_EXISTS') : error
  }
}
