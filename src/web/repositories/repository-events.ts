import { useEffect, useRef, useState } from 'preact/hooks'
import type { RepositoryEvent } from '#gen/branchline/v1/repository_event_pb.ts'
import {
  RepositoryEventService,
  type WatchRepositoryResponse,
} from '#gen/branchline/v1/repository_event_service_pb.ts'
import { useApi } from '../api/client.ts'
import { calm, followStream } from '../api/streams.ts'

/** State of the event stream of a repository. */
export interface RepositoryEvents {
  /** Grows with each call of `onEvent`. */
  readonly version: number
  /** Grows when a status of the head was created, and after an interruption. */
  readonly checks: number
  /** Whether the connection ended, and another attempt has failed. */
  readonly isCut: boolean
}

/** Which events of a repository matter. */
interface Watched {
  readonly owner: string
  readonly repo: string
  /** Number of the issue or pull request. Moved refs matter to every one. */
  readonly index: bigint
  /** Id of the commit whose statuses matter; empty for an issue. */
  readonly head: string
  /** The position in the events when the page was read. */
  readonly cursor: string
}

/**
 * Follows the events of a repository while the component is there.
 *
 * @param onEvent called after an event of the conversation or a status, and after an interruption:
 *   what the page has read meanwhile may have failed.
 */
export function useRepositoryEvents(watched: Watched, onEvent: () => void): RepositoryEvents {
  const { owner, repo, index: number, head, cursor } = watched
  const api = useApi()
  const [versions, setVersions] = useState({ version: 0, checks: 0 })
  const [isCut, setCut] = useState(false)
  const latest = useRef({ head, cursor, onEvent })
  latest.current = { head, cursor, onEvent }
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    const changed = calm(() => {
      latest.current.onEvent()
      setVersions(({ version, checks }) => ({ version: version + 1, checks: checks + 1 }))
    }, signal)
    const checked = calm(() => {
      latest.current.onEvent()
      setVersions(({ version, checks }) => ({ version, checks: checks + 1 }))
    }, signal)
    const notify = (event: RepositoryEvent | undefined) => {
      const subject = event?.subject
      if (subject?.case === 'commitStatus') {
        if (subject.value.sha === latest.current.head) checked()
      } else if (!isOfConversation(subject) || subject.value.number === number) changed()
    }
    const stream = {
      cursor: latest.current.cursor,
      open: (cursor: string, attempt: AbortSignal) =>
        api
          .of(RepositoryEventService)
          .watchRepository({ owner, repo, cursor }, { signal: attempt }),
      onResponse({ event }: WatchRepositoryResponse) {
        if (event?.subject.case !== undefined) notify(event)
      },
      onResume: () => notify(undefined),
      setCut,
    }
    void followStream(api, stream, signal)
    return () => ended.abort()
  }, [api, owner, repo, number])
  return { ...versions, isCut }
}

type Subject = RepositoryEvent['subject']

function isOfConversation(
  subject: Subject | undefined,
): subject is Extract<Subject, { case: 'issue' | 'pullRequest' }> {
  return subject?.case === 'issue' || subject?.case === 'pullRequest'
}
