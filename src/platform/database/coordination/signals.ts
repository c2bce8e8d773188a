import type { Membership } from './ports.ts'

/** A signal of this process. */
interface LocalSignal {
  notify(): void
}

/**
 * Shares the signals of the servers of one database: `notify` wakes the waiters of all servers.
 *
 * A server can be killed between a commit and its message. So all signals are also given every few
 * seconds, and after a time without a session.
 *
 * @param local the signals of this process, by name.
 */
export function shareSignals<Name extends string, Signal extends LocalSignal>(
  session: Membership,
  local: Readonly<Record<Name, Signal>>,
): Record<Name, Signal> {
  const byName = new Map<string, LocalSignal>(Object.entries(local))
  const untold = new Set<string>()
  const tellAll = () => {
    session.tell(`signal ${[...untold].join(' ')}`)
    untold.clear()
  }
  const notifyAll = () => {
    for (const signal of byName.values()) signal.notify()
  }
  session.onBeat(notifyAll)
  session.onRenewal(notifyAll)
  session.onMessage((message) => {
    const [kind, ...names] = message.split(' ')
    if (kind === 'signal') for (const name of names) byName.get(name)?.notify()
  })
  const shared = Object.entries<Signal>(local).map(([name, signal]) => {
    const notify = () => {
      signal.notify()
      // Commits of one turn of the event loop share a message, whatever their signals.
      if (untold.size === 0) setImmediate(tellAll)
      untold.add(name)
    }
    return [name, Object.create(signal, { notify: { value: notify } })]
  })
  // The names and the types of the signals are those of `local`.
  return Object.fromEntries(shared) as Record<Name, Signal>
}
