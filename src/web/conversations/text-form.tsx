import type { ComponentChildren, VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { markupBase } from '../addresses.ts'
import type { Failure } from '../api/failure.ts'
import { onSubmit } from '../components/forms.tsx'
import { FailureNote, Later } from '../components/load.tsx'
import { Markup } from '../components/markup.tsx'
import { t } from '../language/texts.tsx'
import { loadFileField } from './drafted-files.ts'
import type { FileFieldProps } from './file-field.tsx'

const loadCompletions = async () => (await import('./completions.tsx')).Completions

interface TextFormProps {
  /** The repository that relative links lead into. */
  readonly name: { readonly owner: string; readonly repo: string }
  readonly label: string
  readonly text: string
  readonly submit: string
  readonly isRunning: boolean
  readonly failure: Failure | undefined
  readonly onText: (text: string) => void
  readonly onSend: () => void
  /** Where files go that the user adds to the text; undefined for a text without files. */
  readonly attach?: Pick<FileFieldProps, 'name' | 'files'>
  /** More buttons. */
  readonly children?: ComponentChildren
}

/**
 * A form with one text in Markdown, with a preview. Ctrl and Enter send the form, as a button does. The
 * text stays when sending it fails.
 */
export function TextForm(props: TextFormProps): VNode {
  const { name, label, text, submit, isRunning, failure, onText, onSend, attach, children } = props
  const field = useRef<HTMLTextAreaElement>(null)
  const [isPreview, setPreview] = useState(false)
  const isEmpty = text.trim() === ''
  const isShown = isPreview && !isEmpty
  return (
    <form
      onSubmit={onSubmit(onSend)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isRunning)
          event.currentTarget.requestSubmit()
      }}
    >
      {failure && <FailureNote failure={failure} />}
      <label hidden={isShown}>
        {label}
        <textarea
          ref={field}
          rows={4}
          required
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      </label>
      {!isShown && /[@#]/.test(text) && (
        <Later load={loadCompletions} with={{ name, field, text, onText }} />
      )}
      {isShown && (
        <section class="note" aria-label={t('Preview of: {label}', { label })}>
          <Markup text={text} base={markupBase(name)} />
        </section>
      )}
      {attach && <Later load={loadFileField} with={{ ...attach, field, onText }} />}
      <p class="buttons">
        <button class="main" type="submit" disabled={isRunning}>
          {submit}
        </button>
        <button
          type="button"
          aria-pressed={isShown}
          disabled={isEmpty}
          onClick={() => setPreview(!isPreview)}
        >
          {t('Preview')}
          <span class="hidden"> {t('of {label}', { label })}</span>
        </button>
        {children}
      </p>
    </form>
  )
}
