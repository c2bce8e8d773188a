import { type DescField, type DescMessage, getOption } from '@bufbuild/protobuf'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import { method as methodOption } from '#gen/rest/v1/rest_pb.ts'
import type { Binding, Dialect } from '../../platform/rpc/index.ts'
import { fieldText } from '../../platform/rpc/text/field-text.ts'
import { memberName } from '../../platform/rpc/text/json-write.ts'
import { fieldNamed } from '../../platform/rpc/text/message-fields.ts'
import type { Parameter } from './document.ts'
import type { PathParameter } from './path.ts'
import type { Schemas } from './schemas.ts'

/** Returns the path parameters of a binding. */
export function pathParameters(
  { rpc, dialect }: Binding,
  path: readonly PathParameter[],
  schemas: Schemas,
): Parameter[] {
  return path.map((parameter) => {
    const field =
      parameter.fieldPath === undefined ? undefined : fieldAt(rpc.input, parameter.fieldPath)
    const isWhole = field !== undefined && parameter.resourceName === undefined
    const description = describePathParameter(
      parameter,
      isWhole ? schemas.descriptionOf(field) : '',
    )
    return {
      name: parameter.name,
      in: 'path',
      required: true,
      ...(description && { description }),
      schema: isWhole ? schemas.valueOf(field, asText(dialect), 'request') : { type: 'string' },
    }
  })
}

function describePathParameter(
  { fieldPath, resourceName, isLast, multi }: PathParameter,
  comment: string,
): string {
  const slashes = multi ? 'May contain slashes.' : ''
  if (resourceName === undefined) return [comment, slashes].filter(Boolean).join('\n\n')
  const part = isLast ? 'The last segment' : 'A segment'
  return `${part} of the resource name \`${resourceName}\`, which is the request field \`${fieldPath}\`. ${slashes}`.trim()
}

/**
 * Returns the query parameters of a binding: every request field with a text form that neither path
 * nor body sets. Fields of nested messages have dotted names.
 */
export function queryParameters(binding: Binding, schemas: Schemas): Parameter[] {
  const { rpc, dialect, body, template } = binding
  if (body === '*') return []
  const covered = new Set([...template.variables.map(({ fieldPath }) => fieldPath), body])
  const derivedMask = getOption(rpc, methodOption).updateMask
  return queryFields(rpc.input, [], covered).map((path) => {
    const field = path[path.length - 1] as DescField
    const isDerived = path.length === 1 && field.name === derivedMask
    const isRequired = path.every(hasBehaviour(FieldBehavior.REQUIRED)) && !isDerived
    const description = schemas.descriptionOf(field)
    return {
      name: path.map((element) => memberName(element, dialect)).join('.'),
      in: 'query',
      ...(isRequired && { required: true as const }),
      ...(description && { description }),
      ...(field.deprecated && { deprecated: true as const }),
      schema: schemas.valueOf(field, asText(dialect), 'request'),
      ...(field.fieldKind === 'list' && { style: 'form' as const, explode: true as const }),
    }
  })
}

function queryFields(
  desc: DescMessage,
  parents: readonly DescField[],
  covered: ReadonlySet<string>,
): DescField[][] {
  return desc.fields.flatMap((field) => {
    const path = [...parents, field]
    if (covered.has(path.map(({ name }) => name).join('.'))) return []
    if (hasBehaviour(FieldBehavior.OUTPUT_ONLY)(field)) return []
    if (fieldText(field) !== undefined) return [path]
    // A recursive message has infinitely many parameters. Only its first level is described.
    const isRecursive =
      field.message === desc || parents.some(({ parent }) => parent === field.message)
    return field.fieldKind === 'message' && !isRecursive
      ? queryFields(field.message, path, covered)
      : []
  })
}

function hasBehaviour(behaviour: FieldBehavior): (field: DescField) => boolean {
  return (field) => getOption(field, field_behavior).includes(behaviour)
}

/** A 64-bit integer in a path or query is digits without quotes. */
function asText(dialect: Dialect): Dialect {
  return { ...dialect, int64: 'number' }
}

function fieldAt(desc: DescMessage, path: string): DescField | undefined {
  const [name, ...rest] = path.split('.')
  const field = fieldNamed(desc, name ?? '')
  if (rest.length === 0) return field
  return field?.message && fieldAt(field.message, rest.join('.'))
}
