/** A part of a repository that a team can be let into by itself. */
export type Unit = 'code' | 'issues' | 'pulls' | 'releases'

/** What somebody was given; each includes those before it. */
export const LEVELS = ['none', 'read', 'write', 'admin', 'owner'] as const
export type Level = (typeof LEVELS)[number]

/** A team of every organisation, with one member. */
export interface TeamFacts {
  /** Of a team that has it on everything. */
  readonly permission?: 'owner' | 'admin'
  readonly units?: Readonly<Partial<Record<Unit, 'read' | 'write'>>>
  /** Which repositories of the organisation are the team's, and by what. */
  readonly has: 'all' | 'each' | 'none'
}

/** Somebody with an account. */
export interface UserFacts {
  readonly administers?: true
  /** Owns the repositories that no organisation owns. */
  readonly owns?: true
  /** May see only what was opened to them by name. */
  readonly restricted?: true
  /** The account was archived after it got its session. */
  readonly archived?: true
  /** Given by name, on every repository. */
  readonly collaborates?: 'read' | 'write' | 'admin'
  readonly team?: TeamFacts
}

const everything = (level: 'read' | 'write') => ({
  code: level,
  issues: level,
  pulls: level,
  releases: level,
})

export const USERS = {
  ada: { administers: true },
  bob: { owns: true, team: { permission: 'owner', has: 'all' } },
  carol: {},
  rex: { restricted: true },
  erin: { archived: true, collaborates: 'admin' },
  rita: { collaborates: 'read' },
  will: { collaborates: 'write' },
  adam: { collaborates: 'admin' },
  olga: { team: { permission: 'owner', has: 'all' } },
  tara: { team: { permission: 'admin', has: 'each' } },
  theo: { team: { units: everything('write'), has: 'all' } },
  tess: { team: { units: everything('read'), has: 'each' } },
  cody: { team: { units: { code: 'write' }, has: 'each' } },
  isla: { team: { units: { issues: 'write' }, has: 'all' } },
  paul: { team: { units: { pulls: 'read' }, has: 'each' } },
  rena: { team: { units: { releases: 'read' }, has: 'each' } },
  ivan: { team: { units: everything('write'), has: 'none' } },
  rose: { restricted: true, team: { units: everything('write'), has: 'none' } },
} as const satisfies Record<string, UserFacts>

export type Username = keyof typeof USERS

/** How somebody calls. */
export interface CallerFacts {
  /** Nobody without. */
  readonly user?: Username
  /** Of the token that they use; a session, which may everything, without. */
  readonly scopes?: readonly string[]
}

/** Everybody who calls, by a name for the reader of a failure. */
export const CALLERS = {
  anonymous: {},
  stranger: { user: 'carol' },
  'restricted stranger': { user: 'rex' },
  'archived account': { user: 'erin' },
  reader: { user: 'rita' },
  writer: { user: 'will' },
  administrator: { user: 'adam' },
  owner: { user: 'bob' },
  'site administrator': { user: 'ada' },
  'another owner of the organisation': { user: 'olga' },
  'team that administers': { user: 'tara' },
  'team that writes': { user: 'theo' },
  'team that reads': { user: 'tess' },
  'team that writes code': { user: 'cody' },
  'team that writes issues': { user: 'isla' },
  'team that reads pull requests': { user: 'paul' },
  'team that reads releases': { user: 'rena' },
  'team without repositories': { user: 'ivan' },
  'restricted member': { user: 'rose' },
  'token of the owner that reads repositories': { user: 'bob', scopes: ['read:repository'] },
  'token of the owner that writes repositories': { user: 'bob', scopes: ['write:repository'] },
  'token of the owner that reads issues': { user: 'bob', scopes: ['read:issue'] },
  'token of the owner that writes issues': { user: 'bob', scopes: ['write:issue'] },
  'token of the owner that reads organisations': { user: 'bob', scopes: ['read:organization'] },
  'token of the owner that writes organisations': { user: 'bob', scopes: ['write:organization'] },
  'token of the owner for something else': {
    user: 'bob',
    scopes: ['write:package', 'write:admin'],
  },
  'token of the owner for all': { user: 'bob', scopes: ['all'] },
  'token of the owner for public data': { user: 'bob', scopes: ['all', 'public-only'] },
  'token of a site administrator without that scope': {
    user: 'ada',
    scopes: ['write:repository', 'write:issue', 'write:organization'],
  },
  'token of a site administrator to look': {
    user: 'ada',
    scopes: ['read:admin', 'write:repository', 'write:issue', 'write:organization'],
  },
} as const satisfies Record<string, CallerFacts>

export type CallerName = keyof typeof CALLERS
export const CALLER_NAMES = Object.keys(CALLERS) as readonly CallerName[]

/** What a caller is, in one type. */
export const callerFacts = (name: CallerName): CallerFacts => CALLERS[name]
export const userFacts = (username: Username): UserFacts => USERS[username]

/** The organisations of bob, and who may know of them. */
export const ORGANIZATIONS = { guild: 'public', lodge: 'limited', hidden: 'private' } as const
export type OrganizationName = keyof typeof ORGANIZATIONS
export const ORGANIZATION_NAMES = Object.keys(ORGANIZATIONS) as readonly OrganizationName[]

/** A repository that the calls are about. */
export interface PlaceFacts {
  readonly owner: OrganizationName | 'bob'
  readonly name: string
  readonly private?: true
  readonly archived?: true
  readonly mirror?: true
  readonly empty?: true
  /** Has neither issues nor pull requests. */
  readonly unplanned?: true
}

export const PLACES: readonly PlaceFacts[] = [
  { owner: 'guild', name: 'public' },
  { owner: 'guild', name: 'private', private: true },
  { owner: 'guild', name: 'archived', private: true, archived: true },
  { owner: 'guild', name: 'mirror', mirror: true },
  { owner: 'guild', name: 'empty', empty: true },
  { owner: 'guild', name: 'unplanned', private: true, unplanned: true },
  { owner: 'bob', name: 'public' },
  { owner: 'bob', name: 'private', private: true },
  { owner: 'bob', name: 'archived-mirror', archived: true, mirror: true },
  { owner: 'lodge', name: 'public' },
  { owner: 'hidden', name: 'public' },
]

/**
 * Whether a repository has a pull request, which needs branches of its own. It is work in progress,
 * and nobody merges it.
 */
export function hasPull({ mirror, empty }: PlaceFacts): boolean {
  return !mirror && !empty
}

export const pathOf = ({ owner, name }: Pick<PlaceFacts, 'owner' | 'name'>) => `${owner}/${name}`

/** Callers who may not know of what is hidden, be it from everybody or from their token. */
export const STRANGERS = [
  'anonymous',
  'stranger',
  'restricted stranger',
  'token of the owner for public data',
] as const

/** Whether strangers may not know of a repository. */
export function isHidden({ owner, private: isPrivate }: PlaceFacts): boolean {
  return isPrivate === true || owner === 'hidden'
}
