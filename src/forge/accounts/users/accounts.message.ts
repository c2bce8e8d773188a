import { clearField } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { State } from '#gen/branchline/v1/state_pb.ts'
import { User_Role, type User as UserMessage, UserSchema } from '#gen/branchline/v1/user_pb.ts'
import type { App } from '../../app.ts'
import { actsAsAdministrator, type Caller, seesPublicDataOnly } from '../../core/access.ts'
import type { User } from '../../core/schema.ts'
import { userName } from '../../core/wire/names.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { Owner } from '../schema.ts'
import { avatarSeed, UPLOADED } from './avatars.ts'
import { emailFor, seesPrivateFieldsOf, userAsOwner } from './owners.ts'
import type { ShownUser } from './users.ts'

/** The placeholder of compatible systems for unknown times. */
export const NEVER: Timestamp = timestampFromMs(Date.parse('0001-01-01T00:00:00Z'))

/** Returns a user or an organisation as a viewer sees it. */
export function accountMessage(app: App, viewer: Caller, owner: Owner): Account {
  const base = app.publicUrl()
  const seesAll = seesPrivateFieldsOf(viewer, owner)
  // A literal with all fields. `create` would take ten times as long for so many fields.
  return {
    $typeName: 'branchline.v1.Account',
    id: BigInt(owner.id),
    login: owner.name,
    loginName: seesAll ? owner.login_name : '',
    sourceId: seesAll ? BigInt(owner.source_id) : 0n,
    username: owner.name,
    fullName: owner.full_name,
    email: emailFor(app, viewer, owner),
    avatarUrl: pictureUrl(base, owner),
    htmlUrl: `${base}/${owner.name}`,
    language: '',
    isAdmin: seesAll && owner.role === 'ADMIN',
    lastLogin: NEVER,
    created: atSecond(owner.create_time),
    restricted: owner.restricted === 1,
    active: seesAll && owner.state === 'NORMAL',
    prohibitLogin: seesAll && owner.state === 'ARCHIVED',
    location: owner.location,
    website: owner.website,
    description: owner.description,
    visibility: owner.visibility,
    followersCount: BigInt(owner.followers_count),
    followingCount: BigInt(owner.following_count),
    starredReposCount: BigInt(owner.stars_count),
  }
}

function pictureUrl(base: string, owner: Owner): string {
  const picture = avatarUrl({ ...owner, username: owner.name })
  if (picture === '') return generatedAvatarUrl(base, owner)
  return picture.startsWith('/') ? base + picture : picture
}

/** Returns the URL of the generated picture of an account or organisation. */
export function generatedAvatarUrl(base: string, { id }: Pick<Owner, 'id'>): string {
  return `${base}/file/avatars/${avatarSeed(id)}`
}

/** Returns the messages of accounts for one response. */
export type AccountMessages = (owner: Owner) => Account

/**
 * Returns a function that converts the accounts of one response to messages, each once. The items
 * of a list share their accounts.
 */
export function accountMessages(app: App, viewer: Caller): AccountMessages {
  const made = new Map<Owner, Account>()
  return (owner) => {
    let message = made.get(owner)
    if (!message) {
      message = accountMessage(app, viewer, owner)
      made.set(owner, message)
    }
    return message
  }
}

/** Returns a user as a viewer sees it. */
export function userAccountMessage(app: App, viewer: Caller, user: User): Account {
  return accountMessage(app, viewer, userAsOwner(user))
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

/** Returns the URL of an account's picture; empty if there is none. */
export function avatarUrl(user: Pick<User, 'avatar_url' | 'user_id' | 'username'>): string {
  return user.avatar_url === UPLOADED ? `/file/${userName(user)}/avatar` : user.avatar_url
}
