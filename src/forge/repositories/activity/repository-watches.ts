import { networkOf } from '../../accounts/credentials/guess-limits.ts'
import { reauthenticate } from '../../accounts/credentials/reauthentication.ts'
import type { Caller } from '../../core/access.ts'
import {
  createEventWatches,
  type EventWatch,
  type StartTimer,
  type StreamHolder,
} from '../../core/event-watches.ts'
import { type OpenRepository, openRepositoryById } from '../access/permissions.ts'
import type { ReposApp } from '../ports.ts'
import {
  findNewestRepositoryEventId,
  findRepositoriesWithEvents,
} from './repository-events.rows.ts'

/** The number of repository streams that an account may have open. */
const MAX_REPOSITORY_STREAMS = 64

/** The same limit for an anonymous peer. Behind a proxy, all anonymous callers share it. */
export const MAX_STREAMS_PER_PEER = 8

/** Opens watches of repository events. */
interface RepositoryWatches {
  /**
   * Opens a watch, which closes when `until` aborts.
   *
   * @throws TOO_MANY_STREAMS
   */
  open(caller: Caller, repositoryId: number, until: AbortSignal): Promise<EventWatch>
}

/** Creates a registry of repository watches. */
export function createRepositoryWatches(app: ReposApp, startTimer?: StartTimer): RepositoryWatches {
  const watches = createEventWatches(
    app,
    {
      signal: app.signals.repositoryEvents,
      findNewest: () => findNewestRepositoryEventId(app.db),
      findSubjects: async (after) =>
        (await findRepositoriesWithEvents(app.db, after)).map(({ repository_id, newest }) => ({
          subjectId: repository_id,
          newest,
        })),
    },
    startTimer,
  )
  return {
    open: (caller, repositoryId, until) => watches.open(repositoryId, holderOf(caller), until),
  }
}

function holderOf(caller: Caller): StreamHolder {
  return caller.kind === 'user'
    ? { key: caller.user.id, limit: MAX_REPOSITORY_STREAMS, scope: 'account' }
    : { key: networkOf(caller.peer.address), limit: MAX_STREAMS_PER_PEER, scope: 'peer' }
}

/**
 * Returns the caller and the repository of an open stream with their present access.
 *
 * @throws BAD_CREDENTIALS, REPOSITORY_NOT_FOUND
 */
export async function reopenWatched(
  app: ReposApp,
  opened: Caller,
  repositoryId: number,
): Promise<{ caller: Caller; open: OpenRepository }> {
  const caller = opened.kind === 'user' ? await reauthenticate(app, opened) : opened
  return { caller, open: await openRepositoryById(app, caller, repositoryId, 'none') }
}
