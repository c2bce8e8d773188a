import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useAction } from '../components/load.tsx'
import { t } from '../language/texts.tsx'
import { TextForm } from './text-form.tsx'

interface EditorProps {
  readonly name: { readonly owner: string; readonly repo: string }
  readonly body: string
  readonly save: (body: string) => Promise<unknown>
  readonly onClose: () => void
}

/** A form with the text of a comment, which the user changes. */
export function CommentEditor({ name, body, save, onClose }: EditorProps): VNode {
  const [text, setText] = useState(body)
  const saving = useAction(async () => {
    await save(text)
    onClose()
  })
  return (
    <TextForm
      name={name}
      label={t('New text of the comment')}
      text={text}
      submit={t('Save the comment')}
      isRunning={saving.isRunning}
      failure={saving.failure}
      onText={setText}
      onSend={() => saving.run()}
    >
      <button type="button" onClick={onClose}>
        {t('Cancel')}
      </button>
    </TextForm>
  )
}
