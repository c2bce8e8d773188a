import {
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf'
import { isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import type { Dialect } from '../../platform/rpc/index.ts'
import { isInRest, memberName, unsetForm } from '../../platform/rpc/text/json-write.ts'
import { enumTexts } from '../../platform/rpc/text/scalar-text.ts'
import type { Schema } from './document.ts'

/**
 * The use of a message, which decides its required members. A partial request, a PATCH, requires
 * none.
 */
export type Use = 'request' | 'partialRequest' | 'response'

/**
 * Comments of the schema by full name. A field or enum value is named by its parent, a dot and its
 * name.
 */
export type Comments = ReadonlyMap<string, string>

interface Component {
  readonly desc: DescMessage
  readonly dialect: Dialect
  readonly uses: Set<Use>
}

/**
 * The schemas of messages and enums below `#/components/schemas`, by full name. The JSON form of a
 * message depends on the dialect of the service. If services with different forms share a type, the
 * second and later forms have a number: `branchline.v1.User-2`.
 */
export class Schemas {
  readonly #comments: Comments
  readonly #messages = new Map<string, Component>()
  readonly #enums = new Map<string, DescEnum>()
  /** JSON forms of each message by full name, in the order of their discovery. */
  readonly #forms = new Map<string, string[]>()

  constructor(comments: Comments) {
    this.#comments = comments
  }

  /**
   * Returns the schema of a message, which is a reference except for well-known types, and records
   * the use.
   */
  ofMessage(desc: DescMessage, dialect: Dialect, use: Use): Schema {
    const wellKnown = wellKnownSchema(desc, dialect.int64)
    if (wellKnown) return wellKnown
    const name = this.#nameOf(desc, dialect)
    const component = this.#messages.get(name) ?? { desc, dialect, uses: new Set() }
    this.#messages.set(name, component)
    if (!component.uses.has(use)) {
      component.uses.add(use)
      for (const field of desc.fields) this.ofField(field, dialect, use)
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** Returns the schema of a field with its comment and behaviour. */
  ofField(field: DescField, dialect: Dialect, use: Use): Schema {
    const behaviours = getOption(field, field_behavior)
    const schema = this.valueOf(field, dialect, use)
    const description = this.descriptionOf(field)
    return {
      ...(unsetForm(field, dialect) === 'null' ? orNull(schema) : schema),
      ...(description && { description }),
      ...(behaviours.includes(FieldBehavior.OUTPUT_ONLY) && { readOnly: true as const }),
      ...(behaviours.includes(FieldBehavior.INPUT_ONLY) && { writeOnly: true as const }),
      ...(field.deprecated && { deprecated: true as const }),
    }
  }

  /** Returns the schema of the value of a field. */
  valueOf(field: DescField, dialect: Dialect, use: Use): Schema {
    const element = this.#elementOf(field, dialect, use)
    if (field.fieldKind === 'list') return { type: 'array', items: element }
    if (field.fieldKind === 'map') return { type: 'object', additionalProperties: element }
    return element
  }

  /** Returns the inline schema of a message without some of its fields. */
  ofMessageWithout(
    desc: DescMessage,
    omitted: ReadonlySet<string>,
    dialect: Dialect,
    use: Use,
  ): Schema {
    const fields = desc.fields.filter(({ name }) => !omitted.has(name))
    return this.#object(fields, dialect, new Set([use]))
  }

  descriptionOf(field: DescField): string {
    const comment = this.#comments.get(`${field.parent.typeName}.${field.name}`) ?? ''
    return isFieldMask(field)
      ? `${comment}\n\nPaths of fields, separated by commas.`.trim()
      : comment
  }

  /** Returns all referenced schemas by name. */
  components(): Record<string, Schema> {
    const messages = [...this.#messages].map(
      ([name, { desc, dialect, uses }]): [string, Schema] => {
        const description = [this.#comments.get(desc.typeName) ?? '', ...oneofNotes(desc, dialect)]
          .join('\n\n')
          .trim()
        return [
          name,
          { ...(description && { description }), ...this.#object(desc.fields, dialect, uses) },
        ]
      },
    )
    const enums = [...this.#enums].map(([name, desc]): [string, Schema] => [name, this.#enum(desc)])
    return Object.fromEntries([...messages, ...enums].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #nameOf(desc: DescMessage, { names, int64, scalars, lists, maps, messages }: Dialect): string {
    const form = [names, int64, scalars, lists, maps, messages].join()
    const forms = this.#forms.get(desc.typeName) ?? []
    this.#forms.set(desc.typeName, forms)
    if (!forms.includes(form)) forms.push(form)
    const index = forms.indexOf(form)
    return index === 0 ? desc.typeName : `${desc.typeName}-${index + 1}`
  }

  #elementOf(field: DescField, dialect: Dialect, use: Use): Schema {
    if (field.message) return this.ofMessage(field.message, dialect, use)
    if (field.scalar !== undefined) return scalarSchema(field.scalar, dialect.int64)
    this.#enums.set(field.enum.typeName, field.enum)
    return { $ref: `#/components/schemas/${field.enum.typeName}` }
  }

  #object(fields: readonly DescField[], dialect: Dialect, uses: ReadonlySet<Use>): Schema {
    const inOrder = fields.filter(isInRest).toSorted((a, b) => a.number - b.number)
    const properties = inOrder.map((field) => [
      memberName(field, dialect),
      this.ofField(field, dialect, anyOf(uses)),
    ])
    const required = inOrder.filter((field) => isRequired(field, dialect, uses))
    return {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required: required.map((field) => memberName(field, dialect)) }),
    }
  }

  #enum(desc: DescEnum): Schema {
    const values = [...enumTexts(desc)].map(([number, text]) => {
      const comment = this.#comments.get(`${desc.typeName}.${desc.value[number]?.name}`) ?? ''
      return {
        text,
        line: comment ? `- \`${text}\`: ${comment.replace(/\s+/g, ' ')}` : `- \`${text}\``,
      }
    })
    const description = [
      this.#comments.get(desc.typeName) ?? '',
      values.map(({ line }) => line).join('\n'),
    ]
    return {
      type: 'string',
      enum: values.map(({ text }) => text),
      description: description.join('\n\n').trim(),
    }
  }
}

/**
 * Returns whether a member is required. A type in both requests and responses requires no member.
 */
function isRequired(field: DescField, dialect: Dialect, uses: ReadonlySet<Use>): boolean {
  if (uses.size !== 1 || uses.has('partialRequest')) return false
  const behaviours = getOption(field, field_behavior)
  if (uses.has('request')) return behaviours.includes(FieldBehavior.REQUIRED)
  return unsetForm(field, dialect) !== 'omit' && !behaviours.includes(FieldBehavior.INPUT_ONLY)
}

/** Returns any of the uses. All of them refer to the same components. */
function anyOf(uses: ReadonlySet<Use>): Use {
  const [use = 'response'] = uses
  return use
}

function orNull(schema: Schema): Schema {
  return typeof schema.type === 'string'
    ? { ...schema, type: [schema.type, 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
}

function oneofNotes(desc: DescMessage, dialect: Dialect): string[] {
  return desc.oneofs.map(({ fields }) => {
    const names = fields.map((field) => `\`${memberName(field, dialect)}\``)
    return `At most one of ${names.join(', ')}.`
  })
}

/** Returns the JSON form of a scalar (https://protobuf.dev/programming-guides/json). */
function scalarSchema(type: ScalarType, int64: Dialect['int64']): Schema {
  switch (type) {
    case ScalarType.STRING:
      return { type: 'string' }
    case ScalarType.BOOL:
      return { type: 'boolean' }
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' }
    case ScalarType.FLOAT:
      return { type: 'number', format: 'float' }
    case ScalarType.DOUBLE:
      return { type: 'number', format: 'double' }
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return { type: 'integer', format: 'int32' }
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: 'integer', format: 'uint32', minimum: 0 }
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: int64 === 'number' ? 'integer' : 'string', format: 'int64' }
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: int64 === 'number' ? 'integer' : 'string', format: 'uint64' }
  }
}

/** Returns the JSON form of a well-known type; undefined for other messages. */
function wellKnownSchema(desc: DescMessage, int64: Dialect['int64']): Schema | undefined {
  if (isWrapperDesc(desc)) return scalarSchema(desc.fields[0].scalar, int64)
  switch (desc.typeName) {
    case 'google.protobuf.Timestamp':
      return { type: 'string', format: 'date-time' }
    case 'google.protobuf.Duration':
      return { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' }
    case 'google.protobuf.FieldMask':
      return { type: 'string' }
    case 'google.protobuf.Empty':
      return { type: 'object' }
    case 'google.protobuf.Struct':
      return { type: 'object', additionalProperties: true }
    case 'google.protobuf.ListValue':
      return { type: 'array', items: {} }
    case 'google.protobuf.Value':
      return {}
    case 'google.protobuf.Any':
      return { type: 'object', properties: { '@type': { type: 'string' } }, required: ['@type'] }
    default:
      return undefined
  }
}

/** Returns whether a field is a FieldMask, whose text a JSON Schema cannot describe. */
function isFieldMask(field: DescField): boolean {
  return field.message?.typeName === 'google.protobuf.FieldMask'
}
