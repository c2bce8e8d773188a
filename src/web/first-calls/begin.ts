// Begins the calls of the first view, while the browser loads the scripts of the page: the session,
// and then what the page shows. The page takes their answers (`takeBegun`). This script is a file of
// its own without imports of others, so that it is there first.
import { routeOf } from '../routes.ts'
import { keyOf } from './begun-calls.ts'
import { type FirstCall, firstCallsOf, REFRESH } from './first-calls.ts'

begin()

function begin(): void {
  const { session, page } = document.documentElement.dataset
  const begun = new Map<string, Promise<Response>>()
  document.begunCalls = begun
  const start = (call: FirstCall, token: Promise<string>) => {
    const body = call.isStream ? inEnvelope(call.request) : call.request
    const answer = token.then((text) => send(call, body, text))
    // The page asks for the answer later, and then sees the failure.
    answer.catch(() => undefined)
    begun.set(keyOf(call.path, body), answer)
  }
  let token = Promise.resolve('')
  if (session === 'maybe') {
    const refreshed = send(REFRESH, REFRESH.request, '')
    begun.set(keyOf(REFRESH.path, REFRESH.request), refreshed)
    token = refreshed.then(tokenIn)
  } else if (page === 'missing') return
  const route = routeOf(new URL(location.href))
  for (const call of route ? firstCallsOf(route) : []) start(call, token)
}

function send(
  { path, isStream }: FirstCall,
  body: Uint8Array<ArrayBuffer>,
  token: string,
): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: {
      'connect-protocol-version': '1',
      'content-type': isStream ? 'application/connect+proto' : 'application/proto',
      ...(token && { authorization: `Bearer ${token}` }),
    },
    body,
    redirect: 'error',
  })
}

/** Returns a message with the length before it, as streams have messages. */
function inEnvelope(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5 + message.length)
  new DataView(bytes.buffer).setUint32(1, message.length)
  bytes.set(message, 5)
  return bytes
}

/** Returns the access token of an answer of `RefreshToken`, its first field; empty without a session. */
async function tokenIn(answer: Response): Promise<string> {
  if (!answer.ok) return ''
  const bytes = new Uint8Array(await answer.clone().arrayBuffer())
  let length = 0
  let at = 1
  for (let shift = 0, more = bytes[0] === 0x0a; more; shift += 7) {
    const byte = bytes[at++] ?? 0
    length += (byte & 0x7f) << shift
    more = byte >= 0x80
  }
  return new TextDecoder().decode(bytes.subarray(at, at + length))
}
