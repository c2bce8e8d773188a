import type { Message } from '@bufbuild/protobuf'
import { type Listener, listen } from '../../src/platform/http/listener/index.ts'
import { createRpc } from '../../src/platform/rpc/index.ts'
import { everythingSources } from '../platform/rpc/rest/everything.ts'
import { compileSchema, messageOf, serviceOf } from '../platform/rpc/rest/schema.ts'

/** Methods that return their message, with a field of each kind. */
const schema = compileSchema({
  ...everythingSources,
  'fuzz.proto': `
    syntax = "proto3";
    package fuzz;
    import "google/api/annotations.proto";
    import "test.proto";
    service Fuzz {
      rpc Echo(test.Everything) returns (test.Everything) {
        option idempotency_level = NO_SIDE_EFFECTS;
        option (google.api.http) = {
          post: "/everything/{a_string}" body: "*"
          additional_bindings { get: "/everything/{a_string}/{leaf.id=leaves/*}" }
          additional_bindings { put: "/leaves/{a_string=**}:replace" body: "leaf" }
        };
      }
      rpc EchoAll(stream test.Everything) returns (stream test.Everything);
    }
  `,
})

export const everything = messageOf(schema, 'test.Everything')

/** A server of the methods, with what it has noticed. */
export interface EchoServer {
  readonly url: string
  readonly port: number
  readonly listener: Listener
  /** Calls that have begun and not ended. */
  readonly openCalls: () => number
  /** Errors that are no errors of the client. */
  readonly faults: readonly unknown[]
}

const MAX_MESSAGE_BYTES = 64 * 1024

/** Starts the server on a free port. The caller closes its listener. */
export async function startEchoServer(): Promise<EchoServer> {
  let open = 0
  const faults: unknown[] = []
  const rpc = createRpc({
    readMaxBytes: MAX_MESSAGE_BYTES,
    registry: schema,
    onError: (error) => faults.push(error),
    interceptors: [
      (next) => async (request) => {
        open += 1
        try {
          return await next(request)
        } finally {
          open -= 1
        }
      },
    ],
  })
  // The schema is compiled at run time, so that its methods have no static types.
  const implementation: unknown = {
    echo: (message: Message) => message,
    async *echoAll(messages: AsyncIterable<Message>) {
      yield* messages
    },
  }
  type Implementation = Parameters<typeof rpc.router.service>[1]
  rpc.router.service(serviceOf(schema, 'fuzz.Fuzz'), implementation as Implementation)
  const handler = rpc.handlers().all
  const listener = await listen({ host: '127.0.0.1', port: 0, handler })
  const { url } = listener
  return { url, port: Number(new URL(url).port), listener, openCalls: () => open, faults }
}
