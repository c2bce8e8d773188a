import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { isSingleKey } from './key-choice.ts'

/** What the keys of one letter do in a list. */
const KEYS: Readonly<Record<string, (list: HTMLElement) => void>> = {
  j: (list) => goBy(list, 1),
  k: (list) => goBy(list, -1),
  x: (list) => rowsOf(list).find(hasFocus)?.querySelector<HTMLElement>('[name=number]')?.click(),
  a: (list) => formOf(list)?.querySelector<HTMLElement>('[data-all]')?.click(),
  e: (list) => formOf(list)?.querySelector<HTMLElement>('select')?.focus(),
}

/**
 * A list whose rows are chosen by keys. The title of each row is a link with the attribute `data-row`,
 * which gets the focus, so that screen readers say the title and Enter opens the row. Boxes of the name
 * `number` select rows, and the form around the list changes the selected ones.
 */
export function RowList({ children }: { children: ComponentChildren }): VNode {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || !isSingleKey(event)) return
      const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : undefined
      if (!act || !list.current) return
      event.preventDefault()
      act(list.current)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
  return (
    <ul class="list rows" ref={list}>
      {children}
    </ul>
  )
}

/** Moves the focus from its row to another one, or to the first row. The ends of the list stay. */
function goBy(list: HTMLElement, step: number): void {
  const rows = rowsOf(list)
  const at = rows.findIndex(hasFocus)
  const to = at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)
  const link = rows[to]?.querySelector<HTMLElement>('[data-row]')
  link?.focus()
  rows[to]?.scrollIntoView({ block: 'nearest' })
}

function rowsOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>(':scope > li')]
}

function hasFocus(row: HTMLElement): boolean {
  return row.contains(document.activeElement)
}

function formOf(list: HTMLElement): HTMLFormElement | null {
  return list.closest('form')
}
