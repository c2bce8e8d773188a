import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf'
import { getOption } from '@bufbuild/protobuf'
import { FieldBehavior, field_behavior } from '#gen/google/api/field_behavior_pb.ts'
import type { Dialect } from '../rpc/rest/index.ts'
import { enumTexts } from '../rpc/rest/text/enum-text.ts'
import { unsetForm } from '../rpc/rest/text/json-write.ts'
import type { Schema } from './document.ts'
import { isFieldMask, scalarSchema, wellKnownSchema } from './scalar-schemas.ts'

/**
 * Where a message occurs, which decides what has to be in it. In a partial request, a PATCH,
 * nothing has to.
 */
export type Use = 'request' | 'partialRequest' | 'response'

/**
 * Comments of the schema by full name; fields and values go by the name of their parent, a dot and
 * their own.
 */
export type Comments = ReadonlyMap<string, string>

interface Component {
  readonly desc: DescMessage
  readonly dialect: Dialect
  readonly uses: Set<Use>
}

/**
 * The schemas of messages and enums, each described once below `#/components/schemas` by its full
 * name.
 *
 * The JSON form of a message depends on the dialect of the service. Where services of several forms
 * share a type, the second form and later ones get a number: `branchline.v1.User-2`.
 */
export class Schemas {
  readonly #comments: Comments
  readonly #messages = new Map<string, Component>()
  readonly #enums = new Map<string, DescEnum>()
  /** JSON forms of each message, by its full name, in the order in which they were met. */
  readonly #forms = new Map<string, string[]>()

  constructor(comments: Comments) {
    this.#comments = comments
  }

  /**
   * The schema of a message: a reference, unless it is a well-known type. Remembers how the message
   * is used.
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

  /** The schema of a field, with what its comment and its behaviour say. */
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

  /** The schema of the value of a field, without anything else about the field. */
  valueOf(field: DescField, dialect: Dialect, use: Use): Schema {
    const element = this.#elementOf(field, dialect, use)
    if (field.fieldKind === 'list') return { type: 'array', items: element }
    if (field.fieldKind === 'map') return { type: 'object', additionalProperties: element }
    return element
  }

  /** The schema of a message without some of its fields, in place. */
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

  /** All schemas that were referred to, by name. */
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
    const inOrder = fields.toSorted((a, b) => a.number - b.number)
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

/** The name of a field in JSON. Input takes both spellings; this is the one that answers have. */
export function memberName(field: DescField, { names }: Pick<Dialect, 'names'>): string {
  return names === 'original' ? field.name : field.jsonName
}

/**
 * Whether a member is always there. A type that requests and answers share requires nothing: an
 * answer has members that no request needs to have, and the other way round.
 */
function isRequired(field: DescField, dialect: Dialect, uses: ReadonlySet<Use>): boolean {
  if (uses.size !== 1 || uses.has('partialRequest')) return false
  const behaviours = getOption(field, field_behavior)
  if (uses.has('request')) return behaviours.includes(FieldBehavior.REQUIRED)
  return unsetForm(field, dialect) !== 'omit' && !behaviours.includes(FieldBehavior.INPUT_ONLY)
}

/** Fields were visited for every use before; any of them names the same components again. */
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
