/**
 * The unstable exports of Connect. Exports below the marker in `@connectrpc/connect/protocol` and
 * all of `protocol-connect` may change in minor releases, as 2.2.0 did. The package is therefore
 * pinned to an exact version, only this file imports these exports, and a test asserts that they
 * exist.
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
