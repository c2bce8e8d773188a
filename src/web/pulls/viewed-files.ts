import { createContext } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ViewedFileService } from '#gen/branchline/v1/viewed_file_service_pb.ts'
import { useApi } from '../api/client.ts'
import { type Failure, failureOf } from '../api/failure.ts'
import { useLoad } from '../components/load.tsx'
import type { PullName } from './reviews.ts'

/** Which files of a diff the user has viewed. */
export interface ViewedFiles {
  /** The last failure to store a mark. */
  readonly failure: Failure | undefined
  /** Returns whether the user has viewed a file, or a former version of the file. */
  stateOf(path: string): '' | 'VIEWED' | 'CHANGED'
  mark(path: string, isViewed: boolean): void
}

/** The marks of a diff; undefined for diffs without marks. */
export const ViewedContext = createContext<ViewedFiles | undefined>(undefined)

/**
 * Loads the marks of the user on a pull request, and changes them; undefined until they are there, and
 * for visitors.
 *
 * @param head the commit that the page shows.
 */
export function useViewedFiles(name: PullName, head: string): ViewedFiles | undefined {
  const { of, session } = useApi()
  const service = of(ViewedFileService)
  const isKnown = session.user !== undefined
  const loaded = useLoad(
    async (signal) => {
      if (!isKnown) return undefined
      const { files } = await service.listViewedFiles(name, { signal })
      return new Map(files.map(({ path, state }) => [path, state]))
    },
    [head, isKnown],
  )
  const [changed, setChanged] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [failure, setFailure] = useState<Failure>()
  // What was loaded later contains the changes.
  useEffect(() => setChanged(new Map()), [loaded.value])
  const { value } = loaded
  if (!value) return undefined
  return {
    failure,
    stateOf(path) {
      const isViewed = changed.get(path)
      if (isViewed !== undefined) return isViewed ? 'VIEWED' : ''
      const state = value.get(path)
      return state === 'VIEWED' || state === 'CHANGED' ? state : ''
    },
    mark(path, isViewed) {
      const request = { ...name, paths: [path] }
      // The mark is for the version that the user has seen, also if another one has arrived since.
      const change = isViewed
        ? service.markFilesViewed({ ...request, commitId: head })
        : service.unmarkFilesViewed(request)
      setFailure(undefined)
      setChanged((before) => new Map(before).set(path, isViewed))
      change.catch((error: unknown) => {
        setFailure(failureOf(error))
        loaded.reload()
      })
    },
  }
}
