import type { Interceptor } from '@connectrpc/connect'
import { defaultCompressions } from './compression.ts'
import { type Compression, validateReadWriteMaxBytes } from './connect-internals.ts'

/** The settings of the calls of one service, with all defaults filled in. */
export interface CallSettings {
  readonly interceptors: readonly Interceptor[]
  readonly readMaxBytes: number
  readonly writeMaxBytes: number
  readonly compressMinBytes: number
  /** The most preferred first. */
  readonly compressions: readonly Compression[]
  readonly maxTimeoutMs: number
}

/** The settings that a server or a service may choose. They mean the same as in Connect's adapter. */
export interface CallOptions {
  /** Interceptors of every call, the outermost first. */
  interceptors?: Interceptor[]
  /** Largest request content, before and after decompression. Default 4 GiB, as in Connect. */
  readMaxBytes?: number
  /** Largest response content, or largest message of a stream. Default 4 GiB, as in Connect. */
  writeMaxBytes?: number
  /** Smallest content that is compressed. Default 1 KiB, as in Connect. */
  compressMinBytes?: number
  /** Supported content codings. Default brotli and gzip. */
  acceptCompression?: Compression[]
  /** Longest timeout that a client may set. Default unlimited. */
  maxTimeoutMs?: number
}

/** Fills in the defaults. Throws for limits out of range. */
export function callSettings(options: CallOptions): CallSettings {
  const { readMaxBytes, writeMaxBytes, compressMinBytes } = options
  return {
    interceptors: options.interceptors ?? [],
    ...validateReadWriteMaxBytes(readMaxBytes, writeMaxBytes, compressMinBytes),
    compressions: byPreference(options.acceptCompression ?? defaultCompressions),
    maxTimeoutMs: options.maxTimeoutMs ?? Number.MAX_SAFE_INTEGER,
  }
}

/** Sorts codings by the server's preference: br, gzip, then the others as given. */
export function byPreference(available: readonly Compression[]): readonly Compression[] {
  const rank = ({ name }: Compression) => (name === 'br' ? 0 : name === 'gzip' ? 1 : 2)
  return [...available].sort((a, b) => rank(a) - rank(b))
}
