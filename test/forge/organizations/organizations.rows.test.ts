import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as organizations from '../../../src/forge/organizations/organizations.rows.ts'
import type { Team } from '../../../src/forge/organizations/schema.ts'
import * as teamMembers from '../../../src/forge/organizations/teams.rows.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import type { Db } from '../../../src/platform/database/schema.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plansOf } from '../../support/query-plan.ts'

let db: Db

beforeAll(async () => {
  db = await openTestDatabase()
})
afterAll(() => db.destroy())

const user = { userId: 7, restricted: false, publicOnly: false }
const member = { userId: 7, isMember: true }
const ofTeam = {
  organizationId: 3,
  viewer: member,
  search: { text: 'x', inDescription: true },
  repositoryId: 5,
}
const reader = {
  userId: 7,
  needsSignIn: false,
  restricted: false,
  publicOnly: false,
  administrator: 'none',
} as const
const team = { id: 2, organization_id: 3, includes_all_repositories: 0 } as Team

describe('queries of organisations and teams scan no whole table', () => {
  it.each<[string, (watched: Db) => Promise<unknown>]>([
    ['organisation by name', (watched) => organizations.findOrganizationByNameKey(watched, 'acme')],
    [
      'own organisations',
      (w) => organizations.listOrganizations(w, { viewer: user, memberId: 7 }, 0, 30),
    ],
    [
      "somebody's organisations",
      (w) => organizations.listOrganizations(w, { viewer: user, memberId: 8 }, 0, 30),
    ],
    ['members', (watched) => organizations.listMembers(watched, 3, true, 0, 30)],
    ['number of members', (watched) => organizations.countMembers(watched, 3, false)],
    ['membership', (watched) => organizations.findMembership(watched, 3, 7)],
    ['rights', (watched) => teamMembers.findOrganizationRights(watched, 3, 7)],
    ['teams', (watched) => teamMembers.listTeams(watched, ofTeam, 0, 30)],
    ['number of teams', (watched) => teamMembers.countTeams(watched, ofTeam)],
    ['own teams', (watched) => teamMembers.listTeamsOfUser(watched, 7, 0, 30)],
    ['members of a team', (watched) => teamMembers.listTeamMembers(watched, 2, true, 0, 30)],
    [
      'repositories of a team',
      (watched) => teamMembers.listTeamRepositories(watched, team, reader, 0, 30),
    ],
    ['last owner', (watched) => transaction(watched, (tx) => teamMembers.findOnlyOwned(tx, 7))],
    [
      'memberships without a team',
      (watched) => transaction(watched, (tx) => organizations.deleteMembersWithoutTeam(tx, 3, 7)),
    ],
    ['leaving', (watched) => transaction(watched, (tx) => teamMembers.deleteFromTeams(tx, 3, 7))],
  ])('%s', async (_, work) => {
    const plans = await plansOf(db, work)
    expect(plans.length).toBeGreaterThan(0)
    // Private and limited owners are few and have their own indexes.
    const scans = plans
      .flat()
      .filter((step) => step.startsWith('SCAN') && !step.endsWith('_hidden'))
    expect(scans).toEqual([])
  })

  it('except the list of all organisations, which uses the index on names', async () => {
    const [plan = []] = await plansOf(db, (w) =>
      organizations.listOrganizations(w, { viewer: user }, 0, 30),
    )
    expect(plan[0]).toBe('SCAN organizations USING INDEX organizations_name_key')
    expect(plan.join()).not.toContain('TEMP B-TREE FOR ORDER BY')
  })
})
