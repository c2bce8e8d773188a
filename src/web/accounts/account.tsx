import type { VNode } from 'preact'
import type { Organization } from '#gen/branchline/v1/organization_pb.ts'
import { OrganizationService } from '#gen/branchline/v1/organization_service_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { type Api, useApi } from '../api/client.ts'
import { toBase64 } from '../components/formats.tsx'
import { useLoad } from '../components/load.tsx'

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

/** Returns whether a user has a picture on this server. Those of other servers are not shown. */
export function hasPicture({ avatarUrl }: { avatarUrl: string }): boolean {
  return avatarUrl.startsWith('/file/')
}

/**
 * The picture of a user. The picture comes through the API, since a private instance shows pictures
 * to its users only.
 *
 * @param props.name resource name of the user.
 */
export function AccountPicture({ name, alt }: { name: string; alt: string }): VNode | null {
  const { of } = useApi()
  const { value } = useLoad(
    (signal) => of(UserService).getUserAvatar({ name: `${name}/avatar` }, { signal }),
    [name],
  )
  if (!value) return null
  const source = `data:${value.contentType};base64,${toBase64(value.data)}`
  return <img class="picture" src={source} alt={alt} width={96} height={96} />
}
