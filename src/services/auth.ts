import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { AuthService, SignInRequest } from '#gen/branchline/v1/auth_service_pb.ts'
import { signedIn } from '../domain/access.ts'
import { signInByPassword } from '../domain/accounts/credentials.ts'
import { endSession, refreshSession, type SessionGrant, sessionOfRefreshToken } from '../domain/accounts/sessions.ts'
import type { App } from '../domain/app.ts'
import { DomainError } from '../domain/errors.ts'
import { callerOf, secureOf } from './call.ts'
import { invalidName } from './names.ts'
import { clearedRefreshCookie, readRefreshCookie, refreshCookie } from './refresh-cookie.ts'
import { userMessage } from './users.ts'

const IDENTITY_PROVIDER_NAME = /^identity-providers\/[^/]{1,64}$/

/** The sessions of people. */
export function authService(app: App): ServiceImpl<typeof AuthService> {
  return {
    async signIn(request, context) {
      const session = await signIn(app, request, context)
      setRefreshCookie(context, session)
      const { peer } = callerOf(context)
      return {
        user: userMessage(session.user, {
          kind: 'user',
          peer,
          user: session.user,
          credential: { kind: 'session', sessionId: session.sessionId },
        }),
        accessToken: session.accessToken,
        accessTokenExpiresAt: timestampFromMs(session.accessTokenExpireTime * 1000),
      }
    },

    async refreshToken(_, context) {
      const refreshToken = readRefreshCookie(context.requestHeader)
      if (refreshToken === undefined) throw new DomainError('UNAUTHENTICATED')
      const session = await refreshSession(app, refreshToken).catch((error: unknown) => {
        // Headers of the context go out with a refusal too, on every protocol. A fault of the server signs nobody out.
        if (error instanceof DomainError) clearRefreshCookie(context)
        throw error
      })
      setRefreshCookie(context, session)
      return {
        accessToken: session.accessToken,
        expiresAt: timestampFromMs(session.accessTokenExpireTime * 1000),
      }
    },

    async signOut(_, context) {
      clearRefreshCookie(context)
      const caller = callerOf(context)
      const refreshToken = readRefreshCookie(context.requestHeader)
      const sessionIds = [
        caller.kind === 'user' && caller.credential.kind === 'session' ? caller.credential.sessionId : undefined,
        refreshToken === undefined ? undefined : await sessionOfRefreshToken(app, refreshToken),
      ].filter((id) => id !== undefined)
      if (sessionIds.length === 0) throw new DomainError('UNAUTHENTICATED')
      for (const id of new Set(sessionIds)) await endSession(app, id)
      return {}
    },

    getCurrentUser(_, context) {
      const caller = signedIn(callerOf(context))
      return { user: userMessage(caller.user, caller) }
    },
  }
}

function signIn(app: App, { credentials }: SignInRequest, context: HandlerContext): Promise<SessionGrant> {
  const userAgent = context.requestHeader.get('user-agent') ?? ''
  switch (credentials.case) {
    case 'passwordCredentials': {
      const { username, password } = credentials.value
      requireFields('password_credentials', { username, password })
      return signInByPassword(app, callerOf(context).peer, { username, password }, userAgent)
    }
    case 'ssoCredentials': {
      const { idpName, code, redirectUri } = credentials.value
      requireFields('sso_credentials', { idp_name: idpName, code, redirect_uri: redirectUri })
      if (!IDENTITY_PROVIDER_NAME.test(idpName)) throw invalidName(idpName)
      throw new DomainError('IDENTITY_PROVIDER_NOT_FOUND', { name: idpName })
    }
    default:
      throw new DomainError('INVALID_FIELD', { field: 'credentials' })
  }
}

function requireFields(parent: string, fields: Readonly<Record<string, string>>): void {
  const missing = Object.keys(fields).find((name) => fields[name] === '')
  if (missing !== undefined) throw new DomainError('INVALID_FIELD', { field: `${parent}.${missing}` })
}

function setRefreshCookie(context: HandlerContext, session: SessionGrant): void {
  const cookie = refreshCookie(session.refreshToken, session.refreshTokenExpireTime, secureOf(context))
  context.responseHeader.set('set-cookie', cookie)
}

function clearRefreshCookie(context: HandlerContext): void {
  context.responseHeader.set('set-cookie', clearedRefreshCookie(secureOf(context)))
}
