import type { Team } from '../../storage/schema/organizations.ts'
import { DomainError } from '../core/errors.ts'
import { LEVELS, type RepositoryAccess as Level } from '../core/levels.ts'

/** What teams open parts of repositories for. */
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

/** Parts that are elsewhere, so that there is nothing to write here. */
const READ_ONLY_UNITS: ReadonlySet<string> = new Set(['repo.ext_issues', 'repo.ext_wiki'])

/** The level of a unit; undefined for those that are left out. */
type LevelOf = (unit: string) => Level | undefined

/** The columns that say what a team may do. */
export type TeamRights = Pick<Team, 'permission' | 'units'>

/** What a request says of them. Texts that are empty and lists without entries say nothing. */
export interface RightsRequest {
  readonly permission?: string | undefined
  readonly units: readonly string[]
  readonly unitsMap: Readonly<Record<string, string>>
}

/** Those of the team Owners: everything, for ever. */
export const OWNER_RIGHTS: TeamRights = rightsOf('owner', oneLevel(UNITS, 'owner'))

const ADMIN_RIGHTS: TeamRights = rightsOf('admin', oneLevel(UNITS, 'admin'))

/**
 * Reads the rights of a team that is made.
 *
 * @throws INVALID_FIELD, INVALID_TEAM_UNITS
 */
export function readRights(request: RightsRequest): TeamRights {
  const rights = readGiven(request, request.permission || 'read')
  if (!rights) throw new DomainError('INVALID_TEAM_UNITS')
  return rights
}

/**
 * Reads the rights of a team that is edited. A permission without units is for the units that are
 * open.
 *
 * @throws INVALID_FIELD, INVALID_TEAM_UNITS, OWNERS_TEAM_FIXED
 */
export function readChangedRights(request: RightsRequest, present: TeamRights): TeamRights {
  if (present.permission === 'owner') return checkOwnersKeepAll(request)
  const usual = present.permission === 'none' ? 'read' : present.permission
  const given = readGiven(request, request.permission || usual)
  if (given) return given
  if (!request.permission) return { permission: present.permission, units: present.units }
  return rightsOf(undefined, oneLevel(openUnits(present), checkPermission(request.permission)))
}

/** The units that a team opens. */
export function openUnits(rights: TeamRights): string[] {
  return Object.entries(unitLevels(rights)).flatMap(([unit, level]) =>
    level === 'none' ? [] : [unit],
  )
}

/** Levels by unit, as stored. */
export function unitLevels({ units }: TeamRights): Record<string, Level> {
  return JSON.parse(units)
}

/** @returns undefined when the request names no units and needs some. */
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

/** One level for some units. */
function oneLevel(units: readonly string[], level: Level): LevelOf {
  const capped = (unit: string) => (READ_ONLY_UNITS.has(unit) && level === 'write' ? 'read' : level)
  return (unit) => (units.includes(unit) ? capped(unit) : undefined)
}

/** @param permission undefined for the lowest level of the units, as far as units can have it. */
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

/** The lowest level of the open units. Those that cannot be written say nothing beside others. */
function lowest(levels: readonly [unit: string, level: Level][]): Level {
  const open = levels.filter(([, level]) => level !== 'none')
  const telling = open.filter(([unit]) => !READ_ONLY_UNITS.has(unit))
  const ranks = (telling.length > 0 ? telling : open).map(([, level]) => LEVELS.indexOf(level))
  return ranks.length === 0
    ? 'none'
    : (LEVELS[Math.min(...ranks, LEVELS.indexOf('write'))] ?? 'none')
}

/** The team Owners may be told what it has already. */
function checkOwnersKeepAll({ permission, units, unitsMap }: RightsRequest): TeamRights {
  const mapped = Object.keys(unitsMap)
  const keeps =
    (!permission || permission === 'owner') &&
    (units.length === 0 || UNITS.every((unit) => units.includes(unit))) &&
    (mapped.length === 0 || UNITS.every((unit) => unitsMap[unit] === 'owner'))
  if (!keeps) throw new DomainError('OWNERS_TEAM_FIXED')
  return OWNER_RIGHTS
}

/** Nobody is made an owner by way of another team. */
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
