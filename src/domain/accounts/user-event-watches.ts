import { findAccountsWithEvents, findNewestEventId } from '../../storage/user-events.ts'
import type { App } from '../app.ts'
import { DomainError } from '../errors.ts'
import { createSignal, type Signal } from '../signal.ts'

/** Streams that an account may have open: a dozen browser tabs, and some programs. */
export const MAX_STREAMS_PER_ACCOUNT = 16

/** Proxies cut connections that are silent for 30 seconds or more. */
export const HEARTBEAT_MS = 25_000

/** Starts a timer and returns what stops it, so that tests can let time pass. */
export type StartTimer = (run: () => void, delayMs: number) => () => void

/** Waits for events of one account on behalf of one stream. */
export interface UserEventWatch {
  /** Whether the stream has been silent for `HEARTBEAT_MS`. */
  readonly isSilent: boolean
  /** Says that the stream sent something. */
  sent(): void
  /** Resolves once the account may have events that came after the last call began, the stream is silent, or it ends. */
  next(): Promise<void>
  /** Gives the place of the stream free. */
  close(): void
}

export interface UserEventWatches {
  /**
   * Opens a watch. It closes itself when `until` aborts.
   *
   * @throws TOO_MANY_STREAMS
   */
  open(userId: number, until: AbortSignal): Promise<UserEventWatch>
}

/** An account with open watches. */
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
 * The watches of all accounts.
 *
 * Every commit that makes events leads to one query for the accounts that they belong to, and wakes the streams of
 * these, so that a commit costs the same however many others watch.
 */
export function createUserEventWatches(app: App, startTimer: StartTimer = startNodeTimer): UserEventWatches {
  const accounts = new Map<number, Watched>()
  let lookout: Lookout | undefined

  const enter = (userId: number) => {
    const account = accounts.get(userId) ?? { signal: createSignal(), watches: 0 }
    if (account.watches >= MAX_STREAMS_PER_ACCOUNT) {
      throw new DomainError('TOO_MANY_STREAMS', { limit: String(MAX_STREAMS_PER_ACCOUNT) })
    }
    account.watches += 1
    accounts.set(userId, account)
    lookout ??= startLookout(app, (id) => accounts.get(id)?.signal.notify())
    return { account, ready: lookout.ready }
  }
  const leave = (userId: number, account: Watched) => {
    account.watches -= 1
    if (account.watches === 0) accounts.delete(userId)
    if (accounts.size > 0) return
    lookout?.stop()
    lookout = undefined
  }

  return {
    async open(userId, until) {
      const { account, ready } = enter(userId)
      const watch = startWatch(account.signal, until, startTimer, () => leave(userId, account))
      await ready
      return watch
    },
  }
}

function startWatch(signal: Signal, until: AbortSignal, startTimer: StartTimer, leave: () => void): UserEventWatch {
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

function startLookout(app: App, tell: (userId: number) => void): Lookout {
  const stopped = new AbortController()
  let isReady = () => {}
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })
  app.background.run('look out for events to watch', async () => {
    const { events } = app.signals
    try {
      let seen = events.count
      let newest = await findNewestEventId(app.db)
      isReady()
      for (;;) {
        await events.after(seen, stopped.signal)
        if (stopped.signal.aborted) return
        seen = events.count
        for (const account of await findAccountsWithEvents(app.db, newest)) {
          newest = Math.max(newest, account.newest)
          tell(account.user_id)
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
