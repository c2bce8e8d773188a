import { EventEmitter, once } from 'node:events'
import type { ServiceImpl } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Health } from '#gen/health/v1/health_pb.ts'
import { HealthCheckResponse_ServingStatus as ServingStatus } from '#gen/health/v1/health_pb.ts'

/** The name that stands for the server as a whole (doc/health-checking.md of the gRPC project). */
const WHOLE_SERVER = ''

/** How often watches look whether the server is ready, and how long calls share one look. */
const LOOK_EVERY_MS = 1_000

/**
 * Creates the health service of gRPC. All services share one process and one database, so that the
 * server (the empty name) and each service always have the same status.
 *
 * @param serviceNames full names of the services of this server.
 * @param isReady returns whether a server that is set as serving can do its work.
 * @returns the service, which is NOT_SERVING at first, and a function that sets its status. Watches
 *   end with the signal of their call, and so with the server.
 */
export function createHealth(
  serviceNames: readonly string[],
  isReady: () => Promise<boolean> = async () => true,
): {
  service: ServiceImpl<typeof Health>
  setServing(serving: boolean): void
} {
  const names = new Set([WHOLE_SERVER, ...serviceNames])
  // Every watch listens. Node's warning about many listeners would be about many clients.
  const changes = new EventEmitter().setMaxListeners(0)
  let isServing = false
  let watches = 0
  let looks: NodeJS.Timeout | undefined
  let latest: { readonly at: number; readonly isReady: Promise<boolean> } | undefined

  const currentStatus = async () => {
    const at = performance.now()
    if (latest === undefined || at - latest.at >= LOOK_EVERY_MS) latest = { at, isReady: isReady() }
    return isServing && (await latest.isReady) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING
  }
  const enterWatch = () => {
    watches += 1
    looks ??= setInterval(() => changes.emit('change'), LOOK_EVERY_MS).unref()
  }
  const leaveWatch = () => {
    watches -= 1
    if (watches > 0) return
    clearInterval(looks)
    looks = undefined
  }

  const service: ServiceImpl<typeof Health> = {
    async check(request) {
      if (!names.has(request.service)) throw new ConnectError('unknown service', Code.NotFound)
      return { status: await currentStatus() }
    },

    async *watch(request, { signal }) {
      let sent: ServingStatus | undefined
      enterWatch()
      try {
        while (!signal.aborted) {
          // A change while the status is being read wakes the watch.
          const changed = changeOrAbort(changes, signal)
          const isKnown = names.has(request.service)
          const status = isKnown ? await currentStatus() : ServingStatus.SERVICE_UNKNOWN
          if (status !== sent) yield { status }
          sent = status
          await changed
        }
      } finally {
        leaveWatch()
      }
    },

    async list() {
      const status = await currentStatus()
      return { statuses: Object.fromEntries(Array.from(names, (name) => [name, { status }])) }
    },
  }

  return {
    service,
    setServing(serving) {
      isServing = serving
      changes.emit('change')
    },
  }
}

async function changeOrAbort(changes: EventEmitter, signal: AbortSignal): Promise<void> {
  try {
    await once(changes, 'change', { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
