import type { DeliveriesApp } from './deliveries/payloads.ts'

/** The sum of what the parts of the domain work with. The server builds it once. */
export interface App extends DeliveriesApp {}
