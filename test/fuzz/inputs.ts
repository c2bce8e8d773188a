import { fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf'
import type { Random } from '../platform/rpc/rest/random.ts'
import { everything } from './echo-server.ts'

/** A request of any protocol. */
export interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer | undefined
}

/** The requests of one codec, valid until they are mutated. */
export interface Codec {
  readonly name: string
  readonly isHttp2?: boolean
  request(random: Random): FuzzRequest
}

/** Messages in JSON that touch each kind of field. */
const MESSAGES: readonly [JsonValue, ...JsonValue[]] = [
  {},
  { aString: 'é\u0000"\\', aBool: true, aBytes: 'AAEC', aDouble: 1e300, anInt32: -1 },
  { aUint64: '18446744073709551615', anInt64: '-9223372036854775808', aFloat: 'NaN' },
  { state: 'STATE_CLOSED', states: ['open', 'STATE_CLOSED'], maybeState: 0 },
  { leaf: { id: 'leaves/a', count: 3, leaf: { leaf: { id: 'deep' } } }, leaves: [{}, { id: 'x' }] },
  { timestamp: '2026-01-02T03:04:05.678Z', duration: '-1.5s', mask: 'aString,leaf.id' },
  { struct: { a: [1, null, { b: 'c' }] }, value: [true, 'x'], listValue: [1, 2], nullValue: null },
  { any: { '@type': 'type.googleapis.com/test.Leaf', id: 'inside' } },
  { byString: { a: 'b' }, byInt32: { '-5': {} }, byBool: { true: 'open' }, byUint64: { 7: '1s' } },
  { stringValue: 'x', bytesValue: 'AA==', int64Value: '5', doubleValue: 'Infinity' },
  { choiceStruct: { a: 1 } },
  { strings: Array.from({ length: 50 }, (_, i) => `item ${i}`), chunks: ['', 'AAAA'] },
]

/** Texts that have broken parsers before. */
const TOKENS: readonly [string, ...string[]] = [
  'null',
  '{}',
  '[]',
  '""',
  '-0',
  '1e999',
  '-1e-999',
  '0x10',
  '01',
  'NaN',
  '"NaN"',
  'true',
  '"\\ud800"',
  '"__proto__":{}',
  '"constructor":1',
  '[[[[[[[[[[',
  '{"leaf":'.repeat(200),
  '"9999-99-99T99:99:99Z"',
  '99999999999999999999999',
  '"@type":""',
  ',',
  ':',
  '}',
  ' '.repeat(1000),
  '\u0000',
  '\ufeff',
]

const HEADER_VALUES: readonly [string, ...string[]] = [
  '',
  '0',
  '-1',
  '1',
  '99999999999',
  '1S',
  '1n',
  '1x',
  'gzip',
  'br',
  'identity',
  'deflate, gzip;q=0',
  'application/json',
  'application/json; charset=utf-8',
  'application/proto',
  'application/grpc+json',
  'application/grpc-web-text',
  'application/connect+proto',
  'text/plain',
  '*/*;q=oops',
  'a'.repeat(2000),
]

const HEADER_NAMES: readonly [string, ...string[]] = [
  'content-type',
  'content-encoding',
  'accept-encoding',
  'connect-content-encoding',
  'connect-accept-encoding',
  'connect-protocol-version',
  'connect-timeout-ms',
  'grpc-encoding',
  'grpc-accept-encoding',
  'grpc-timeout',
  'x-server-timeout',
  'accept',
  'if-none-match',
  'x-grpc-web',
]

const binaryOf = (json: JsonValue) => Buffer.from(toBinary(everything, fromJson(everything, json)))

function validContent(random: Random, isJson: boolean): Buffer {
  const json = random.pick(MESSAGES)
  if (isJson) return Buffer.from(JSON.stringify(json))
  // Texts of enums are an option of REST, which protobuf-es does not know.
  const plain = JSON.parse(JSON.stringify(json).replaceAll('"open"', '"STATE_OPEN"'))
  return plain.any === undefined ? binaryOf(plain) : Buffer.from([0xf2, 0x02, 0])
}

/** Changes content a little, or not at all. */
export function mutated(random: Random, content: Buffer): Buffer {
  let bytes = content
  for (let left = random.below(4); left > 0; left--) bytes = changedOnce(random, bytes)
  return bytes
}

function changedOnce(random: Random, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1)
  const end = at + random.below(bytes.length - at + 1)
  const around = (middle: Uint8Array) =>
    Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(end)])
  switch (random.below(6)) {
    case 0:
      return Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ (1 << random.below(8)) : byte)))
    case 1:
      return bytes.subarray(0, at)
    case 2:
      return around(Buffer.alloc(0))
    case 3:
      return around(Buffer.from(random.pick(TOKENS)))
    case 4:
      return around(Buffer.concat([bytes.subarray(at, end), bytes.subarray(at, end)]))
    default:
      return around(Buffer.from(Array.from({ length: random.below(12) }, () => random.below(256))))
  }
}

function mutatedHeaders(random: Random, headers: Record<string, string>): Record<string, string> {
  const changed = { ...headers }
  while (random.below(4) === 0) {
    const name = random.pick(HEADER_NAMES)
    if (random.below(5) === 0) delete changed[name]
    else changed[name] = random.pick(HEADER_VALUES)
  }
  return changed
}

function frame(random: Random, content: Buffer): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = random.below(8) === 0 ? random.below(256) : 0
  const size = random.below(8) === 0 ? random.below(2 ** 31) : content.length
  prefix.writeUInt32BE(size, 1)
  return Buffer.concat([prefix, content])
}

function frames(random: Random, isJson: boolean, count: number): Buffer {
  const all = Array.from({ length: count }, () =>
    frame(random, mutated(random, validContent(random, isJson))),
  )
  return random.below(4) === 0 ? mutated(random, Buffer.concat(all)) : Buffer.concat(all)
}

const UNARY = '/fuzz.Fuzz/Echo'
const STREAM = '/fuzz.Fuzz/EchoAll'

function framed(
  name: string,
  contentType: string,
  {
    isHttp2 = false,
    isText = false,
    isStream = false,
  }: { isHttp2?: boolean; isText?: boolean; isStream?: boolean } = {},
): Codec {
  return {
    name,
    isHttp2,
    request(random) {
      const isJson = contentType.endsWith('json')
      const bytes = frames(random, isJson, isStream ? random.below(4) : 1)
      const body = isText ? mutated(random, Buffer.from(bytes.toString('base64'))) : bytes
      const headers = mutatedHeaders(random, { 'content-type': contentType })
      return { method: 'POST', path: isStream ? STREAM : UNARY, headers, body }
    },
  }
}

function connectPost(format: 'json' | 'proto'): Codec {
  return {
    name: `Connect POST, ${format}`,
    request(random) {
      const body = mutated(random, validContent(random, format === 'json'))
      const headers = mutatedHeaders(random, { 'content-type': `application/${format}` })
      return { method: 'POST', path: UNARY, headers, body }
    },
  }
}

const connectGet: Codec = {
  name: 'Connect GET',
  request(random) {
    const isJson = random.below(2) === 0
    const content = mutated(random, validContent(random, isJson))
    const message = random.below(2) === 0 ? content.toString('base64url') : content.toString()
    const parameters = random.shuffle([
      'connect=v1',
      `encoding=${isJson ? 'json' : 'proto'}`,
      `message=${encodeURIComponent(message)}`,
      ...(random.below(2) === 0 ? ['base64=1'] : []),
      ...(random.below(6) === 0 ? [`compression=${random.pick(['gzip', 'br', 'zip', ''])}`] : []),
    ])
    const query = mutatedTarget(random, parameters.join('&'))
    return {
      method: 'GET',
      path: `${UNARY}?${query}`,
      headers: mutatedHeaders(random, {}),
      body: undefined,
    }
  },
}

const TARGET_PARTS: readonly [string, ...string[]] = [
  '%',
  '%zz',
  '%ff',
  '%00',
  '%2F',
  '..',
  '/',
  '//',
  '&',
  '=',
  '?',
  '+',
  ':replace',
  'leaf.leaf.leaf.id=x',
  'state=9',
  'a_bool=maybe',
  'by_string=1',
  'timestamp=now',
  'mask=a..b',
  '__proto__=1',
  'strings=a&strings=b',
  'any.type_url=x',
]

/** Changes the text of a target. The result has printable characters only, as HTTP requires. */
function mutatedTarget(random: Random, text: string): string {
  let target = text
  while (random.below(3) === 0) {
    const at = random.below(target.length + 1)
    const end = at + random.below(Math.min(8, target.length - at + 1))
    target = target.slice(0, at) + random.pick(TARGET_PARTS) + target.slice(end)
  }
  return target.replace(/[^!-~]/g, '_')
}

const restBody: Codec = {
  name: 'REST with content',
  request(random) {
    const path = random.pick(['/everything/some', '/leaves/a/b/c:replace'])
    return {
      method: random.pick(['POST', 'PUT']),
      path: mutatedTarget(random, path),
      headers: mutatedHeaders(random, { 'content-type': 'application/json' }),
      body: mutated(random, validContent(random, true)),
    }
  },
}

const restTarget: Codec = {
  name: 'REST path and query',
  request(random) {
    const query = random.shuffle([
      'an_int32=5',
      'strings=a',
      'leaf.count=1',
      'state=open',
      'mask=a',
    ])
    const path = `/everything/some/leaves/one?${query.slice(random.below(5)).join('&')}`
    return {
      method: random.pick(['GET', 'GET', 'HEAD']),
      path: mutatedTarget(random, path),
      headers: mutatedHeaders(random, {}),
      body: undefined,
    }
  },
}

/** The readers of all protocols. */
export const codecs: readonly Codec[] = [
  restBody,
  restTarget,
  connectPost('json'),
  connectPost('proto'),
  connectGet,
  framed('Connect stream', 'application/connect+proto', { isHttp2: true, isStream: true }),
  framed('gRPC', 'application/grpc', { isHttp2: true }),
  framed('gRPC with JSON', 'application/grpc+json', { isHttp2: true }),
  framed('gRPC stream', 'application/grpc', { isHttp2: true, isStream: true }),
  framed('gRPC-Web', 'application/grpc-web'),
  framed('gRPC-Web as text', 'application/grpc-web-text', { isText: true }),
]
