import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { answerTo } from '../../platform/http/listener/answers.ts'
import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { responseCoding, tagMatches } from '../../platform/rpc/index.ts'

/** The content codings in the server's order of preference. */
const CODINGS = [{ name: 'br' }, { name: 'gzip' }] as const

// Longer caching would show the content of an old version after an update. Later requests get 304.
const CACHE_CONTROL = 'public, max-age=300'

// Nearly as small as with the best quality, in a fiftieth of the time.
const BROTLI_QUALITY = 6

/** A compressed form is used if it is smaller than this fraction of the content. */
const WORTHWHILE = 0.9

const gzip = promisify(zlib.gzip)
const brotli = promisify(zlib.brotliCompress)

/** Answers requests for a page. */
export type ConstantPage = (request: HttpRequest, response: HttpResponse) => Promise<void>

/**
 * Creates a page whose content does not change while the server runs. The first request creates and
 * compresses the content. All responses share these bytes, so that a slow reader costs no memory.
 *
 * @param create creates the content. Called again only after a failure.
 */
export function constantPage(
  contentType: string,
  create: () => string | Uint8Array | Promise<Uint8Array>,
): ConstantPage {
  let created: Promise<Pick<ConstantContent, 'tag' | 'forms'>> | undefined
  return async (request, response) => {
    created ??= createForms(create).catch((error: unknown) => {
      created = undefined
      throw error
    })
    sendContent(request, response, { ...(await created), contentType, cacheControl: CACHE_CONTROL })
  }
}

/** Content that does not change while the server runs. */
export interface ConstantContent {
  readonly contentType: string
  readonly cacheControl: string
  /** The entity tag of all forms (RFC 9110 section 8.8.3). */
  readonly tag: string
  /** The content by content coding; undefined for none, which is always there. */
  readonly forms: ReadonlyMap<string | undefined, Buffer>
}

/** Sends content in the best form that the client accepts, or 304 if the client has it. */
export function sendContent(
  request: HttpRequest,
  response: HttpResponse,
  { contentType, cacheControl, tag, forms }: ConstantContent,
): void {
  response.setHeader('etag', tag)
  response.setHeader('cache-control', cacheControl)
  // The CORS headers depend on the origin of the request.
  response.setHeader('vary', 'Origin, Accept-Encoding')
  const known = request.headers['if-none-match']
  if (known !== undefined && tagMatches(known, tag)) {
    response.statusCode = 304
    response.end()
    return
  }
  const codings = CODINGS.filter(({ name }) => forms.has(name))
  const coding = responseCoding(request.headers['accept-encoding']?.toString(), codings)
  const body = forms.get(coding?.name)
  if (!body) throw new Error(`the content has no form for ${coding?.name}`)
  response.setHeader('content-type', contentType)
  response.setHeader('content-length', body.length)
  if (coding !== undefined) response.setHeader('content-encoding', coding.name)
  const answer = answerTo(request)
  if (answer) answer.isShared = true
  // Node omits the body of a response to HEAD.
  response.end(body)
}

async function createForms(create: () => string | Uint8Array | Promise<Uint8Array>) {
  const content = await create()
  const body =
    typeof content === 'string'
      ? Buffer.from(content)
      : Buffer.from(content.buffer, content.byteOffset, content.length)
  const brotliParams = {
    [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length,
  }
  const compressed = [
    ['gzip', await gzip(body)],
    ['br', await brotli(body, { params: brotliParams })],
  ] as const
  // Content that is already compressed does not get smaller.
  const useful = compressed.filter(([, form]) => form.length < body.length * WORTHWHILE)
  return { tag: weakTag(body), forms: new Map([[undefined, body], ...useful]) }
}

/** Returns the entity tag of content. Weak, since all forms share it (RFC 9110 section 8.8.1). */
export function weakTag(body: Buffer): string {
  return `W/"${hash('sha1', body, 'base64url')}"`
}
