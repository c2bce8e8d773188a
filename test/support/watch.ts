import { create, fromJson, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf'
import { type Code, ConnectError, createClient } from '@connectrpc/connect'
import { Client, credentials } from '@grpc/grpc-js'
import { Event_Type } from '#gen/branchline/v1/event_pb.ts'
import {
  EventService,
  type WatchEventsRequestSchema,
  type WatchEventsResponse,
  WatchEventsResponseSchema,
} from '#gen/branchline/v1/event_service_pb.ts'
import { authorized, callStream } from '../clients/grpc-client.ts'
import { RPC_PROTOCOLS, type RpcProtocol, transportTo } from './server.ts'

/** Every way to watch events; `grpc-js` is gRPC by a library of other people. */
export const WATCH_PROTOCOLS = ['REST', 'grpc-js', ...RPC_PROTOCOLS] as const
export type WatchProtocol = (typeof WATCH_PROTOCOLS)[number]

/** A stream of events that is read one answer at a time, and not at all in between. */
export interface Watcher {
  /** The next answer. Rejects with a ConnectError, by any protocol, and when the stream ends. */
  next(): Promise<WatchEventsResponse>
  leave(): void
}

/** Opens a stream of events. */
export function watchEvents(
  url: string,
  protocol: WatchProtocol,
  authorization: string,
  request: MessageInitShape<typeof WatchEventsRequestSchema> = {},
): Watcher {
  const leaving = new AbortController()
  const answers = open(url, protocol, authorization, request, leaving.signal)[Symbol.asyncIterator]()
  return {
    async next() {
      const { value, done } = await answers.next()
      if (done) throw new Error('the stream ended without an error')
      return value
    },
    leave: () => leaving.abort(),
  }
}

function open(
  url: string,
  protocol: WatchProtocol,
  authorization: string,
  request: MessageInitShape<typeof WatchEventsRequestSchema>,
  signal: AbortSignal,
): AsyncIterable<WatchEventsResponse> {
  if (protocol === 'REST') return overRest(url, authorization, request, signal)
  if (protocol === 'grpc-js') return overGrpcJs(url, authorization, request, signal)
  return overConnect(url, protocol, authorization, request, signal)
}

function overConnect(
  url: string,
  protocol: RpcProtocol,
  authorization: string,
  request: MessageInitShape<typeof WatchEventsRequestSchema>,
  signal: AbortSignal,
): AsyncIterable<WatchEventsResponse> {
  return createClient(EventService, transportTo(url, protocol, authorization)).watchEvents(request, { signal })
}

/** Lines of JSON, the last one of which may be an error. */
async function* overRest(
  url: string,
  authorization: string,
  { cursor = '', types = [] }: MessageInitShape<typeof WatchEventsRequestSchema>,
  signal: AbortSignal,
): AsyncGenerator<WatchEventsResponse> {
  const query = new URLSearchParams({ cursor })
  for (const type of types) query.append('types', Event_Type[type] ?? String(type))
  const response = await fetch(`${url}/api/v1/events:watch?${query}`, { headers: { authorization }, signal })
  if (!response.ok) throw restError(await response.json())
  let rest = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const json = JSON.parse(line)
      if (json['@error']) throw restError(json['@error'])
      yield fromJson(WatchEventsResponseSchema, json as JsonValue)
    }
  }
}

function restError(json: unknown): ConnectError {
  const { code, message } = json as { code: Code; message: string }
  return new ConnectError(message, code)
}

async function* overGrpcJs(
  url: string,
  authorization: string,
  request: MessageInitShape<typeof WatchEventsRequestSchema>,
  signal: AbortSignal,
): AsyncGenerator<WatchEventsResponse> {
  const client = new Client(new URL(url).host, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })
  const stream = callStream(client, EventService.method.watchEvents, request, {}, authorized(authorization))
  signal.addEventListener('abort', () => stream.cancel())
  try {
    for await (const answer of stream) yield create(WatchEventsResponseSchema, answer as WatchEventsResponse)
  } catch (thrown) {
    const { details, code } = thrown as { details: string; code: Code }
    throw new ConnectError(details, code)
  } finally {
    client.close()
  }
}
