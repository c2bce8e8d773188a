import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { Client, credentials } from '@grpc/grpc-js'
import { Event_Type } from '#gen/branchline/v1/event_pb.ts'
import {
  EventService,
  type WatchEventsRequestSchema,
  type WatchEventsResponse,
} from '#gen/branchline/v1/event_service_pb.ts'
import {
  IssueEventService,
  type WatchIssueRequestSchema,
  type WatchIssueResponse,
  type WatchIssuesRequestSchema,
  type WatchIssuesResponse,
} from '#gen/branchline/v1/issue_event_service_pb.ts'
import { RepositoryEvent_Type } from '#gen/branchline/v1/repository_event_pb.ts'
import {
  RepositoryEventService,
  type WatchRepositoryRequestSchema,
  type WatchRepositoryResponse,
} from '#gen/branchline/v1/repository_event_service_pb.ts'
import { authorized, callStream } from '../clients/grpc-client.ts'
import { RPC_PROTOCOLS, type RpcProtocol, transportTo } from './server.ts'

/** Every way to watch events; `grpc-js` is gRPC by a library of other people. */
export const WATCH_PROTOCOLS = ['REST', 'grpc-js', ...RPC_PROTOCOLS] as const
export type WatchProtocol = (typeof WATCH_PROTOCOLS)[number]

/** A stream of answers that is read one at a time, and not at all in between. */
export interface Watcher<Answer = WatchEventsResponse> {
  /** The next answer. Rejects with a ConnectError, by any protocol, and when the stream ends. */
  next(): Promise<Answer>
  leave(): void
}

/** Opens a stream of the events of an account. */
export function watchEvents(
  url: string,
  protocol: WatchProtocol,
  authorization: string,
  request: MessageInitShape<typeof WatchEventsRequestSchema> = {},
): Watcher {
  const { cursor = '', types = [] } = request
  const query = queryOf(
    cursor,
    types.map((type) => Event_Type[type] ?? String(type)),
  )
  const target = { url, protocol, authorization, path: `/events:watch?${query}` }
  return open(target, EventService.method.watchEvents, request)
}

/**
 * Opens a stream of the events of a repository, for nobody in particular if there is no
 * authorization.
 */
export function watchRepository(
  url: string,
  protocol: WatchProtocol,
  authorization: string | undefined,
  request: MessageInitShape<typeof WatchRepositoryRequestSchema>,
): Watcher<WatchRepositoryResponse> {
  const { owner = '', repo = '', cursor = '', types = [] } = request
  const query = queryOf(
    cursor,
    types.map((type) => RepositoryEvent_Type[type] ?? String(type)),
  )
  const target = {
    url,
    protocol,
    authorization,
    path: `/repos/${owner}/${repo}/events:watch?${query}`,
  }
  return open(target, RepositoryEventService.method.watchRepository, request)
}

/** Opens a stream of the changes of an issue or pull request. */
export function watchIssue(
  url: string,
  protocol: WatchProtocol,
  authorization: string | undefined,
  request: MessageInitShape<typeof WatchIssueRequestSchema>,
): Watcher<WatchIssueResponse> {
  const { owner = '', repo = '', index = 0n, cursor = '' } = request
  const path = `/repos/${owner}/${repo}/issues/${index}/events:watch?${queryOf(cursor, [])}`
  const target = { url, protocol, authorization, path }
  return open(target, IssueEventService.method.watchIssue, request)
}

/** Opens a stream of the issues and pull requests that concern an account. */
export function watchIssues(
  url: string,
  protocol: WatchProtocol,
  authorization: string | undefined,
  request: MessageInitShape<typeof WatchIssuesRequestSchema> = {},
): Watcher<WatchIssuesResponse> {
  const path = `/user/issues/events:watch?${queryOf(request.cursor ?? '', [])}`
  const target = { url, protocol, authorization, path }
  return open(target, IssueEventService.method.watchIssues, request)
}

function queryOf(cursor: string, types: readonly string[]): URLSearchParams {
  const query = new URLSearchParams({ cursor })
  for (const type of types) query.append('types', type)
  return query
}

/** Where a stream comes from. */
interface Target {
  readonly url: string
  readonly protocol: WatchProtocol
  readonly authorization: string | undefined
  /** Over REST, behind `/api/v1`. */
  readonly path: string
}

function open<I extends DescMessage, O extends DescMessage>(
  target: Target,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
): Watcher<MessageShape<O>> {
  const leaving = new AbortController()
  const answers = answersOf(target, method, request, leaving.signal)[Symbol.asyncIterator]()
  return {
    async next() {
      const { value, done } = await answers.next()
      if (done) throw new Error('the stream ended without an error')
      return value
    },
    leave: () => leaving.abort(),
  }
}

function answersOf<I extends DescMessage, O extends DescMessage>(
  target: Target,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  signal: AbortSignal,
): AsyncIterable<MessageShape<O>> {
  const { protocol } = target
  if (protocol === 'REST') return overRest(target, method, signal)
  if (protocol === 'grpc-js') return overGrpcJs(target, method, request, signal)
  return overConnect(target, protocol, method, request, signal)
}

async function* overConnect<I extends DescMessage, O extends DescMessage>(
  { url, authorization }: Target,
  protocol: RpcProtocol,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  signal: AbortSignal,
): AsyncGenerator<MessageShape<O>> {
  const transport = transportTo(url, protocol, authorization)
  const { message } = await transport.stream(method, signal, undefined, undefined, once(request))
  yield* message
}

async function* once<T>(item: T): AsyncGenerator<T> {
  yield item
}

/** Lines of JSON, the last one of which may be an error. */
async function* overRest<I extends DescMessage, O extends DescMessage>(
  { url, authorization, path }: Target,
  { output }: DescMethodServerStreaming<I, O>,
  signal: AbortSignal,
): AsyncGenerator<MessageShape<O>> {
  const headers = authorization === undefined ? {} : { authorization }
  const response = await fetch(`${url}/api/v1${path}`, { headers, signal })
  if (!response.ok) throw restError(await response.json(), CODES[response.status])
  let rest = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const json = JSON.parse(line)
      if (json['@error']) throw restError(json['@error'], undefined)
      yield fromJson(output, json as JsonValue)
    }
  }
}

/** Of the errors of the forge, which say their code by the status alone. */
const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  404: Code.NotFound,
  422: Code.InvalidArgument,
  429: Code.ResourceExhausted,
}

function restError(json: unknown, codeOfStatus: Code | undefined): ConnectError {
  const { code, message } = json as { code?: Code; message: string }
  return new ConnectError(message, code ?? codeOfStatus)
}

async function* overGrpcJs<I extends DescMessage, O extends DescMessage>(
  { url, authorization }: Target,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  signal: AbortSignal,
): AsyncGenerator<MessageShape<O>> {
  const client = new Client(new URL(url).host, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  })
  const metadata = authorization === undefined ? undefined : authorized(authorization)
  const stream = callStream(client, method, request, {}, metadata)
  signal.addEventListener('abort', () => stream.cancel())
  try {
    for await (const answer of stream) yield create(method.output, answer as MessageInitShape<O>)
  } catch (thrown) {
    const { details, code } = thrown as { details: string; code: Code }
    throw new ConnectError(details, code)
  } finally {
    client.close()
  }
}
