import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from './core.ts'
import { DomainError } from './errors.ts'
import { createSignal, type Signal } from './signal.ts'

/** Proxies close connections that are silent for 30 seconds or more. */
export const HEARTBEAT_MS = 25_000

/** Starts a timer and returns a function that stops it. Tests replace it. */
export type StartTimer = (run: () => void, delayMs: number) => () => void

/** Lets one stream wait for events about one subject. */
export interface EventWatch {
  /** Whether the stream has been silent for `HEARTBEAT_MS`. */
  readonly isSilent: boolean
  /** Records that the stream sent something. */
  sent(): void
  /**
   * Resolves once the subject may have events newer than the previous call, the stream is silent,
   * or the watch is closed.
   */
  next(): Promise<void>
  /** Stops waiting and releases the stream's slot. */
  close(): void
}

/** The account or peer that a stream counts towards. */
export interface StreamHolder {
  readonly key: string | number
  /** Maximum number of open streams. */
  readonly limit: number
  /** The kind of holder, as in the metadata of `TOO_MANY_STREAMS`. */
  readonly scope: 'account' | 'peer'
}

/** The watches of all accounts, or of all repositories. */
export interface EventWatches {
  /** Opens a watch, which closes when `until` aborts. */
  open(subjectId: number, holder: StreamHolder, until: AbortSignal): Promise<EventWatch>
}

/** Reads events of one kind. */
export interface EventSource {
  /** Notified after a commit that recorded events. */
  readonly signal: Signal
  /** Returns the id of the latest event of all subjects; 0 if there is none. */
  findNewest(): Promise<number>
  /**
   * Returns the subjects that have events with ids greater than `after`, each with its latest id.
   */
  findSubjects(
    after: number,
  ): Promise<readonly { readonly subjectId: number; readonly newest: number }[]>
}

/** A subject with open watches. */
interface Watched {
  readonly signal: Signal
  watches: number
}

/** Reads new events and notifies their subjects, while watches are open. */
interface Dispatcher {
  /** Resolves once no new event can be missed. */
  readonly ready: Promise<void>
  stop(): void
}

/**
 * Creates the watches of all subjects of one kind.
 *
 * Each commit that records events triggers one query for the affected subjects and wakes only their
 * streams. The cost of a commit does not depend on the number of other watches.
 */
export function createEventWatches(
  app: Core,
  source: EventSource,
  startTimer: StartTimer = startNodeTimer,
): EventWatches {
  const subjects = new Map<number, Watched>()
  const held = new Map<StreamHolder['key'], number>()
  let dispatcher: Dispatcher | undefined

  const enter = (subjectId: number, { key, limit, scope }: StreamHolder) => {
    const streams = held.get(key) ?? 0
    if (streams >= limit) throw new DomainError('TOO_MANY_STREAMS', { limit: String(limit), scope })
    held.set(key, streams + 1)
    const subject = subjects.get(subjectId) ?? { signal: createSignal(), watches: 0 }
    subject.watches += 1
    subjects.set(subjectId, subject)
    dispatcher ??= startDispatcher(app, source, (id) => subjects.get(id)?.signal.notify())
    return { subject, ready: dispatcher.ready }
  }
  const leave = (subjectId: number, subject: Watched, { key }: StreamHolder) => {
    const streams = (held.get(key) ?? 0) - 1
    if (streams > 0) held.set(key, streams)
    else held.delete(key)
    subject.watches -= 1
    if (subject.watches === 0) subjects.delete(subjectId)
    if (subjects.size > 0) return
    dispatcher?.stop()
    dispatcher = undefined
  }

  return {
    async open(subjectId, holder, until) {
      const { subject, ready } = enter(subjectId, holder)
      const watch = startWatch(subject.signal, until, startTimer, () =>
        leave(subjectId, subject, holder),
      )
      await ready
      return watch
    },
  }
}

function startWatch(
  signal: Signal,
  until: AbortSignal,
  startTimer: StartTimer,
  leave: () => void,
): EventWatch {
  let seen = signal.count
  let pause = new AbortController()
  let stopTimer = startTimer(() => pause.abort(), HEARTBEAT_MS)
  let open = true
  const close = () => {
    if (!open) return
    open = false
    until.removeEventListener('abort', close)
    stopTimer()
    pause.abort()
    leave()
  }
  until.addEventListener('abort', close)
  if (until.aborted) close()
  return {
    get isSilent() {
      return pause.signal.aborted
    },
    sent() {
      if (!open) return
      stopTimer()
      pause = new AbortController()
      stopTimer = startTimer(() => pause.abort(), HEARTBEAT_MS)
    },
    async next() {
      await signal.after(seen, pause.signal)
      seen = signal.count
    },
    close,
  }
}

function startDispatcher(
  app: Core,
  source: EventSource,
  notify: (subjectId: number) => void,
): Dispatcher {
  const stopped = new AbortController()
  let isReady = () => {}
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  app.background.run('dispatch events to watches', async () => {
    const { signal } = source
    try {
      let seen = signal.count
      let newest = await source.findNewest()
      isReady()
      for (;;) {
        await signal.after(seen, stopped.signal)
        if (stopped.signal.aborted) return
        seen = signal.count
        for (const subject of await findSubjects(app, source, newest, stopped.signal)) {
          newest = Math.max(newest, subject.newest)
          notify(subject.subjectId)
        }
      }
    } finally {
      isReady()
    }
  })
  return { ready, stop: () => stopped.abort() }
}

/** Delay before a failed read is repeated. Meanwhile the database may be unavailable. */
const RETRY_DELAY_MS = 1_000

/** Reads the subjects of new events until this succeeds or the dispatcher stops. */
async function findSubjects(
  { log }: Core,
  source: EventSource,
  after: number,
  until: AbortSignal,
): ReturnType<EventSource['findSubjects']> {
  while (!until.aborted) {
    try {
      return await source.findSubjects(after)
    } catch (err) {
      log.warn({ err }, 'new events cannot be read')
      await sleep(RETRY_DELAY_MS, undefined, { signal: until }).catch(() => {})
    }
  }
  return []
}

const startNodeTimer: StartTimer = (run, delayMs) => {
  const timer = setTimeout(run, delayMs)
  return () => clearTimeout(timer)
}
