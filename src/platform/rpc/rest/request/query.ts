import type { DescField, DescMessage, Message } from '@bufbuild/protobuf'
import type { FieldMask } from '@bufbuild/protobuf/wkt'
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt'
import type { StrictQuery } from '#gen/rest/v1/rest_pb.ts'
import { FieldError } from '../../text/field-error.ts'
import type { FieldText } from '../../text/field-text.ts'
import { fieldText } from '../../text/field-text.ts'
import { fieldsByName, MAX_NESTING } from '../../text/message-fields.ts'
import type { Dialect } from '../schema/dialect.ts'
import { decodeForm } from '../schema/percent.ts'
import type { Assignment } from './setters.ts'
import { compileAssignment, valuePath } from './setters.ts'

/**
 * Largest number of parameters of a request: more than any form has, and too few to occupy a core.
 */
export const MAX_QUERY_PARAMETERS = 1000

/** Number of dotted names that are cached. Recursive types have infinitely many. */
const MAX_CACHED_NAMES = 1000

/**
 * Sets the fields of a message from a query string, the encoded text after `?`. Throws FieldError.
 */
export type QueryReader = (message: Message, query: string) => void

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
