import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import type { Message } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { clientGone } from '../../exchange/cancellation.ts'
import type { Compression } from '../../exchange/connect-internals.ts'
import { checkJson, requestCoding } from '../../exchange/negotiate.ts'
import type { NodeServerRequest } from '../../exchange/node.ts'
import { hasContent, readContent } from '../../exchange/node.ts'
import type { Endpoint } from '../endpoint.ts'
import { buildRequest } from '../endpoint.ts'
import { contentTooLarge, unsupportedCoding } from '../errors.ts'

const EMPTY = new Uint8Array()

/**
 * The content that the body rule of an endpoint asks for, without its coding; empty if there is
 * none. Rejects with 413, 415, or 400 for content that does not decompress.
 */
export async function requestContent(
  endpoint: Endpoint,
  request: NodeServerRequest,
): Promise<Uint8Array> {
  if (!hasContent(request)) return EMPTY
  const { readMaxBytes, compressions } = endpoint.settings
  const { headers } = request
  const isJson = endpoint.readBody !== undefined
  // Content of unknown length may turn out to be none, which has no type.
  const announced = headers['content-length'] !== undefined
  if (announced && isJson) checkJson(headers['content-type'])
  const coding = requestCoding(headers['content-encoding'], compressions)
  const content = await readContent(request, readMaxBytes)
  if (content.length === 0) return EMPTY
  if (!announced && isJson) checkJson(headers['content-type'])
  return coding === undefined ? content : decompress(coding, content, readMaxBytes)
}

async function decompress(
  coding: Compression,
  content: Uint8Array,
  maxBytes: number,
): Promise<Uint8Array> {
  try {
    return await coding.decompress(content, maxBytes)
  } catch (error) {
    // Connect's codings say so for a result over the limit; every other failure is the fault of the
    // data.
    if (error instanceof ConnectError && error.code === Code.ResourceExhausted)
      throw contentTooLarge(maxBytes)
    throw malformed(coding.name)
  }
}

function malformed(coding: string): ConnectError {
  return new ConnectError(`malformed ${coding} content`, Code.InvalidArgument)
}

/**
 * The messages of an upload: one for each chunk of the content as it arrives, at most 64 KiB, and
 * one for empty content. Path and query are set on the first. The whole may be of any size:
 * `readMaxBytes` limits messages, not streams.
 */
export async function* uploadMessages(
  endpoint: Endpoint,
  request: NodeServerRequest,
  values: readonly string[],
): AsyncGenerator<Message> {
  const { 'content-type': contentType = '', 'content-encoding': encoding } = request.headers
  const coding = requestCoding(encoding, endpoint.settings.compressions)
  let parts = { values, target: request.url ?? '' }
  let compile = endpoint
  for await (const content of chunksOf(request, coding)) {
    yield buildRequest(compile, { ...parts, content, contentType })
    compile = { ...endpoint, pathSetters: [] }
    parts = { values: [], target: '' }
  }
  if (compile === endpoint) yield buildRequest(endpoint, { ...parts, content: EMPTY, contentType })
}

/** Ending the iteration early leaves the request open, so that an answer can still be sent. */
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
  // Connect's `Compression` has no streams; those of other codings are not known here.
  if (decoder === undefined) throw unsupportedCoding(coding, ['gzip', 'br'])
  // Whoever reads is told by the iterator; after that nobody is, and an error without a listener
  // ends the process.
  decoder.on('error', () => {})
  request.once('close', () => {
    if (!request.readableEnded) decoder.destroy(clientGone())
  })
  return request.pipe(decoder)
}
