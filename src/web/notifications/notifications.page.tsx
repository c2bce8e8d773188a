import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import {
  NotificationService,
  type NotificationThread,
} from '#gen/branchline/v1/notification_service_pb.ts'
import { ownHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { Show, useAction, useLoad } from '../components/load.tsx'
import { useTitle } from '../components/page-title.ts'
import { Pager, pageOf } from '../components/pager.tsx'
import { SignInLink } from '../components/sign-in-link.tsx'
import { Time } from '../components/time.tsx'
import type { PageProps } from '../routes.ts'
import { MemoNotifications } from './memo-notifications.tsx'

const STATUSES = ['unread', 'pinned', 'read', 'all'] as const

/** Why the user was told, in words. */
const REASONS: Readonly<Record<string, string>> = {
  mention: 'you were mentioned',
  review_requested: 'your review is requested',
  assign: 'you are assigned',
  participating: 'you take part',
  subscribed: 'you follow it',
}

/** Notifications of pull requests and memos. The address has the filter. */
export default function NotificationsPage({ query }: PageProps): VNode {
  const { user } = useApi().session
  useTitle('Notifications')
  return (
    <>
      <h1>Notifications</h1>
      {user ? (
        <>
          <Threads query={query} />
          <MemoNotifications user={user.name} />
        </>
      ) : (
        <p>
          Notifications are for signed-in users: <SignInLink />
        </p>
      )}
    </>
  )
}

function Threads({ query }: { query: URLSearchParams }): VNode {
  const { of } = useApi()
  const page = pageOf(query)
  const status = STATUSES.find((known) => known === query.get('status')) ?? 'unread'
  const list = useLoad(
    (signal) => {
      const filter = status === 'all' ? { all: true } : { statusTypes: [status] }
      return of(NotificationService).listNotificationThreads({ ...filter, page }, { signal })
    },
    [status, page],
  )
  return (
    <section aria-labelledby="pull-requests">
      <h2 id="pull-requests">Pull requests</h2>
      <nav class="tabs" aria-label="Filter">
        {STATUSES.map((known) => (
          <a
            key={known}
            href={`/notifications?status=${known}`}
            aria-current={known === status ? 'page' : undefined}
          >
            {known[0]?.toUpperCase() + known.slice(1)}
          </a>
        ))}
      </nav>
      <Show of={list}>
        {({ threads, total, limit }) => (
          <>
            {threads.length === 0 && <p>No notifications.</p>}
            {status === 'unread' && <ReadAll newest={threads[0]} onRead={list.reload} />}
            <ul class="list">
              {threads.map((thread) => (
                <ThreadItem key={String(thread.id)} thread={thread} onChange={list.reload} />
              ))}
            </ul>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Show>
    </section>
  )
}

/** Marks what was there when the list was loaded. What came later stays unread. */
function ReadAll(props: { newest: NotificationThread | undefined; onRead: () => void }): VNode {
  const { newest, onRead } = props
  const { of } = useApi()
  const [isRead, setRead] = useState(false)
  const mark = useAction(async () => {
    const lastReadAt = newest?.updatedAt
    await of(NotificationService).markNotificationThreads(lastReadAt ? { lastReadAt } : {})
    setRead(true)
    onRead()
  })
  return (
    <>
      {mark.failure && <FailureNote failure={mark.failure} />}
      {newest && (
        <button type="button" disabled={mark.isRunning} onClick={() => mark.run()}>
          Mark all as read
        </button>
      )}
      <p role="status">{isRead && 'All notifications are marked as read.'}</p>
    </>
  )
}

function ThreadItem(props: { thread: NotificationThread; onChange: () => void }): VNode {
  const { thread, onChange } = props
  const { of } = useApi()
  const { id, subject, repository, unread, pinned, reason } = thread
  const mark = useAction(async (toStatus: 'read' | 'unread' | 'pinned') => {
    await of(NotificationService).markNotificationThread({ id, toStatus })
    onChange()
  })
  const title = subject?.title ?? ''
  return (
    <li>
      {subject && (
        <>
          <span class={`tag ${subject.state}`}>{subject.state}</span>{' '}
          <a href={ownHref(subject.latestCommentHtmlUrl || subject.htmlUrl)}>{title}</a>
        </>
      )}{' '}
      {unread && <span class="tag">unread</span>}
      {pinned && <span class="tag">pinned</span>}
      <p class="facts">
        {repository?.fullName}, {REASONS[reason] ?? reason}, <Time at={thread.updatedAt} />
      </p>
      {mark.failure && <FailureNote failure={mark.failure} />}
      <p class="row">
        <button
          type="button"
          aria-label={`Mark as ${unread || pinned ? 'read' : 'unread'}: ${title}`}
          disabled={mark.isRunning}
          onClick={() => mark.run(unread || pinned ? 'read' : 'unread')}
        >
          Mark as {unread || pinned ? 'read' : 'unread'}
        </button>
        {!pinned && (
          <button
            type="button"
            aria-label={`Pin: ${title}`}
            disabled={mark.isRunning}
            onClick={() => mark.run('pinned')}
          >
            Pin
          </button>
        )}
      </p>
    </li>
  )
}
