import { DomainError } from '../core/errors.ts'
import { LEVELS, type RepositoryAccess as Level } from '../core/levels.ts'
import type { Team } from './schema.ts'

/** The units of repositories that teams may have access to. */
const UNITS = [
  'repo.code',
  'repo.issues',
  'repo.ext_issues',
  'repo.pulls',
  'repo.releases',
  'repo.wiki',
  'repo.ext_wiki',
  'repo.projects',
  'repo.packages',
  'repo.actions',
] as const

/** Units that link to another system, so nothing can be written here. */
const READ_ONLY_UNITS: ReadonlySet<string> = new Set(['repo.ext_issues', 'repo.ext_wiki'])

/** Returns the level for a unit; undefined for units without an entry. */
type LevelOf = (unit: string) => Level | undefined

/** The columns with the rights of a team. */
export type TeamRights = Pick<Team, 'permission' | 'units'>

/** The rights in a request. Empty texts and lists count as missing. */
export interface RightsRequest {
  readonly permission?: string | undefined
  readonly units: readonly string[]
  readonly unitsMap: Readonly<Record<string, string>>
}

/** The rights of the team Owners, which never change. */
export const OWNER_RIGHTS: TeamRights = rightsOf('owner', oneLevel(UNITS, 'owner'))

const ADMIN_RIGHTS: TeamRights = rightsOf('admin', oneLevel(UNITS, 'admin'))

/** Parses the rights of a new team. */
export function readRights(request: RightsRequest): TeamRights {
  const rights = readGiven(request, request.permission || 'read')
  if (!rights) throw new DomainError('INVALID_TEAM_UNITS')
  return rights
}

/** Parses changed rights of a team. A permission without units applies to the current units. */
export function readChangedRights(request: RightsRequest, present: TeamRights): TeamRights {
  if (present.permission === 'owner') return checkOwnersKeepAll(request)
  const usual = present.permission === 'none' ? 'read' : present.permission
  const given = readGiven(request, request.permission || usual)
  if (given) return given
  if (!request.permission) return { permission: present.permission, units: present.units }
  return rightsOf(undefined, oneLevel(openUnits(present), checkPermission(request.permission)))
}

/** Returns the units that a team has access to. */
export function openUnits(rights: TeamRights): string[] {
  return Object.entries(unitLevels(rights)).flatMap(([unit, level]) =>
    level === 'none' ? [] : [unit],
  )
}

/** Returns the levels by unit. */
export function unitLevels({ units }: TeamRights): Record<string, Level> {
  return JSON.parse(units)
}

/** @returns undefined if the request must name units but does not. */
function readGiven({ units, unitsMap }: RightsRequest, permission: string): TeamRights | undefined {
  const level = checkPermission(permission)
  const mapped = Object.entries(unitsMap)
  if (level === 'admin') return ADMIN_RIGHTS
  if (mapped.length > 0) {
    const levels = new Map(mapped.map(([unit, text]) => [checkUnit(unit), checkLevel(text)]))
    return rightsOf(undefined, (unit) => levels.get(unit))
  }
  return units.length === 0 ? undefined : rightsOf(undefined, oneLevel(units.map(checkUnit), level))
}

/** Returns the same level for each of some units. */
function oneLevel(units: readonly string[], level: Level): LevelOf {
  const capped = (unit: string) => (READ_ONLY_UNITS.has(unit) && level === 'write' ? 'read' : level)
  return (unit) => (units.includes(unit) ? capped(unit) : undefined)
}

/** @param permission undefined for the lowest level of the units. */
function rightsOf(permission: Level | undefined, levelOf: LevelOf): TeamRights {
  const levels = UNITS.flatMap((unit): [string, Level][] => {
    const level = levelOf(unit)
    return level === undefined ? [] : [[unit, level]]
  })
  return {
    permission: permission ?? lowest(levels),
    units: JSON.stringify(Object.fromEntries(levels)),
  }
}

/**
 * Returns the lowest level of the accessible units. Read-only units count only if there are no
 * others.
 */
function lowest(levels: readonly [unit: string, level: Level][]): Level {
  const open = levels.filter(([, level]) => level !== 'none')
  const telling = open.filter(([unit]) => !READ_ONLY_UNITS.has(unit))
  const ranks = (telling.length > 0 ? telling : open).map(([, level]) => LEVELS.indexOf(level))
  return ranks.length === 0
    ? 'none'
    : (LEVELS[Math.min(...ranks, LEVELS.indexOf('write'))] ?? 'none')
}

/** Accepts requests that do not change the rights of the team Owners. */
function checkOwnersKeepAll({ permission, units, unitsMap }: RightsRequest): TeamRights {
  const mapped = Object.keys(unitsMap)
  const keeps =
    (!permission || permission === 'owner') &&
    (units.length === 0 || UNITS.every((unit) => units.includes(unit))) &&
    (mapped.length === 0 || UNITS.every((unit) => unitsMap[unit] === 'owner'))
  if (!keeps) throw new DomainError('OWNERS_TEAM_FIXED')
  return OWNER_RIGHTS
}

/** Parses the permission of a team. Only the team Owners may have the level owner. */
function checkPermission(text: string): Level {
  const level = LEVELS.find((known) => known === text)
  if (!level || level === 'owner') throw new DomainError('INVALID_FIELD', { field: 'permission' })
  return level
}

function checkLevel(text: string): Level {
  const level = LEVELS.find((known) => known === text)
  if (!level) throw new DomainError('INVALID_TEAM_UNITS', { level: text.slice(0, 64) })
  return level
}

function checkUnit(text: string): string {
  if (!UNITS.some((unit) => unit === text))
    throw new DomainError('INVALID_TEAM_UNITS', { unit: text.slice(0, 64) })
  return text
}
