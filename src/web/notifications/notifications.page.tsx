import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import {
  NotificationService,
  type NotificationThread,
} from '#gen/branchline/v1/notification_service_pb.ts'
import {
  type UserNotification,
  UserNotification_Status,
} from '#gen/branchline/v1/user_notification_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { ownHref } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { FailureNote, Show, useAction, useLoad } from '../components/load.tsx'
import { Pager, pageOf, SignInLink, useTitle } from '../components/page.tsx'
import { t } from '../language/texts.tsx'
import type { PageProps } from '../routes.ts'

const STATUSES = ['unread', 'pinned', 'read', 'all'] as const

const STATUS_TEXTS: Readonly<Record<(typeof STATUSES)[number], string>> = {
  unread: t('Unread @state'),
  pinned: t('Pinned @state'),
  read: t('Read @state'),
  all: t('All @notifications'),
}

/** The state of a pull request, in words. */
const STATE_TEXTS: Readonly<Record<string, string>> = {
  open: t('open @state'),
  closed: t('closed @state'),
  merged: t('merged @state'),
}

/** Why the user was told, in words. */
const REASONS: Readonly<Record<string, string>> = {
  mention: t('you were mentioned'),
  review_requested: t('your review is requested'),
  assign: t('you are assigned'),
  participating: t('you take part'),
  subscribed: t('you follow it'),
}

/** Notifications of pull requests and memos. The address has the filter. */
export function NotificationsPage({ query }: PageProps): VNode {
  const { user } = useApi().session
  useTitle(t('Notifications'))
  return (
    <>
      <h1>{t('Notifications')}</h1>
      {user ? (
        <>
          <Threads query={query} />
          <MemoNotifications user={user.name} />
        </>
      ) : (
        <p>
          {t('Notifications are for signed-in users:')} <SignInLink />
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
      <h2 id="pull-requests">{t('Pull requests')}</h2>
      <nav class="tabs" aria-label={t('Filter')}>
        {STATUSES.map((known) => (
          <a
            key={known}
            href={`/notifications?status=${known}`}
            aria-current={known === status ? 'page' : undefined}
          >
            {STATUS_TEXTS[known]}
          </a>
        ))}
      </nav>
      <Show of={list}>
        {({ threads, total, limit }) => (
          <>
            {threads.length === 0 && <p class="empty">{t('No notifications.')}</p>}
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
          {t('Mark all as read')}
        </button>
      )}
      <p role="status">{isRead && t('All notifications are marked as read.')}</p>
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
  const isOpen = unread || pinned
  return (
    <li>
      {subject && (
        <>
          <span class={`tag ${subject.state}`}>{STATE_TEXTS[subject.state] ?? subject.state}</span>{' '}
          <a href={ownHref(subject.latestCommentHtmlUrl || subject.htmlUrl)}>{title}</a>
        </>
      )}{' '}
      {unread && <span class="tag">{t('unread @state')}</span>}
      {pinned && <span class="tag">{t('pinned @notification')}</span>}
      <p class="facts">
        {repository?.fullName}, {REASONS[reason] ?? reason}, <Time at={thread.updatedAt} />
      </p>
      {mark.failure && <FailureNote failure={mark.failure} />}
      <p class="row">
        <button
          type="button"
          aria-label={
            isOpen ? t('Mark as read: {title}', { title }) : t('Mark as unread: {title}', { title })
          }
          disabled={mark.isRunning}
          onClick={() => mark.run(isOpen ? 'read' : 'unread')}
        >
          {isOpen ? t('Mark as read') : t('Mark as unread')}
        </button>
        {!pinned && (
          <button
            type="button"
            aria-label={t('Pin: {title}', { title })}
            disabled={mark.isRunning}
            onClick={() => mark.run('pinned')}
          >
            {t('Pin')}
          </button>
        )}
      </p>
    </li>
  )
}

/** The notifications of memos that the user has not dealt with. */
function MemoNotifications({ user }: { user: string }): VNode {
  const { of } = useApi()
  const list = useLoad(
    (signal) =>
      of(UserService).listUserNotifications(
        { parent: user, filter: 'status == "UNREAD"' },
        { signal },
      ),
    [user],
  )
  return (
    <section aria-labelledby="memo-notifications">
      <h2 id="memo-notifications">{t('Memos')}</h2>
      <Show of={list}>
        {({ notifications }) => (
          <>
            {notifications.length === 0 && <p class="empty">{t('No notifications of memos.')}</p>}
            <ul class="list">
              {notifications.map((notification) => (
                <Item
                  key={notification.name}
                  notification={notification}
                  onArchived={list.reload}
                />
              ))}
            </ul>
          </>
        )}
      </Show>
    </section>
  )
}

function Item(props: { notification: UserNotification; onArchived: () => void }): VNode {
  const { notification, onArchived } = props
  const { of } = useApi()
  const archive = useAction(async () => {
    const { name } = notification
    await of(UserService).updateUserNotification({
      notification: { name, status: UserNotification_Status.ARCHIVED },
      updateMask: { paths: ['status'] },
    })
    onArchived()
  })
  const { payload } = notification
  const text = payload.value?.memoSnippet ?? t('The memo is not there any more.')
  const sender = notification.senderUser?.username ?? t('Somebody')
  return (
    <li>
      {payload.case === 'memoComment'
        ? t('{sender} commented: {text}', { sender, text })
        : t('{sender} mentioned you: {text}', { sender, text })}
      <p class="facts">
        <Time at={notification.createTime} />
      </p>
      {archive.failure && <FailureNote failure={archive.failure} />}
      <button
        type="button"
        aria-label={t('Archive: {text}', { text })}
        disabled={archive.isRunning}
        onClick={() => archive.run()}
      >
        {t('Archive')}
      </button>
    </li>
  )
}
