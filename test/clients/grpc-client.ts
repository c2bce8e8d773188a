import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import {
  type CallOptions,
  type Client,
  type ClientReadableStream,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import { ErrorInfoSchema } from '#gen/google/rpc/error_details_pb.ts'
import { StatusSchema } from '#gen/google/rpc/status_pb.ts'

/** A method with one request. */
type Method<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
> = DescMethod & {
  readonly input: I
  readonly output: O
}

/** Path of a method in the `:path` of gRPC. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`
}

/** Metadata with an Authorization entry. */
export function authorized(authorization: string): Metadata {
  const metadata = new Metadata()
  metadata.set('authorization', authorization)
  return metadata
}

/**
 * Makes a unary call with the gRPC library, which knows nothing of the generated code: messages go
 * in and come out as bytes.
 *
 * @throws ServiceError
 */
export function callUnary<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: Method<I, O>,
  request: MessageInitShape<I>,
  metadata: Metadata = new Metadata(),
  options: CallOptions = {},
): Promise<MessageShape<O>> {
  const { serialize, deserialize } = codecOf(method)
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      pathOf(method),
      serialize,
      deserialize,
      request,
      metadata,
      options,
      (error, response) => {
        if (error) reject(error)
        else if (response) resolve(response)
      },
    )
  })
}

/** Makes a call whose answer is a stream. */
export function callStream<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: Method<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions = {},
  metadata: Metadata = new Metadata(),
): ClientReadableStream<MessageShape<O>> {
  const { serialize, deserialize } = codecOf(method)
  return client.makeServerStreamRequest(
    pathOf(method),
    serialize,
    deserialize,
    request,
    metadata,
    options,
  )
}

function codecOf<I extends DescMessage, O extends DescMessage>(method: Method<I, O>) {
  return {
    serialize: (message: MessageInitShape<I>) =>
      Buffer.from(toBinary(method.input, create(method.input, message))),
    deserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
  }
}

/**
 * The reason in `grpc-status-details-bin`, which holds a google.rpc.Status; undefined when there is
 * none.
 */
export function reasonOf(error: ServiceError): string | undefined {
  const [bytes] = error.metadata.get('grpc-status-details-bin')
  if (!(bytes instanceof Buffer)) return undefined
  const infos = fromBinary(StatusSchema, bytes).details.map((detail) =>
    anyUnpack(detail, ErrorInfoSchema),
  )
  return infos.find((info) => info !== undefined)?.reason
}
