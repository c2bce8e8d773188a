import type { YamlValue } from '../../../platform/markup/yaml.ts'

/** Where a field, or an option of one, is shown. */
type Visibility = 'form' | 'content'

const FIELD_TYPES = ['markdown', 'textarea', 'input', 'dropdown', 'checkboxes'] as const

type FieldType = (typeof FIELD_TYPES)[number]

/** An option of check boxes. */
export interface CheckOption {
  readonly label: string
  readonly required?: boolean
  readonly visible?: readonly Visibility[]
}

/** What a field says about itself. Which of these a field can have depends on its type. */
export interface FieldAttributes {
  readonly label?: string
  readonly description?: string
  readonly placeholder?: string
  /** The text of `markdown`; of others what they hold at first. */
  readonly value?: string
  /** The language of the block of code that the answer becomes. */
  readonly render?: string
  readonly multiple?: boolean
  readonly list?: boolean
  /** Position of the option that is chosen at first. */
  readonly default?: number
  readonly hide_label?: boolean
  /** Texts of a dropdown. */
  readonly options?: readonly string[] | readonly CheckOption[]
}

/** A field of a form. */
export interface FormField {
  readonly type: FieldType
  readonly id: string
  readonly attributes: FieldAttributes
  readonly validations: {
    readonly required?: boolean
    readonly is_number?: boolean
    /** For clients. The server runs no pattern of a file. */
    readonly regex?: string
  }
  readonly visible: readonly Visibility[]
}

/** What a file says about the issues that are opened with it. */
export interface TemplateHead {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly labels: readonly string[]
  readonly assignees: readonly string[]
  /** Full name of a branch; empty for none. */
  readonly ref: string
}

/** A file of templates that does not follow the rules. */
export class TemplateFault extends Error {}

type YamlMap = { readonly [key: string]: YamlValue }

/** Returns whether a value has keys. */
export function isYamlMap(value: YamlValue | undefined): value is YamlMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the head of a template.
 *
 * @throws TemplateFault if a value is neither a text nor, for lists, a list of texts.
 */
export function templateHead(source: YamlMap): TemplateHead {
  const about = textAt(source, 'about')
  const ref = textAt(source, 'ref')
  return {
    name: textAt(source, 'name'),
    about: about === '' ? textAt(source, 'description') : about,
    title: textAt(source, 'title'),
    labels: textsAt(source, 'labels'),
    assignees: textsAt(source, 'assignees'),
    ref: ref === '' || ref.startsWith('refs/') ? ref : `refs/heads/${ref}`,
  }
}

/** Checks what every template must say. */
export function checkHead({ name, about }: TemplateHead): void {
  if (name.trim() === '') throw new TemplateFault("'name' is required")
  if (about.trim() === '') throw new TemplateFault("'about' is required")
}

/** Returns a text. Numbers and truth values count as they are written in JSON. */
function textAt(source: YamlMap, key: string): string {
  const value = source[key] ?? ''
  if (typeof value === 'object') throw new TemplateFault(`'${key}' should be a text`)
  return String(value)
}

/** Returns a list, which can be a text with commas. */
function textsAt(source: YamlMap, key: string): string[] {
  const value = source[key] ?? []
  const items = Array.isArray(value) ? value.map(String) : textAt(source, key).split(',')
  return items.map((item) => item.trim()).filter((item) => item !== '')
}

/**
 * Returns the fields of a form.
 *
 * @throws TemplateFault for the first rule that the form breaks.
 */
export function formFields({ body }: YamlMap): FormField[] {
  if (!Array.isArray(body) || body.length === 0) throw new TemplateFault("'body' needs a field")
  const fields = body.map((item, position) => fieldOf(item, position))
  const ids = new Set<string>()
  for (const [position, { type, id }] of fields.entries()) {
    if (type === 'markdown') continue
    if (ids.has(id)) throw new TemplateFault(`body[${position}]: 'id' should be unique`)
    ids.add(id)
  }
  return fields
}

function fieldOf(item: YamlValue, position: number): FormField {
  const read = new FieldReader(`body[${position}]`, item)
  const type = FIELD_TYPES.find((known) => known === read.text('type'))
  if (type === undefined) throw read.fault('type', 'is unknown')
  const id = read.text('id') ?? String(position)
  if (type !== 'markdown' && !/^[A-Za-z0-9_-]+$/.test(id))
    throw read.fault('id', 'should contain only letters, digits, - and _')
  const visible = visibleOf(read) ?? (type === 'markdown' ? ['form'] : ['form', 'content'])
  const validations = read.at('validations')
  const required = validations.truth('required')
  if (required === true && !visible.includes('form'))
    throw validations.fault('required', 'is not for a hidden field')
  return {
    type,
    id,
    attributes: attributesOf(read.at('attributes'), type),
    validations: present({
      required,
      is_number: type === 'input' ? validations.truth('is_number') : undefined,
      regex: type === 'input' ? validations.text('regex') : undefined,
    }),
    visible,
  }
}

function attributesOf(read: FieldReader, type: FieldType): FieldAttributes {
  if (type === 'markdown') return { value: read.needed('value') }
  const shared = {
    label: read.needed('label'),
    description: read.text('description'),
    hide_label: read.truth('hide_label'),
  }
  if (type === 'checkboxes') return present({ ...shared, options: checkOptions(read) })
  if (type === 'dropdown') {
    const options = dropdownOptions(read)
    const chosen = read.position('default', options.length)
    const [multiple, list] = [read.truth('multiple'), read.truth('list')]
    return present({ ...shared, options, multiple, list, default: chosen })
  }
  const texts = { ...shared, placeholder: read.text('placeholder'), value: read.text('value') }
  return present(type === 'textarea' ? { ...texts, render: read.text('render') } : texts)
}

function dropdownOptions(read: FieldReader): string[] {
  return read.items('options').map((option) => {
    if (typeof option === 'string' && option !== '') return option
    throw read.fault('options', 'should be texts')
  })
}

function checkOptions(read: FieldReader): CheckOption[] {
  return read.items('options').map((item, position) => {
    const option = new FieldReader(`${read.place}.options[${position}]`, item)
    const [label, required, visible] = [
      option.needed('label'),
      option.truth('required'),
      visibleOf(option),
    ]
    if (required === true && visible && !visible.includes('form'))
      throw option.fault('required', 'is not for a hidden option')
    return { label, ...present({ required, visible }) }
  })
}

function visibleOf(read: FieldReader): Visibility[] | undefined {
  return read.optionalItems('visible')?.map((word) => {
    if (word === 'form' || word === 'content') return word
    throw read.fault('visible', 'should be form, content, or both')
  })
}

/** The type of an object without those of its members that are undefined. */
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function present<T extends object>(members: T): Present<T> {
  // Entries keep the types of their members.
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as Present<T>
}

/** Reads the members of one value of a form. */
class FieldReader {
  readonly place: string
  readonly #source: YamlMap

  constructor(place: string, value: YamlValue) {
    this.place = place
    if (!isYamlMap(value)) throw new TemplateFault(`${place} should have keys`)
    this.#source = value
  }

  fault(key: string, rule: string): TemplateFault {
    return new TemplateFault(`${this.place}: '${key}' ${rule}`)
  }

  at(key: string): FieldReader {
    return new FieldReader(`${this.place}.${key}`, this.#source[key] ?? {})
  }

  text(key: string): string | undefined {
    const value = this.#source[key] ?? undefined
    if (value === undefined || typeof value === 'string') return value
    if (typeof value === 'number') return String(value)
    throw this.fault(key, 'should be a text')
  }

  needed(key: string): string {
    const text = this.text(key) ?? ''
    if (text.trim() === '') throw this.fault(key, 'is required')
    return text
  }

  truth(key: string): boolean | undefined {
    const value = this.#source[key] ?? undefined
    if (value === undefined || typeof value === 'boolean') return value
    throw this.fault(key, 'should be true or false')
  }

  position(key: string, count: number): number | undefined {
    const value = this.#source[key] ?? undefined
    if (value === undefined) return undefined
    const isPosition = typeof value === 'number' && Number.isInteger(value)
    if (isPosition && value >= 0 && value < count) return value
    throw this.fault(key, 'should be the position of an option')
  }

  optionalItems(key: string): readonly YamlValue[] | undefined {
    const value = this.#source[key] ?? undefined
    if (value === undefined || Array.isArray(value)) return value
    throw this.fault(key, 'should be a list')
  }

  items(key: string): readonly YamlValue[] {
    const items = this.optionalItems(key) ?? []
    if (items.length === 0) throw this.fault(key, 'is required')
    return items
  }
}
