import { EventEmitter, once } from 'node:events'
import type { ServiceImpl } from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Health } from '#gen/health/v1/health_pb.ts'
import { HealthCheckResponse_ServingStatus as ServingStatus } from '#gen/health/v1/health_pb.ts'

/** The name that stands for the server as a whole (doc/health-checking.md of the gRPC project). */
const WHOLE_SERVER = ''

/**
 * Creates the health service of gRPC. All services share one process and one database, so that the
 * server (the empty name) and each service always have the same status.
 *
 * @param serviceNames full names of the services of this server.
 * @returns the service, which is NOT_SERVING at first, and a function that sets its status. Watches
 *   end with the signal of their call, and so with the server.
 */
export function createHealth(serviceNames: readonly string[]): {
  service: ServiceImpl<typeof Health>
  setServing(serving: boolean): void
} {
  const names = new Set([WHOLE_SERVER, ...serviceNames])
  // Every watch listens. Node's warning about many listeners would be about many clients.
  const changes = new EventEmitter().setMaxListeners(0)
  let current: ServingStatus = ServingStatus.NOT_SERVING

  const service: ServiceImpl<typeof Health> = {
    check(request) {
      if (!names.has(request.service)) throw new ConnectError('unknown service', Code.NotFound)
      return { status: current }
    },

    async *watch(request, { signal }) {
      let sent: ServingStatus | undefined
      while (!signal.aborted) {
        const status = names.has(request.service) ? current : ServingStatus.SERVICE_UNKNOWN
        if (status === sent) {
          await changeOrAbort(changes, signal)
        } else {
          sent = status
          yield { status }
        }
      }
    },

    list() {
      return {
        statuses: Object.fromEntries(Array.from(names, (name) => [name, { status: current }])),
      }
    },
  }

  return {
    service,
    setServing(serving) {
      current = serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING
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
