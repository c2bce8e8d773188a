import type { ComponentChildren, VNode } from 'preact'
import { useCallback, useId, useState } from 'preact/hooks'
import { t } from '../language/texts.tsx'

/** One thing to choose. */
export interface Choice {
  /** Unique in the list. */
  readonly key: string
  readonly picture: VNode
  readonly text: ComponentChildren
  /** What kind of thing the choice is. */
  readonly kind?: string
  readonly act: () => void
}

/** A choice whose text can be searched. */
export interface TextChoice extends Choice {
  readonly text: string
}

interface ChooserProps {
  readonly label: string
  readonly query: string
  readonly onQuery: (query: string) => void
  readonly choices: readonly Choice[]
  /** What the list says beside its choices, such as that there are none. */
  readonly status: ComponentChildren
  readonly onClose: () => void
}

/**
 * A dialog with a field and a list that follows the field: the editable combobox of the ARIA practices
 * with a list that is always open.
 */
export function Chooser({ label, query, onQuery, choices, status, onClose }: ChooserProps): VNode {
  const list = useId()
  const [at, setAt] = useState(0)
  const open = useCallback((dialog: HTMLDialogElement | null) => dialog?.showModal(), [])
  const chosen = Math.min(at, Math.max(choices.length - 1, 0))
  const idOf = (index: number) => `${list}-${index}`
  const go = (index: number) => {
    setAt(index)
    document.getElementById(idOf(index))?.scrollIntoView({ block: 'nearest' })
  }
  const act = (choice: Choice | undefined) => {
    if (!choice) return
    onClose()
    choice.act()
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (event.key === 'Enter' && !event.isComposing) act(choices[chosen])
    else if (step !== 0 && choices.length > 0) go((chosen + step + choices.length) % choices.length)
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={open} class="chooser" aria-label={label} onClose={onClose}>
      <input
        // Not a field of the type "search", where Escape empties the field in place of closing the dialog.
        type="text"
        role="combobox"
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={choices.length > 0 ? idOf(chosen) : undefined}
        placeholder={label}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        autofocus
        value={query}
        onInput={({ currentTarget }) => {
          setAt(0)
          onQuery(currentTarget.value)
        }}
        onKeyDown={press}
      />
      <div id={list} role="listbox" aria-label={t('Results')}>
        {choices.map((choice, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys arrive at the field, which keeps the focus
          <div
            key={choice.key}
            id={idOf(i)}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            onClick={() => act(choice)}
          >
            {choice.picture}
            <span>{choice.text}</span>
            {choice.kind !== undefined && <span class="facts"> {choice.kind}</span>}
          </div>
        ))}
      </div>
      <p class="facts" role="status">
        {status}
      </p>
    </dialog>
  )
}
