import type { HttpRequest, HttpResponse } from '../../platform/http/requests.ts'
import { readContent } from '../../platform/rpc/index.ts'

/** Forms of OAuth 2.0 are small. A sign-in has a password of up to 256 bytes. */
const MAX_FORM_BYTES = 64 * 1024

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i

/** A complete response. */
export interface EndpointReply {
  readonly status: number
  /** Names in lower case. They replace the default headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string
}

/** Answers one request. */
export type Handler = (request: HttpRequest) => Promise<EndpointReply>

/** Returns a reply with a JSON object. */
export function jsonReply(
  status: number,
  value: object,
  headers: EndpointReply['headers'] = {},
): EndpointReply {
  return {
    status,
    // RFC 6749 section 5.1 demands both headers against caching.
    headers: { 'content-type': 'application/json', pragma: 'no-cache', ...headers },
    body: JSON.stringify(value),
  }
}

/** Returns a redirect that a browser follows with GET, and without a referrer. */
export function redirectReply(
  location: string,
  headers: EndpointReply['headers'] = {},
): EndpointReply {
  return {
    status: 303,
    headers: { location, 'referrer-policy': 'no-referrer', ...headers },
    body: '',
  }
}

/** Sends a reply. */
export function sendEndpointReply(
  response: HttpResponse,
  { status, headers, body }: EndpointReply,
): void {
  response.statusCode = status
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('content-length', Buffer.byteLength(body))
  // Node omits the body of a response to HEAD.
  response.end(body)
}

/** Reads a form; undefined if the content has another type. */
export async function readForm(request: HttpRequest): Promise<URLSearchParams | undefined> {
  const content = await readContent(request, MAX_FORM_BYTES)
  if (!FORM_TYPE.test(request.headers['content-type'] ?? '')) return undefined
  return new URLSearchParams(content.toString('utf8'))
}

/** Returns the query of a request, without the question mark. */
export function queryOf({ url = '' }: HttpRequest): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
