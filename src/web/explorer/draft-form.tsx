import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  ScalarType,
} from '@bufbuild/protobuf'
import { type ComponentChildren, createContext, type VNode } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { t } from '../language/texts.tsx'
import {
  type Draft,
  type DraftEntry,
  type DraftFields,
  emptyValue,
  isComposite,
  isInput,
  isRequired,
  newEntry,
  type ValueType,
  valueTypeOf,
} from './draft.ts'
import { firstParagraph } from './method-facts.ts'
import { isSecret } from './request-examples.ts'

/** Returns the comment of an element by its full name. */
export const CommentContext = createContext<(fullName: string) => string>(() => '')

/** Returns whether the method of the form needs a field. */
export const NeedContext = createContext<(field: DescField) => boolean>(isRequired)

type Change<Value> = (value: Value) => void

/** The fields of a message as a part of a form. */
export function DraftForm(props: {
  message: DescMessage
  fields: DraftFields
  onChange: Change<DraftFields>
}): VNode {
  const { message, fields, onChange } = props
  const inputs = message.members.filter((member) => member.kind === 'oneof' || isInput(member))
  const set = (field: DescField, draft: Draft | undefined) =>
    onChange(withDraft(fields, field, draft))
  return (
    <>
      {inputs.length === 0 && <p>{t('The message has no fields.')}</p>}
      {inputs.map((member) =>
        member.kind === 'oneof' ? (
          <OneofInput key={member.name} oneof={member} fields={fields} onChange={onChange} />
        ) : (
          <FieldInput
            key={member.name}
            field={member}
            draft={fields[member.localName]}
            onChange={(draft) => set(member, draft)}
          />
        ),
      )}
    </>
  )
}

function withDraft(fields: DraftFields, field: DescField, draft: Draft | undefined): DraftFields {
  const { [field.localName]: _, ...others } = fields
  return draft === undefined ? others : { ...others, [field.localName]: draft }
}

/** One of several fields. */
function OneofInput(props: {
  oneof: DescOneof
  fields: DraftFields
  onChange: Change<DraftFields>
}): VNode {
  const { oneof, fields, onChange } = props
  const choices = oneof.fields.filter(isInput)
  const chosen = choices.find(({ localName }) => fields[localName] !== undefined)
  const choose = (name: string) => {
    const others = oneof.fields.reduce((left, field) => withDraft(left, field, undefined), fields)
    const field = choices.find((choice) => choice.name === name)
    onChange(field ? withDraft(others, field, emptyValue(valueTypeOf(field))) : others)
  }
  return (
    <fieldset>
      <legend>{oneof.name}</legend>
      <label>
        {t('One of')}
        <select value={chosen?.name ?? ''} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{t('none @choice')}</option>
          {choices.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {chosen && (
        <FieldInput
          field={chosen}
          draft={fields[chosen.localName]}
          onChange={(draft) => onChange(withDraft(fields, chosen, draft))}
        />
      )}
    </fieldset>
  )
}

interface FieldProps {
  readonly field: DescField
  readonly draft: Draft | undefined
  readonly onChange: Change<Draft | undefined>
}

/** A field that may be unset. */
function FieldInput({ field, draft, onChange }: FieldProps): VNode {
  const type = valueTypeOf(field)
  if (field.fieldKind === 'list' || field.fieldKind === 'map')
    return <EntriesInput field={field} draft={draft} onChange={onChange} />
  if (!isComposite(type))
    return <ValueInput name={field.name} field={field} draft={draft} onChange={onChange} />
  return (
    <Group field={field}>
      {draft && <ValueInput name={field.name} field={field} draft={draft} onChange={onChange} />}
      <button type="button" onClick={() => onChange(draft ? undefined : emptyValue(type))}>
        {draft
          ? t('Remove {field}', { field: field.name })
          : t('Set {field}', { field: field.name })}
      </button>
    </Group>
  )
}

/** A field with parts, with its name and comment. */
function Group({ field, children }: { field: DescField; children: ComponentChildren }): VNode {
  return (
    <fieldset>
      <legend>{field.name}</legend>
      <p class="hint">
        <FieldHint field={field} />
      </p>
      {children}
    </fieldset>
  )
}

/** The elements of a list or a map. */
function EntriesInput({ field, draft, onChange }: FieldProps): VNode {
  const entries = draft?.kind === 'entries' ? draft.entries : []
  const update = (next: readonly DraftEntry[]) =>
    onChange(next.length === 0 ? undefined : { kind: 'entries', entries: next })
  const replace = (changed: DraftEntry) =>
    update(entries.map((entry) => (entry.id === changed.id ? changed : entry)))
  return (
    <Group field={field}>
      {entries.map((entry, i) => (
        <div key={entry.id} class="element">
          {field.fieldKind === 'map' && (
            <label>
              {t('Key {number} of {field}', { number: String(i + 1), field: field.name })}
              <input
                value={entry.key}
                onInput={(event) => replace({ ...entry, key: event.currentTarget.value })}
              />
            </label>
          )}
          <ValueInput
            name={`${field.name} ${i + 1}`}
            field={field}
            draft={entry.value}
            onChange={(value) => replace({ ...entry, value })}
          />
          <button type="button" onClick={() => update(entries.filter(({ id }) => id !== entry.id))}>
            {t('Remove {field} {number}', { field: field.name, number: String(i + 1) })}
          </button>
        </div>
      ))}
      <button
        type="button"
        onClick={() => update([...entries, newEntry('', emptyValue(valueTypeOf(field)))])}
      >
        {t('Add {field}', { field: field.name })}
      </button>
    </Group>
  )
}

/** One value: of a singular field, or an element of a list or map. */
function ValueInput(props: {
  name: string
  field: DescField
  draft: Draft | undefined
  onChange: Change<Draft>
}): VNode {
  const { name, field, draft, onChange } = props
  const [id, hintId] = [useId(), useId()]
  const type = valueTypeOf(field)
  if (isComposite(type)) {
    const fields = draft?.kind === 'message' ? draft.fields : {}
    const form = (
      <DraftForm
        message={type}
        fields={fields}
        onChange={(changed) => onChange({ kind: 'message', fields: changed })}
      />
    )
    // A singular field has a group of its own.
    if (name === field.name) return form
    return (
      <fieldset>
        <legend>{name}</legend>
        {form}
      </fieldset>
    )
  }
  const isSingular = name === field.name
  return (
    <div class="slot">
      <label for={id}>{name}</label>
      <TextInput
        field={field}
        type={type}
        text={draft?.kind === 'text' ? draft.text : ''}
        onChange={(text) => onChange({ kind: 'text', text })}
        input={{ id, 'aria-describedby': isSingular ? hintId : undefined }}
      />
      {isSingular && (
        <span class="hint" id={hintId}>
          <FieldHint field={field} />
        </span>
      )}
    </div>
  )
}

/** Fields of texts that have several lines. */
const LONG = /^(body|content|description|message|text|patch|public_key|armored_public_key|diff)$/

function TextInput(props: {
  field: DescField
  type: ValueType
  text: string
  onChange: Change<string>
  input: { id: string; 'aria-describedby': string | undefined }
}): VNode {
  const { field, type, text, onChange, input } = props
  const isMandatory = useContext(NeedContext)(field) && field.oneof === undefined
  const common = {
    ...input,
    value: text,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  }
  const options = optionsOf(type)
  if (options)
    return (
      <select {...common}>
        <option value="">{t('unset')}</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    )
  if (type === ScalarType.BYTES || LONG.test(field.name)) return <textarea rows={4} {...common} />
  const line = { ...common, required: isMandatory, spellcheck: false }
  return isSecret(field.jsonName) ? (
    <input {...line} type="password" autocomplete="new-password" />
  ) : (
    <input {...line} autocomplete="off" />
  )
}

function optionsOf(type: ValueType): readonly string[] | undefined {
  if (type === ScalarType.BOOL) return ['true', 'false']
  return typeof type === 'object' && type.kind === 'enum' ? namesOf(type) : undefined
}

/** The names of the values that mean something. */
function namesOf(type: DescEnum): readonly string[] {
  return type.values.filter(({ name }) => !name.endsWith('_UNSPECIFIED')).map(({ name }) => name)
}

/** The type of a field, and what its comment begins with. */
function FieldHint({ field }: { field: DescField }): VNode {
  const [comment, needs] = [useContext(CommentContext), useContext(NeedContext)]
  const text = firstParagraph(comment(`${field.parent.typeName}.${field.name}`))
  return (
    <>
      <code>{typeText(field)}</code>
      {needs(field) && `, ${t('required')}`}
      {text !== '' && ': '}
      <Prose text={text} />
    </>
  )
}

/** Returns the type of a field as a proto file writes it. */
export function typeText(field: DescField): string {
  const type = valueTypeOf(field)
  const name =
    typeof type === 'object' ? type.typeName.replace(/^.*?([A-Z])/, '$1') : scalarName(type)
  if (field.fieldKind === 'map') return `map<${scalarName(field.mapKey)}, ${name}>`
  if (type === ScalarType.BYTES) return t('{type} in base64', { type: 'bytes' })
  return field.fieldKind === 'list' ? `repeated ${name}` : name
}

function scalarName(type: ScalarType): string {
  return ScalarType[type].toLowerCase()
}

/** A sentence of a comment. What is between backquotes is code. */
export function Prose({ text }: { text: string }): VNode {
  const parts = text.split('`')
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
}
