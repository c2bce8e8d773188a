import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node'
import type { Compression } from './connect-internals.ts'

/** The content codings served by default. */
export const defaultCompressions: readonly Compression[] = [compressionBrotli, compressionGzip]

/**
 * Zlib's default, 11, takes a hundred times as long as this for a twentieth less; it is meant for
 * files that are compressed once.
 */
const BROTLI_QUALITY = 4

const brotli = promisify(brotliCompress)

/**
 * Compresses content of an answer. Connect's brotli works at the default quality and is replaced.
 */
export async function compress(compression: Compression, bytes: Uint8Array): Promise<Uint8Array> {
  if (compression !== compressionBrotli) return compression.compress(bytes)
  return brotli(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
}

/** Types that are compressed already: another pass costs time and gains nothing. */
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

/** Whether content of a media type is worth compressing. */
export function isCompressible(contentType: string): boolean {
  const type = mediaTypeOf(contentType)
  if (compressedTypes.has(type)) return false
  return type === 'image/svg+xml' || !/^(?:audio|image|video)\//.test(type)
}

/** The media type of a Content-Type, in lower case, without parameters. */
export function mediaTypeOf(contentType: string): string {
  const semicolon = contentType.indexOf(';')
  return (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
}
