import {
  create,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  type Message,
  type Registry,
} from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { method, type StrictQuery } from '#gen/rest/v1/rest_pb.ts'
import { FieldError } from '../../text/field-error.ts'
import { type BodyReader, compileBodyReader } from '../../text/json-read.ts'
import type { Binding } from '../schema/binding.ts'
import { type HttpBodySetter, httpBodySetter } from './http-body.ts'
import { compileQuery, type QueryReader } from './query.ts'
import { compilePathSetter, type Setter } from './setters.ts'
import { compileMaskDeriver, type MaskDeriver } from './update-mask.ts'

/** The compiled readers of the parts of a request. */
export interface RequestReader {
  readonly input: DescMessage
  readonly pathSetters: readonly Setter[]
  readonly readQuery: QueryReader
  /** Reads JSON content. Undefined without a body rule and for raw content. */
  readonly readBody: BodyReader | undefined
  /** Stores raw content. Undefined unless the body is a google.api.HttpBody. */
  readonly setHttpBody: HttpBodySetter | undefined
  /** Fills in a missing update mask. Undefined for methods without the option. */
  readonly deriveMask: MaskDeriver | undefined
}

/** Compiles the request readers of a binding. */
export function compileRequestReader(binding: Binding, registry: Registry): RequestReader {
  const { rpc, dialect, body, template } = binding
  const { input } = rpc
  const pathFields = template.variables.map((variable) => variable.fieldPath)
  const setHttpBody = httpBodySetter(input, body)
  const isJson = body !== '' && setHttpBody === undefined
  return {
    input,
    pathSetters: pathFields.map((path) =>
      compilePathSetter(input, path, dialect.query === 'lenient'),
    ),
    readQuery: compileQuery(input, { pathFields, body }, dialect, strictQueryOf(rpc)),
    readBody: isJson ? compileBodyReader(input, body, registry) : undefined,
    setHttpBody,
    deriveMask: compileMaskDeriver(rpc, body),
  }
}

function strictQueryOf(rpc: DescMethod): StrictQuery | undefined {
  return hasOption(rpc, method) ? getOption(rpc, method).strictQuery : undefined
}

/** The parts of a request that set fields of its message. */
export interface RequestParts {
  /** Values of the path variables, decoded. */
  readonly values: readonly string[]
  readonly target: string
  /** Decompressed content. Empty if there is none. */
  readonly content: Uint8Array
  readonly contentType: string
}

/**
 * Creates the request message from body, path variables and query parameters, in this order: later
 * parts overwrite earlier ones. Throws InvalidArgument for a value that does not fit its field.
 */
export function readRequest(
  reader: RequestReader,
  { values, target, content, contentType }: RequestParts,
): Message {
  const message = create(reader.input)
  try {
    reader.setHttpBody?.(message, contentType, content)
    if (content.length > 0) reader.readBody?.(content, message)
    for (let i = 0; i < reader.pathSetters.length; i++)
      reader.pathSetters[i]?.(message, values[i] ?? '')
    const question = target.indexOf('?')
    if (question >= 0) reader.readQuery(message, target.slice(question + 1))
    reader.deriveMask?.(message, content)
  } catch (error) {
    if (error instanceof FieldError) throw new ConnectError(error.message, Code.InvalidArgument)
    throw error
  }
  return message
}
