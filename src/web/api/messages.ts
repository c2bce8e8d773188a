/**
 * Protobuf messages in the browser: the binary form of the messages of the API, and nothing else. The
 * package `@bufbuild/protobuf` also knows JSON, reflection and extensions, and its descriptors describe
 * themselves. All of that is a third of the script of a page, and only the pages about the API use it.
 *
 * The build replaces the generated modules by modules that call `message` and `service` below
 * (`scripts/setup/bundle-messages.mjs`). The types of the messages stay those of the generated modules.
 */

/** A type of messages, as the build writes it. */
export interface MessageType {
  readonly typeName: string
  readonly fields: readonly Field[]
  /** Set for `google.protobuf.Struct`, whose messages are JSON objects in other messages. */
  readonly json?: JsonForm
}

/** How the values of a field in JSON become a message, and the other way round. */
interface JsonForm {
  toMessage(value: unknown): unknown
  fromMessage(message: Values): unknown
}

/** A service, as the build writes it: request, response, and whether the response is a stream. */
export interface ServiceType {
  readonly typeName: string
  readonly methods: Readonly<Record<string, readonly [MessageType, MessageType, isStream?: 1]>>
}

/** One letter for each type of scalar values that the API uses; `e` are enums, `m` messages. */
type Kind = 'b' | 'd' | 'e' | 'i' | 'l' | 'm' | 's' | 'u' | 'U' | 'y'

interface Field {
  readonly number: number
  readonly kind: Kind
  readonly name: string
  readonly isList: boolean
  /** Whether a zero differs from no value. */
  readonly isOptional: boolean
  readonly isJson: boolean
  /** The type of the keys of a map. */
  readonly key: Field | undefined
  /** The group of which one field has a value. */
  readonly oneof: string | undefined
  readonly type: MessageType | undefined
}

type Values = Record<string, unknown>

/**
 * Creates a type of messages.
 *
 * @param typeName the full name.
 * @param text the fields, separated by spaces.
 * @param types returns the types of the fields of the kind `m`, in order.
 */
export function message(
  typeName: string,
  text: string,
  types: () => readonly MessageType[] = () => [],
): MessageType {
  let fields: readonly Field[] | undefined
  return {
    typeName,
    get fields() {
      fields ??= fieldsOf(text, types())
      return fields
    },
  }
}

/** Creates a service. */
export function service(typeName: string, methods: ServiceType['methods']): ServiceType {
  return { typeName, methods }
}

/**
 * Returns the fields of a text. A field is `number kind flags name`, such as `3s?fullName`. Flags: `*` for a list, `?` for an optional field,
 * `%` and the kind of the key for a map, `$` for a message that is JSON. A field of a group has the name
 * `group.field`.
 */
function fieldsOf(text: string, types: readonly MessageType[]): Field[] {
  let next = 0
  return (text === '' ? [] : text.split(' ')).map((field) => {
    const [head = '', number, kind = ''] = /^(\d+)(\w)/.exec(field) ?? []
    const [flags = ''] = /^(?:[*?$]|%\w)*/.exec(field.slice(head.length)) ?? []
    const names = field.slice(head.length + flags.length).split('.')
    const [, key] = /%(\w)/.exec(flags) ?? []
    return {
      number: Number(number),
      kind: kind as Kind,
      name: names.at(-1) ?? '',
      isList: flags.includes('*'),
      isOptional: flags.includes('?'),
      isJson: flags.includes('$'),
      key: key === undefined ? undefined : scalarField(1, key as Kind),
      oneof: names.length > 1 ? names[0] : undefined,
      type: kind === 'm' ? types[next++] : undefined,
    }
  })
}

function scalarField(number: number, kind: Kind): Field {
  const none = { isList: false, isOptional: true, isJson: false, key: undefined, oneof: undefined }
  return { number, kind, name: '', type: undefined, ...none }
}

/** The ways in which values are written: a number of 64 bits, 8 bytes, or a length and bytes. */
const VARINT = 0
const EIGHT_BYTES = 1
const LENGTH = 2
const FOUR_BYTES = 5

function wireOf(kind: Kind): number {
  if (kind === 'd') return EIGHT_BYTES
  return kind === 's' || kind === 'y' || kind === 'm' ? LENGTH : VARINT
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Returns the binary form of a message.
 *
 * @param init values of the fields. Those that are missing have no value.
 */
export function encode(type: MessageType, init: unknown): Uint8Array<ArrayBuffer> {
  const writer = new Writer()
  const values = (init ?? {}) as Values
  for (const field of type.fields) {
    const value = field.oneof === undefined ? values[field.name] : chosen(values, field)
    if (value !== undefined && value !== null) writeField(writer, field, value)
  }
  return writer.bytes()
}

/** Returns the value of a field of a group, if the group has that field. */
function chosen(values: Values, { oneof = '', name }: Field): unknown {
  const group = values[oneof] as { case?: string; value?: unknown } | undefined
  return group?.case === name ? group.value : undefined
}

function writeField(writer: Writer, field: Field, value: unknown): void {
  const { number, kind, key } = field
  if (key) {
    for (const [name, item] of Object.entries(value as Values)) {
      const entry = new Writer()
      writeOne(entry, key, name)
      writeOne(entry, { ...field, number: 2 }, item)
      writer.tag(number, LENGTH)
      writer.block(entry.bytes())
    }
  } else if (field.isList) {
    const items = value as readonly unknown[]
    if (wireOf(kind) === LENGTH) for (const item of items) writeOne(writer, field, item)
    else if (items.length > 0) {
      const packed = new Writer()
      for (const item of items) writeValue(packed, field, item)
      writer.tag(number, LENGTH)
      writer.block(packed.bytes())
    }
  } else if (field.isOptional || field.oneof !== undefined || !isZero(value)) {
    writeOne(writer, field, value)
  }
}

function isZero(value: unknown): boolean {
  return !value || (value instanceof Uint8Array && value.length === 0)
}

function writeOne(writer: Writer, field: Field, value: unknown): void {
  writer.tag(field.number, wireOf(field.kind))
  writeValue(writer, field, value)
}

function writeValue(writer: Writer, field: Field, value: unknown): void {
  if (field.kind === 'd') writer.double(Number(value))
  else if (wireOf(field.kind) === VARINT) writer.varint(BigInt(value as bigint | number | boolean))
  else writer.block(blockOf(field, value))
}

function blockOf({ kind, type, isJson }: Field, value: unknown): Uint8Array {
  if (kind === 's') return encoder.encode(value as string)
  if (!type) return value as Uint8Array
  return encode(type, isJson && type.json ? type.json.toMessage(value) : value)
}

/** Collects bytes. */
class Writer {
  readonly #parts: Uint8Array[] = []
  #open: number[] = []

  tag(number: number, wire: number): void {
    this.varint(BigInt(number * 8 + wire))
  }

  varint(value: bigint): void {
    let rest = BigInt.asUintN(64, value)
    for (; rest > 127n; rest >>= 7n) this.#open.push(Number(rest & 127n) | 128)
    this.#open.push(Number(rest))
  }

  double(value: number): void {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setFloat64(0, value, true)
    this.#open.push(...bytes)
  }

  /** Adds a length and bytes. */
  block(bytes: Uint8Array): void {
    this.varint(BigInt(bytes.length))
    this.#parts.push(Uint8Array.from(this.#open), bytes)
    this.#open = []
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const parts = [...this.#parts, Uint8Array.from(this.#open)]
    const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      all.set(part, at)
      at += part.length
    }
    return all
  }
}

/**
 * Returns the message that bytes are. Fields without a value have their zero, and fields that a newer
 * server has are left out.
 *
 * @throws RangeError if the bytes are no message.
 */
export function decode(type: MessageType, bytes: Uint8Array): Values {
  const values = zeroOf(type)
  const reader = new Reader(bytes)
  const byNumber = new Map(type.fields.map((field) => [field.number, field]))
  while (!reader.isAtEnd) {
    const tag = reader.int32() >>> 0
    const field = byNumber.get(tag >>> 3)
    if (field) readField(reader, field, tag & 7, values)
    else reader.skip(tag & 7)
  }
  return values
}

/** Returns a message without a value. */
function zeroOf({ typeName, fields }: MessageType): Values {
  const values: Values = { $typeName: typeName }
  for (const { name, kind, isList, isOptional, key, oneof } of fields) {
    if (oneof !== undefined) values[oneof] = { case: undefined }
    else if (isList) values[name] = []
    // Without a prototype, since names of entries may be anything.
    else if (key) values[name] = Object.create(null)
    else if (kind !== 'm' && !isOptional) values[name] = ZEROS[kind]()
  }
  return values
}

const ZEROS: Readonly<Record<Exclude<Kind, 'm'>, () => unknown>> = {
  b: () => false,
  d: () => 0,
  e: () => 0,
  i: () => 0,
  l: () => 0n,
  s: () => '',
  u: () => 0,
  U: () => 0n,
  y: () => new Uint8Array(0),
}

function readField(reader: Reader, field: Field, wire: number, values: Values): void {
  const { name, oneof, kind, key } = field
  if (key) {
    const [entry, value] = readEntry(reader.block(), field, key)
    ;(values[name] as Values)[entry] = value
  } else if (field.isList) {
    const items = values[name] as unknown[]
    if (wire !== LENGTH || wireOf(kind) === LENGTH) items.push(readValue(reader, field))
    else
      for (const packed = new Reader(reader.block()); !packed.isAtEnd; )
        items.push(readValue(packed, field))
  } else if (oneof !== undefined) values[oneof] = { case: name, value: readValue(reader, field) }
  else values[name] = readValue(reader, field)
}

function readEntry(bytes: Uint8Array, field: Field, keyField: Field): [string, unknown] {
  const reader = new Reader(bytes)
  let key = ''
  let value: unknown
  while (!reader.isAtEnd) {
    const tag = reader.int32() >>> 0
    if (tag >>> 3 === 1) key = String(readValue(reader, keyField))
    else if (tag >>> 3 === 2) value = readValue(reader, field)
    else reader.skip(tag & 7)
  }
  if (value === undefined)
    value = field.type ? decode(field.type, new Uint8Array(0)) : ZEROS[field.kind as 's']()
  return [key, value]
}

function readValue(reader: Reader, { kind, type, isJson }: Field): unknown {
  switch (kind) {
    case 's':
      return decoder.decode(reader.block())
    case 'y':
      // A copy, so that the bytes of the answer are not kept for a part of them.
      return reader.block().slice()
    case 'm': {
      const value = decode(type as MessageType, reader.block())
      return isJson ? type?.json?.fromMessage(value) : value
    }
    case 'd':
      return reader.double()
    case 'b':
      return reader.uint64() !== 0n
    case 'l':
      return BigInt.asIntN(64, reader.uint64())
    case 'U':
      return reader.uint64()
    case 'u':
      return reader.int32() >>> 0
    default:
      return reader.int32()
  }
}

/** Reads bytes from their beginning. */
class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw new RangeError('the message ends too early')
    return byte
  }

  /** Reads the lower 32 bits of a varint. */
  int32(): number {
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte()
      if (shift < 32) value |= (byte & 127) << shift
      if (byte < 128) return value
    }
    throw new RangeError('a number is too long')
  }

  uint64(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte()
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asUintN(64, value)
    }
    throw new RangeError('a number is too long')
  }

  double(): number {
    const { buffer, byteOffset } = this.#take(8)
    return new DataView(buffer, byteOffset, 8).getFloat64(0, true)
  }

  /** Reads a length and bytes. */
  block(): Uint8Array {
    return this.#take(this.int32() >>> 0)
  }

  skip(wire: number): void {
    if (wire === VARINT) this.int32()
    else if (wire === EIGHT_BYTES) this.#take(8)
    else if (wire === FOUR_BYTES) this.#take(4)
    else if (wire === LENGTH) this.block()
    else throw new RangeError('a field has an unknown form')
  }

  #take(length: number): Uint8Array {
    const start = this.#at
    this.#at += length
    if (this.#at > this.#bytes.length) throw new RangeError('the message ends too early')
    return this.#bytes.subarray(start, this.#at)
  }
}
