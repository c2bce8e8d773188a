import { DomainError, metadataText } from '../../core/errors.ts'
import type { CheckOption, FormField } from './issue-forms.ts'

/** The answers of a client, by the ids of fields. */
export type Answers = Readonly<Record<string, unknown>>

const NO_ANSWER = '_No response_'

/**
 * Returns the description of an issue whose poster has filled in a form.
 *
 * @throws ISSUE_FORM_INCOMPLETE
 */
export function textOfAnswers(fields: readonly FormField[], answers: Answers): string {
  const known = new Set(fields.flatMap(({ type, id }) => (type === 'markdown' ? [] : [id])))
  for (const id of Object.keys(answers))
    if (!known.has(id)) throw incomplete(id, id, 'the form has no such field')
  return fields
    .map((field) => {
      const text = textOfField(field, answers)
      if (!field.visible.includes('content')) return ''
      const { label = '', hide_label = false } = field.attributes
      const heading = field.type === 'markdown' || hide_label ? '' : `### ${label}\n\n`
      return `${heading}${text}\n\n`
    })
    .join('')
}

function textOfField(field: FormField, answers: Answers): string {
  const answer = Object.hasOwn(answers, field.id) ? answers[field.id] : undefined
  switch (field.type) {
    case 'markdown':
      return field.attributes.value ?? ''
    case 'dropdown':
      return chosenText(field, answer)
    case 'checkboxes':
      return checkedText(field, answer)
    default:
      return writtenText(field, answer)
  }
}

/** Returns the text of a field to write in. */
function writtenText(field: FormField, answer: unknown): string {
  const { attributes, validations, visible } = field
  // Nobody can fill in a field that the form does not show.
  const given = answer ?? (visible.includes('form') ? '' : (attributes.value ?? ''))
  if (typeof given !== 'string' && typeof given !== 'number') throw refusal(field, 'is no text')
  const text = String(given).trim()
  if (text === '') {
    if (validations.required === true) throw refusal(field, 'Required')
    return NO_ANSWER
  }
  if (validations.is_number === true && !isNumber(text)) throw refusal(field, 'is no number')
  const { render = '' } = attributes
  if (render === '') return text
  const fence = '`'.repeat(Math.max(3, longestFence(text) + 1))
  return `${fence}${render}\n${text}\n${fence}`
}

function isNumber(text: string): boolean {
  return /^[-+.\deE]+$/.test(text) && Number.isFinite(Number(text))
}

function longestFence(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)
}

function chosenText(field: FormField, answer: unknown): string {
  const { options = [], multiple = false, list = false, default: preset } = field.attributes
  const labels = options.map((option) => labelOf(option))
  const isHidden = !field.visible.includes('form')
  const presets = isHidden && preset !== undefined ? (labels[preset] ?? []) : []
  const chosen = namedIn(field, answer ?? presets, labels)
  if (chosen.length > 1 && !multiple) throw refusal(field, 'takes one option')
  if (chosen.length === 0) {
    if (field.validations.required === true) throw refusal(field, 'Required')
    return NO_ANSWER
  }
  return list ? chosen.map((label) => `- ${label}`).join('\n') : chosen.join(', ')
}

function checkedText(field: FormField, answer: unknown): string {
  const options = (field.attributes.options ?? []).map((option) =>
    typeof option === 'string' ? { label: option } : option,
  )
  const labels = options.map(({ label }) => label)
  const checked = new Set(namedIn(field, namesOfChecked(answer), labels))
  if (field.validations.required === true && checked.size === 0) throw refusal(field, 'Required')
  for (const { label, required } of options)
    if (required === true && !checked.has(label)) throw refusal(field, `Required: ${label}`)
  return options
    .filter(({ visible }: CheckOption) => visible === undefined || visible.includes('content'))
    .map(({ label }) => `- [${checked.has(label) ? 'x' : ' '}] ${label}`)
    .join('\n')
}

/** Returns the labels that are true in an answer of the form `{label: true}`. */
function namesOfChecked(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer
  return Object.entries(answer).flatMap(([label, isChecked]) => (isChecked === true ? label : []))
}

/** Returns the options that an answer names, in their order. */
function namedIn(field: FormField, answer: unknown, labels: readonly string[]): string[] {
  const given = answer === '' ? [] : Array.isArray(answer) ? answer : [answer ?? []].flat()
  const names = new Set(given.map(String))
  const known = new Set(labels)
  for (const name of names)
    if (!known.has(name)) throw refusal(field, `${metadataText(name)} is not an option`)
  return [...known].filter((label) => names.has(label))
}

function labelOf(option: string | CheckOption): string {
  return typeof option === 'string' ? option : option.label
}

function refusal({ id, attributes }: FormField, rule: string): DomainError {
  return incomplete(id, attributes.label ?? id, rule)
}

function incomplete(field: string, label: string, rule: string): DomainError {
  return new DomainError('ISSUE_FORM_INCOMPLETE', {
    field: metadataText(field),
    label: metadataText(label),
    rule: metadataText(rule),
  })
}
