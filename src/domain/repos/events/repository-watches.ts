import {
  findNewestRepositoryEventId,
  findRepositoriesWithEvents,
} from '../../../storage/repos/repository-events.ts'
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

/**
 * Streams of repositories that an account may have open: all that somebody works on, in some
 * programs.
 */
export const MAX_REPOSITORY_STREAMS = 64

/** The same of a peer without an account. Behind a proxy that is everybody without one. */
export const MAX_STREAMS_PER_PEER = 8

/** The watches of all repositories. */
export interface RepositoryWatches {
  /**
   * Opens a watch. It closes itself when `until` aborts.
   *
   * @throws TOO_MANY_STREAMS
   */
  open(caller: Caller, repositoryId: number, until: AbortSignal): Promise<EventWatch>
}

/** @returns watches of repositories, none of them open. */
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
 * The caller of a stream that has been going on for a while, and the repository, as of now.
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
