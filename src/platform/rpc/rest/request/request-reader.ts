import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  hasOption,
  type JsonObject,
  type Message,
  type Registry,
} from '@bufbuild/protobuf'
import { type FieldMask, FieldMaskSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError } from '@connectrpc/connect'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import { method, method as methodOption, type StrictQuery } from '#gen/rest/v1/rest_pb.ts'
import { FieldError } from '../../text/field-error.ts'
import { type FieldText, fieldText } from '../../text/field-text.ts'
import {
  type BodyReader,
  compileBodyReader,
  isJsonObjectValue,
  parseJson,
} from '../../text/json-read.ts'
import {
  type Fields,
  fieldNamed,
  fieldsByName,
  fieldsOf,
  isUnwrapped,
  MAX_NESTING,
  type Oneof,
} from '../../text/message-fields.ts'
import type { Binding } from '../schema/binding.ts'
import type { Dialect } from '../schema/dialect.ts'
import { optionOf } from '../schema/options.ts'
import { decodeForm } from '../schema/template.ts'
import { type HttpBodySetter, httpBodySetter } from './http-body.ts'

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
  return hasOption(rpc, method) ? optionOf(rpc, method).strictQuery : undefined
}

/** The parts of a request that set fields of its message. */
interface RequestParts {
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

/**
 * Largest number of parameters of a request: more than any form has, and too few to occupy a core.
 */
export const MAX_QUERY_PARAMETERS = 1000

/** Number of dotted names that are cached. Recursive types have infinitely many. */
const MAX_CACHED_NAMES = 1000

/**
 * Sets the fields of a message from a query string, the encoded text after `?`. Throws FieldError.
 */
type QueryReader = (message: Message, query: string) => void

/**
 * The fields that path and body set: proto paths of the path variables, and the `body` of the rule.
 */
export interface BoundParameter {
  readonly pathFields: readonly string[]
  readonly body: string
}

/** A field that a parameter sets. */
interface Parameter {
  /** Path of proto names, which is the same for all spellings. */
  readonly path: string
  readonly repetition: 'element' | 'joined' | 'refused'
  readonly text: FieldText
  readonly assign: Assignment
}

/** The reason why no parameter can set a field. */
interface Refusal {
  readonly refusal: string
}

type Names = (name: string) => Parameter | Refusal | undefined

/**
 * Compiles the reader of query parameters for a binding. A name is a field path with dots, whose
 * elements are JSON names or proto names. Fields that path or body set count as unknown. Top-level
 * names are compiled here, other names when first used.
 */
export function compileQuery(
  desc: DescMessage,
  bound: BoundParameter,
  dialect: Dialect,
  strict?: StrictQuery,
): QueryReader {
  const isStrict = dialect.query === 'strict' || strict !== undefined
  const names = compileNames(desc, bound)
  return (message, query) => {
    if (query === '') return
    const values = new Map<string, unknown>()
    let count = 0
    for (const pair of query.split('&')) {
      const end = pair.indexOf('=')
      if (pair === '' || end === 0) continue
      count += 1
      if (count > MAX_QUERY_PARAMETERS)
        throw new FieldError('', `more than ${MAX_QUERY_PARAMETERS} query parameters`)
      const name = decode(end < 0 ? pair : pair.slice(0, end), pair)
      const text = decode(end < 0 ? '' : pair.slice(end + 1), name)
      const parameter = names(name)
      if (parameter !== undefined) {
        readParameter(message, name, text, parameter, { values, dialect })
      } else if (isStrict && strict?.otherNames.includes(name) !== true) {
        throw new FieldError(name, 'unknown query parameter')
      }
    }
  }
}

function decode(text: string, field: string): string {
  const decoded = decodeForm(text)
  if (decoded === undefined) throw new FieldError(field, 'malformed percent-encoding in the query')
  return decoded
}

/** The values by path that earlier parameters have set, and the dialect. */
interface ParameterContext {
  readonly values: Map<string, unknown>
  readonly dialect: Dialect
}

/** Sets one field. */
function readParameter(
  message: Message,
  name: string,
  text: string,
  parameter: Parameter | Refusal,
  { values, dialect }: ParameterContext,
): void {
  if ('refusal' in parameter) throw new FieldError(name, parameter.refusal)
  const { kind, parse, expected } = parameter.text
  const isLenient = dialect.query === 'lenient'
  if (isLenient && text === '' && kind === 'bool') return
  const value =
    parse(text) ?? (isLenient && kind === 'bool' ? text.toLowerCase() === 't' : undefined)
  if (value === undefined) {
    if (isLenient && kind === 'number') return
    throw new FieldError(name, `expected ${expected}`)
  }
  if (parameter.repetition !== 'element') {
    const earlier = values.get(parameter.path)
    if (earlier !== undefined) {
      if (parameter.repetition === 'refused') throw new FieldError(name, 'set more than once')
      const mask = earlier as FieldMask
      mask.paths.push(...(value as FieldMask).paths)
      return
    }
    values.set(parameter.path, value)
  }
  if (!parameter.assign(message, value))
    throw new FieldError(name, 'another member of the same oneof is set')
}

function compileNames(desc: DescMessage, bound: BoundParameter): Names {
  // If the body is the whole message, the query sets no field.
  if (bound.body === '*') return () => undefined
  const covered = new Set(bound.body === '' ? bound.pathFields : [...bound.pathFields, bound.body])
  const known = new Map<string, Parameter | Refusal>()
  const add = (name: string) => {
    const parameter = resolve(desc, name, covered)
    if (parameter !== undefined) known.set(name, parameter)
    return parameter
  }
  for (const name of fieldsByName(desc).keys()) add(name)
  const limit = known.size + MAX_CACHED_NAMES
  return (name) => {
    const parameter = known.get(name)
    if (parameter !== undefined || !name.includes('.')) return parameter
    return known.size < limit ? add(name) : resolve(desc, name, covered)
  }
}

/**
 * Returns the parameter with a name; undefined for an unknown name and for a field of path or body.
 */
function resolve(
  desc: DescMessage,
  name: string,
  covered: ReadonlySet<string>,
): Parameter | Refusal | undefined {
  const elements = name.split('.')
  if (elements.length > MAX_NESTING) return { refusal: `nested deeper than ${MAX_NESTING}` }
  const path: DescField[] = []
  let parent = desc
  for (const [index, element] of elements.entries()) {
    const field = fieldsByName(parent).get(element)
    if (field === undefined) return undefined
    path.push(field)
    if (covered.has(pathText(path))) return undefined
    if (index === elements.length - 1) break
    if (field.fieldKind !== 'message')
      return { refusal: `${field.name} has no fields that a parameter can set` }
    parent = field.message
  }
  return compileParameter(valuePath(path))
}

function compileParameter(path: DescField[]): Parameter | Refusal {
  const field = path[path.length - 1] as DescField
  const text = fieldText(field)
  if (text === undefined) return { refusal: 'a query parameter cannot set a map or a message' }
  const isMask = field.message?.typeName === FieldMaskSchema.typeName
  const repetition = field.fieldKind === 'list' ? 'element' : isMask ? 'joined' : 'refused'
  return { path: pathText(path), repetition, text, assign: compileAssignment(path, 'refuse') }
}

function pathText(path: readonly DescField[]): string {
  return path.map((field) => field.name).join('.')
}

/** Sets one field of a message from decoded text. Throws FieldError if the text does not fit. */
type Setter = (message: Message, text: string) => void

/** Whether a value replaces another member of the same oneof or is rejected. */
type OneofConflict = 'replace' | 'refuse'

/** Stores a value at a field path. Returns false if another member of a oneof rejects it. */
export type Assignment = (message: Message, value: unknown) => boolean

/**
 * Compiles the setter of a path variable. Creates the messages on the path unless the body has set
 * them. A member of a oneof replaces another member. Throws Error at start-up for a path without a
 * field that has a text form.
 *
 * @param protoPath proto names of singular fields, separated by dots.
 * @param isLenient whether text that is not a number counts as 0.
 */
export function compilePathSetter(
  desc: DescMessage,
  protoPath: string,
  isLenient: boolean,
): Setter {
  const path = fieldsAt(desc, protoPath)
  const leaf = path.at(-1)
  const text = leaf && leaf.fieldKind !== 'list' ? fieldText(leaf) : undefined
  if (text === undefined)
    throw new Error(`${desc.typeName} has no field ${protoPath} that text can set`)
  const assign = compileAssignment(path, 'replace')
  const zero = isLenient && text.kind === 'number' ? text.parse('0') : undefined
  return (message, value) => {
    const parsed = text.parse(value) ?? zero
    if (parsed === undefined) throw new FieldError(protoPath, `expected ${text.expected}`)
    assign(message, parsed)
  }
}

/**
 * Returns the fields on a path of proto names. Returns an empty list if an element is unknown or a
 * parent is not a message.
 */
function fieldsAt(desc: DescMessage, protoPath: string): DescField[] {
  const path: DescField[] = []
  let parent: DescMessage | undefined = desc
  for (const name of protoPath.split('.')) {
    const field: DescField | undefined = parent && fieldNamed(parent, name)
    if (field === undefined) return []
    path.push(field)
    parent = field.fieldKind === 'message' ? field.message : undefined
  }
  return valuePath(path)
}

/**
 * Returns the path at which protobuf-es stores a value. For a wrapper, `wrapper.value` is
 * `wrapper`.
 */
function valuePath(path: DescField[]): DescField[] {
  const parent = path.at(-2)
  return parent !== undefined && isUnwrapped(parent) ? path.slice(0, -1) : path
}

/** Compiles the assignment at a path of singular messages. A list field gets one more element. */
function compileAssignment(path: readonly DescField[], conflict: OneofConflict): Assignment {
  const parents = path.slice(0, -1).map((field) => compileEnter(field, conflict))
  const assign = compileAssign(path[path.length - 1] as DescField, conflict)
  return (message, value) => {
    let target = fieldsOf(message)
    for (const enter of parents) {
      const child = enter(target)
      if (child === undefined) return false
      target = child
    }
    return assign(target, value)
  }
}

function compileEnter(
  field: DescField,
  conflict: OneofConflict,
): (parent: Fields) => Fields | undefined {
  const desc = field.message as DescMessage
  const { localName } = field
  const oneof = field.oneof?.localName
  if (oneof === undefined) {
    return (parent) => {
      parent[localName] ??= create(desc)
      return parent[localName] as Fields
    }
  }
  return (parent) => {
    const current = parent[oneof] as Oneof
    if (current.case === localName) return current.value as Fields
    if (current.case !== undefined && conflict === 'refuse') return undefined
    const value = fieldsOf(create(desc))
    parent[oneof] = { case: localName, value }
    return value
  }
}

function compileAssign(
  field: DescField,
  conflict: OneofConflict,
): (parent: Fields, value: unknown) => boolean {
  const { localName } = field
  if (field.fieldKind === 'list') {
    return (parent, value) => {
      const list = parent[localName] as unknown[]
      list.push(value)
      return true
    }
  }
  const oneof = field.oneof?.localName
  if (oneof === undefined) {
    return (parent, value) => {
      parent[localName] = value
      return true
    }
  }
  return (parent, value) => {
    const current = (parent[oneof] as Oneof).case
    if (current !== undefined && current !== localName && conflict === 'refuse') return false
    parent[oneof] = { case: localName, value }
    return true
  }
}

/** Fills in the mask of an update from the JSON of its body, unless the request has a mask. */
type MaskDeriver = (request: Message, content: Uint8Array) => void

/**
 * Compiles the option `update_mask` of a method for a binding. Returns undefined for a method
 * without it. A PATCH without a mask changes the members of its body, as with JSON Merge Patch (RFC
 * 7396).
 *
 * @param body the body field of the binding.
 * @throws Error at start-up if the option does not name a FieldMask field.
 */
export function compileMaskDeriver(method: DescMethod, body: string): MaskDeriver | undefined {
  const name = hasOption(method, methodOption) ? optionOf(method, methodOption).updateMask : ''
  if (name === '') return undefined
  const mask = fieldNamed(method.input, name)
  if (mask?.fieldKind !== 'message' || mask.message.typeName !== FieldMaskSchema.typeName) {
    throw new Error(
      `${method.parent.typeName}.${method.name}: update_mask "${name}" is not a field mask of the request`,
    )
  }
  const resource = fieldNamed(method.input, body)?.message
  if (!resource) return undefined
  return (request, content) => {
    const fields = fieldsOf(request)
    if (fields[mask.localName] !== undefined) return
    const json = content.length === 0 ? {} : parseJson(content)
    fields[mask.localName] = create(FieldMaskSchema, {
      paths: isJsonObjectValue(json) ? membersOf(resource, json) : [],
    })
  }
}

function membersOf(desc: DescMessage, json: JsonObject): string[] {
  return Object.entries(json).flatMap(([key, value]) => {
    const field = fieldsByName(desc).get(key)
    if (!field) return [key]
    if (isServerSet(field)) return []
    const nested =
      field.fieldKind === 'message' && !field.message.typeName.startsWith('google.protobuf.')
    if (!nested || !isJsonObjectValue(value)) return [field.name]
    return membersOf(field.message, value).map((path) => `${field.name}.${path}`)
  })
}

/** Returns whether a field is set by the server. Clients send such fields back unchanged. */
function isServerSet(field: DescField): boolean {
  const behaviors = hasOption(field, field_behavior) ? optionOf(field, field_behavior) : []
  return (
    behaviors.includes(FieldBehavior.OUTPUT_ONLY) || behaviors.includes(FieldBehavior.IDENTIFIER)
  )
}
