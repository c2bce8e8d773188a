import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { Code, ConnectError } from '@connectrpc/connect'
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node'
import type { Compression } from './connect-internals.ts'

/** The content codings that are supported by default. */
export const defaultCompressions: readonly Compression[] = [compressionBrotli, compressionGzip]

/**
 * Zlib's default, 11, is for files that are compressed once. It takes a hundred times as long and
 * saves another 5 %.
 */
const BROTLI_QUALITY = 4

const brotli = promisify(brotliCompress)

/** Compresses response content. Replaces Connect's brotli, which uses the default quality. */
export async function compress(compression: Compression, bytes: Uint8Array): Promise<Uint8Array> {
  if (compression !== compressionBrotli) return compression.compress(bytes)
  return brotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
}

/** Media types whose content is compressed already. */
const compressedTypes = new Set([
  'application/gzip',
  'application/java-archive',
  'application/vnd.rar',
  'application/x-7z-compressed',
  'application/x-bzip2',
  'application/x-gzip',
  'application/x-xz',
  'application/zip',
  'application/zstd',
  'font/woff',
  'font/woff2',
])

/** Returns whether compression makes content of a media type smaller. */
export function isCompressible(contentType: string): boolean {
  const type = mediaTypeOf(contentType)
  if (compressedTypes.has(type)) return false
  return type === 'image/svg+xml' || !/^(?:audio|image|video)\//.test(type)
}

/** Returns the media type of a Content-Type in lower case, without parameters. */
export function mediaTypeOf(contentType: string): string {
  const semicolon = contentType.indexOf(';')
  return (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
}

/**
 * Decompresses content. Rejects with `tooLarge` for a result over the limit, and with
 * InvalidArgument for malformed content.
 */
export async function decompress(
  coding: Compression,
  content: Uint8Array,
  maxBytes: number,
  tooLarge: (maxBytes: number) => ConnectError,
): Promise<Uint8Array> {
  try {
    return await coding.decompress(content, maxBytes)
  } catch (error) {
    // The codings of Connect throw this for a result over the limit. Other errors mean bad data.
    if (error instanceof ConnectError && error.code === Code.ResourceExhausted)
      throw tooLarge(maxBytes)
    throw new ConnectError(`malformed ${coding.name} content`, Code.InvalidArgument)
  }
}
