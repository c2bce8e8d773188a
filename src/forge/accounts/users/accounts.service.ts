import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import type { AccountService } from '#gen/branchline/v1/account_service_pb.ts'
import type { App } from '../../app.ts'
import { type Caller, seesPublicDataOnly, signedIn } from '../../core/access.ts'
import type { User } from '../../core/schema.ts'
import { callerOf } from '../../core/wire/call.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { atSecond } from '../../core/wire/times.ts'
import type { Owner } from '../schema.ts'
import { avatarSeed } from './generated-avatars.ts'
import { emailFor, searchUsers, seesPrivateFieldsOf, userAsOwner } from './owners.ts'
import { getUserSettings } from './user-settings.ts'
import { avatarUrl } from './users.service.ts'

/** The methods of AccountService about accounts. */
export type AccountMethods = Pick<
  ServiceImpl<typeof AccountService>,
  'getAuthenticatedAccount' | 'searchAccounts'
>

/** Implements the account methods of AccountService. */
export function accountMethods(app: App): AccountMethods {
  return {
    async getAuthenticatedAccount(_, context) {
      const caller = signedIn(callerOf(context))
      const message = userAccountMessage(app, caller, caller.user)
      if (!seesPublicDataOnly(caller))
        message.language = (await getUserSettings(app, caller.user)).locale
      return message
    },

    async searchAccounts({ q, uid, ...page }, context) {
      const caller = signedIn(callerOf(context))
      const part = readNumberedPage(app.settings, page)
      const id = uid === 0n ? undefined : Number(uid)
      const { users, total } = await searchUsers(app, caller, { text: q, id }, part)
      const data = users.map((user) => userAccountMessage(app, caller, user))
      return { results: { ok: true, data }, total: BigInt(total), limit: part.limit }
    },
  }
}

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
