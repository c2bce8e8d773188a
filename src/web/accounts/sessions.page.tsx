import type { VNode } from 'preact'
import { AuthService } from '#gen/branchline/v1/auth_service_pb.ts'
import type { Session } from '#gen/branchline/v1/session_pb.ts'
import type { User } from '#gen/branchline/v1/user_pb.ts'
import { Code, ConnectError } from '../api/calls.ts'
import { useApi } from '../api/client.ts'
import { timestampDate } from '../api/timestamps.ts'
import { Time } from '../components/formats.tsx'
import { Confirmed } from '../components/forms.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { LOCALE, T, t } from '../language/texts.tsx'
import { SettingsFrame } from './account-settings.tsx'
import { clientOf } from './browsers.ts'

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
      <h2>{t('Sessions')}</h2>
      <p>
        {t(
          'You are signed in in these browsers and programs. If you do not know one of them, end it and change your password. Access tokens are not sessions and stay valid.',
        )}
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
              {others.length === 0 && <p role="status">{t('There are no other sessions.')}</p>}
              {others.length > 1 && (
                <Confirmed
                  action={t('End all other sessions')}
                  question={t('All other browsers and programs have to sign in again.')}
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
  const name = clientText(userAgent)
  const signIn = createTime ? timestampDate(createTime).toLocaleString(LOCALE) : ''
  const times = {
    signIn: <Time at={createTime} />,
    lastUse: <Time at={lastUseTime} />,
    expiry: <Time at={expireTime} />,
  }
  return (
    <li>
      <strong title={userAgent}>{name}</strong>{' '}
      {current && <span class="tag">{t('this browser')}</span>}
      <p class="facts">
        {address === '' ? (
          <T text="Signed in {signIn}, last used {lastUse}, expires {expiry}" {...times} />
        ) : (
          <T
            text="Signed in from {address}, {signIn}, last used {lastUse}, expires {expiry}"
            address={address}
            {...times}
          />
        )}
      </p>
      {!current && (
        <Confirmed
          action={t('End')}
          about={t('the session of {name}, signed in {time}', { name, time: signIn })}
          question={t('The browser or program has to sign in again.')}
          act={onEnd}
        />
      )}
    </li>
  )
}

/** Returns the browser or program of a session in words. */
function clientText(userAgent: string): string {
  const { program, system } = clientOf(userAgent)
  if (program === '') return t('A program without a name')
  return system === '' ? program : t('{browser} on {system}', { browser: program, system })
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
