import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { User_Role } from '#gen/branchline/v1/user_pb.ts'
import type { Api } from '../api/client.ts'

/** Rights of the user in an organisation. */
export interface OrganizationRights {
  readonly isOwner: boolean
  readonly canCreateRepository: boolean
}

/** Returns the rights of who is signed in. The API says what teams give, not what the role gives. */
export async function organizationRights(
  { of, session }: Api,
  org: string,
  signal: AbortSignal,
): Promise<OrganizationRights> {
  const { user } = session
  if (!user) return { isOwner: false, canCreateRepository: false }
  if (user.role === User_Role.ADMIN) return { isOwner: true, canCreateRepository: true }
  const request = { org, username: user.username }
  return await of(OrganizationService).getOrganizationPermissions(request, { signal })
}
