import type { Tx } from '../../../platform/database/schema.ts'
import { compileGlob, type Matcher } from '../../core/globs.ts'
import { listListeningHooks } from '../registration/webhooks.rows.ts'
import type { ListeningHook } from '../schema.ts'
import { MAX_WAITING_PER_WEBHOOK, queueMessage } from './waiting-deliveries.ts'
import { insertMessage } from './webhook-deliveries.rows.ts'
import { type HookEventType, receives } from './webhook-events.ts'

/** Part of the branch filters of webhooks that ask for pushes to the refs of merge queues. */
const QUEUE_FILTER = 'queue/'

/**
 * An event of a repository as a message stores it: facts that never change. The resources
 * themselves are read at each attempt, so that a receiver never gets what was hidden meanwhile, and
 * the transaction stays short.
 */
export interface HookFacts {
  readonly repository: number
  /** The number of the account that caused the event; null for the server. */
  readonly actor: number | null
}

/** An event of a repository. */
export interface HookEvent {
  readonly type: HookEventType
  readonly facts: HookFacts
  /** The branch that branch filters are applied to; undefined if they do not apply. */
  readonly branch?: string | undefined
  /** Whether the event is for webhooks only whose branch filter names the refs of merge queues. */
  readonly isOfQueue?: boolean
}

/**
 * Queues events of a repository for its webhooks, in the transaction of the change. A repository
 * without webhooks costs one query.
 *
 * The caller notifies `app.signals.deliveries` after the commit.
 *
 * @param eventsOf returns the events, in order. Called when there are webhooks.
 * @param timeMs the time of the events.
 */
export async function queueHookEvents(
  tx: Tx,
  repositoryId: number,
  eventsOf: () => readonly HookEvent[],
  timeMs: number,
): Promise<void> {
  const hooks = await listListeningHooks(tx, repositoryId)
  if (hooks.length === 0) return
  const listeners = hooks.map(listenerOf)
  for (const event of eventsOf()) {
    const ids = listeners.flatMap((accept) => accept(event) ?? [])
    if (ids.length === 0) continue
    const message = await insertMessage(tx, {
      event_type: event.type,
      body: JSON.stringify(event.facts),
      create_time: timeMs,
    })
    await queueMessage(tx, ids, message, timeMs)
  }
}

/** Returns a function that returns the number of a webhook if the webhook receives an event. */
function listenerOf(hook: ListeningHook): (event: HookEvent) => number | undefined {
  const names = JSON.parse(hook.events) as string[]
  let waiting = hook.waiting_count
  let matches: Matcher | undefined
  return ({ type, branch, isOfQueue }) => {
    if (isOfQueue && !hook.branch_filter.includes(QUEUE_FILTER)) return undefined
    if (!receives(names, type) || waiting >= MAX_WAITING_PER_WEBHOOK) return undefined
    if (branch !== undefined) {
      matches ??= branchMatcher(hook.branch_filter)
      if (!matches(branch)) return undefined
    }
    waiting += 1
    return hook.id
  }
}

/** Returns the matcher of a branch filter, in which `*` matches slashes too. */
function branchMatcher(filter: string): Matcher {
  return filter === '' || filter === '*' ? () => true : (compileGlob(filter, '') ?? (() => false))
}
