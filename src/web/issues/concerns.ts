import { useEffect, useState } from 'preact/hooks'
import {
  IssueEventService,
  type WatchIssuesResponse,
} from '#gen/branchline/v1/issue_event_service_pb.ts'
import { useApi } from '../api/client.ts'
import { calm, followStream } from '../api/streams.ts'

/**
 * Follows the changes of issues and pull requests that concern the user while the component is there.
 *
 * @param onChange called after a change, and after an interruption: what the page has read meanwhile
 *   may have failed.
 * @returns whether the connection ended, and another attempt has failed
 */
export function useConcerns(onChange: () => void): boolean {
  const api = useApi()
  const [isCut, setCut] = useState(false)
  useEffect(() => {
    const ended = new AbortController()
    const { signal } = ended
    const changed = calm(onChange, signal)
    // The page has read the list before the stream began. A change in between has no response.
    let isFirst = true
    const stream = {
      open: (cursor: string, attempt: AbortSignal) =>
        api.of(IssueEventService).watchIssues({ cursor }, { signal: attempt }),
      onResponse({ issue }: WatchIssuesResponse) {
        if (issue || isFirst) changed()
        isFirst = false
      },
      onResume: changed,
      setCut,
    }
    void followStream(api, stream, signal)
    return () => ended.abort()
  }, [api, onChange])
  return isCut
}
