import type { VNode } from 'preact'
import { useCallback } from 'preact/hooks'
import { Field, fieldOf, onSubmit } from '../components/forms.tsx'
import { t } from '../language/texts.tsx'
import type { KeyDialogProps } from './key-choice.ts'

/** Goes to a line of the file on the page. */
export function LineDialog({ onClose }: KeyDialogProps): VNode {
  const open = useCallback((dialog: HTMLDialogElement | null) => dialog?.showModal(), [])
  const go = (form: HTMLFormElement) => {
    const [first, last] = fieldOf(form, 'line').trim().split('-')
    onClose()
    location.hash = last === undefined ? `#L${first}` : `#L${first}-L${last}`
  }
  return (
    <dialog ref={open} aria-label={t('Go to a line')} onClose={onClose}>
      <form class="row" onSubmit={onSubmit(go)}>
        <Field
          label={t('Line, or lines such as 5-9')}
          name="line"
          required
          autofocus
          inputMode="numeric"
          pattern="\s*[0-9]{1,9}(-[0-9]{1,9})?\s*"
        />
        <button type="submit">{t('Go @action')}</button>
        <button type="button" onClick={onClose}>
          {t('Close')}
        </button>
      </form>
    </dialog>
  )
}
