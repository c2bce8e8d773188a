import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { FailureNote } from './failure-note.tsx'
import { onSubmit } from './field.tsx'
import { Show, useAction, useLoad } from './load.tsx'

interface ChoicesProps {
  /** Name of the choices, such as “labels”. */
  readonly what: string
  readonly chosen: readonly string[]
  /** Reads what the user may choose. */
  readonly load: (signal: AbortSignal) => Promise<readonly string[]>
  readonly save: (chosen: readonly string[]) => Promise<unknown>
}

/** A form that chooses several of a list. The list is loaded when the form opens. */
export function Choices(props: ChoicesProps): VNode {
  const { what } = props
  const [isOpen, setOpen] = useState(false)
  if (!isOpen)
    return (
      <button type="button" class="small" onClick={() => setOpen(true)}>
        Change {what}
      </button>
    )
  return <ChoicesForm {...props} onClose={() => setOpen(false)} />
}

function ChoicesForm(props: ChoicesProps & { onClose: () => void }): VNode {
  const { what, chosen, load, save, onClose } = props
  const options = useLoad(load, [])
  const saving = useAction(async (form: HTMLFormElement) => {
    await save(new FormData(form).getAll('choice').map(String))
    onClose()
  })
  return (
    <form onSubmit={onSubmit(saving.run)}>
      {saving.failure && <FailureNote failure={saving.failure} />}
      <Show of={options}>
        {(names) => {
          // A chosen name may be missing in the list, such as a label of the organisation.
          const all = [...new Set([...names, ...chosen])]
          return (
            <fieldset>
              <legend>Choose {what}</legend>
              {all.length === 0 && <p>There are none.</p>}
              {all.map((name) => (
                <label key={name} class="choice">
                  <input
                    type="checkbox"
                    name="choice"
                    value={name}
                    defaultChecked={chosen.includes(name)}
                  />{' '}
                  {name}
                </label>
              ))}
            </fieldset>
          )
        }}
      </Show>
      <p class="buttons">
        <button type="submit" disabled={saving.isRunning || options.value === undefined}>
          Save {what}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
