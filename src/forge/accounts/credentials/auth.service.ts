import { create } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { AuthService, type SignInRequest } from '#gen/branchline/v1/auth_service_pb.ts'
import { type Session as SessionMessage, SessionSchema } from '#gen/branchline/v1/session_pb.ts'
import type { User as UserMessage } from '#gen/branchline/v1/user_pb.ts'
import type { App } from '../../app.ts'
import { type SignedIn, signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { callerOf, ownerOf, proxyUserOf, secureOf } from '../../core/wire/call.ts'
import { defineService } from '../../core/wire/define-service.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import {
  invalidName,
  parseIdentityProviderName,
  parseOwnedName,
  parseUserName,
  userName,
} from '../../core/wire/names.ts'
import { readPasscodeHeader } from '../../core/wire/passcode-header.ts'
import {
  clearedRefreshCookie,
  readRefreshCookie,
  refreshCookie,
} from '../../core/wire/refresh-cookie.ts'
import { atSecond } from '../../core/wire/times.ts'
import { signInByIdentity } from '../sign-on/sso-sign-in.ts'
import { userMessage } from '../users/accounts.message.ts'
import { getUser } from '../users/users.ts'
import { confirmSession } from './confirmation.ts'
import { signInByPassword } from './credentials.ts'
import { createPasswordResetToken, requestPasswordReset, resetPassword } from './password-resets.ts'
import {
  endSession,
  endSessionOf,
  listSessions,
  refreshSession,
  type Session,
  type SessionClient,
  type SessionGrant,
  type SessionKey,
  sessionOfRefreshToken,
  startSession,
} from './sessions.ts'

/** Implements AuthService. */
export function authService(app: App): ServiceImpl<typeof AuthService> {
  return {
    async signIn(request, context) {
      const session = await signIn(app, request, context)
      setRefreshCookie(context, session)
      return {
        user: ownUserMessage(app, session, context),
        accessToken: session.accessToken,
        accessTokenExpiresAt: atSecond(session.accessTokenExpireTime),
      }
    },

    async refreshToken({ includeUser }, context) {
      const refreshToken = readRefreshCookie(context.requestHeader)
      const proxyUser = await proxyUserOf(context)
      if (refreshToken === undefined && !proxyUser) throw new DomainError('UNAUTHENTICATED')
      const session = await resumeSession(app, refreshToken, proxyUser, context).catch(
        (error: unknown) => {
          // These headers are sent with errors as well, on every protocol. A server fault must not
          // sign anyone out.
          if (error instanceof DomainError) clearRefreshCookie(context)
          throw error
        },
      )
      setRefreshCookie(context, session)
      return {
        accessToken: session.accessToken,
        expiresAt: atSecond(session.accessTokenExpireTime),
        ...(includeUser && { user: ownUserMessage(app, session, context) }),
      }
    },

    async signOut(_, context) {
      clearRefreshCookie(context)
      const caller = callerOf(context)
      const refreshToken = readRefreshCookie(context.requestHeader)
      const sessionIds = [
        caller.kind === 'user' && caller.credential.kind === 'session'
          ? caller.credential.sessionId
          : undefined,
        refreshToken === undefined ? undefined : await sessionOfRefreshToken(app, refreshToken),
      ].filter((id) => id !== undefined)
      if (sessionIds.length === 0) throw new DomainError('UNAUTHENTICATED')
      for (const id of new Set(sessionIds)) await endSession(app, id)
      return {}
    },

    getCurrentUser(_, context) {
      const caller = signedIn(callerOf(context))
      return { user: userMessage(app, caller.user, caller) }
    },

    requestPasswordReset({ username, email }) {
      if ((username === '') === (email === ''))
        throw new DomainError('INVALID_FIELD', { field: 'username' })
      requestPasswordReset(app, email === '' ? { username } : { email })
      return {}
    },

    async resetPassword({ token, newPassword, passcode, recoveryCode }) {
      await resetPassword(app, token, newPassword, { passcode, recoveryCode })
      return {}
    },

    async createPasswordResetToken({ name }, context) {
      const user = await getUser(app, parseUserName(name))
      const { token, expireTime } = await createPasswordResetToken(
        app,
        signedIn(callerOf(context)),
        user,
      )
      return { token, expireTime: atSecond(expireTime) }
    },

    ...sessionMethods(app),
  }
}

function signIn(
  app: App,
  { credentials }: SignInRequest,
  context: HandlerContext,
): Promise<SessionGrant> {
  const userAgent = userAgentOf(context)
  switch (credentials.case) {
    case 'passwordCredentials': {
      const { username, password, passcode, recoveryCode } = credentials.value
      requireFields('password_credentials', { username, password })
      const inFields = passcode !== '' || recoveryCode !== ''
      const factor = {
        passcode: inFields ? passcode : readPasscodeHeader(context.requestHeader),
        recoveryCode,
      }
      return signInByPassword(
        app,
        callerOf(context).peer,
        { username, password },
        factor,
        userAgent,
      )
    }
    case 'ssoCredentials': {
      const { idpName, code, redirectUri, codeVerifier } = credentials.value
      requireFields('sso_credentials', { idp_name: idpName, code, redirect_uri: redirectUri })
      const grant = { code, redirectUri, codeVerifier }
      const client = { userAgent, signal: context.signal }
      return signInByIdentity(
        app,
        callerOf(context).peer,
        parseIdentityProviderName(idpName),
        grant,
        client,
      )
    }
    default:
      return signInByProxy(app, context)
  }
}

async function signInByProxy(app: App, context: HandlerContext): Promise<SessionGrant> {
  const user = await proxyUserOf(context)
  if (!user) throw new DomainError('INVALID_FIELD', { field: 'credentials' })
  return startSession(app, user, clientOf(context))
}

function clientOf(context: HandlerContext): SessionClient {
  return { userAgent: userAgentOf(context), address: callerOf(context).peer.address }
}

function userAgentOf({ requestHeader }: HandlerContext): string {
  return requestHeader.get('user-agent') ?? ''
}

/**
 * Returns the session of a cookie, or a new session for the account that a trusted proxy names. The
 * proxy takes precedence, because the cookie may be of an earlier user of the browser.
 */
async function resumeSession(
  app: App,
  refreshToken: string | undefined,
  proxyUser: User | undefined,
  context: HandlerContext,
): Promise<SessionGrant> {
  if (refreshToken !== undefined) {
    const session = await refreshSession(app, refreshToken)
    if (!proxyUser || session.user.id === proxyUser.id) return session
    await endSession(app, session.sessionId)
  }
  if (!proxyUser) throw new DomainError('UNAUTHENTICATED')
  return startSession(app, proxyUser, clientOf(context))
}

function requireFields(parent: string, fields: Readonly<Record<string, string>>): void {
  const missing = Object.keys(fields).find((name) => fields[name] === '')
  if (missing !== undefined)
    throw new DomainError('INVALID_FIELD', { field: `${parent}.${missing}` })
}

/** Returns the account of a session as its owner sees it. */
function ownUserMessage(
  app: App,
  { user, sessionId }: SessionGrant,
  context: HandlerContext,
): UserMessage {
  const { peer } = callerOf(context)
  const credential = { kind: 'session', sessionId } as const
  return userMessage(app, user, { kind: 'user', peer, user, credential })
}

function setRefreshCookie(context: HandlerContext, session: SessionGrant): void {
  const cookie = refreshCookie(
    session.refreshToken,
    session.refreshTokenExpireTime,
    secureOf(context),
  )
  context.responseHeader.set('set-cookie', cookie)
}

function clearRefreshCookie(context: HandlerContext): void {
  context.responseHeader.set('set-cookie', clearedRefreshCookie(secureOf(context)))
}

export const auth = defineService(AuthService, authService)

/** The part after the owner in the name of a session. Ids are UUIDs. */
const SESSION_PATH = /^sessions\/([\w-]{1,64})$/

type Methods = Pick<
  ServiceImpl<typeof AuthService>,
  'confirmSession' | 'deleteSession' | 'listSessions'
>

/** Implements the methods of AuthService about the sessions of an account. */
function sessionMethods(app: App): Methods {
  return {
    async confirmSession({ password, passcode, recoveryCode }, context) {
      const proof = { password, passcode, recoveryCode }
      await confirmSession(app, signedIn(callerOf(context)), proof)
      return {}
    },

    async listSessions({ pageSize, pageToken }, context) {
      const owner = ownerOf(context)
      const list: ListIdentity = { method: 'ListSessions', parent: String(owner.id), filter: '' }
      const size = readPageSize(app.settings, pageSize)
      const after = readPageToken<SessionKey>(app, list, pageToken)
      const { sessions, more, total } = await listSessions(app, owner, after, size)
      const last = sessions.at(-1)
      const current = sessionOf(signedIn(callerOf(context)))
      return {
        sessions: sessions.map((session) => sessionMessage(owner, session, current)),
        nextPageToken: more && last ? writePageToken(app, list, [last.create_time, last.id]) : '',
        totalSize: total,
      }
    },

    async deleteSession({ name }, context) {
      const [, id] = SESSION_PATH.exec(parseOwnedName(name).rest) ?? []
      if (id === undefined) throw invalidName(name)
      const caller = signedIn(callerOf(context))
      const owner = ownerOf(context)
      if (!(await endSessionOf(app, owner, id))) {
        throw new DomainError('SESSION_NOT_FOUND', { name })
      }
      // A browser that keeps the cookie would only learn later that the session is over.
      if (id === sessionOf(caller))
        context.responseHeader.set('set-cookie', clearedRefreshCookie(secureOf(context)))
      if (caller.user.id !== owner.id)
        app.log.info(
          { userId: owner.id, sessionId: id, by: caller.user.id },
          'an administrator ended a session',
        )
      return {}
    },
  }
}

/** Returns the id of the session of a call; undefined for other credentials. */
function sessionOf({ credential }: SignedIn): string | undefined {
  return credential.kind === 'session' ? credential.sessionId : undefined
}

function sessionMessage(
  owner: User,
  session: Session,
  current: string | undefined,
): SessionMessage {
  return create(SessionSchema, {
    name: `${userName(owner)}/sessions/${session.id}`,
    createTime: atSecond(session.create_time),
    lastUseTime: atSecond(session.token_issued_at),
    expireTime: atSecond(session.expire_time),
    userAgent: session.user_agent,
    address: session.address,
    current: session.id === current,
  })
}
