import type { Actor } from './server.ts'

/** What came back. */
export interface RestAnswer {
  readonly status: number
  /** Parsed; `{}` when there was none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test fails when a field is missing
  readonly body: any
  readonly headers: Headers
}

/** Sends one request over REST, by somebody or by nobody. `path` begins behind `/api/v1`. */
export type SendRest = (
  who: Pick<Actor, 'authorization'> | undefined,
  method: string,
  path: string,
  body?: object,
) => Promise<RestAnswer>

/** Requests to the server at a URL. Redirects are not followed. */
export function restAt(url: string): SendRest {
  return async (who, method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        ...(who && { authorization: who.authorization }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      body: text === '' ? {} : JSON.parse(text),
      headers: response.headers,
    }
  }
}
