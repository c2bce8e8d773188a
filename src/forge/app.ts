import type { DeliveriesApp } from './deliveries/ports.ts'

/** The sum of the ports of the forge. The server creates it once. */
export interface App extends DeliveriesApp {}
