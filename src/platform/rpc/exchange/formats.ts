import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type Message,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { FieldError } from '../text/field-error.ts'
import { type BodyReader, compileBodyReader } from '../text/json-read.ts'
import { compileWriter, type Writer } from '../text/json-write.ts'
import { standardJson } from '../text/message-fields.ts'
import { byteLength } from './node.ts'

/** The encoding of the messages of a method. */
export interface MessageFormat {
  /** Throws InvalidArgument for bytes that are no request of the method. */
  read(bytes: Uint8Array): Message
  write(response: Message): string | Uint8Array
}

/** The encodings that gRPC, gRPC-Web and Connect have in common. */
export interface MessageFormats {
  readonly proto: MessageFormat
  readonly json: MessageFormat
}

/** Creates the encodings of a method. Those in JSON are compiled when first used. */
export function formatsOf({ input, output }: DescMethod, registry: Registry): MessageFormats {
  return { proto: new ProtoFormat(input, output), json: new JsonFormat(input, output, registry) }
}

class ProtoFormat implements MessageFormat {
  readonly #input: DescMessage
  readonly #output: DescMessage

  constructor(input: DescMessage, output: DescMessage) {
    this.#input = input
    this.#output = output
  }

  read(bytes: Uint8Array): Message {
    try {
      return fromBinary(this.#input, bytes)
    } catch (cause) {
      throw malformed(`the message is not a ${this.#input.typeName}`, cause)
    }
  }

  write(response: Message): Uint8Array {
    return toBinary(this.#output, response)
  }
}

class JsonFormat implements MessageFormat {
  readonly #input: DescMessage
  readonly #output: DescMessage
  readonly #registry: Registry
  #reader: BodyReader | undefined
  #writer: Writer | undefined

  constructor(input: DescMessage, output: DescMessage, registry: Registry) {
    this.#input = input
    this.#output = output
    this.#registry = registry
  }

  read(bytes: Uint8Array): Message {
    this.#reader ??= compileBodyReader(this.#input, '*', this.#registry)
    const message = create(this.#input)
    try {
      this.#reader(bytes, message)
    } catch (error) {
      if (error instanceof FieldError) throw malformed(error.message, error)
      throw error
    }
    return message
  }

  write(response: Message): string {
    this.#writer ??= compileWriter(this.#output, standardJson, this.#registry)
    return this.#writer(response)
  }
}

function malformed(message: string, cause: unknown): ConnectError {
  return new ConnectError(message, Code.InvalidArgument, undefined, undefined, cause)
}

/** Throws ResourceExhausted for content over the limit, as the other protocols do. */
export function checkSize(body: string | Uint8Array, maxBytes: number): void {
  // One UTF-16 unit becomes at most three bytes of UTF-8.
  if (body.length * 3 <= maxBytes) return
  const size = byteLength(body)
  if (size <= maxBytes) return
  throw new ConnectError(
    `message size ${size} is larger than ${maxBytes} bytes`,
    Code.ResourceExhausted,
  )
}
