import type { DescMessage, JsonObject, JsonValue } from '@bufbuild/protobuf'
import { hasOwnJson } from './draft.ts'
import { isObject, memberOf } from './json.ts'
import type { RestBinding } from './method-facts.ts'

/** A request over REST. */
export interface RestRequest {
  readonly verb: string
  /** With the query. */
  readonly path: string
  /** JSON; undefined for none. */
  readonly content: JsonValue | undefined
  /** Whether the content is the bytes of a file. */
  readonly isFile: boolean
}

/** A variable of a path, and the form of its value: `{name=users/*}`, `{path=**}`, `{owner}`. */
const VARIABLE = /\{([\w.]+)(?:=([^}]*))?\}/g

/** Returns the request over REST that says the same as a message. */
export function restRequestOf(
  message: DescMessage,
  { verb, template, body }: RestBinding,
  json: JsonObject,
): RestRequest {
  const inPath = new Set<string>()
  const path = template.replace(VARIABLE, (_, name: string, form = '') => {
    inPath.add(name)
    const value = valueAt(message, json, name.split('.'))
    const text = value === undefined ? name.toUpperCase() : textOf(value)
    const segments = form.includes('/') || form.includes('**') ? text.split('/') : [text]
    return segments.map(encodeURIComponent).join('/')
  })
  const rest = without(message, json, '', inPath)
  const field = message.fields.find(({ name }) => name === body)
  const isFile = (field?.message ?? message).typeName === 'google.api.HttpBody' && body !== ''
  const content = body === '*' ? rest : field && (rest[field.jsonName] ?? {})
  const query =
    body === '*'
      ? []
      : queryOf(message, field ? without(message, rest, '', new Set([body])) : rest, '')
  const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString()
  return { verb, path: search === '' ? path : `${path}?${search}`, content, isFile }
}

function valueAt(
  message: DescMessage,
  json: JsonValue | undefined,
  [name = '', ...rest]: readonly string[],
): JsonValue | undefined {
  const field = message.fields.find((candidate) => candidate.name === name)
  const value = field && memberOf(json, field)
  if (rest.length === 0 || !field?.message) return value
  return valueAt(field.message, value, rest)
}

/** Returns JSON without the fields that another part of the request has. */
function without(
  message: DescMessage,
  json: JsonObject,
  prefix: string,
  covered: ReadonlySet<string>,
): JsonObject {
  const kept: Record<string, JsonValue> = {}
  for (const field of message.fields) {
    const value = memberOf(json, field)
    const path = prefix + field.name
    if (value === undefined || covered.has(path)) continue
    const isNested = field.fieldKind === 'message' && isObject(value) && !hasOwnJson(field.message)
    kept[field.jsonName] = isNested ? without(field.message, value, `${path}.`, covered) : value
  }
  return kept
}

function queryOf(message: DescMessage, json: JsonObject, prefix: string): [string, string][] {
  return message.fields.flatMap((field): [string, string][] => {
    const value = memberOf(json, field)
    const name = prefix + field.name
    if (value === undefined || field.fieldKind === 'map') return []
    if (Array.isArray(value)) return value.map((item) => [name, textOf(item)])
    if (field.fieldKind === 'message' && isObject(value))
      return queryOf(field.message, value, `${name}.`)
    return [[name, textOf(value)]]
  })
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
