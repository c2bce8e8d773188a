import type { ConnectRouter } from '@connectrpc/connect'
import type { App } from './app.ts'
import type { Service } from './core/wire/define-service.ts'
import * as listed from './services.ts'

/** The services that `index.ts` lists, sorted by name. */
export const services: readonly Service[] = Object.values(listed)

/** Registers every service with a router. */
export function registerServices(router: ConnectRouter, app: App): void {
  for (const service of services) service.register(router, app)
}
