import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import {
  type PersonalAccessToken as PersonalAccessTokenMessage,
  PersonalAccessTokenSchema,
} from '#gen/branchline/v1/personal_access_token_pb.ts'
import type { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { Scopes } from '../../core/scopes.ts'
import { callerOf, ownerOf } from '../../core/wire/call.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import { invalidName, parseOwnedName, userName } from '../../core/wire/names.ts'
import {
  createPersonalAccessToken,
  deletePersonalAccessToken,
  listPersonalAccessTokens,
  type PersonalAccessToken,
} from './personal-access-tokens.ts'

/**
 * The part after the owner in the name of a token. Ids are UUIDs. Similar ids lead to a not-found
 * error.
 */
const TOKEN_PATH = /^personalAccessTokens\/([\w-]{1,64})$/

type Methods = Pick<
  ServiceImpl<typeof UserService>,
  'createPersonalAccessToken' | 'deletePersonalAccessToken' | 'listPersonalAccessTokens'
>

/** Implements the methods of UserService about personal access tokens. */
export function personalAccessTokenMethods(app: App): Methods {
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
