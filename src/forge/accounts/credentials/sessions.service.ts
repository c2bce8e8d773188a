import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import { type Session as SessionMessage, SessionSchema } from '#gen/branchline/v1/session_pb.ts'
import type { App } from '../../app.ts'
import { type SignedIn, signedIn } from '../../core/access.ts'
import { DomainError } from '../../core/errors.ts'
import type { User } from '../../core/schema.ts'
import { callerOf, ownerOf, secureOf } from '../../core/wire/call.ts'
import {
  type ListIdentity,
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../core/wire/lists.ts'
import { invalidName, parseOwnedName, userName } from '../../core/wire/names.ts'
import { clearedRefreshCookie } from '../../core/wire/refresh-cookie.ts'
import { atSecond } from '../../core/wire/times.ts'
import { confirmSession } from './confirmation.ts'
import { endSessionOf, listSessions, type Session, type SessionKey } from './sessions.ts'

/** The part after the owner in the name of a session. Ids are UUIDs. */
const SESSION_PATH = /^sessions\/([\w-]{1,64})$/

type Methods = Pick<
  ServiceImpl<typeof AuthService>,
  'confirmSession' | 'deleteSession' | 'listSessions'
>

/** Implements the methods of AuthService about the sessions of an account. */
export function sessionMethods(app: App): Methods {
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
