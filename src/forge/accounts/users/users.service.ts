import { createHash } from 'node:crypto'
import { clearField } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { User_Role, type User as UserMessage, UserSchema } from '#gen/branchline/v1/user_pb.ts'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { deleteUser } from '../../administration/delete-user.ts'
import type { App } from '../../app.ts'
import {
  actsAsAdministrator,
  type Caller,
  seesPublicDataOnly,
  signedIn,
} from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { callerOf, ownerOf, secureOf } from '../../core/wire/call.ts'
import { readPageSize, readPageToken, writePageToken } from '../../core/wire/lists.ts'
import { readReadMask, readUpdateMask, type UpdatableFields } from '../../core/wire/masks.ts'
import { invalidName, parseOwnedName, parseUserName, userName } from '../../core/wire/names.ts'
import { clearedRefreshCookie } from '../../core/wire/refresh-cookie.ts'
import { atSecond } from '../../core/wire/times.ts'
import { requireConfirmed } from '../credentials/confirmation.ts'
import { UPLOADED } from './avatars.ts'
import { createUser } from './create-user.ts'
import { type UserField, type UserValues, updateUser } from './edit-user.ts'
import { drawAvatar } from './generated-avatars.ts'
import { parseUserFilter } from './user-filter.ts'
import { batchGetUsers, getAvatar, getUser, listUsers, type ShownUser } from './users.ts'

const SERVER_FIELDS = [
  'name',
  'create_time',
  'update_time',
  'id',
  'login',
  'full_name',
  'html_url',
  'created',
]

const USER_FIELDS: UpdatableFields<UserField> = {
  mutable: [
    'username',
    'display_name',
    'email',
    'avatar_url',
    'description',
    'role',
    'password',
    'state',
  ],
  fixed: [...SERVER_FIELDS, 'current_password'],
}

const READABLE_FIELDS: readonly string[] = [
  ...SERVER_FIELDS,
  ...USER_FIELDS.mutable.filter((field) => field !== 'password'),
]

/**
 * Browsers may cache a picture for a few minutes. Revalidation is cheap because of the entity tag.
 */
const AVATAR_CACHE_CONTROL = 'public, max-age=300'

/** The methods of UserService about accounts. */
export type UserMethods = Pick<
  ServiceImpl<typeof UserService>,
  | 'listUsers'
  | 'batchGetUsers'
  | 'getUser'
  | 'getUserAvatar'
  | 'getGeneratedAvatar'
  | 'createUser'
  | 'updateUser'
  | 'deleteUser'
>

/** Implements the account methods of UserService. */
export function userMethods(app: App): UserMethods {
  return {
    async listUsers(request, context) {
      const limit = readPageSize(app.settings, request.pageSize)
      const username = parseUserFilter(request.filter)
      const list = {
        method: 'ListUsers',
        parent: '',
        filter: JSON.stringify([username, request.showDeleted]),
      }
      const [createTime, id] = readPageToken(app, list, request.pageToken) ?? []
      const after = createTime === undefined || id === undefined ? undefined : { createTime, id }
      const page = await listUsers(
        app,
        { username, includeArchived: request.showDeleted },
        after,
        limit,
      )
      return {
        users: page.users.map((user) => userMessage(app, user, callerOf(context))),
        nextPageToken: page.next
          ? writePageToken(app, list, [page.next.createTime, page.next.id])
          : '',
        totalSize: page.total,
      }
    },

    async batchGetUsers(request, context) {
      const users = await batchGetUsers(app, request.usernames)
      return { users: users.map((user) => userMessage(app, user, callerOf(context))) }
    },

    async getUser(request, context) {
      const segment = parseUserName(request.name)
      const fields = readReadMask(request.readMask, READABLE_FIELDS)
      const user = await getUser(app, segment)
      return userMessage(app, user, callerOf(context), fields)
    },

    async getUserAvatar(request, context) {
      const { user: segment, rest } = parseOwnedName(request.name)
      if (rest !== 'avatar') throw invalidName(request.name)
      const { contentType, data } = await getAvatar(app, await getUser(app, segment))
      setAvatarHeaders(context, data)
      return { contentType, data }
    },

    async getGeneratedAvatar({ seed }, context) {
      const data = Buffer.from(drawAvatar(seed))
      setAvatarHeaders(context, data)
      return { contentType: 'image/svg+xml', data }
    },

    async createUser(request, context) {
      const { user, userId, requestId, validateOnly } = request
      if (!user) throw new DomainError('INVALID_FIELD', { field: 'user' })
      const draft = { ...valuesOf(user), userId }
      const made = await createUser(app, callerOf(context), draft, { requestId, validateOnly })
      return userMessage(app, made, { kind: 'creator' })
    },

    async updateUser(request, context) {
      const { user } = request
      if (!user) throw new DomainError('INVALID_FIELD', { field: 'user' })
      parseUserName(user.name)
      const { fields, all } = readUpdateMask(request.updateMask, USER_FIELDS)
      const caller = callerOf(context)
      const updated = await updateUser(app, signedIn(caller), ownerOf(context), {
        values: valuesOf(user),
        named: fields,
        all,
        currentPassword: user.currentPassword,
      })
      return userMessage(app, updated, caller)
    },

    async deleteUser(request, context) {
      parseUserName(request.name)
      const owner = ownerOf(context)
      const caller = signedIn(callerOf(context))
      if (caller.user.id === owner.id) await requireConfirmed(app, caller)
      await deleteUser(app, owner, request.force ? 'deleted' : 'refused')
      if (caller.user.id === owner.id) {
        context.responseHeader.append('set-cookie', clearedRefreshCookie(secureOf(context)))
      }
      return {}
    },
  }
}

/** The viewer of an account. The creator of an account sees the values of the request. */
export type Viewer = Caller | { readonly kind: 'creator' }

/**
 * Returns an account as a viewer sees it.
 *
 * @param fields proto names of the fields to fill, in addition to `name`; undefined for all.
 */
export function userMessage(
  app: Pick<App, 'publicUrl'>,
  user: ShownUser,
  viewer: Viewer,
  fields?: ReadonlySet<string>,
): UserMessage {
  // Equals the result of `create`, in a fraction of the time.
  const message: UserMessage = {
    $typeName: 'branchline.v1.User',
    name: userName(user),
    role: User_Role[user.role],
    username: user.username,
    email: seesEmail(user, viewer) ? user.email : '',
    displayName: user.display_name,
    avatarUrl: avatarUrl(user),
    description: user.description,
    password: '',
    currentPassword: '',
    state: State[user.state],
    id: user.id,
    login: user.username,
    fullName: user.display_name,
    htmlUrl: `${app.publicUrl()}/${user.username}`,
  }
  if (user.create_time > 0) {
    message.createTime = atSecond(user.create_time)
    message.created = atSecond(user.create_time)
  }
  if (user.update_time > 0) message.updateTime = atSecond(user.update_time)
  if (fields) clearAllBut(fields, message)
  return message
}

function clearAllBut(fields: ReadonlySet<string>, message: UserMessage): void {
  for (const field of UserSchema.fields) {
    if (field.name !== 'name' && !fields.has(field.name)) clearField(message, field)
  }
}

function seesEmail(user: Pick<User, 'id'>, viewer: Viewer): boolean {
  if (viewer.kind === 'creator') return true
  if (viewer.kind === 'anonymous' || seesPublicDataOnly(viewer)) return false
  return viewer.user.id === user.id || actsAsAdministrator(viewer, 'read')
}

function valuesOf(user: UserMessage): UserValues {
  return {
    username: user.username,
    email: user.email,
    display_name: user.displayName,
    avatar_url: user.avatarUrl,
    description: user.description,
    password: user.password,
    role: roleOf(user.role),
    state: stateOf(user.state),
  }
}

function roleOf(role: User_Role): User['role'] | undefined {
  switch (role) {
    case User_Role.ADMIN:
      return 'ADMIN'
    case User_Role.USER:
      return 'USER'
    case User_Role.ROLE_UNSPECIFIED:
      return undefined
    default:
      throw new DomainError('INVALID_FIELD', { field: 'user.role' })
  }
}

function stateOf(state: State): User['state'] | undefined {
  switch (state) {
    case State.NORMAL:
      return 'NORMAL'
    case State.ARCHIVED:
      return 'ARCHIVED'
    case State.STATE_UNSPECIFIED:
      return undefined
    default:
      throw new DomainError('INVALID_FIELD', { field: 'user.state' })
  }
}

/** Sets headers that prevent browsers from treating a picture as anything else. */
function setAvatarHeaders(context: HandlerContext, data: Buffer): void {
  context.responseHeader.set('etag', `"${createHash('sha256').update(data).digest('base64url')}"`)
  context.responseHeader.set('cache-control', AVATAR_CACHE_CONTROL)
  context.responseHeader.set('x-content-type-options', 'nosniff')
  context.responseHeader.set('content-security-policy', "default-src 'none'; sandbox")
}

/** Returns the URL of an account's picture; empty if there is none. */
export function avatarUrl(user: Pick<User, 'avatar_url' | 'user_id' | 'username'>): string {
  return user.avatar_url === UPLOADED ? `/file/${userName(user)}/avatar` : user.avatar_url
}
