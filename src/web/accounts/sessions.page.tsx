import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import type { VNode } from 'preact'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import type { Session } from '#gen/branchline/v1/session_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Confirmed } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { SettingsFrame } from './account-settings.tsx'
import { browserName } from './browsers.ts'

/** More sessions than an account has. */
const PAGE_SIZE = 1000

/** Where the user is signed in. */
export function SessionsPage(): VNode {
  return <SettingsFrame tab="Sessions">{(user) => <Sessions user={user} />}</SettingsFrame>
}

function Sessions({ user }: { user: User }): VNode {
  const { of } = useApi()
  const auth = of(AuthService)
  const list = useLoad(
    (signal) => auth.listSessions({ parent: user.name, pageSize: PAGE_SIZE }, { signal }),
    [user.name],
  )
  const end = async (sessions: readonly Session[]) => {
    try {
      for (const { name } of sessions) await auth.deleteSession({ name }).catch(ignoreMissing)
    } finally {
      list.reload()
    }
  }
  return (
    <>
      <h2>Sessions</h2>
      <p>
        You are signed in in these browsers and programs. If you do not know one of them, end it and
        change your password. Access tokens are not sessions and stay valid.
      </p>
      <Show of={list}>
        {({ sessions }) => {
          const others = sessions.filter(({ current }) => !current)
          return (
            <>
              <ul class="list">
                {[...sessions].sort(byLastUse).map((session) => (
                  <SessionItem key={session.name} session={session} onEnd={() => end([session])} />
                ))}
              </ul>
              {others.length === 0 && <p role="status">There are no other sessions.</p>}
              {others.length > 1 && (
                <Confirmed
                  action="End all other sessions"
                  question="All other browsers and programs have to sign in again."
                  act={() => end(others)}
                />
              )}
            </>
          )
        }}
      </Show>
    </>
  )
}

function SessionItem(props: { session: Session; onEnd: () => Promise<void> }): VNode {
  const { session, onEnd } = props
  const { userAgent, address, current, createTime, lastUseTime, expireTime } = session
  const name = browserName(userAgent)
  const signIn = createTime ? timestampDate(createTime).toLocaleString() : ''
  return (
    <li>
      <strong title={userAgent}>{name}</strong> {current && <span class="tag">this browser</span>}
      <p class="facts">
        {address !== '' && `Signed in from ${address}, `}
        {address === '' && 'Signed in '}
        <Time at={createTime} />, last used <Time at={lastUseTime} />, expires{' '}
        <Time at={expireTime} />
      </p>
      {!current && (
        <Confirmed
          action="End"
          about={`the session of ${name}, signed in ${signIn}`}
          question="The browser or program has to sign in again."
          act={onEnd}
        />
      )}
    </li>
  )
}

/** A session that has ended meanwhile is what the user wants. */
function ignoreMissing(error: unknown): void {
  if (ConnectError.from(error).code !== Code.NotFound) throw error
}

/** The session of this browser is the first one, then those that were used last. */
function byLastUse(one: Session, other: Session): number {
  if (one.current !== other.current) return one.current ? -1 : 1
  return Number((other.lastUseTime?.seconds ?? 0n) - (one.lastUseTime?.seconds ?? 0n))
}
