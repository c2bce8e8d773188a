import { describe, expect, it } from 'vitest'
import {
  OWNER_RIGHTS,
  openUnits,
  type RightsRequest,
  readChangedRights,
  readRights,
  type TeamRights,
  unitLevels,
} from '../../../src/forge/organizations/team-rights.ts'

const nothing: RightsRequest = { units: [], unitsMap: {} }

function refusal(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return error
  }
}

function rights(permission: TeamRights['permission'], units: Record<string, string>): TeamRights {
  return { permission, units: JSON.stringify(units) }
}

describe('the rights of a new team', () => {
  it.each<[string, Partial<RightsRequest>, TeamRights]>([
    ['read unless it is said', { units: ['repo.code'] }, rights('read', { 'repo.code': 'read' })],
    [
      'one level for all units, in one order',
      { permission: 'write', units: ['repo.pulls', 'repo.code', 'repo.code'] },
      rights('write', { 'repo.code': 'write', 'repo.pulls': 'write' }),
    ],
    [
      'never more than read for what is elsewhere',
      { permission: 'write', units: ['repo.code', 'repo.ext_wiki'] },
      rights('write', { 'repo.code': 'write', 'repo.ext_wiki': 'read' }),
    ],
    [
      'a level for each unit, of which the lowest stands for all',
      {
        permission: 'write',
        unitsMap: { 'repo.code': 'read', 'repo.issues': 'write', 'repo.wiki': 'none' },
      },
      rights('read', { 'repo.code': 'read', 'repo.issues': 'write', 'repo.wiki': 'none' }),
    ],
    [
      'levels of units rather than a list of them',
      { units: ['repo.pulls'], unitsMap: { 'repo.code': 'write' } },
      rights('write', { 'repo.code': 'write' }),
    ],
    [
      'no administrator by way of a unit',
      { unitsMap: { 'repo.code': 'owner' } },
      rights('write', { 'repo.code': 'owner' }),
    ],
    [
      'nothing, when every unit is closed',
      { unitsMap: { 'repo.code': 'none' } },
      rights('none', { 'repo.code': 'none' }),
    ],
  ])('are %s', (_, request, expected) => {
    expect(readRights({ ...nothing, ...request })).toEqual(expected)
  })

  it('are all of them for the level admin, whatever the units', () => {
    const read = readRights({ permission: 'admin', units: ['repo.code'], unitsMap: {} })
    expect(read.permission).toBe('admin')
    expect(new Set(Object.values(unitLevels(read)))).toEqual(new Set(['admin']))
    expect(openUnits(read)).toHaveLength(10)
  })

  it.each<[Partial<RightsRequest>, string, object]>([
    [{}, 'INVALID_TEAM_UNITS', {}],
    [{ permission: 'write' }, 'INVALID_TEAM_UNITS', {}],
    [{ units: ['repo.kitchen'] }, 'INVALID_TEAM_UNITS', { unit: 'repo.kitchen' }],
    [{ unitsMap: { 'repo.code': 'most' } }, 'INVALID_TEAM_UNITS', { level: 'most' }],
    [{ unitsMap: { constructor: 'read' } }, 'INVALID_TEAM_UNITS', { unit: 'constructor' }],
    [{ permission: 'owner', units: ['repo.code'] }, 'INVALID_FIELD', { field: 'permission' }],
    [{ permission: 'some', units: ['repo.code'] }, 'INVALID_FIELD', { field: 'permission' }],
  ])('cannot be parsed from %j', (request, reason, metadata) => {
    expect(refusal(() => readRights({ ...nothing, ...request }))).toMatchObject({
      reason,
      metadata,
    })
  })
})

describe('the rights of an edited team', () => {
  const readers = rights('read', { 'repo.code': 'read', 'repo.wiki': 'none' })
  const admins = readRights({ permission: 'admin', units: [], unitsMap: {} })

  it.each<[string, TeamRights, Partial<RightsRequest>, TeamRights]>([
    ['stay when nothing is said', readers, {}, readers],
    [
      'rise for the open units',
      readers,
      { permission: 'write' },
      rights('write', { 'repo.code': 'write' }),
    ],
    [
      'go to other units at the same level',
      readers,
      { units: ['repo.pulls'] },
      rights('read', { 'repo.pulls': 'read' }),
    ],
    ['become everything', readers, { permission: 'admin' }, admins],
    ['stay everything whatever the units', admins, { units: ['repo.code'] }, admins],
  ])('%s', (_, present, request, expected) => {
    expect(readChangedRights({ ...nothing, ...request }, present)).toEqual(expected)
  })

  it('remain for its units when the level admin is removed', () => {
    const edited = readChangedRights({ ...nothing, permission: 'read' }, admins)
    expect(edited.permission).toBe('read')
    expect(new Set(Object.values(unitLevels(edited)))).toEqual(new Set(['read']))
  })

  it.each<Partial<RightsRequest>>([
    { permission: 'admin' },
    { permission: 'read' },
    { units: ['repo.code'] },
    { unitsMap: { 'repo.code': 'owner' } },
    { unitsMap: { ...unitLevels(OWNER_RIGHTS), 'repo.wiki': 'none' } },
  ])('of Owners cannot be reduced by %j', (request) => {
    const attempt = refusal(() => readChangedRights({ ...nothing, ...request }, OWNER_RIGHTS))
    expect(attempt).toMatchObject({ reason: 'OWNERS_TEAM_FIXED' })
  })

  it('of Owners may be repeated unchanged', () => {
    const said = {
      permission: 'owner',
      units: openUnits(OWNER_RIGHTS),
      unitsMap: unitLevels(OWNER_RIGHTS),
    }
    expect(readChangedRights(said, OWNER_RIGHTS)).toEqual(OWNER_RIGHTS)
  })
})
