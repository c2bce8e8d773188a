import type { VNode } from 'preact'
import { fieldOf } from './field.tsx'

/** A box that is checked or not. */
export function Checkbox(props: {
  label: string
  name: string
  isChecked?: boolean
  hint?: string
}): VNode {
  const { label, name, isChecked = false, hint } = props
  return (
    <label class="choice">
      <input type="checkbox" name={name} defaultChecked={isChecked} /> {label}
      {hint !== undefined && <span class="hint"> {hint}</span>}
    </label>
  )
}

/** Returns whether a box of a form that is sent is checked. */
export function isChecked(form: HTMLFormElement, name: string): boolean {
  return fieldOf(form, name) === 'on'
}

/** One of several values. */
export function Select(props: {
  label: string
  name: string
  value: string
  options: readonly (readonly [value: string, text: string])[]
  /** Whether only screen readers need the label, since the place says what the value is. */
  isLabelHidden?: boolean
}): VNode {
  const { label, name, value, options, isLabelHidden = false } = props
  return (
    <label>
      <span class={isLabelHidden ? 'hidden' : undefined}>{label}</span>
      <select name={name} defaultValue={value}>
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A list as a text with one entry on each line. */
export function Lines(props: {
  label: string
  name: string
  lines: readonly string[]
  hint?: string
}): VNode {
  const { label, name, lines, hint = 'One on each line.' } = props
  return (
    <label>
      {label}
      <textarea name={name} rows={2} defaultValue={lines.join('\n')} />
      <span class="hint">{hint}</span>
    </label>
  )
}

/** Returns the entries of a list of a form that is sent. */
export function linesOf(form: HTMLFormElement, name: string): string[] {
  return fieldOf(form, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
