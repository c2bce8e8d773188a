import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { type AccessToken, AccessTokenSchema } from '#gen/branchline/v1/access_token_pb.ts'
import { AccessTokenService } from '#gen/branchline/v1/access_token_service_pb.ts'
import type { App } from '../../app.ts'
import { signedIn } from '../../core/access.ts'
import { Scopes } from '../../core/scopes.ts'
import { callerOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import { readNumberedPage } from '../../core/wire/pages.ts'
import { NEVER } from '../users/accounts.message.ts'
import {
  createNamedToken,
  deleteNamedToken,
  deleteTokenInUse,
  getTokenInUse,
  listNamedTokens,
  openTokenOwner,
  type PersonalAccessToken,
} from './personal-access-tokens.ts'

/** Implements AccessTokenService. */
function accessTokenService(app: App): ServiceImpl<typeof AccessTokenService> {
  const ownerOf = ({ username }: { username: string }, context: HandlerContext) =>
    openTokenOwner(app, signedIn(callerOf(context)), username)
  return {
    async listAccessTokens(request, context) {
      const owner = await ownerOf(request, context)
      const page = readNumberedPage(app.settings, request)
      const { tokens, total } = await listNamedTokens(app, owner, page)
      return {
        tokens: tokens.map((token) => tokenMessage(token)),
        total: BigInt(total),
        limit: page.limit,
      }
    },

    async createAccessToken(request, context) {
      const owner = await ownerOf(request, context)
      const { token, text } = await createNamedToken(app, owner, request.name, request.scopes)
      return tokenMessage(token, text)
    },

    async deleteAccessToken(request, context) {
      await deleteNamedToken(app, await ownerOf(request, context), request.token)
      return {}
    },

    async getCurrentAccessToken(_, context) {
      return tokenMessage(await getTokenInUse(app, signedIn(callerOf(context))))
    },

    async deleteCurrentAccessToken(_, context) {
      await deleteTokenInUse(app, signedIn(callerOf(context)))
      return {}
    },
  }
}

/** @param text of a new token; empty for others. */
function tokenMessage(token: PersonalAccessToken, text = ''): AccessToken {
  return create(AccessTokenSchema, {
    id: BigInt(token.id),
    name: token.description,
    sha1: text,
    tokenLastEight: token.last_eight,
    scopes: [...Scopes.fromText(token.scopes).names],
    createdAt: toSeconds(token.created_at),
    lastUsedAt: token.last_used_at === null ? NEVER : toSeconds(token.last_used_at),
  })
}

/** Truncates a time to seconds, because clients of forges cannot parse fractions. */
function toSeconds(timeMs: number) {
  return timestampFromMs(Math.floor(timeMs / 1000) * 1000)
}

export const accessTokens = defineService(AccessTokenService, accessTokenService)
