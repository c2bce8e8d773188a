import type { Core } from './core.ts'
import { DomainError } from './errors.ts'
import { createSignal, type Signal } from './signal.ts'

/** Proxies cut connections that are silent for 30 seconds or more. */
export const HEARTBEAT_MS = 25_000

/** Starts a timer and returns what stops it, so that tests can let time pass. */
export type StartTimer = (run: () => void, delayMs: number) => () => void

/** Waits for events about one subject on behalf of one stream. */
export interface EventWatch {
  /** Whether the stream has been silent for `HEARTBEAT_MS`. */
  readonly isSilent: boolean
  /** Says that the stream sent something. */
  sent(): void
  /**
   * Resolves once the subject may have events that came after the last call began, the stream is
   * silent, or it ends.
   */
  next(): Promise<void>
  /** Gives the place of the stream free. */
  close(): void
}

/** Whoever streams are counted for. */
export interface StreamHolder {
  readonly key: string | number
  /** Streams that they may have open. */
  readonly limit: number
  /** What they are, as `TOO_MANY_STREAMS` says it. */
  readonly scope: 'account' | 'peer'
}

/** The watches of all subjects of one kind: of accounts, or of repositories. */
export interface EventWatches {
  /**
   * Opens a watch. It closes itself when `until` aborts.
   *
   * @throws TOO_MANY_STREAMS
   */
  open(subjectId: number, holder: StreamHolder, until: AbortSignal): Promise<EventWatch>
}

/** Where events of one kind come from. */
export interface EventSource {
  /** Given after a commit that made events. */
  readonly signal: Signal
  /** Id of the latest event, whatever it is about; 0 when there is none. */
  findNewest(): Promise<number>
  /** The subjects of events with ids above `after`, each with the id of its latest one. */
  findSubjects(
    after: number,
  ): Promise<readonly { readonly subjectId: number; readonly newest: number }[]>
}

/** A subject with open watches. */
interface Watched {
  readonly signal: Signal
  watches: number
}

/** Looks for new events while there is somebody to tell of them. */
interface Lookout {
  /** From then on no event is missed. */
  readonly ready: Promise<void>
  stop(): void
}

/**
 * The watches of all subjects of one kind.
 *
 * Every commit that makes events leads to one query for the subjects that they are about, and wakes
 * the streams of these, so that a commit costs the same however many others watch.
 */
export function createEventWatches(
  app: Core,
  source: EventSource,
  startTimer: StartTimer = startNodeTimer,
): EventWatches {
  const subjects = new Map<number, Watched>()
  const held = new Map<StreamHolder['key'], number>()
  let lookout: Lookout | undefined

  const enter = (subjectId: number, { key, limit, scope }: StreamHolder) => {
    const streams = held.get(key) ?? 0
    if (streams >= limit) throw new DomainError('TOO_MANY_STREAMS', { limit: String(limit), scope })
    held.set(key, streams + 1)
    const subject = subjects.get(subjectId) ?? { signal: createSignal(), watches: 0 }
    subject.watches += 1
    subjects.set(subjectId, subject)
    lookout ??= startLookout(app, source, (id) => subjects.get(id)?.signal.notify())
    return { subject, ready: lookout.ready }
  }
  const leave = (subjectId: number, subject: Watched, { key }: StreamHolder) => {
    const streams = (held.get(key) ?? 0) - 1
    if (streams > 0) held.set(key, streams)
    else held.delete(key)
    subject.watches -= 1
    if (subject.watches === 0) subjects.delete(subjectId)
    if (subjects.size > 0) return
    lookout?.stop()
    lookout = undefined
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

function startLookout(app: Core, source: EventSource, tell: (subjectId: number) => void): Lookout {
  const stopped = new AbortController()
  let isReady = () => {}
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  app.background.run('look out for events to watch', async () => {
    const { signal } = source
    try {
      let seen = signal.count
      let newest = await source.findNewest()
      isReady()
      for (;;) {
        await signal.after(seen, stopped.signal)
        if (stopped.signal.aborted) return
        seen = signal.count
        for (const subject of await source.findSubjects(newest)) {
          newest = Math.max(newest, subject.newest)
          tell(subject.subjectId)
        }
      }
    } finally {
      isReady()
    }
  })
  return { ready, stop: () => stopped.abort() }
}

const startNodeTimer: StartTimer = (run, delayMs) => {
  const timer = setTimeout(run, delayMs)
  return () => clearTimeout(timer)
}
