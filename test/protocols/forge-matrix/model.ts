import {
  type CallerFacts,
  hasPull,
  LEVELS,
  type Level,
  ORGANIZATIONS,
  type OrganizationName,
  type PlaceFacts,
  type Unit,
  type UserFacts,
  userFacts,
} from './test-users.ts'

/*
 * What has to come of a call, told once more and as simply as it can be: from what the users was given, and without the code that
 * it is held against.
 */

/** What stands between a caller and what a method does, and the status of each over REST. */
export const GATES = {
  BAD_CREDENTIALS: 401,
  UNAUTHENTICATED: 401,
  PASSWORD_REQUIRED: 401,
  SCOPE_MISSING: 403,
  PUBLIC_ONLY_TOKEN: 403,
  REPOSITORY_NOT_FOUND: 404,
  ORGANIZATION_NOT_FOUND: 404,
  TEAM_NOT_FOUND: 404,
  REPOSITORY_UNIT_CLOSED: 403,
  REPOSITORY_ACCESS_DENIED: 403,
  GIT_HOOK_ACCESS_DENIED: 403,
  PULL_REQUEST_EDIT_DENIED: 403,
  ATTACHMENT_DENIED: 403,
  MERGE_DENIED: 405,
  PULL_REQUEST_UPDATE_DENIED: 403,
  SUGGESTION_DENIED: 403,
  REVIEW_REQUEST_DENIED: 403,
  REVIEW_DISMISSAL_DENIED: 403,
  REPOSITORY_ARCHIVED: 423,
  REPOSITORY_EMPTY: 404,
  REPOSITORY_IS_MIRROR: 403,
  ORGANIZATION_ACCESS_DENIED: 403,
  PERMISSION_DENIED: 403,
} as const
export type Gate = keyof typeof GATES

/** Those that a call meets before the server looks anything up. */
export const AT_THE_DOOR: readonly Gate[] = [
  'BAD_CREDENTIALS',
  'UNAUTHENTICATED',
  'SCOPE_MISSING',
  'PUBLIC_ONLY_TOKEN',
]

/** Those before what is nobody else's. */
export const ACCOUNT_GATES: readonly Gate[] = [
  ...AT_THE_DOOR,
  'PASSWORD_REQUIRED',
  'PERMISSION_DENIED',
]

/**
 * Those before a repository. That it is empty is for many methods a thing that they find out, and
 * no gate.
 */
export const REPOSITORY_GATES: readonly Gate[] = [
  ...AT_THE_DOOR,
  'REPOSITORY_NOT_FOUND',
  'REPOSITORY_UNIT_CLOSED',
  'REPOSITORY_ACCESS_DENIED',
  'GIT_HOOK_ACCESS_DENIED',
  'PULL_REQUEST_EDIT_DENIED',
  'ATTACHMENT_DENIED',
  'MERGE_DENIED',
  'PULL_REQUEST_UPDATE_DENIED',
  'SUGGESTION_DENIED',
  'REVIEW_REQUEST_DENIED',
  'REVIEW_DISMISSAL_DENIED',
  'REPOSITORY_ARCHIVED',
  'REPOSITORY_IS_MIRROR',
  'ORGANIZATION_ACCESS_DENIED',
]

/** Those before an organisation and its teams. */
export const ORGANIZATION_GATES: readonly Gate[] = [
  ...AT_THE_DOOR,
  'ORGANIZATION_NOT_FOUND',
  'TEAM_NOT_FOUND',
  'ORGANIZATION_ACCESS_DENIED',
  'PERMISSION_DENIED',
]

export type Expected = Gate | 'let through'

/** What a method asks of its caller before it looks at anything. */
export interface Needs {
  readonly signedIn: boolean
  /** Of tokens, every one. */
  readonly scopes: readonly string[]
  /** Nothing of it is public. */
  readonly privateData?: true
}

/** What a method about a repository asks. */
export interface RepositoryNeeds extends Needs {
  /**
   * `planning` is issues or pull requests, whichever gives more; `conversations` is the same, where
   * pull requests count with the code only.
   */
  readonly unit: Unit | 'planning' | 'conversations'
  /** `none` of a unit lets in who may read another one. */
  readonly level: Level
  /** Refused where nothing changes any more. */
  readonly writes?: boolean
  /** Refused where another server says what the branches and tags are. */
  readonly movesRefs?: boolean
  /** Refused where there is none. */
  readonly needsBranches?: boolean
  /** Asks for an administrator of the instance too. */
  readonly ofInstanceToo?: boolean
  /**
   * Is about a pull request: what else it asks, it asks only where there is one. Whoever opened it
   * may write to all of them.
   */
  readonly ofPull?: PullNeeds
  /** Asks for issues, where pull requests would let the caller in. */
  readonly ofIssues?: true
  /** Nothing is told of pull requests to who may not read the code. */
  readonly hidesWithoutCode?: boolean
  /** Asks for an owner of the organisation too, and for an organisation to own the repository. */
  readonly byOwnersOfOrganization?: boolean
}

/** What a method about a pull request asks beside reading it. */
export interface PullNeeds {
  /** Of whom, and how it refuses the others; of nobody, without. */
  readonly of?: { readonly unit: Unit; readonly level: Level; readonly refusal: Gate }
  /** Whether it asks that before it looks whether the repository is archived. */
  readonly first?: true
}

/** What a method about an organisation asks. */
export interface OrganizationNeeds extends Needs {
  readonly role: 'anybody' | 'owner' | 'themselves' | 'owner or themselves'
  /** Whom `themselves` means. */
  readonly about?: string
  /** Whether it names one of the teams, of which only members know, and not the organisation. */
  readonly ofTeam?: boolean
}

/**
 * What a method asks that is about the caller's own things, the whole instance, or nothing in
 * particular.
 */
export interface AccountNeeds extends Needs {
  readonly byAdministrators?: boolean
  /** Neither tokens nor sessions are good for it. */
  readonly byPassword?: boolean
}

/** What comes of a call about what is nobody else's. Nobody in the users comes with a password. */
export function expectedOfAccount(needs: AccountNeeds, who: CallerFacts): Expected {
  if (needs.byPassword) return userOf(who)?.archived ? 'BAD_CREDENTIALS' : 'PASSWORD_REQUIRED'
  const refused = atTheDoor(needs, who)
  if (refused) return refused
  return needs.byAdministrators && !userOf(who)?.administers ? 'PERMISSION_DENIED' : 'let through'
}

/** What comes of a call about a pull request of a repository, for who may read it. */
function onPull(
  { writes }: RepositoryNeeds,
  { of, first }: PullNeeds,
  who: CallerFacts,
  place: PlaceFacts,
): Expected {
  // A number whose kind the caller may not read is not there.
  if (!hasPull(place) || !readsPulls(who, place)) return 'let through'
  const refused = of && !reaches(levelOn(who, place, of.unit), of.level) ? of.refusal : undefined
  if (refused && first) return refused
  if (writes && place.archived) return 'REPOSITORY_ARCHIVED'
  return refused ?? 'let through'
}

/** What comes of a call about a repository. */
export function expectedOfRepository(
  needs: RepositoryNeeds,
  who: CallerFacts,
  place: PlaceFacts,
): Expected {
  const refused = atTheDoor(needs, who)
  if (refused) return refused
  if (!mayRead(who, place)) return 'REPOSITORY_NOT_FOUND'
  const denied = byLevel(needs, who, place)
  if (denied) return denied
  if (needs.ofPull) return onPull(needs, needs.ofPull, who, place)
  // To be told that it has no teams.
  if (needs.byOwnersOfOrganization && place.owner === 'bob') return 'let through'
  const scope = needs.writes ? 'write:admin' : 'read:admin'
  if (needs.ofInstanceToo && !administers(who, scope)) return 'GIT_HOOK_ACCESS_DENIED'
  if (needs.writes && place.archived) return 'REPOSITORY_ARCHIVED'
  if (needs.needsBranches && place.empty) return 'REPOSITORY_EMPTY'
  if (needs.movesRefs && place.mirror) return 'REPOSITORY_IS_MIRROR'
  if (needs.byOwnersOfOrganization && !ownsOrganizations(who)) return 'ORGANIZATION_ACCESS_DENIED'
  return 'let through'
}

/**
 * Whether somebody who gets through the door may know of an organisation, or of its teams and
 * members too.
 */
export function mayKnowOf(who: CallerFacts, name: OrganizationName, ofTeam = false): boolean {
  return (
    expectedOfOrganization({ signedIn: false, scopes: [], role: 'anybody', ofTeam }, who, name) ===
    'let through'
  )
}

/** What comes of a call about an organisation. */
export function expectedOfOrganization(
  needs: OrganizationNeeds,
  who: CallerFacts,
  name: OrganizationName,
): Expected {
  const refused = atTheDoor(needs, who)
  if (refused) return refused
  const isMember = userOf(who)?.team !== undefined
  const looksAtAll = administers(who, 'read:admin')
  const isOpen =
    ORGANIZATIONS[name] === 'public' ||
    (ORGANIZATIONS[name] === 'limited' && who.user !== undefined)
  const isHidden = ORGANIZATIONS[name] !== 'public' && isPublicOnly(who)
  const isKnown = !isHidden && (isMember || looksAtAll || (isOpen && !userOf(who)?.restricted))
  if (!isKnown) return needs.ofTeam ? 'TEAM_NOT_FOUND' : 'ORGANIZATION_NOT_FOUND'
  if (needs.ofTeam && (isPublicOnly(who) || !(isMember || looksAtAll))) return 'TEAM_NOT_FOUND'
  return mayPlay(needs, who) ? 'let through' : roleRefusal(needs)
}

/** Whether somebody may read any part of a repository. */
export function mayRead(who: CallerFacts, place: PlaceFacts): boolean {
  return (['code', 'issues', 'pulls', 'releases'] as const).some(
    (unit) => levelOn(who, place, unit) !== 'none',
  )
}

/** What a call comes to before anything is looked up. */
export function atTheDoor(
  { signedIn, scopes, privateData }: Needs,
  who: CallerFacts,
): Gate | undefined {
  if (userOf(who)?.archived) return 'BAD_CREDENTIALS'
  if (signedIn && who.user === undefined) return 'UNAUTHENTICATED'
  if (scopes.some((scope) => !holds(who, scope))) return 'SCOPE_MISSING'
  if (privateData && isPublicOnly(who)) return 'PUBLIC_ONLY_TOKEN'
  return undefined
}

function byLevel(needs: RepositoryNeeds, who: CallerFacts, place: PlaceFacts): Gate | undefined {
  const { unit, level } = needs
  if (unit === 'planning') {
    if (place.unplanned) return 'REPOSITORY_NOT_FOUND'
    const levels = [levelOn(who, place, 'issues'), levelOn(who, place, 'pulls')]
    if (levels.every((given) => given === 'none')) return 'REPOSITORY_NOT_FOUND'
    return levels.some((given) => reaches(given, level)) ? undefined : 'REPOSITORY_ACCESS_DENIED'
  }
  if (unit === 'conversations') {
    const readsIssues = !place.unplanned && levelOn(who, place, 'issues') !== 'none'
    if (!readsIssues && !readsPulls(who, place)) return 'REPOSITORY_NOT_FOUND'
    return needs.ofIssues && !readsIssues ? 'REPOSITORY_UNIT_CLOSED' : undefined
  }
  if (unit === 'pulls') {
    if (place.unplanned || levelOn(who, place, unit) === 'none') return 'REPOSITORY_NOT_FOUND'
    if (levelOn(who, place, 'code') !== 'none') return undefined
    return needs.hidesWithoutCode ? 'REPOSITORY_NOT_FOUND' : 'REPOSITORY_UNIT_CLOSED'
  }
  if (reaches(levelOn(who, place, unit), level)) return undefined
  return level === 'read' ? 'REPOSITORY_UNIT_CLOSED' : 'REPOSITORY_ACCESS_DENIED'
}

function readsPulls(who: CallerFacts, place: PlaceFacts): boolean {
  const levels = [levelOn(who, place, 'pulls'), levelOn(who, place, 'code')]
  return !place.unplanned && !levels.includes('none')
}

/** What somebody was given on a unit, whether or not the repository uses it. */
function levelOn(who: CallerFacts, place: PlaceFacts, unit: Unit): Level {
  const user = userOf(who)
  const visibility = place.owner === 'bob' ? 'public' : ORGANIZATIONS[place.owner]
  if (isPublicOnly(who) && (place.private || visibility !== 'public')) return 'none'
  if (administers(who, 'write:admin')) return 'owner'
  if (user?.owns && place.owner === 'bob') return 'owner'
  const team = place.owner === 'bob' ? undefined : user?.team
  const levels: Level[] = [user?.collaborates ?? 'none']
  if (administers(who, 'read:admin')) levels.push('read')
  if (team && team.has !== 'none') levels.push(team.permission ?? team.units?.[unit] ?? 'none')
  const isKnown =
    visibility === 'public' ||
    (visibility === 'limited' && user !== undefined) ||
    team !== undefined
  if (!place.private && isKnown && !user?.restricted) levels.push('read')
  return levels.reduce((best, level) => (reaches(level, best) ? level : best))
}

function mayPlay({ role, about }: OrganizationNeeds, who: CallerFacts): boolean {
  const isThemselves = who.user === about
  if (role === 'anybody') return true
  if (role === 'themselves') return isThemselves || administers(who, 'write:admin')
  return ownsOrganizations(who) || (role === 'owner or themselves' && isThemselves)
}

function roleRefusal({ role }: OrganizationNeeds): Gate {
  return role === 'themselves' ? 'PERMISSION_DENIED' : 'ORGANIZATION_ACCESS_DENIED'
}

function ownsOrganizations(who: CallerFacts): boolean {
  return userOf(who)?.team?.permission === 'owner' || administers(who, 'write:admin')
}

function administers(who: CallerFacts, scope: string): boolean {
  return userOf(who)?.administers === true && holds(who, scope)
}

function holds({ scopes }: CallerFacts, scope: string): boolean {
  if (scopes === undefined || scopes.includes('all')) return true
  return scopes.includes(scope) || scopes.includes(scope.replace('read:', 'write:'))
}

function isPublicOnly({ scopes }: CallerFacts): boolean {
  return scopes?.includes('public-only') === true
}

function userOf({ user }: CallerFacts): UserFacts | undefined {
  return user && userFacts(user)
}

function reaches(level: Level, needed: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(needed)
}
