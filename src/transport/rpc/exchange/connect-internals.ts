/**
 * Everything this module takes from Connect that Connect does not promise to keep. Exports below
 * the marker in `@connectrpc/connect/protocol` and all of `protocol-connect` change in minor
 * releases (2.2.0 did), so the package is pinned to an exact version, this is the only file that
 * imports them, and a test asserts that they are there.
 */
export type { MethodImplSpec } from '@connectrpc/connect'
export { createMethodImplSpec, createServiceImplSpec } from '@connectrpc/connect'
export type { Compression, UniversalHandlerOptions } from '@connectrpc/connect/protocol'
export {
  getAbortSignalReason,
  pipe,
  transformDecompressEnvelope,
  transformInvokeImplementation,
  transformJoinEnvelopes,
  transformSplitEnvelope,
  validateReadWriteMaxBytes,
} from '@connectrpc/connect/protocol'
export { codeToHttpStatus } from '@connectrpc/connect/protocol-connect'
