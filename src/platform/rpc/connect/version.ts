import type { IncomingHttpHeaders } from 'node:http'
import { Code, ConnectError } from '@connectrpc/connect'

const VERSION = '1'

/** Throws InvalidArgument for an unknown version of the Connect protocol. */
export function checkVersionHeader(headers: IncomingHttpHeaders): void {
  const version = headers['connect-protocol-version']
  if (version === undefined || version === VERSION) return
  throw new ConnectError(
    `connect-protocol-version must be "${VERSION}", not "${version}"`,
    Code.InvalidArgument,
  )
}

/** Throws InvalidArgument unless the query of a GET has the version of the Connect protocol. */
export function checkVersionParameter(query: URLSearchParams): void {
  const version = query.get('connect')
  if (version === null || version === `v${VERSION}`) return
  throw new ConnectError(
    `the parameter connect must be "v${VERSION}", not "${version}"`,
    Code.InvalidArgument,
  )
}
