import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { type Team as TeamMessage, TeamSchema } from '#gen/branchline/v1/team_pb.ts'
import { TeamService } from '#gen/branchline/v1/team_service_pb.ts'
import { userAccountMessage } from '../accounts/users/accounts.message.ts'
import type { App } from '../app.ts'
import { type Caller, signedIn } from '../core/access.ts'
import { callerOf } from '../core/wire/call.ts'
import { defineService } from '../core/wire/define-service.ts'
import { readNumberedPage } from '../core/wire/pages.ts'
import {
  addRepositoryTeam,
  addTeamRepository,
  getRepositoryTeam,
  getTeamRepository,
  listRepositoryTeams,
  listTeamRepositories,
  removeRepositoryTeam,
  removeTeamRepository,
} from '../repositories/access/team-repositories.ts'
import { repositoryMessage } from '../repositories/lifecycle/repository.message.ts'
import { organizationMessage } from './organization.service.ts'
import { openUnits, unitLevels } from './team-rights.ts'
import {
  addTeamMember,
  createTeam,
  deleteTeam,
  editTeam,
  getTeamMember,
  listOwnTeams,
  listTeamMembers,
  listTeams,
  openTeam,
  removeTeamMember,
  type TeamPage,
  type TeamView,
} from './teams.ts'

/**
 * The number of teams of a repository in a response without a page. Organisations have far fewer.
 */
const MAX_WHOLE_LIST = 1000

/** Implements TeamService. */
function teamService(app: App): ServiceImpl<typeof TeamService> {
  return { ...teamMethods(app), ...teamMemberMethods(app), ...teamRepositoryMethods(app) }
}

type TeamMethods = Pick<
  ServiceImpl<typeof TeamService>,
  | 'listOrganizationTeams'
  | 'searchTeams'
  | 'createTeam'
  | 'getTeam'
  | 'editTeam'
  | 'deleteTeam'
  | 'listMyTeams'
>

function teamMethods(app: App): TeamMethods {
  return {
    async listOrganizationTeams({ org, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const { offset, limit } = readNumberedPage(app.settings, page)
      return listMessage(
        app,
        caller,
        await listTeams(app, caller, org, undefined, { offset, limit }),
        limit,
      )
    },

    async searchTeams({ org, q, includeDesc, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const { offset, limit } = readNumberedPage(app.settings, page)
      const search = q === '' ? undefined : { text: q, inDescription: includeDesc ?? true }
      const { teams, total } = await listTeams(app, caller, org, search, { offset, limit })
      const data = teams.map((team) => teamMessage(app, caller, team))
      return { results: { ok: true, data }, total: BigInt(total), limit }
    },

    async createTeam({ org, ...request }, context) {
      const caller = callerOf(context)
      return teamMessage(app, caller, await createTeam(app, caller, org, request))
    },

    async getTeam({ id }, context) {
      const caller = signedIn(callerOf(context))
      return teamMessage(app, caller, await openTeam(app, caller, Number(id), 'visible'))
    },

    async editTeam({ id, ...request }, context) {
      const caller = signedIn(callerOf(context))
      return teamMessage(app, caller, await editTeam(app, caller, Number(id), request))
    },

    async deleteTeam({ id }, context) {
      await deleteTeam(app, signedIn(callerOf(context)), Number(id))
      return {}
    },

    async listMyTeams(request, context) {
      const caller = signedIn(callerOf(context))
      const { offset, limit } = readNumberedPage(app.settings, request)
      return listMessage(app, caller, await listOwnTeams(app, caller, { offset, limit }), limit)
    },
  }
}

type TeamMemberMethods = Pick<
  ServiceImpl<typeof TeamService>,
  'listTeamMembers' | 'getTeamMember' | 'addTeamMember' | 'removeTeamMember'
>

function teamMemberMethods(app: App): TeamMemberMethods {
  return {
    async listTeamMembers({ id, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const { offset, limit } = readNumberedPage(app.settings, page)
      const { users, total } = await listTeamMembers(app, caller, Number(id), { offset, limit })
      return {
        members: users.map((user) => userAccountMessage(app, caller, user)),
        total: BigInt(total),
        limit,
      }
    },

    async getTeamMember({ id, username }, context) {
      const caller = signedIn(callerOf(context))
      return userAccountMessage(app, caller, await getTeamMember(app, caller, Number(id), username))
    },

    async addTeamMember({ id, username }, context) {
      await addTeamMember(app, signedIn(callerOf(context)), Number(id), username)
      return {}
    },

    async removeTeamMember({ id, username }, context) {
      await removeTeamMember(app, signedIn(callerOf(context)), Number(id), username)
      return {}
    },
  }
}

type TeamRepositoryMethods = Omit<
  ServiceImpl<typeof TeamService>,
  keyof TeamMethods | keyof TeamMemberMethods
>

function teamRepositoryMethods(app: App): TeamRepositoryMethods {
  return {
    async listTeamRepositories({ id, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const { offset, limit } = readNumberedPage(app.settings, page)
      const { repositories, total } = await listTeamRepositories(
        app,
        caller,
        Number(id),
        offset,
        limit,
      )
      return {
        repositories: repositories.map((view) => repositoryMessage(app, caller, view)),
        total: BigInt(total),
        limit,
      }
    },

    async getTeamRepository({ id, org, repo }, context) {
      const caller = signedIn(callerOf(context))
      return repositoryMessage(
        app,
        caller,
        await getTeamRepository(app, caller, Number(id), { owner: org, repo }),
      )
    },

    async addTeamRepository({ id, org, repo }, context) {
      await addTeamRepository(app, signedIn(callerOf(context)), Number(id), { owner: org, repo })
      return {}
    },

    async removeTeamRepository({ id, org, repo }, context) {
      await removeTeamRepository(app, signedIn(callerOf(context)), Number(id), { owner: org, repo })
      return {}
    },

    async listRepositoryTeams({ owner, repo, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const isWhole = page.page === 0 && page.limit === 0
      const { offset, limit } = isWhole
        ? { offset: 0, limit: MAX_WHOLE_LIST }
        : readNumberedPage(app.settings, page)
      return listMessage(
        app,
        caller,
        await listRepositoryTeams(app, caller, { owner, repo }, offset, limit),
        limit,
      )
    },

    async getRepositoryTeam({ owner, repo, team }, context) {
      const caller = signedIn(callerOf(context))
      return teamMessage(app, caller, await getRepositoryTeam(app, caller, { owner, repo }, team))
    },

    async addRepositoryTeam({ owner, repo, team }, context) {
      await addRepositoryTeam(app, signedIn(callerOf(context)), { owner, repo }, team)
      return {}
    },

    async removeRepositoryTeam({ owner, repo, team }, context) {
      await removeRepositoryTeam(app, signedIn(callerOf(context)), { owner, repo }, team)
      return {}
    },
  }
}

function listMessage(app: App, viewer: Caller, { teams, total }: TeamPage, limit: number) {
  return { teams: teams.map((team) => teamMessage(app, viewer, team)), total: BigInt(total), limit }
}

/** Returns the message of a team. */
export function teamMessage(
  app: App,
  viewer: Caller,
  { team, organization }: TeamView,
): TeamMessage {
  return create(TeamSchema, {
    id: BigInt(team.id),
    name: team.name,
    description: team.description,
    organization: organizationMessage(app, viewer, organization),
    includesAllRepositories: team.includes_all_repositories === 1,
    permission: team.permission,
    units: openUnits(team),
    unitsMap: unitLevels(team),
    canCreateOrgRepo: team.can_create_org_repo === 1,
    visibility: team.visibility,
  })
}

export const teams = defineService(TeamService, teamService)
