import {
  create,
  type DescField,
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
import { compilePartsWriter, type PartsWriter } from '../text/json-write.ts'
import { fieldsOf, standardJson } from '../text/message-fields.ts'
import { byteLength } from './node.ts'
import { bytesInTurns, type Cancellable, PIECE_BYTES, textInTurns } from './write-turns.ts'

/** Content of a response. */
export type Written = string | Uint8Array

/** The encoding of the messages of a method. */
export interface MessageFormat {
  /** Throws InvalidArgument for bytes that are no request of the method. */
  read(bytes: Uint8Array): Message
  /** Returns a promise only for a large response. */
  write(response: Message, call: Cancellable): Written | Promise<Written>
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
  /** Names of the lists of messages in responses. */
  readonly #lists: readonly string[]

  constructor(input: DescMessage, output: DescMessage) {
    this.#input = input
    this.#output = output
    this.#lists = output.fields.filter(isMessageList).map(({ localName }) => localName)
  }

  read(bytes: Uint8Array): Message {
    try {
      return fromBinary(this.#input, bytes)
    } catch (cause) {
      throw malformed(`the message is not a ${this.#input.typeName}`, cause)
    }
  }

  write(response: Message, call: Cancellable): Uint8Array | Promise<Uint8Array> {
    const lists = this.#lists.filter((name) => (fieldsOf(response)[name] as unknown[]).length > 1)
    return lists.length === 0
      ? toBinary(this.#output, response)
      : bytesInTurns(binaryPieces(this.#output, response, lists), call)
  }
}

/**
 * Yields a message in pieces. A message in several pieces is their concatenation, where each piece has
 * some elements of a list (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
 */
function* binaryPieces(
  desc: DescMessage,
  message: Message,
  lists: readonly string[],
): Generator<Uint8Array> {
  const rest = Object.assign(create(desc), message)
  for (const name of lists) fieldsOf(rest)[name] = []
  yield toBinary(desc, rest)
  for (const name of lists) {
    const elements = fieldsOf(message)[name] as readonly unknown[]
    let count = 1
    for (let at = 0; at < elements.length; ) {
      const some = create(desc)
      fieldsOf(some)[name] = elements.slice(at, at + count)
      const piece = toBinary(desc, some)
      yield piece
      at += count
      if (piece.length < PIECE_BYTES) count *= 2
      else if (count > 1) count = Math.max(1, Math.floor((count * PIECE_BYTES) / piece.length))
    }
  }
}

class JsonFormat implements MessageFormat {
  readonly #input: DescMessage
  readonly #output: DescMessage
  readonly #registry: Registry
  #reader: BodyReader | undefined
  #writer: PartsWriter | undefined

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

  write(response: Message, call: Cancellable): Written | Promise<Written> {
    this.#writer ??= compilePartsWriter(this.#output, standardJson, this.#registry)
    return textInTurns(this.#writer(response), call)
  }
}

function isMessageList(field: DescField): boolean {
  return field.fieldKind === 'list' && field.listKind === 'message'
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
