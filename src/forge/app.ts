import type { DeliveriesApp } from './deliveries/payloads.ts'

/** The sum of the ports of the forge. The server creates it once. */
export interface App extends DeliveriesApp {}
