import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import {
  type LinkedIdentity as LinkedIdentityMessage,
  LinkedIdentitySchema,
} from '#gen/branchline/v1/linked_identity_pb.ts'
import {
  type PersonalAccessToken as PersonalAccessTokenMessage,
  PersonalAccessTokenSchema,
} from '#gen/branchline/v1/personal_access_token_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { User_Role, type User as UserMessage } from '#gen/branchline/v1/user_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import {
  type UserSetting,
  UserSetting_GeneralSettingSchema,
  UserSettingSchema,
} from '#gen/branchline/v1/user_setting_pb.ts'
import { deleteUser } from '../../administration/delete-user.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { Scopes } from '../../core/scopes.ts'
import { callerOf, ownerOf, secureOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import { readReadMask, readUpdateMask, type UpdatableFields } from '../../core/wire/masks.ts'
import {
  invalidName,
  parseIdentityProviderName,
  parseOwnedName,
  parseUserName,
  userName,
} from '../../core/wire/names.ts'
import { clearedRefreshCookie } from '../../core/wire/refresh-cookie.ts'
import { notificationMethods } from '../../memos/activity/notifications.service.ts'
import { userStatsMethods } from '../../memos/activity/user-stats.service.ts'
import {
  userWebhookMessages,
  userWebhookMethods,
} from '../../webhooks/registration/account-webhooks.service.ts'
import { requireConfirmed } from '../credentials/confirmation.ts'
import {
  createPersonalAccessToken,
  deletePersonalAccessToken,
  listPersonalAccessTokens,
  type PersonalAccessToken,
} from '../credentials/personal-access-tokens.ts'
import { identityProviderName } from '../sign-on/identity-providers.ts'
import {
  getLinkedIdentity,
  type LinkedIdentity,
  linkIdentity,
  listLinkedIdentities,
  unlinkIdentity,
} from '../sign-on/linked-identities.ts'
import { userMessage } from './accounts.message.ts'
import { drawAvatar } from './avatars.ts'
import { createUser } from './create-user.ts'
import { type UserField, type UserValues, updateUser } from './edit-user.ts'
import { parseUserFilter } from './owners.ts'
import {
  DEFAULT_LOCALE,
  getUserSettings,
  type Preferences,
  type UserSettingField,
  updateUserSettings,
} from './user-settings.ts'
import { batchGetUsers, getAvatar, getUser, listUsers } from './users.ts'

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
type UserMethods = Pick<
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
function userMethods(app: App): UserMethods {
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

/** Groups of settings in the order of lists. */
const KEYS = ['GENERAL', 'WEBHOOKS'] as const
type Key = (typeof KEYS)[number]

const GENERAL_FIELDS: readonly UserSettingField[] = [
  'locale',
  'memo_visibility',
  'theme',
  'keep_email_private',
  'email_notifications',
]

/** The message field that contains the settings. Mask paths may start with it or omit it. */
const GENERAL_MEMBER = 'general_setting'

const MASK_PATHS: UpdatableFields<string> = {
  mutable: [
    ...GENERAL_FIELDS,
    GENERAL_MEMBER,
    ...GENERAL_FIELDS.map((field) => `${GENERAL_MEMBER}.${field}`),
  ],
  fixed: ['name'],
}

type SettingMethods = Pick<
  ServiceImpl<typeof UserService>,
  'listUserSettings' | 'getUserSetting' | 'updateUserSetting'
>

/** Implements the methods of UserService about settings. */
function userSettingMethods(app: App): SettingMethods {
  return {
    async listUserSettings({ pageSize, pageToken }, context) {
      const owner = ownerOf(context)
      const list: ListIdentity = {
        method: 'ListUserSettings',
        parent: String(owner.id),
        filter: '',
      }
      const limit = readPageSize(app.settings, pageSize)
      const [start = 0] = readPageToken(app, list, pageToken) ?? []
      const keys = KEYS.slice(start, start + limit)
      const end = start + keys.length
      return {
        settings: await Promise.all(keys.map((key) => settingMessage(app, owner, key))),
        nextPageToken: end < KEYS.length ? writePageToken(app, list, [end]) : '',
        totalSize: KEYS.length,
      }
    },

    getUserSetting({ name }, context) {
      return settingMessage(app, ownerOf(context), parseKey(name))
    },

    async updateUserSetting({ setting, updateMask }, context) {
      const { name = '', value } = setting ?? {}
      if (parseKey(name) !== 'GENERAL') throw new DomainError('SETTING_NOT_UPDATABLE', { name })
      if (value?.case !== 'generalSetting')
        throw new DomainError('INVALID_FIELD', { field: 'setting.general_setting' })
      const { fields: paths, all } = readUpdateMask(updateMask, MASK_PATHS)
      const isWhole = all || paths.has(GENERAL_MEMBER)
      const named = GENERAL_FIELDS.filter((field) => {
        // A client that writes all settings but does not know these must not reveal an address, nor
        // start mails.
        if (isWhole && field === 'keep_email_private')
          return value.value.keepEmailPrivate !== undefined
        if (isWhole && field === 'email_notifications')
          return value.value.emailNotifications !== undefined
        return isWhole || paths.has(field) || paths.has(`${GENERAL_MEMBER}.${field}`)
      })
      const owner = ownerOf(context)
      const { locale, memoVisibility, theme, keepEmailPrivate = false } = value.value
      const { emailNotifications = '' } = value.value
      const texts = {
        locale,
        memo_visibility: memoVisibility,
        theme,
        keep_email_private: keepEmailPrivate,
        email_notifications: emailNotifications,
      }
      return generalMessage(owner, await updateUserSettings(app, owner, texts, new Set(named)))
    },
  }
}

/** @throws INVALID_NAME if the last segment of the name is not a key. */
function parseKey(name: string): Key {
  const { rest } = parseOwnedName(name)
  const key = KEYS.find((candidate) => rest === `settings/${candidate}`)
  if (!key) throw invalidName(name)
  return key
}

async function settingMessage(app: App, owner: User, key: Key): Promise<UserSetting> {
  if (key === 'GENERAL') return generalMessage(owner, await getUserSettings(app, owner))
  return create(UserSettingSchema, {
    name: settingName(owner, key),
    value: { case: 'webhooksSetting', value: { webhooks: await userWebhookMessages(app, owner) } },
  })
}

function generalMessage(owner: User, preferences: Preferences): UserSetting {
  const { locale, memo_visibility, theme, keep_email_private, email_notifications } = preferences
  const value = create(UserSetting_GeneralSettingSchema, {
    locale: locale || DEFAULT_LOCALE,
    memoVisibility: memo_visibility,
    theme,
    // Omitted for clients that do not know the fields.
    ...(keep_email_private && { keepEmailPrivate: true }),
    ...(email_notifications !== 'enabled' && { emailNotifications: email_notifications }),
  })
  return create(UserSettingSchema, {
    name: settingName(owner, 'GENERAL'),
    value: { case: 'generalSetting', value },
  })
}

function settingName(owner: User, key: Key): string {
  return `${userName(owner)}/settings/${key}`
}

/**
 * The part after the owner in the name of a token. Ids are UUIDs. Similar ids lead to a not-found
 * error.
 */
const TOKEN_PATH = /^personalAccessTokens\/([\w-]{1,64})$/

type TokenMethods = Pick<
  ServiceImpl<typeof UserService>,
  'createPersonalAccessToken' | 'deletePersonalAccessToken' | 'listPersonalAccessTokens'
>

/** Implements the methods of UserService about personal access tokens. */
export function personalAccessTokenMethods(app: App): TokenMethods {
  return {
    async listPersonalAccessTokens({ pageSize, pageToken }, context) {
      const owner = ownerOf(context)
      const list: ListIdentity = {
        method: 'ListPersonalAccessTokens',
        parent: String(owner.id),
        filter: '',
      }
      const size = readPageSize(app.settings, pageSize)
      const [afterId = 0] = readPageToken(app, list, pageToken) ?? []
      const { tokens, more, total } = await listPersonalAccessTokens(app, owner, afterId, size)
      const last = tokens.at(-1)
      return {
        personalAccessTokens: tokens.map((token) => tokenMessage(owner, token)),
        nextPageToken: more && last ? writePageToken(app, list, [last.id]) : '',
        totalSize: total,
      }
    },

    async createPersonalAccessToken(request, context) {
      const { description, expiresInDays, scopes, currentPassword } = request
      const caller = signedIn(callerOf(context))
      const { token, text } = await createPersonalAccessToken(app, caller, {
        description,
        expiresInDays,
        scopes,
        currentPassword,
      })
      return { personalAccessToken: tokenMessage(caller.user, token), token: text }
    },

    async deletePersonalAccessToken({ name }, context) {
      const [, uuid] = TOKEN_PATH.exec(parseOwnedName(name).rest) ?? []
      if (uuid === undefined) throw invalidName(name)
      if (!(await deletePersonalAccessToken(app, ownerOf(context), uuid))) {
        throw new DomainError('TOKEN_NOT_FOUND', { name })
      }
      return {}
    },
  }
}

function tokenMessage(owner: User, token: PersonalAccessToken): PersonalAccessTokenMessage {
  return create(PersonalAccessTokenSchema, {
    name: `${userName(owner)}/personalAccessTokens/${token.uuid}`,
    description: token.description,
    createdAt: timestampFromMs(token.created_at),
    ...(token.expires_at === null ? {} : { expiresAt: timestampFromMs(token.expires_at) }),
    ...(token.last_used_at === null ? {} : { lastUsedAt: timestampFromMs(token.last_used_at) }),
    scopes: [...Scopes.fromText(token.scopes).names],
  })
}

/** The part after the owner in the name of an identity: the uid of a provider. */
const IDENTITY_PATH = /^linkedIdentities\/([\w-]{1,64})$/

type IdentityMethods = Pick<
  ServiceImpl<typeof UserService>,
  'listLinkedIdentities' | 'createLinkedIdentity' | 'getLinkedIdentity' | 'deleteLinkedIdentity'
>

/** Implements the methods of UserService about identities at identity providers. */
function linkedIdentityMethods(app: App): IdentityMethods {
  return {
    async listLinkedIdentities(_, context) {
      const owner = ownerOf(context)
      const identities = await listLinkedIdentities(app, owner)
      return {
        linkedIdentities: identities.map((identity) => linkedIdentityMessage(owner, identity)),
      }
    },

    async createLinkedIdentity({ idpName, code, redirectUri, codeVerifier }, context) {
      const owner = ownerOf(context)
      const providerUid = parseIdentityProviderName(idpName)
      await requireConfirmed(app, signedIn(callerOf(context)))
      const grant = { code, redirectUri, codeVerifier }
      return linkedIdentityMessage(
        owner,
        await linkIdentity(app, owner, providerUid, grant, context.signal),
      )
    },

    async getLinkedIdentity({ name }, context) {
      const owner = ownerOf(context)
      return linkedIdentityMessage(
        owner,
        await getLinkedIdentity(app, owner, parseProviderUid(name)),
      )
    },

    async deleteLinkedIdentity({ name }, context) {
      await unlinkIdentity(app, ownerOf(context), parseProviderUid(name))
      return {}
    },
  }
}

/** @throws INVALID_NAME if the name is not that of an identity. */
function parseProviderUid(name: string): string {
  const [, uid] = IDENTITY_PATH.exec(parseOwnedName(name).rest) ?? []
  if (uid === undefined) throw invalidName(name)
  return uid
}

function linkedIdentityMessage(
  owner: User,
  { provider_uid, extern_uid }: LinkedIdentity,
): LinkedIdentityMessage {
  return create(LinkedIdentitySchema, {
    name: `${userName(owner)}/linkedIdentities/${provider_uid}`,
    idpName: identityProviderName(provider_uid),
    externUid: extern_uid,
  })
}

export const users = defineService(UserService, (app) => ({
  ...userMethods(app),
  ...userStatsMethods(app),
  ...userSettingMethods(app),
  ...linkedIdentityMethods(app),
  ...personalAccessTokenMethods(app),
  ...userWebhookMethods(app),
  ...notificationMethods(app),
}))
