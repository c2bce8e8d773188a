import type { VNode } from 'preact'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { toBase64 } from '../components/bytes.ts'
import { useLoad } from '../components/load.tsx'

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
