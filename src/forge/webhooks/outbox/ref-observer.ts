import { HEADS } from '../../../platform/git/core/ref-names.ts'
import type { MovedRef } from '../../repositories/ports.ts'
import { recordObserver } from '../../repositories/refs/ref-index.ts'
import { type HookEvent, type HookFacts, queueHookEvents } from './webhook-queue.ts'

/** The number of refs of one push that webhooks are told of, each by up to two events. */
const MAX_REFS = 50

/** The facts of the events `push`, `create` and `delete`. */
export interface RefFacts extends HookFacts {
  /** The full name. */
  readonly ref: string
  /** The object before the update; null if the ref was created. */
  readonly before: string | null
  /** The object after the update; null if the ref was deleted. */
  readonly after: string | null
}

/** Queues events about refs in the transactions that record how the refs moved. */
export const hookRefObserver = recordObserver(async (app, { id }) => {
  let told = 0
  return {
    async prepare({ moved }) {
      const refs = moved.slice(0, MAX_REFS - told)
      told += refs.length
      return {
        async record(tx) {
          if (refs.length === 0) return
          const eventsOf = () => refs.flatMap((ref) => refEvents(id, ref))
          await queueHookEvents(tx, id, eventsOf, app.clock.now())
        },
        // The record wakes the worker.
        afterCommit() {},
      }
    },
    finish() {},
  }
})

/** Returns the events of a ref in the order of compatible systems. */
function refEvents(repository: number, { ref, oldId, newId, pusherId }: MovedRef): HookEvent[] {
  const branch = ref.startsWith(HEADS) ? ref.slice(HEADS.length) : undefined
  const facts: RefFacts = {
    repository,
    actor: pusherId ?? null,
    ref,
    before: oldId ?? null,
    after: newId ?? null,
  }
  const push: HookEvent = { type: 'push', facts, branch }
  if (newId === undefined) return [{ ...push, type: 'delete' }]
  return oldId === undefined ? [{ ...push, type: 'create' }, push] : [push]
}
