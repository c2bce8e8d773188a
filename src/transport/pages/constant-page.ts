import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { HttpRequest, HttpResponse } from '../http/requests.ts'
import { answerTo } from '../listener/answers.ts'
import { responseCoding, tagMatches } from '../rpc/rest/index.ts'

/** A form in which content is kept. */
interface Representation {
  readonly body: Buffer
  /** The content coding; undefined for none. */
  readonly coding: string | undefined
}

/** In the order in which the server prefers them. */
const CODINGS = [{ name: 'br' }, { name: 'gzip' }] as const

// An hour would show the document of an old version after an update; clients that ask again get
// 304.
const CACHE_CONTROL = 'public, max-age=300'

// Most of what the best quality saves, in a fiftieth of its time.
const BROTLI_QUALITY = 6

/** A coded form is kept if it is smaller than this part of the content. */
const WORTHWHILE = 0.9

const gzip = promisify(zlib.gzip)
const brotli = promisify(zlib.brotliCompress)

/** Answers requests for a page. */
export type ConstantPage = (request: HttpRequest, response: HttpResponse) => Promise<void>

/**
 * A page whose content never changes while the server runs. It is made and compressed once, when
 * somebody asks first, and all answers send the same bytes, so that a reader who does not read
 * costs nothing but the stream.
 *
 * @param make makes the content; called once.
 */
export function constantPage(
  contentType: string,
  make: () => string | Uint8Array | Promise<Uint8Array>,
): ConstantPage {
  let made:
    | Promise<{ tag: string; forms: ReadonlyMap<string | undefined, Representation> }>
    | undefined
  return async (request, response) => {
    made ??= makeForms(make)
    const { tag, forms } = await made
    response.setHeader('etag', tag)
    response.setHeader('cache-control', CACHE_CONTROL)
    // Which origin may read the answer depends on the origin that asks.
    response.setHeader('vary', 'Origin, Accept-Encoding')
    const known = request.headers['if-none-match']
    if (known !== undefined && tagMatches(known, tag)) {
      response.statusCode = 304
      response.end()
      return
    }
    const codings = CODINGS.filter(({ name }) => forms.has(name))
    const coding = responseCoding(request.headers['accept-encoding']?.toString(), codings)
    const form = forms.get(coding?.name)
    if (!form) throw new Error(`the page has no form for ${coding?.name}`)
    response.setHeader('content-type', contentType)
    response.setHeader('content-length', form.body.length)
    if (form.coding !== undefined) response.setHeader('content-encoding', form.coding)
    const answer = answerTo(request)
    if (answer) answer.isShared = true
    // Node leaves the body out of an answer to HEAD.
    response.end(form.body)
  }
}

async function makeForms(make: () => string | Uint8Array | Promise<Uint8Array>) {
  const content = await make()
  const body =
    typeof content === 'string'
      ? Buffer.from(content)
      : Buffer.from(content.buffer, content.byteOffset, content.length)
  const brotliParams = {
    [zlib.constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [zlib.constants.BROTLI_PARAM_SIZE_HINT]: body.length,
  }
  const forms: Representation[] = [
    { body, coding: undefined },
    { body: await gzip(body), coding: 'gzip' },
    { body: await brotli(body, { params: brotliParams }), coding: 'br' },
  ]
  // What is compressed already gets no smaller.
  const useful = forms.filter(
    (form) => form.coding === undefined || form.body.length < body.length * WORTHWHILE,
  )
  // Weak, since all forms share it (RFC 9110 section 8.8.1).
  return {
    tag: `W/"${hash('sha1', body, 'base64url')}"`,
    forms: new Map(useful.map((form) => [form.coding, form])),
  }
}
