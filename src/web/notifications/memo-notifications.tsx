import type { VNode } from 'preact'
import {
  type UserNotification,
  UserNotification_Status,
} from '#gen/branchline/v1/user_notification_pb.ts'
import { UserService } from '#gen/branchline/v1/user_service_pb.ts'
import { useApi } from '../api/client.ts'
import { FailureNote } from '../components/failure-note.tsx'
import { Show, useAction, useLoad } from '../components/load.tsx'
import { Time } from '../components/time.tsx'

/** The notifications of memos that the user has not dealt with. */
export function MemoNotifications({ user }: { user: string }): VNode {
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
      <h2 id="memo-notifications">Memos</h2>
      <Show of={list}>
        {({ notifications }) => (
          <>
            {notifications.length === 0 && <p>No notifications of memos.</p>}
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
  const text = payload.value?.memoSnippet ?? 'The memo is not there any more.'
  const sender = notification.senderUser?.username ?? 'Somebody'
  return (
    <li>
      {sender} {payload.case === 'memoComment' ? 'commented' : 'mentioned you'}: {text}
      <p class="facts">
        <Time at={notification.createTime} />
      </p>
      {archive.failure && <FailureNote failure={archive.failure} />}
      <button
        type="button"
        aria-label={`Archive: ${text}`}
        disabled={archive.isRunning}
        onClick={() => archive.run()}
      >
        Archive
      </button>
    </li>
  )
}
