import { Code, ConnectError } from '@connectrpc/connect'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { Api } from '../api/client.ts'

/** Returns an organisation; null if the name is that of a user. */
export async function findOrganization(
  { of }: Api,
  name: string,
  signal: AbortSignal,
): Promise<Organization | null> {
  const { users } = await of(UserService).batchGetUsers({ usernames: [name] }, { signal })
  if (users.length > 0) return null
  try {
    return await of(OrganizationService).getOrganization({ org: name }, { signal })
  } catch (error) {
    // The name is that of an archived user.
    if (ConnectError.from(error).code === Code.NotFound) return null
    throw error
  }
}
