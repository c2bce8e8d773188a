/** A request, independent of the HTTP version. */
export interface Request {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Headers in addition to those of every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

const NO_BODY = new Uint8Array()

/** Returns a GET request. `token` goes into its Authorization header. */
export function get(path: string, token?: string): Request {
  return {
    method: 'GET',
    path,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: NO_BODY,
  }
}

/** Returns a POST request. */
export function post(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Request {
  return { method: 'POST', path, headers, body }
}

/** Returns a POST request with JSON. */
export function postJson(
  path: string,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Request {
  return post(
    path,
    { 'content-type': 'application/json', ...headers },
    Buffer.from(JSON.stringify(value)),
  )
}

/**
 * Returns a message with the five-byte prefix of gRPC and gRPC-Web
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
 */
export function envelope(message: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(5 + message.length)
  bytes.writeUInt32BE(message.length, 1)
  bytes.set(message, 5)
  return bytes
}

/** Splits enveloped content into flags and messages. */
export function unwrapEnvelopes(
  content: Buffer,
): { readonly flags: number; readonly message: Buffer }[] {
  const envelopes: { flags: number; message: Buffer }[] = []
  for (let at = 0; at < content.length; ) {
    const end = at + 5 + content.readUInt32BE(at + 1)
    envelopes.push({ flags: content.readUInt8(at), message: content.subarray(at + 5, end) })
    at = end
  }
  return envelopes
}

/** A complete response. */
export interface Answer {
  readonly status: number
  readonly body: Buffer
  /** Trailers of HTTP/2. Empty over HTTP/1.1. */
  readonly trailers: Readonly<Record<string, string>>
}
