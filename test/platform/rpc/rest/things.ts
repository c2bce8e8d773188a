import { connect } from 'node:net'
import type { DescMethod, DescService, Message } from '@bufbuild/protobuf'
import type { HandlerContext, Interceptor } from '@connectrpc/connect'
import { listen } from '../../../../src/platform/http/listener/index.ts'
import type { Rpc, RpcOptions } from '../../../../src/platform/rpc/index.ts'
import { createRpc } from '../../../../src/platform/rpc/index.ts'
import { compileSchema, serviceOf } from './schema.ts'

/**
 * A schema with one RPC for each kind of behaviour, in a standard service and in one with a
 * dialect.
 */
export const thingSchema = compileSchema(`
  syntax = "proto3";
  package things.v1;
  import "rest/v1/rest.proto";
  import "google/api/annotations.proto";
  import "google/api/httpbody.proto";
  import "google/protobuf/empty.proto";
  import "google/protobuf/struct.proto";

  service Things {
    rpc GetThing(GetThingRequest) returns (Thing) {
      option idempotency_level = NO_SIDE_EFFECTS;
      option (google.api.http) = { get: "/things/{name}" };
    }
    rpc ListThings(ListThingsRequest) returns (ListThingsResponse) {
      option (google.api.http) = { get: "/things" response_body: "things" };
      option (rest.v1.method) = { page { total: "total" page: "page" limit: "limit" } };
    }
    rpc CreateThing(CreateThingRequest) returns (Thing) {
      option (google.api.http) = { post: "/things" body: "thing" };
      option (rest.v1.method) = {
        success_status: 201
        headers { name: "Location" field: "url" }
        headers { name: "X-Size" field: "size" }
      };
    }
    rpc ReplaceThing(Thing) returns (Thing) {
      option (google.api.http) = { put: "/things/{name}" body: "*" };
    }
    rpc DeleteThing(GetThingRequest) returns (google.protobuf.Empty) {
      option (google.api.http) = { delete: "/things/{name}" };
    }
    rpc WatchThings(ListThingsRequest) returns (stream Thing) {
      option (google.api.http) = { get: "/things:watch" };
    }
    rpc Download(GetThingRequest) returns (google.api.HttpBody) {
      option (google.api.http) = { get: "/things/{name}/content" };
    }
    rpc DownloadParts(GetThingRequest) returns (stream google.api.HttpBody) {
      option (google.api.http) = { get: "/things/{name}/parts" };
    }
    rpc Put(UploadRequest) returns (Thing) {
      option (google.api.http) = { put: "/things/{name}/content" body: "content" };
    }
    rpc Upload(stream UploadRequest) returns (Thing) {
      option (google.api.http) = { post: "/things/{name}/content" body: "content" };
    }
    rpc Echo(google.protobuf.Value) returns (google.protobuf.Value) {
      option (google.api.http) = { post: "/echo" body: "*" };
    }
    rpc Hidden(GetThingRequest) returns (Thing);
  }

  service Habits {
    option (rest.v1.dialect) = {
      names: ORIGINAL  int64: NUMBER  scalars: DEFAULT  lists: DEFAULT  errors: MESSAGE_URL
      error_url: "https://docs.test/api"  error_status { code: 6 status: 422 }  empty_status: 204
      content_type: "application/json;charset=utf-8"  etag: true
    };
    rpc GetThing(GetThingRequest) returns (Thing) {
      option (google.api.http) = { get: "/habits/{name}" };
    }
    rpc DeleteThing(GetThingRequest) returns (google.protobuf.Empty) {
      option (google.api.http) = { delete: "/habits/{name}" };
    }
  }

  message GetThingRequest { string name = 1; int32 depth = 2; }
  message ListThingsRequest { int32 page = 1; int32 limit = 2; string q = 3; }
  message ListThingsResponse { repeated Thing things = 1; int64 total = 2; int32 limit = 3; }
  message CreateThingRequest { Thing thing = 1; string parent = 2; bool dry_run = 3; }
  message UploadRequest { string name = 1; google.api.HttpBody content = 2; int32 mode = 3; }
  message Thing {
    string name = 1;
    int64 size = 2;
    string url = 3;
    repeated string tag_names = 4;
    Thing inner = 5;
  }
`)

export const Things = serviceOf(thingSchema, 'things.v1.Things')
export const Habits = serviceOf(thingSchema, 'things.v1.Habits')

/**
 * A thing, as tests give and expect it; the schema is compiled at run time and has no generated
 * types.
 */
export interface Thing extends Message {
  name: string
  size: bigint
  url: string
  tagNames: string[]
}

/** What tests need to know of any request. */
export interface AnyRequest extends Message {
  name: string
  depth: number
  page: number
  limit: number
  q: string
  parent: string
  mode: number
  thing?: Thing
  content?: { data: Uint8Array; contentType: string }
}

/** An implementation that takes one request. */
export type Reply = (
  request: AnyRequest,
  context: HandlerContext,
) => object | Promise<object> | AsyncIterable<object>

/** An implementation that takes a stream of requests. */
export type Upload = (
  requests: AsyncIterable<AnyRequest>,
  context: HandlerContext,
) => Promise<object>

/** Implementations by method name. */
export type Script = Record<string, Reply | Upload>

export interface Served {
  /** `http://127.0.0.1:port`. */
  readonly url: string
  readonly port: number
  readonly rpc: Rpc
  close(): Promise<void>
}

export interface ServeOptions extends RpcOptions {
  maxHeaderSize?: number
}

/** Serves scripted services over all four protocols. */
export async function serve(
  scripts: { things?: Script; habits?: Script },
  options: ServeOptions = {},
): Promise<Served> {
  const { maxHeaderSize, ...rpcOptions } = options
  const rpc = createRpc(rpcOptions)
  const register = (service: DescService, script: Script) => {
    // The compiler cannot know the types of a schema compiled at run time.
    const implementation = byLocalName(service, script) as Parameters<typeof rpc.router.service>[1]
    rpc.router.service(service, implementation)
  }
  register(Things, scripts.things ?? {})
  register(Habits, scripts.habits ?? {})
  const handler = rpc.handlers().all
  // Small enough for tests: of what is announced to be larger nothing is dropped for the sake of
  // the connection.
  const limits = {
    maxSkippedBytes: 8 * 1024,
    ...(maxHeaderSize && { maxHeaderBytes: maxHeaderSize }),
  }
  const { url, close } = await listen({ host: '127.0.0.1', port: 0, handler, limits })
  return { url, port: Number(new URL(url).port), rpc, close: () => close(0) }
}

function byLocalName(service: DescService, script: Script): Record<string, unknown> {
  const method = (name: string) =>
    service.methods.find((candidate: DescMethod) => candidate.name === name)
  return Object.fromEntries(
    Object.entries(script).map(([name, impl]) => [method(name)?.localName ?? name, impl]),
  )
}

/** An interceptor that counts the calls it sees. */
export function counting(seen: string[]): Interceptor {
  return (next) => async (request) => {
    seen.push(`${request.method.name} ${request.stream ? 'stream' : 'unary'}`)
    return next(request)
  }
}

/**
 * Sends bytes as they are and collects what comes back until the server closes the connection, or
 * until `until` is in it: what tests need where a client would repair a request or hide an answer.
 */
export function rawExchange(
  port: number,
  bytes: string | Uint8Array,
  until?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (until !== undefined && text.includes(until)) socket.destroy()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)))
  })
}
