import { request } from 'node:http'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import { text } from 'node:stream/consumers'

/** What a server answered. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A request as it goes over the wire: no header is added but what HTTP needs. */
export interface HttpCall {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string
  /** The address of this machine to connect from. */
  readonly from?: string
}

/** Sends a request over HTTP/1.1, on a connection of its own. */
export function sendHttp1(
  url: string,
  { method = 'GET', headers = {}, body, from }: HttpCall,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      headers,
      agent: false,
      ...(from !== undefined && { localAddress: from }),
    })
    sent.on('error', reject)
    sent.on('response', async (response) => {
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: await text(response),
      })
    })
    sent.end(body)
  })
}

/**
 * Sends a request over HTTP/2 in clear text, on a connection of its own; pseudo-headers may be
 * given.
 */
export async function sendHttp2(
  url: string,
  { method = 'GET', headers = {}, body }: HttpCall,
): Promise<HttpAnswer> {
  const { origin, pathname, search } = new URL(url)
  const session = connect(origin)
  try {
    const stream = session.request({ ':path': pathname + search, ':method': method, ...headers })
    const answered = new Promise<IncomingHttpHeaders>((resolve, reject) => {
      stream.once('response', resolve)
      stream.once('error', reject)
      session.once('error', reject)
    })
    stream.end(body)
    const answer = await answered
    return { status: Number(answer[':status']), headers: answer, body: await text(stream) }
  } finally {
    session.close()
  }
}
