import { Code, ConnectError } from '@connectrpc/connect'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { Api } from '../api/client.ts'

/** Returns a user or an organisation; null if the name is that of an archived user. */
export async function findOwner(
  { of }: Api,
  name: string,
  signal: AbortSignal,
): Promise<User | Organization | null> {
  const { users } = await of(UserService).batchGetUsers({ usernames: [name] }, { signal })
  if (users[0]) return users[0]
  try {
    return await of(OrganizationService).getOrganization({ org: name }, { signal })
  } catch (error) {
    if (ConnectError.from(error).code === Code.NotFound) return null
    throw error
  }
}

/** Returns whether a name is that of an organisation. */
export async function isOrganization(
  api: Api,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const owner = await findOwner(api, name, signal)
  return owner?.$typeName === 'branchline.v1.Organization'
}
