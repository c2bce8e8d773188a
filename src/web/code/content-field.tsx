import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { loadScript } from '../api/scripts.ts'
import { useLoad } from '../components/load.tsx'
import { t } from '../language/texts.tsx'

/**
 * Longer texts have the plain field of the browser. The editor holds a text several times, and writes
 * all of the text into the draft with each key.
 */
const MAX_EDITOR_CHARACTERS = 512 * 1024

const LABEL = t('Content of the file')
const LABEL_ID = 'content-label'
const HINT_ID = 'content-hint'

interface ContentFieldProps {
  readonly path: string
  readonly text: string
  readonly isHidden: boolean
  readonly onText: (text: string) => void
}

/**
 * The field with the content of a file: an editor, which loads beside the page, or the plain field of
 * the browser for a long text, or where the editor does not load.
 */
export function ContentField(props: ContentFieldProps): VNode {
  // What the text was at first, so that the field stays the same while somebody types.
  const [isLong] = useState(props.text.length > MAX_EDITOR_CHARACTERS)
  return isLong ? <PlainField {...props} /> : <EditorField {...props} />
}

function EditorField(props: ContentFieldProps): VNode {
  const { path, text, isHidden, onText } = props
  const editor = useLoad(
    () => loadScript(async () => (await import('./code-editor.tsx')).CodeEditor),
    [],
  )
  const CodeEditor = editor.value
  if (!CodeEditor && editor.failure) return <PlainField {...props} />
  return (
    <div hidden={isHidden}>
      <p id={LABEL_ID}>{LABEL}</p>
      {CodeEditor ? (
        <CodeEditor {...{ path, text, onText }} labelledBy={LABEL_ID} describedBy={HINT_ID} />
      ) : (
        <p class="loading">{t('Loading…')}</p>
      )}
      <p class="hint" id={HINT_ID}>
        {t(
          'Tab indents. Escape and then Tab leaves the editor. Ctrl+F (on a Mac ⌘F) searches in the text, and Ctrl+Enter commits.',
        )}
      </p>
    </div>
  )
}

function PlainField({ text, isHidden, onText }: ContentFieldProps): VNode {
  return (
    <label hidden={isHidden}>
      {LABEL}
      <textarea
        class="code"
        rows={24}
        spellcheck={false}
        autocapitalize="none"
        wrap="off"
        value={text}
        onInput={({ currentTarget: { value } }) => onText(value)}
      />
    </label>
  )
}
