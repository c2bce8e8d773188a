import { type ContextKey, createContextKey } from '@connectrpc/connect'
import type { Peer } from '../../forge/core/access.ts'

/** Facts about a call that are known before authentication. */
export interface CallOrigin {
  readonly peer: Peer
  /** The address that the connection comes from: that of the proxy for a peer behind one. */
  readonly connectedFrom: string
  /** The id that the client chose if it is well-formed, otherwise a random one. */
  readonly requestId: string
  /** `connect`, `grpc`, `grpc-web` or `rest`. */
  readonly protocol: string
}

/** The origin of a call. Set on every call. */
export const originKey: ContextKey<CallOrigin> = createContextKey<CallOrigin>(
  {
    peer: { address: 'unknown', loopback: false },
    connectedFrom: 'unknown',
    requestId: 'unknown',
    protocol: 'unknown',
  },
  { description: 'origin' },
)
