import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import type { Message } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { decompress, mediaTypeOf } from '../../exchange/compression.ts'
import type { Compression } from '../../exchange/connect-internals.ts'
import { clientGone, contentTooLarge, httpError, unsupportedCoding } from '../../exchange/errors.ts'
import { requestCoding } from '../../exchange/negotiate.ts'
import { hasContent, type NodeServerRequest, readContent } from '../../exchange/node.ts'
import type { CallSettings } from '../../exchange/settings.ts'
import { type RequestReader, readRequest } from './request-reader.ts'

const EMPTY = new Uint8Array()

/** Throws 415 unless a Content-Type is missing or JSON in UTF-8. */
export function checkJson(contentType: string | undefined): void {
  if (contentType === undefined || contentType === 'application/json') return
  const charset = /;\s*charset\s*=\s*("?)([^\s;"]*)\1\s*(?:;|$)/i.exec(contentType)?.[2]
  if (
    /^application\/(?:[^/\s]+\+)?json$/.test(mediaTypeOf(contentType)) &&
    (charset === undefined || /^utf-?8$/i.test(charset))
  )
    return
  throw httpError(415, Code.InvalidArgument, `unsupported media type: ${contentType}`, {
    Accept: 'application/json, application/*+json',
  })
}

/**
 * Reads and decompresses the content of a request, which is empty if there is none. Rejects with
 * 413, 415, or 400 for content that does not decompress.
 */
export async function requestContent(
  { readBody }: RequestReader,
  { readMaxBytes, compressions }: CallSettings,
  request: NodeServerRequest,
): Promise<Uint8Array> {
  if (!hasContent(request)) return EMPTY
  const { headers } = request
  const isJson = readBody !== undefined
  // Content of unknown length may be empty. Empty content needs no type.
  const announced = headers['content-length'] !== undefined
  if (announced && isJson) checkJson(headers['content-type'])
  const coding = requestCoding(headers['content-encoding'], compressions)
  const content = await readContent(request, readMaxBytes)
  if (content.length === 0) return EMPTY
  if (!announced && isJson) checkJson(headers['content-type'])
  return coding === undefined ? content : decompress(coding, content, readMaxBytes, contentTooLarge)
}

function malformed(coding: string): ConnectError {
  return new ConnectError(`malformed ${coding} content`, Code.InvalidArgument)
}

/**
 * Yields the messages of an upload: one for each chunk of content as it arrives, at most 64 KiB, or
 * one for empty content. The first message has the values of path and query. The content may have
 * any size, because `readMaxBytes` limits single messages.
 */
export async function* uploadMessages(
  reader: RequestReader,
  { compressions }: CallSettings,
  request: NodeServerRequest,
  values: readonly string[],
): AsyncGenerator<Message> {
  const { 'content-type': contentType = '', 'content-encoding': encoding } = request.headers
  const coding = requestCoding(encoding, compressions)
  const first = { values, target: request.url ?? '', contentType }
  let isFirst = true
  for await (const content of chunksOf(request, coding)) {
    yield isFirst
      ? readRequest(reader, { ...first, content })
      : readRequest(
          { ...reader, pathSetters: [] },
          { values: [], target: '', contentType, content },
        )
    isFirst = false
  }
  if (isFirst) yield readRequest(reader, { ...first, content: EMPTY })
}

/** Yields the chunks of content. The request stays open when the iteration ends early. */
async function* chunksOf(
  request: NodeServerRequest,
  coding: Compression | undefined,
): AsyncGenerator<Uint8Array> {
  if (!hasContent(request)) return
  const source = coding === undefined ? request : decoderFor(coding.name, request)
  try {
    yield* source.iterator({ destroyOnReturn: false })
  } catch {
    const isGone = request.destroyed && !request.readableEnded
    throw coding === undefined || isGone ? clientGone() : malformed(coding.name)
  }
}

function decoderFor(coding: string, request: NodeServerRequest): Readable {
  const decoder =
    coding === 'gzip' ? createGunzip() : coding === 'br' ? createBrotliDecompress() : undefined
  // Connect's `Compression` has no streams, so only these two codings can be streamed.
  if (decoder === undefined) throw unsupportedCoding(coding, ['gzip', 'br'])
  // The iterator reports errors while it runs. Later errors without a listener would end the
  // process.
  decoder.on('error', () => {})
  request.once('close', () => {
    if (!request.readableEnded) decoder.destroy(clientGone())
  })
  return request.pipe(decoder)
}
