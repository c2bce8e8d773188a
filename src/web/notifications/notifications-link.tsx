import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useApi } from '../api/client.ts'

/**
 * The link to the notifications, with the number of unread ones.
 *
 * @param href the address of the page. Each page counts again.
 */
export function NotificationsLink({ href }: { href: string }): VNode {
  const { of } = useApi()
  const [count, setCount] = useState(0n)
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    // Loaded when the page is there, since the page needs no number to show.
    import('#gen/branchline/v1/notification_service_pb.ts')
      .then(({ NotificationService }) =>
        signal.aborted ? undefined : of(NotificationService).getNotificationCount({}, { signal }),
      )
      // Without a number, the link is of use too.
      .then(
        (answer) => answer && setCount(answer.new),
        () => undefined,
      )
    return () => ended.abort()
  }, [href])
  return (
    <a href="/notifications">
      Notifications{count > 0n && <span class="tag">{count.toLocaleString()}</span>}
    </a>
  )
}
