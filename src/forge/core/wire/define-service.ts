import type { DescService } from '@bufbuild/protobuf'
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect'
import type { App } from '../../app.ts'

/** A service that the server can register, and whose schema it can publish. */
export interface Service {
  readonly descriptor: DescService
  /** Registers the methods of the service. */
  register(router: ConnectRouter, app: App): void
}

/**
 * Defines a service for the list in `forge/services.ts`. A service that lacks a method does not
 * compile.
 *
 * @param methodsOf creates the methods of the service, once per server.
 */
export function defineService<S extends DescService>(
  descriptor: S,
  methodsOf: (app: App) => ServiceImpl<S>,
): Service {
  return {
    descriptor,
    register: (router, app) => void router.service(descriptor, methodsOf(app)),
  }
}
